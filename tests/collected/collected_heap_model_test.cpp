// Random graphs in a collected_heap against a model that knows what is reachable: each object has a
// number, and its references are the numbers of others, in the heap and in the model.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <unordered_map>
#include <vector>

namespace {

using cairn::collected_heap;
using cairn::collected_heap_options;
using cairn::collection_budget;
using cairn::ref;
using cairn::ref_array;
using cairn::refers_to;
using cairn::root;
using cairn::weak_ref;

enum class kind : std::uint32_t { leaf, triple, squad, mortal, large };

struct thing {
    std::uint32_t number;
    kind what;
    using references = refers_to<>;
};
struct leaf : thing {};
struct triple : thing {
    triple(std::uint32_t n, thing* first) noexcept : thing{n, kind::triple}, at{first, {}, {}} {}
    ref<thing> at[3];
    using references = refers_to<&triple::at>::and_base<thing>;
};
struct squad : thing {
    explicit squad(std::uint32_t n) noexcept : thing{n, kind::squad} {}
    ref_array<thing> members;
    void trace(cairn::visitor& v) { v(members); }
};
struct mortal : thing {
    mortal(std::uint32_t n, std::unordered_map<std::uint32_t, int>& l, collected_heap& h) noexcept
        : thing{n, kind::mortal}, lives{&l}, heap{&h} {
        (*lives)[n] = 1;
    }
    void before_collect() noexcept {
        EXPECT_EQ((*lives)[number], 1) << "before_collect runs once, first";
        if (at) {
            EXPECT_LE(static_cast<unsigned>(at->what), 4u) << "while its neighbours are whole";
        }
        (*lives)[number] = 2;
        if (number % 4 == 0) {  // finalizers may make objects, which are garbage at once here
            if (leaf* const made = heap->make<leaf>(thing{number, kind::leaf})) {
                at = made;
                EXPECT_EQ(at->number, number);
            }
        }
    }
    ~mortal() {
        EXPECT_EQ((*lives)[number], 2) << "an object ends once, after before_collect";
        EXPECT_EQ(at.get(), nullptr) << "in a destructor the references are null";
        lives->erase(number);
    }
    ref<thing> at;
    std::unordered_map<std::uint32_t, int>* lives;
    collected_heap* heap;
    using references = refers_to<&mortal::at>::and_base<thing>;
};
struct large : thing {
    explicit large(std::uint32_t n) noexcept : thing{n, kind::large} {}
    char filling[9000] = {};
    ref<thing> at;
    using references = refers_to<&large::at>::and_base<thing>;
};
#if defined(__cpp_exceptions)
struct failing_to_begin : thing {
    failing_to_begin(collected_heap& heap, std::uint32_t n) : thing{n, kind::leaf} {
        child = heap.make<leaf>(thing{n, kind::leaf});
        throw 1;
    }
    ref<thing> child;
    using references = refers_to<&failing_to_begin::child>::and_base<thing>;
};
#endif

using numbers = std::vector<std::uint32_t>;  // 0: null

class model {
public:
    model(std::uint32_t seed, std::size_t size, const collected_heap_options& how)
        : random_{seed}, heap_{size, how} {}
    ~model() {
        roots_.clear();
        heap_.collect();
        heap_.collect();
        heap_.validate();
        EXPECT_EQ(heap_.stats().object_count, 0u) << "without roots nothing is left";
        EXPECT_TRUE(mortals_.empty());
    }

    void run(int operations, int check_every) {
        for (int i = 1; i <= operations && !testing::Test::HasFailure(); ++i) {
            operate();
            if (i % check_every == 0) {
                heap_.validate();
                check(i % (8 * check_every) == 0);
            }
        }
    }
    [[nodiscard]] std::uint64_t cycles() const { return heap_.stats().cycle_count; }
    [[nodiscard]] std::uint64_t set_aside() const { return heap_.stats().set_aside_count; }
    [[nodiscard]] int refused() const { return refused_; }

private:
    struct rooted {
        root<thing> in_heap;
        std::uint32_t number = 0;
    };
    struct weakened {
        weak_ref<thing> in_heap;
        std::uint32_t number = 0;
    };

    std::uint32_t any(std::size_t count) { return static_cast<std::uint32_t>(random_() % count); }

    void operate() {
        const std::uint32_t what = any(100);
        if (what < 32) {
            make();
        } else if (what < 58) {
            store();
        } else if (what < 66) {
            change_roots();
        } else if (what < 74) {
            use_weak();
        } else if (what < 86) {
            use_array();
        } else if (what < 99) {
            held_.clear();
            step();
        } else if (any(8) == 0) {
            held_.clear();
            heap_.collect();
        }
    }

    void step() {
        switch (any(4)) {
            case 0:
                heap_.step();
                break;
            case 1:
                heap_.step({.bytes = 1 + any(600)});
                break;
            case 2:
                heap_.step({.steps = 1 + any(3)});
                break;
            default:
                heap_.step({.microseconds = any(3)});
                break;
        }
    }

