// collected_heap::compact(): objects move together, and everything that led to them still does.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/traced.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using cairn::collected_heap;
using cairn::outer_ref;
using cairn::ref;
using cairn::ref_array;
using cairn::refers_to;
using cairn::root;
using cairn::traced;
using cairn::weak_ref;

struct unit {
    std::uint32_t id = 0;
    ref<unit> next, other;
    ref_array<unit> friends;
    explicit unit(std::uint32_t i = 0) : id{i} {}
    using references = refers_to<&unit::next, &unit::other, &unit::friends>;
};
struct header {
    std::uint64_t words[6] = {};
};
struct named {
    ref<unit> owner;
    std::uint32_t number = 0;
    using references = refers_to<&named::owner>;
};
/// Referred to by the name of a base behind its beginning.
struct ship : header, named {
    using references = refers_to<>::and_base<named>;
};
struct fleet {
    traced<cairn::packed_array<outer_ref<unit>>> units;
    ref<named> flagship;
    using references = refers_to<&fleet::units, &fleet::flagship>;
};
struct stays {
    std::uint64_t value = 0;
    ref<stays> next;
    using references = refers_to<&stays::next>;
};
struct plain {
    std::uint64_t value[3];
};

}  // namespace

template <>
inline constexpr bool cairn::enable_trivial_relocation<unit> = true;
template <>
inline constexpr bool cairn::enable_trivial_relocation<ship> = true;

