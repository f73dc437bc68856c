// Random runs of relocatable_heap against a model: each live object's bytes are a stream that only
// its number determines, so whatever a move loses, overwrites or mixes up is seen.
#include <cairn/core/poison.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <vector>

#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::pinned;
using cairn::relocatable_heap;
using cairn::work_limit;
using handle = relocatable_heap::handle_type;

std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 31)) * 0x7fb5'd329'728e'a185u;
    return x ^ (x >> 27);
}

/// A type whose moves are visible: it points to itself and counts who is alive.
struct selfish {
    explicit selfish(std::uint64_t n) noexcept : me{this}, number{n} { ++alive; }
    selfish(selfish&& other) noexcept : me{this}, number{other.number} {
        EXPECT_EQ(other.me, &other);
        other.me = nullptr;
        ++alive;
    }
    ~selfish() { --alive; }
    selfish* me;
    std::uint64_t number;
    std::uint64_t filling[5] = {};
    static inline int alive = 0;
};

struct object {
    handle h;
    std::uint64_t number;
    std::size_t size;  // 0: a selfish
    pinned<void> pin;
    void* pinned_at = nullptr;
};

class model {
public:
    model(std::uint64_t seed, std::size_t region, const relocatable_heap::options& options,
          bool only_bytes = false)
        : random_{seed}, only_bytes_{only_bytes}, heap_{region, upstream_, options} {}

    ~model() {
        for (object& o : objects_) { end(o); }
        heap_.validate();
        EXPECT_EQ(heap_.free_size(), heap_.capacity());
        EXPECT_LE(heap_.stats().hole_count, 1u);
        EXPECT_EQ(selfish::alive, 0);
    }

    void run(int operations, int validate_every) {
        for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
            step();
            if (i % validate_every == 0) {
                check_all();
                heap_.validate();
            }
        }
    }

    relocatable_heap& heap() { return heap_; }
    test_upstream& upstream() { return upstream_; }
    std::vector<object>& objects() { return objects_; }
    void unpin_all() {
        for (object& o : objects_) { o.pin.reset(); }
    }

    void check(const object& o) {
        auto* const bytes = static_cast<unsigned char*>(heap_.get(o.h));
        ASSERT_NE(bytes, nullptr) << "a live handle finds its object";
        if (o.pin) { EXPECT_EQ(bytes, o.pinned_at) << "a pinned object never moves"; }
        if (o.size == 0) {
            const auto* const s = reinterpret_cast<const selfish*>(bytes);
            EXPECT_EQ(s->me, s);
            EXPECT_EQ(s->number, o.number);
            return;
        }
        ASSERT_EQ(heap_.size(o.h), o.size);
        for (std::size_t i = 0; i < o.size; i += i < 64 || i + 70 > o.size ? 1 : 61) {
            ASSERT_EQ(bytes[i], static_cast<unsigned char>(mix(o.number + i))) << "byte " << i;
        }
    }
    void check_all() {
        std::size_t in_use = 0;
        for (const object& o : objects_) {
            check(o);
            const std::size_t size = o.size == 0 ? sizeof(selfish) : o.size;
            in_use += (size + 15) / 16 * 16;
        }
        EXPECT_EQ(heap_.capacity() - heap_.free_size(), in_use) << "no byte is lost";
        EXPECT_EQ(heap_.object_count(), objects_.size());
        for (const handle h : stale_) { EXPECT_EQ(heap_.get(h), nullptr); }
    }

