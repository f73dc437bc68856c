// How objects move: relocation_of<T>, relocatable<T>, frame_ptr<T>, pinned<T>.
#include <cairn/debug/expect_broken_promise.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "support/test_upstream.hpp"

namespace {

using namespace cairn::literals;
using cairn::compaction_budget;
using cairn::frame_ptr;
using cairn::pinned;
using cairn::relocatable;
using cairn::relocatable_heap;
using cairn::relocation_of;

constexpr auto everything = compaction_budget::unlimited();

struct plain {
    int a, b;
};
struct marked {  // not trivially copyable, but its bytes may move
    explicit marked(int v) : value{v} {}
    marked(const marked&) = delete;
    ~marked() { ++ended; }
    int value;
    static inline int ended = 0;
};
struct moved {
    explicit moved(std::string t) noexcept : text{std::move(t)} {}
    std::string text;  // with libstdc++, short ones point into themselves
};
struct hears {
    explicit hears(int v) : self{this}, value{v} {}
    hears* self;
    int value;
    static inline const hears* left = nullptr;
    void on_relocated(hears* from) noexcept {
        EXPECT_EQ(self, from);
        self = this;
        left = from;
    }
};
struct does_it_itself {
    explicit does_it_itself(int v) noexcept : value{v} {}
    does_it_itself(does_it_itself&&) = delete;
    static void relocate(does_it_itself* to, does_it_itself* from) noexcept {
        ::new (static_cast<void*>(to)) does_it_itself{from->value + 100};
    }
    int value;
};

struct forgets_noexcept {
    void on_relocated(forgets_noexcept*) {}
};
struct forgets_it_too {
    static void relocate(forgets_it_too*, forgets_it_too*) {}
};

}  // namespace

template <>
inline constexpr bool cairn::enable_trivial_relocation<marked> = true;