namespace {

constexpr std::size_t chunk = cairn::detail::chunk_size;

struct dice {
    std::uint32_t state = 20261122;
    std::size_t below(std::size_t n) {
        state = state * 1664525 + 1013904223;
        return static_cast<std::size_t>(state >> 8) % n;
    }
};

template <class T>
std::vector<root<T>> many(collected_heap& heap, std::size_t count) {
    std::vector<root<T>> all;
    for (std::size_t i = 0; i < count; ++i) { all.emplace_back(heap.make<T>()); }
    return all;
}
/// Keeps each `step`th.
template <class T>
void thin_out(std::vector<root<T>>& all, std::size_t step) {
    std::vector<root<T>> kept;
    for (std::size_t i = 0; i < all.size(); i += step) { kept.push_back(std::move(all[i])); }
    all = std::move(kept);
}

TEST(collected_heap_compact_test, chunks_that_become_empty_are_free_for_other_types) {
    collected_heap heap{1 << 20};
    auto units = many<unit>(heap, 30'000);
    auto plains = many<plain>(heap, 100);
    thin_out(units, 50);
    heap.collect();
    EXPECT_LT(heap.stats().free_chunk_count, 8u) << "each chunk has a unit that lives";
    const cairn::collection_report report = heap.compact();
    EXPECT_GT(report.moved_count, 500u);
    EXPECT_LE(report.moved_count, units.size());
    heap.validate();
    const auto stats = heap.stats();
    EXPECT_EQ(stats.object_count, units.size() + plains.size());
    EXPECT_EQ(stats.capacity - stats.free_chunk_count * chunk, 2 * chunk + chunk)
        << "600 units of 32 bytes in two chunks, 100 others in one";
    std::size_t more = 0;
    while (heap.make<plain>() != nullptr) { ++more; }
    EXPECT_GT(more * 32, (1u << 20) - 5 * chunk);
}

TEST(collected_heap_compact_test, less_than_a_chunk_of_each_type_is_not_live) {
    collected_heap heap{4 << 20};
    dice any;
    auto units = many<unit>(heap, 20'000);
    auto ships = many<ship>(heap, 9'000);
    auto plains = many<plain>(heap, 20'000);
    for (int round = 0; round < 6; ++round) {
        for (auto* const all : {&units}) {
            for (auto& u : *all) {
                if (any.below(3) == 0) { u = nullptr; }
            }
        }
        for (auto& s : ships) {
            if (any.below(2) == 0) { s = nullptr; }
        }
        for (auto& p : plains) {
            if (any.below(4) == 0) { p = nullptr; }
        }
        heap.compact();
        heap.validate();
        const auto stats = heap.stats();
        const std::size_t taken = stats.capacity - stats.free_chunk_count * chunk;
        EXPECT_LE(taken, stats.used_size + 3 * chunk + taken / 128) << "and what slots leave over";
    }
}

TEST(collected_heap_compact_test, a_reference_to_a_base_follows_its_object) {
    collected_heap heap{1 << 20};
    std::vector<root<named>> all;
    for (std::uint32_t i = 0; i < 5'000; ++i) {
        ship* const s = heap.make<ship>();
        ASSERT_NE(s, nullptr);
        s->number = i;
        all.emplace_back(s);
    }
    thin_out(all, 50);
    const root<fleet> f = heap.make<fleet>();
    f->flagship = all.back().get();
    EXPECT_GT(heap.compact().moved_count, 50u);
    for (std::uint32_t i = 0; i < all.size(); ++i) { EXPECT_EQ(all[i]->number, 50 * i); }
    EXPECT_EQ(f->flagship.get(), all.back().get());
    heap.validate();
}

TEST(collected_heap_compact_test, a_weak_reference_finds_what_stays_where_it_is) {
    collected_heap heap{1 << 20};
    auto units = many<unit>(heap, 20'000);
    unit* const where = units[19'950].get();
    const weak_ref<unit> weak{where};
    thin_out(units, 50);
    heap.compact();
    ASSERT_EQ(weak.get(), where) << "its chunk has a weak reference";
    EXPECT_EQ(units[19'950 / 50].get(), where);
    thin_out(units, 10'000);
    heap.compact();
    EXPECT_EQ(weak.get(), nullptr);
    heap.validate();
}

TEST(collected_heap_compact_test, what_is_not_said_to_be_movable_stays) {
    collected_heap heap{1 << 20};
    auto all = many<stays>(heap, 10'000);
    thin_out(all, 100);
    std::vector<const stays*> places;
    for (const auto& s : all) { places.push_back(s.get()); }
    EXPECT_EQ(heap.compact().moved_count, 0u);
    for (std::size_t i = 0; i < all.size(); ++i) { EXPECT_EQ(all[i].get(), places[i]); }
}

TEST(collected_heap_compact_test, an_empty_heap_has_nothing_to_move) {
    collected_heap heap{1 << 20};
    EXPECT_EQ(heap.compact().moved_count, 0u);
    static_cast<void>(heap.make<unit>());
    EXPECT_EQ(heap.compact().moved_count, 0u);
    EXPECT_EQ(heap.stats().free_chunk_count, (1u << 20) / chunk) << "the open chunk is empty, too";
    collected_heap none{1000};
    EXPECT_EQ(none.compact().moved_count, 0u);
}

// ---------------------------------------------------------------- a model

/// What each unit should refer to, by ids; 0 is null.
struct expected {
    std::uint32_t next = 0, other = 0;
    std::vector<std::uint32_t> friends;
};

class world {
public:
    explicit world(const cairn::collected_heap_options& how) : heap_{3 << 20, how} {
        fleet_ = heap_.make<fleet>();
        root<ship> s = heap_.make<ship>();
        s->number = 77;
        fleet_->flagship = s.get();
        base_ = s.get();
    }
    void change() {
        switch (any_.below(10)) {
            case 0:
            case 1:
            case 2:
            case 3:
                add();
                break;
            case 4:
            case 5:
                link();
                break;
            case 6:
                befriend();
                break;
            case 7:
                enlist();
                break;
            default:
                drop();
                break;
        }
    }
    void compact() {
        moved_count_ += heap_.compact().moved_count;
        heap_.validate();
        check();
    }
    void step() { heap_.step(); }
    [[nodiscard]] std::size_t moved_count() const { return moved_count_; }

private:
    void add() {
        unit* const u = heap_.make<unit>(++last_id_);
        ASSERT_NE(u, nullptr);
        model_[u->id] = {};
        if (roots_.size() < 300) {
            roots_.emplace_back(u);
        } else {
            roots_[any_.below(300)] = u;
        }
    }
    unit* any() { return roots_.empty() ? nullptr : roots_[any_.below(roots_.size())].get(); }
    static std::uint32_t id_of(const unit* u) { return u == nullptr ? 0 : u->id; }
    void link() {
        unit* const a = any();
        unit* const b = any();
        if (a == nullptr || b == nullptr) { return; }
        (any_.below(2) == 0 ? a->next : a->other) = b;
        model_[a->id].next = id_of(a->next);
        model_[a->id].other = id_of(a->other);
    }
    void befriend() {
        unit* const a = any();
        if (a == nullptr) { return; }
        if (a->friends.size() > 40) {
            a->friends.clear();
            model_[a->id].friends.clear();
        }
        unit* const b = any();
        ASSERT_TRUE(a->friends.push_back(b));
        model_[a->id].friends.push_back(id_of(b));
    }
    void enlist() {
        unit* const u = any();
        if (u == nullptr) { return; }
        if (enlisted_.size() > 50) {
            fleet_->units.edit().clear();
            enlisted_.clear();
        }
        ASSERT_NE(fleet_->units.edit().emplace(u), nullptr);
        enlisted_.push_back(u->id);
        static_cast<ship*>(base_.get())->owner = u;
        owner_ = u->id;
    }
    void drop() {
        if (roots_.size() < 20) { return; }
        roots_[any_.below(roots_.size())] = std::move(roots_.back());
        roots_.pop_back();
    }
    void check() {
        std::map<std::uint32_t, unit*> seen;
        for (const auto& r : roots_) { visit(r.get(), seen); }
        ASSERT_EQ(fleet_->units->size(), enlisted_.size());
        std::size_t i = 0;
        for (const outer_ref<unit>& u : *fleet_->units) { ASSERT_EQ(u->id, enlisted_[i++]); }
        ASSERT_EQ(fleet_->flagship.get(), base_.get());
        ASSERT_EQ(base_->number, 77u);
        ASSERT_EQ(id_of(base_->owner), owner_);
    }
    void visit(unit* first, std::map<std::uint32_t, unit*>& seen) {
        std::vector<unit*> open{first};
        while (!open.empty()) {
            unit* const u = open.back();
            open.pop_back();
            if (u == nullptr || !seen.emplace(u->id, u).second) { continue; }
            const expected& e = model_[u->id];
            ASSERT_EQ(id_of(u->next), e.next);
            ASSERT_EQ(id_of(u->other), e.other);
            ASSERT_EQ(u->friends.size(), e.friends.size());
            for (std::size_t i = 0; i < e.friends.size(); ++i) {
                ASSERT_EQ(id_of(u->friends[i]), e.friends[i]);
                open.push_back(u->friends[i]);
            }
            open.push_back(u->next);
            open.push_back(u->other);
        }
    }

    collected_heap heap_;
    dice any_;
    root<fleet> fleet_;
    root<named> base_;
    std::vector<root<unit>> roots_;
    std::map<std::uint32_t, expected> model_;
    std::vector<std::uint32_t> enlisted_;
    std::uint32_t owner_ = 0;
    std::uint32_t last_id_ = 0;
    std::size_t moved_count_ = 0;
};

void play(const cairn::collected_heap_options& how, int changes, int steps_every) {
    world w{how};
    for (int i = 1; i <= changes; ++i) {
        w.change();
        if (::testing::Test::HasFatalFailure()) { return; }
        if (i % steps_every == 0) { w.step(); }
        if (i % 499 == 0) { w.compact(); }
    }
    EXPECT_GT(w.moved_count(), 100u);
}

TEST(collected_heap_compact_test, every_reference_leads_where_it_led_before) {
    play({}, 12'000, 50);
}
TEST(collected_heap_compact_test, the_same_with_all_debug_modes) {
    play({.stress = true, .verify = true}, 5'000, 100);
}

#if CAIRN_ASSERTS

collected_heap* compacted = nullptr;
struct compacts_at_its_end {
    ~compacts_at_its_end() { compacted->compact(); }
    using references = refers_to<>;
};

TEST(collected_heap_compact_test, in_a_destructor_it_is_named) {
    EXPECT_TRUE(cairn::expect_broken_promise([] {
                    collected_heap heap{1 << 20};
                    compacted = &heap;
                    static_cast<void>(heap.make<compacts_at_its_end>());
                    heap.collect();
                }).says("begins no step of its heap"));
}

#endif

}  // namespace