    /// Something that is reachable, or was since the last safe point. Nullptr: nothing is.
    thing* pick() {
        if (any(4) == 0 && !held_.empty()) { return held_[any(held_.size())]; }
        if (roots_.empty()) { return nullptr; }
        const rooted& from = roots_[any(roots_.size())];
        thing* at = from.in_heap.get();
        EXPECT_EQ(at->number, from.number);
        for (std::uint32_t steps = any(12); steps != 0; --steps) {
            const numbers& fields = fields_of(at);
            if (fields.empty()) { break; }
            const std::uint32_t i = any(fields.size());
            thing* const next = read(at, i);
            EXPECT_EQ(next == nullptr ? 0 : next->number, fields[i]);
            if (next == nullptr) { break; }
            at = next;
        }
        if (held_.size() < 8) { held_.push_back(at); }
        return at;
    }
    numbers& fields_of(thing* t) {
        const auto found = fields_.find(t->number);
        EXPECT_NE(found, fields_.end()) << "what is referred to was made, and is not gone";
        static numbers none;
        return found == fields_.end() ? none : found->second;
    }
    static thing* read(thing* from, std::uint32_t i) {
        switch (from->what) {
            case kind::leaf:
                return nullptr;
            case kind::triple:
                return static_cast<triple*>(from)->at[i];
            case kind::squad:
                return static_cast<squad*>(from)->members[i];
            case kind::mortal:
                return static_cast<mortal*>(from)->at;
            case kind::large:
                return static_cast<large*>(from)->at;
        }
        return nullptr;
    }
    static void write(thing* from, std::uint32_t i, thing* to) {
        switch (from->what) {
            case kind::leaf:
                break;
            case kind::triple:
                static_cast<triple*>(from)->at[i] = to;
                break;
            case kind::squad:
                static_cast<squad*>(from)->members.set(i, to);
                break;
            case kind::mortal:
                static_cast<mortal*>(from)->at = to;
                break;
            case kind::large:
                static_cast<large*>(from)->at = to;
                break;
        }
    }

    void make() {
        const std::uint32_t n = ++last_number_;
        thing* const first = any(2) == 0 ? pick() : nullptr;
        thing* made = nullptr;
        numbers fields;
        switch (any(40)) {
            case 0:
                made = heap_.make<large>(n);
                fields = {0};
                break;
            case 1:
            case 2:
            case 3:
                made = heap_.make<squad>(n);
                break;
            case 4:
            case 5:
            case 6:
            case 7:
                made = heap_.make<mortal>(n, mortals_, heap_);
                fields = {0};
                break;
            case 8:
            case 9:
            case 10:
                made = heap_.make<leaf>(thing{n, kind::leaf});
                break;
            case 11:
                throw_in_constructor(n);
                return;
            default:
                made = heap_.make<triple>(n, first);
                fields = {first == nullptr ? 0 : first->number, 0, 0};
                break;
        }
        if (made == nullptr) {
            ++refused_;
            if (!roots_.empty()) { drop_root(any(roots_.size())); }
            return;
        }
        fields_[n] = fields;
        thing* const parent = pick();
        if (parent == nullptr || fields_of(parent).empty() || any(30) == 0) {
            if (roots_.size() == 16) { drop_root(any(16)); }
            roots_.push_back({root<thing>{made}, n});
            return;
        }
        set(parent, made);
    }
    void throw_in_constructor([[maybe_unused]] std::uint32_t n) {
#if defined(__cpp_exceptions)
        EXPECT_THROW(
            {
                if (heap_.make<failing_to_begin>(heap_, n) == nullptr) { throw 1; }
            },
            int);
#endif
    }
    void set(thing* parent, thing* to) {
        numbers& fields = fields_of(parent);
        if (fields.empty()) { return; }
        const std::uint32_t i = any(fields.size());
        write(parent, i, to);
        fields[i] = to == nullptr ? 0 : to->number;
    }
    void store() {
        thing* const parent = pick();
        if (parent != nullptr) { set(parent, any(4) == 0 ? nullptr : pick()); }
    }

    void drop_root(std::uint32_t i) {
        if (any(2) == 0) { roots_[i] = roots_.back(); }  // by copy
        roots_[i] = std::move(roots_.back());
        roots_.pop_back();
    }
    void change_roots() {
        if (roots_.empty()) { return; }
        const std::uint32_t i = any(roots_.size());
        if (any(3) == 0 && roots_.size() > 2) {
            drop_root(i);
        } else if (thing* const other = pick(); other != nullptr) {
            roots_[i] = {root<thing>{other}, other->number};
        }
    }

    void use_weak() {
        if (weak_.size() < 32) {
            if (thing* const t = pick(); t != nullptr) {
                weak_.push_back({weak_ref{t}, t->number});
            }
            return;
        }
        weakened& w = weak_[any(weak_.size())];
        thing* const t = w.in_heap.get();
        if (t != nullptr) {
            EXPECT_EQ(t->number, w.number) << "a weak reference never leads to another object";
            if (held_.size() < 8) { held_.push_back(t); }
        }
        if (t == nullptr || any(4) == 0) {
            w = weak_.back();
            weak_.pop_back();
        }
    }