namespace {

static_assert(cairn::is_trivially_relocatable<plain>);
static_assert(cairn::is_trivially_relocatable<marked>);
static_assert(!cairn::is_trivially_relocatable<moved>);
static_assert(sizeof(relocatable<plain>) == 16);
static_assert(std::is_trivially_copyable_v<relocatable<plain>>);
static_assert(cairn::asserts_enabled || sizeof(frame_ptr<plain>) == sizeof(void*));

/// Frees something below the object and compacts.
template <class T, class... Args>
relocatable<T> make_and_move(relocatable_heap& heap, Args&&... args) {
    const auto below = heap.allocate(200);
    const relocatable<T> object = heap.make<T>(std::forward<Args>(args)...);
    EXPECT_TRUE(object);
    const T* const before = object.get();
    heap.deallocate(below);
    EXPECT_GE(heap.compact(everything).moves, 1u);
    EXPECT_NE(object.get(), before);
    return object;
}

TEST(relocation_test, a_type_decides_how_it_moves) {
    EXPECT_EQ(relocation_of<plain>.relocate, nullptr);
    EXPECT_EQ(relocation_of<plain>.on_relocated, nullptr);
    EXPECT_EQ(relocation_of<marked>.relocate, nullptr);
    EXPECT_NE(relocation_of<moved>.relocate, nullptr);
    EXPECT_EQ(relocation_of<hears>.relocate, nullptr);
    EXPECT_NE(relocation_of<hears>.on_relocated, nullptr);
    EXPECT_NE(relocation_of<does_it_itself>.relocate, nullptr);
}

TEST(relocation_test, a_hook_that_is_not_noexcept_is_seen_and_refused) {
    EXPECT_TRUE(cairn::detail::hears_of_relocation<forgets_noexcept>);
    EXPECT_TRUE(cairn::detail::relocates_itself<forgets_it_too>);
    EXPECT_FALSE(cairn::detail::hooks_are_noexcept<forgets_noexcept>);
    EXPECT_FALSE(cairn::detail::hooks_are_noexcept<forgets_it_too>);
    EXPECT_TRUE(cairn::detail::hooks_are_noexcept<hears>);
    EXPECT_TRUE(cairn::detail::hooks_are_noexcept<does_it_itself>);
    EXPECT_TRUE(cairn::detail::hooks_are_noexcept<plain>);
}

TEST(relocation_test, trivial_objects_move_by_their_bytes) {
    relocatable_heap heap{4_KiB};
    const auto p = make_and_move<plain>(heap, 3, 4);
    EXPECT_EQ(p->a, 3);
    EXPECT_EQ((*p).b, 4);
    heap.destroy(p);
    EXPECT_FALSE(p);
    EXPECT_EQ(p.get(), nullptr);
}

TEST(relocation_test, marked_objects_move_by_their_bytes_and_end_once) {
    relocatable_heap heap{4_KiB};
    marked::ended = 0;
    const auto m = make_and_move<marked>(heap, 5);
    EXPECT_EQ(m->value, 5);
    EXPECT_EQ(marked::ended, 0);
    heap.destroy(m);
    EXPECT_EQ(marked::ended, 1);
}

TEST(relocation_test, others_move_by_their_move_constructor) {
    relocatable_heap heap{4_KiB};
    const auto m = make_and_move<moved>(heap, std::string{"short"});
    EXPECT_EQ(m->text, "short");
    const auto n = make_and_move<moved>(heap, std::string(100, 'x'));
    EXPECT_EQ(n->text, std::string(100, 'x'));
    heap.destroy(m);
    heap.destroy(n);
}

TEST(relocation_test, an_object_that_points_to_itself_is_told) {
    relocatable_heap heap{4_KiB};
    const auto h = make_and_move<hears>(heap, 6);
    EXPECT_EQ(h->self, h.get());
    EXPECT_NE(hears::left, h.get());
    heap.destroy(h);
}

TEST(relocation_test, a_type_may_relocate_itself) {
    relocatable_heap heap{4_KiB};
    const auto d = make_and_move<does_it_itself>(heap, 7);
    EXPECT_EQ(d->value, 107);
    heap.destroy(d);
}

struct big {
    big() noexcept { std::memset(bytes, 3, sizeof(bytes)); }
    big(big&& other) noexcept {
        const auto distance =
            reinterpret_cast<std::intptr_t>(&other) - reinterpret_cast<std::intptr_t>(this);
        EXPECT_GE(distance < 0 ? -distance : distance, static_cast<std::intptr_t>(sizeof(big)))
            << "source and destination do not overlap";
        std::memcpy(bytes, other.bytes, sizeof(bytes));
    }
    unsigned char bytes[1000];
};

TEST(relocation_test, what_cannot_slide_over_itself_goes_through_another_hole) {
    relocatable_heap heap{16 + 1008 + 2000 + 1008};  // the hole at the end is just large enough
    const auto below = heap.allocate(16);
    const auto b = heap.make<big>();
    const auto above = heap.allocate(2000);  // its hole is the one to go through
    heap.deallocate(below);
    EXPECT_TRUE(heap.compact(everything).one_piece);
    EXPECT_EQ(b->bytes[999], 3);
    EXPECT_TRUE(heap.contains(above));
    heap.validate();
    heap.destroy(b);
}

TEST(relocation_test, what_cannot_slide_and_finds_no_hole_stays) {
    relocatable_heap heap{1024 + 32};
    const auto below = heap.allocate(16);
    const auto b = heap.make<big>();
    const big* const before = b.get();
    heap.deallocate(below);
    const auto report = heap.compact(everything);
    EXPECT_TRUE(report.settled);
    EXPECT_EQ(b.get(), before);
    heap.destroy(b);
}

TEST(relocation_test, make_gives_null_when_exhausted) {
    relocatable_heap heap{512};
    const auto b = heap.make<big>();
    EXPECT_FALSE(b);
    EXPECT_EQ(b.get(), nullptr);
    EXPECT_EQ(heap.free_size(), heap.capacity());
}

#if defined(__cpp_exceptions)
TEST(relocation_test, a_constructor_that_throws_leaves_nothing_behind) {
    struct throws {
        throws() { throw 1; }
        throws(throws&&) noexcept {}
    };
    relocatable_heap heap{4_KiB};
    EXPECT_THROW((void)heap.make<throws>(), int);
    EXPECT_EQ(heap.object_count(), 0u);
    EXPECT_EQ(heap.free_size(), heap.capacity());
}
#endif

TEST(relocation_test, a_handle_gets_its_type_back) {
    relocatable_heap heap{4_KiB};
    const auto p = heap.make<plain>(1, 2);
    const relocatable<plain> again = heap.as<plain>(p.handle());
    EXPECT_EQ(again, p);
    EXPECT_EQ(again->b, 2);
    EXPECT_EQ(again.heap(), &heap);
    const relocatable<plain> nothing;
    EXPECT_FALSE(nothing);
    EXPECT_FALSE(nothing.pin());
}

TEST(relocation_test, a_pinned_object_is_a_pointer_that_stays_right) {
    relocatable_heap heap{4_KiB};
    const auto below = heap.allocate(200);
    const auto p = heap.make<plain>(1, 2);
    pinned<plain> still = p.pin();
    heap.deallocate(below);
    heap.compact(everything);
    EXPECT_EQ(still.get(), p.get());
    EXPECT_EQ(still->a, 1);
    EXPECT_EQ((*still).b, 2);
    still.reset();
    EXPECT_FALSE(still);
    EXPECT_TRUE(heap.compact(everything).one_piece);
    EXPECT_FALSE(heap.is_pinned(p.handle()));
}

TEST(relocation_test, a_view_is_a_pointer_for_one_epoch) {
    relocatable_heap heap{4_KiB};
    const auto p = heap.make<plain>(1, 2);
    const frame_ptr<plain> v = p.frame_ptr();
    EXPECT_EQ(v.get(), p.get());
    EXPECT_EQ(v->a + (*v).b, 3);
    EXPECT_TRUE(v);
    EXPECT_FALSE(frame_ptr<plain>{});
    const std::uint32_t epoch = heap.epoch();
    heap.compact({});
    EXPECT_EQ(heap.epoch(), epoch + 1) << "every compact() is a safe point, moves or not";
}

TEST(relocation_death_test, misuse_is_named) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    relocatable_heap other{4_KiB};
    const auto p = heap.make<plain>(1, 2);
    const frame_ptr<plain> v = p.frame_ptr();
    heap.compact({});
    EXPECT_DEATH((void)v->a, "a frame pointer is used before the next safe point");
    const auto late_view = cairn::expect_broken_promise([&] { (void)v->a; });
    EXPECT_EQ(late_view.kind(), cairn::misuse_kind::outlived) << late_view;
    EXPECT_EQ(late_view.object(), &heap);
    EXPECT_EQ(late_view.value("epoch"), late_view.value("epoch of the pointer") + 1);
    {
        const auto brief = heap.make<plain>(3, 4);
        const frame_ptr<plain> late = brief.frame_ptr();
        heap.destroy(brief);
        const auto next = heap.make<plain>(5, 6);  // in its place
        EXPECT_DEATH((void)late->a, "a frame pointer is used while its object lives");
        heap.destroy(next);
    }
    EXPECT_DEATH(other.destroy(p), "an object is destroyed by the heap that made it");
    {
        const pinned<plain> still = p.pin();
        EXPECT_DEATH(heap.destroy(p), "an object is unpinned before it is freed");
    }
    heap.destroy(p);
    EXPECT_DEATH((void)p->a, "an object is used while it lives");
    const auto gone = cairn::expect_broken_promise([&] { (void)p->a; });
    EXPECT_EQ(gone.kind(), cairn::misuse_kind::stale_handle) << gone;
    EXPECT_EQ(gone.value("slot"), p.handle().index());
    EXPECT_DEATH(heap.destroy(p), "an object is destroyed once");
    EXPECT_DEATH((void)p.frame_ptr(), "an object is used while it lives");
}

