// Sentences of cairn/movable/relocation.hpp about types: how the objects of each one move.
#include <cairn/movable/relocatable.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

#include "movable/relocation/types.hpp"

using namespace relocation_tests;

namespace {

using namespace cairn::literals;
using cairn::frame_ptr;
using cairn::relocatable;
using cairn::relocatable_heap;
using cairn::detail::relocation_of;

struct moves_without_noexcept {
    explicit moves_without_noexcept(std::string t) : text{std::move(t)} {}
    moves_without_noexcept(moves_without_noexcept&& from) noexcept(false)
        : text{std::move(from.text)} {}
    std::string text;
};
struct forgets_noexcept {
    void on_relocated(forgets_noexcept*) {}
};
struct forgets_it_too {
    static void relocate(forgets_it_too*, forgets_it_too*) {}
};

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

// As std::list in Microsoft's library.
TEST(relocation_test, a_move_constructor_need_not_say_noexcept) {
    relocatable_heap heap{4_KiB};
    const auto m = make_and_move<moves_without_noexcept>(heap, std::string(100, 'x'));
    EXPECT_EQ(m->text, std::string(100, 'x'));
    heap.destroy(m);
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