    void use_array() {
        thing* const t = pick();
        if (t == nullptr || t->what != kind::squad) { return; }
        ref_array<thing>& members = static_cast<squad*>(t)->members;
        numbers& fields = fields_of(t);
        ASSERT_EQ(members.size(), fields.size());
        const std::uint32_t what = any(10);
        if (what < 6 && fields.size() < 300) {
            thing* const to = pick();
            for (std::uint32_t i = any(4) == 0 ? 40 : 1; i != 0; --i) {
                if (!members.push_back(to)) { return; }
                fields.push_back(to == nullptr ? 0 : to->number);
            }
        } else if (fields.empty()) {
            return;
        } else if (what == 6) {
            members.pop_back();
            fields.pop_back();
        } else if (what == 7) {
            const std::uint32_t i = any(fields.size());
            members.erase(i);
            fields.erase(fields.begin() + i);
        } else if (what == 8) {
            const std::uint32_t i = any(fields.size());
            members.swap_erase(i);
            fields[i] = fields.back();
            fields.pop_back();
        } else if (any(5) == 0) {
            members.clear();
            fields.clear();
        }
    }

    /// Compares all that is reachable; `exactly`: after a collection, that nothing else is there.
    void check(bool exactly) {
        if (exactly) {
            held_.clear();
            heap_.collect();
            heap_.collect();  // what a before_collect of the first one made
        }
        std::unordered_map<std::uint32_t, thing*> reached;
        std::vector<thing*> open;
        const auto reach = [&](thing* t, std::uint32_t number) {
            ASSERT_NE(t, nullptr);
            ASSERT_EQ(t->number, number) << "what is reachable is never freed";
            if (reached.emplace(number, t).second) { open.push_back(t); }
        };
        std::size_t buffers = 0;
        for (const rooted& r : roots_) { reach(r.in_heap, r.number); }
        while (!open.empty() && !testing::Test::HasFatalFailure()) {
            thing* const t = open.back();
            open.pop_back();
            const numbers& fields = fields_of(t);
            for (std::uint32_t i = 0; i < fields.size(); ++i) {
                if (fields[i] != 0) { reach(read(t, i), fields[i]); }
            }
            if (t->what == kind::mortal) { EXPECT_EQ(mortals_[t->number], 1); }
            if (t->what == kind::squad) {
                buffers += static_cast<squad*>(t)->members.capacity() == 0 ? 0u : 1u;
            }
        }
        for (const weakened& w : weak_) {
            if (reached.contains(w.number)) {
                EXPECT_NE(w.in_heap.get(), nullptr) << "what is reachable is found weakly";
            } else if (exactly) {
                EXPECT_EQ(w.in_heap.get(), nullptr) << "what is gone is not";
            }
        }
        if (exactly) {
            EXPECT_EQ(heap_.stats().object_count, reached.size() + buffers)
                << "what is not reachable is gone";
            std::erase_if(fields_, [&](const auto& f) { return !reached.contains(f.first); });
        }
    }

    std::mt19937 random_;
    std::unordered_map<std::uint32_t, int> mortals_;  // 1: lives, 2: before_collect was called
    std::unordered_map<std::uint32_t, numbers> fields_;
    collected_heap heap_;
    std::vector<rooted> roots_;
    std::vector<weakened> weak_;
    std::vector<thing*> held_;  // raw pointers, since the last safe point
    std::uint32_t last_number_ = 0;
    int refused_ = 0;
};

constexpr std::uint32_t seed = 20261122;
#if defined(__OPTIMIZE__)
constexpr bool is_optimized = !cairn::poison_is_queryable;
#else
constexpr bool is_optimized = false;
#endif
constexpr int operations = is_optimized ? 1'000'000 : 100'000;

TEST(collected_heap_model_test, what_is_reachable_lives_and_the_rest_is_freed) {
    std::printf("seed %u\n", seed);
    model m{seed, 512 * 1024, {}};
    m.run(operations, 500);
    EXPECT_GT(m.cycles(), 10u);
}

TEST(collected_heap_model_test, so_it_is_when_memory_runs_out_again_and_again) {
    model m{seed + 1, 144 * 1024, {.verify = true}};
    m.run(operations / 4, 500);
    EXPECT_GT(m.refused(), 10);
}

TEST(collected_heap_model_test, so_it_is_with_a_mark_stack_of_two) {
    model m{seed + 2, 512 * 1024, {.mark_stack_count = 2, .verify = true}};
    m.run(operations / 4, 500);
    EXPECT_GT(m.set_aside(), 100u);
}

TEST(collected_heap_model_test, so_it_is_when_each_step_collects_all) {
    model m{seed + 3, 256 * 1024, {.stress = true, .verify = true}};
    m.run(operations / 8, 250);
}

}  // namespace