private:
    std::size_t any(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

    void step() {
        const std::size_t what = any(100);
        if (what < 42) {
            begin();
        } else if (what < 76) {
            if (!objects_.empty()) { end_at(any(objects_.size())); }
        } else if (what < 84) {
            if (!objects_.empty()) { toggle_pin(objects_[any(objects_.size())]); }
        } else if (what < 97) {
            const work_limit budget{.bytes = any(4) == 0 ? SIZE_MAX : any(4000),
                                    .microseconds = any(8) == 0 ? 20 : work_limit::no_end,
                                    .steps = any(20)};
            const std::uint32_t epoch = heap_.epoch();
            const auto report = heap_.compact(budget);
            EXPECT_EQ(heap_.epoch(), epoch + 1);
            EXPECT_LE(report.steps, budget.steps);
            if (report.moves > 1) {
                EXPECT_LE(report.bytes, budget.bytes) << "only a single object passes the budget";
            }
        } else if (what < 99) {
            upstream_.refuse_from(upstream_.request_count());
            begin();
            upstream_.refuse_nothing();
        } else if (any(20) == 0) {
            heap_.compact();
        }
    }

    void begin() {
        object o;
        o.number = ++last_number_;
        const std::size_t free = heap_.free_size();
        if (!only_bytes_ && any(6) == 0) {
            const auto made = heap_.make<selfish>(o.number);
            o.h = made.handle();
            o.size = 0;
        } else {
            o.size = 1 + (any(8) == 0 ? any(5000) : any(300));
            const alignment align{std::size_t{1} << (!only_bytes_ && any(5) == 0 ? any(8) : 4)};
            o.h = heap_.allocate(o.size, align);
            if (o.h) {
                EXPECT_TRUE(cairn::detail::is_aligned(heap_.get(o.h), align));
                auto* const bytes = static_cast<unsigned char*>(heap_.get(o.h));
                for (std::size_t i = 0; i < o.size; ++i) {
                    bytes[i] = static_cast<unsigned char>(mix(o.number + i));
                }
            } else {
                const std::size_t needed = (o.size + 15) / 16 * 16 + align.bytes();
                EXPECT_TRUE(heap_.stats().largest_free < needed || upstream_.live_count() > 0);
            }
        }
        if (o.h) {
            objects_.push_back(std::move(o));
        } else {
            EXPECT_EQ(heap_.free_size(), free) << "a refusal changes nothing";
        }
    }

    void end(object& o) {
        o.pin.reset();
        check(o);
        if (o.size == 0) {
            heap_.destroy(heap_.as<selfish>(o.h));
        } else {
            heap_.deallocate(o.h);
        }
        EXPECT_EQ(heap_.get(o.h), nullptr);
        if (stale_.size() < 16) { stale_.push_back(o.h); }
        stale_[any(stale_.size())] = o.h;
    }
    void end_at(std::size_t i) {
        end(objects_[i]);
        if (i + 1 != objects_.size()) { objects_[i] = std::move(objects_.back()); }
        objects_.pop_back();
    }
    void toggle_pin(object& o) {
        if (o.pin) {
            o.pin.reset();
        } else {
            o.pin = heap_.pin(o.h);
            o.pinned_at = heap_.get(o.h);
            ASSERT_EQ(o.pin.get(), o.pinned_at);
        }
    }

    std::mt19937_64 random_;
    bool only_bytes_;  // that may slide, and no large alignment
    test_upstream upstream_;
    relocatable_heap heap_;
    std::vector<object> objects_;
    std::vector<handle> stale_;
    std::uint64_t last_number_ = 0;
};

constexpr std::uint64_t seed = 20261121;

TEST(relocatable_heap_model_test, random_operations_keep_every_byte) {
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    const int operations = cairn::detail::poison_is_queryable ? 50'000 : 100'000;
    for (std::uint64_t run = 0; run < 10 && !HasFailure(); ++run) {
        SCOPED_TRACE(run);
        model m{seed + run,
                std::size_t{16000} << (run % 4),
                {.largest_movable = run % 3 == 0 ? 2000u : 8000u}};
        m.run(operations, 1000);
    }
}

TEST(relocatable_heap_model_test, stress_relocate_keeps_every_byte) {
    for (std::uint64_t run = 0; run < 4 && !HasFailure(); ++run) {
        SCOPED_TRACE(run);
        model m{seed + 100 + run,
                std::size_t{16000} << run,
                {.largest_movable = 4000, .stress_relocate = true}};
        m.run(10'000, 100);
    }
}

TEST(relocatable_heap_model_test, without_pins_the_free_memory_becomes_one_piece) {
    for (std::uint64_t run = 0; run < 20 && !HasFailure(); ++run) {
        SCOPED_TRACE(run);
        model m{seed + 200 + run, 64'000, {.largest_movable = SIZE_MAX}, true};
        m.run(1000, 1000);
        m.unpin_all();
        const auto report = m.heap().compact();
        EXPECT_TRUE(report.settled);
        EXPECT_TRUE(report.one_piece);
        EXPECT_EQ(m.heap().stats().largest_free, m.heap().free_size());
        m.check_all();
        m.heap().validate();
    }
}

}  // namespace