struct anchored {
    anchored* self = this;
    anchored() = default;
    anchored(const anchored&) = delete;
    anchored& operator=(const anchored&) = delete;
};

TEST(relocation, an_object_that_can_neither_be_copied_nor_moved_is_not_moved_as_bytes) {
    EXPECT_TRUE(std::is_trivially_copyable_v<anchored>) << "and yet it must stay where it is";
    EXPECT_FALSE(cairn::is_trivially_relocatable<anchored>);
    EXPECT_TRUE(cairn::is_trivially_relocatable<int>);
    EXPECT_TRUE(cairn::is_trivially_relocatable<marked>) << "its author says so";
}

}  // namespace

// ------------------------------------------------------------------------------------------------
// the planner

namespace {

/// Objects count - 1 ... 0 from the top down. None of them fits into a hole; what is asked is written
/// down.
struct full_map {
    static constexpr std::uint32_t none = cairn::detail::compaction_planner::none;
    std::uint32_t count;
    mutable std::vector<std::uint32_t> asked{};

    [[nodiscard]] std::uint32_t top() const noexcept { return count == 0 ? none : count - 1; }
    [[nodiscard]] std::uint32_t below(std::uint32_t at) const noexcept {
        return at == 0 ? none : at - 1;
    }
    [[nodiscard]] std::uint32_t first_gap() const noexcept { return none; }
    [[nodiscard]] std::uint32_t gap_after(std::uint32_t) const noexcept { return none; }
    [[nodiscard]] std::uint32_t gap_after_slide(std::uint32_t, int) const noexcept { return none; }
    cairn::detail::verdict evacuation(std::uint32_t at, std::uint8_t, int&) const noexcept {
        asked.push_back(at);
        return cairn::detail::verdict::no;
    }
    cairn::detail::verdict slide(std::uint32_t, std::uint8_t, int&) const noexcept {
        return cairn::detail::verdict::no;
    }
};

using planner = cairn::detail::compaction_planner;

std::size_t asked_in_a_round(planner& p, full_map& map) {
    map.asked.clear();
    int move = 0;
    std::size_t steps = 1000;
    EXPECT_EQ(p.next(map, steps, move), planner::outcome::round_over);
    return map.asked.size();
}

TEST(compaction_planner, gives_up_after_sixteen_misfits_and_is_patient_in_the_next_round) {
    planner p;
    full_map map{100};
    EXPECT_EQ(asked_in_a_round(p, map), 17u);
    EXPECT_FALSE(p.is_settled());
    EXPECT_EQ(asked_in_a_round(p, map), 100u);
    EXPECT_TRUE(p.is_settled());
    EXPECT_EQ(asked_in_a_round(p, map), 17u);
}

TEST(compaction_planner, a_round_that_looked_at_all_is_not_followed_by_a_patient_one) {
    planner p;
    full_map map{5};
    EXPECT_EQ(asked_in_a_round(p, map), 5u);
    EXPECT_TRUE(p.is_settled());
    map.count = 100;
    p.disturb();
    EXPECT_EQ(asked_in_a_round(p, map), 17u);
}

TEST(compaction_planner, goes_on_at_the_place_whatever_happens_to_others) {
    const auto next_asked = [](auto change) {
        planner p;
        full_map map{100};
        int move = 0;
        std::size_t steps = 3;
        EXPECT_EQ(p.next(map, steps, move), planner::outcome::out_of_steps);  // 99, 98, 97
        change(p);
        steps = 1;
        EXPECT_EQ(p.next(map, steps, move), planner::outcome::out_of_steps);
        return map.asked.back();
    };
    EXPECT_EQ(next_asked([](planner&) {}), 96u);
    EXPECT_EQ(next_asked([](planner& p) { p.forget(50, 49, 51); }), 96u);
    EXPECT_EQ(next_asked([](planner& p) { p.forget(96, 95, 97); }), 95u);
    EXPECT_EQ(next_asked([](planner& p) { p.exchange(50, 60); }), 96u);
    EXPECT_EQ(next_asked([](planner& p) { p.exchange(96, 60); }), 60u);
    EXPECT_EQ(next_asked([](planner& p) { p.exchange(60, 96); }), 60u);
    EXPECT_EQ(next_asked([](planner& p) { p.rename(50, 60); }), 96u);
    EXPECT_EQ(next_asked([](planner& p) { p.rename(96, 60); }), 60u);
}

}  // namespace

TEST(relocation_test, the_names_of_objects_are_keys_of_hash_tables) {
    relocatable_heap heap{64_KiB};
    std::unordered_map<relocatable<plain>, int> sum;
    const auto a = heap.make<plain>(1, 2);
    const auto b = heap.make<plain>(3, 4);
    sum[a] = 10;
    sum[b] = 20;
    sum[{}] = 30;
    heap.destroy(a);
    (void)heap.compact(everything);
    EXPECT_EQ(sum.size(), 3u);
    EXPECT_EQ(sum[a], 10);
    EXPECT_EQ((sum[{heap, b.handle()}]), 20);
    heap.destroy(b);
}
