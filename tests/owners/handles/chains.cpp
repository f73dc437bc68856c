// Sentences of cairn/owners/unique_handle.hpp and cairn/owners/shared_handle.hpp about objects that
// own each other in a row.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/shared_handle.hpp>
#include <gtest/gtest.h>

#include <utility>

#include "support/small_stack.hpp"

using namespace cairn;

namespace {
/// An object that holds owners of others of its store: its own type is incomplete there.
template <template <class> class Map, class Count>
struct chained {
    using store = shared_store<Map<chained>, Count>;
    static inline int alive = 0;
    explicit chained(int n, shared_handle<store> behind = {}) noexcept
        : number{n}, next{std::move(behind)} {
        ++alive;
    }
    chained(chained&& other) noexcept : number{other.number}, next{std::move(other.next)} {
        ++alive;
    }
    chained& operator=(chained&&) noexcept = default;
    ~chained() { --alive; }
    int number;
    shared_handle<store> next;
};
template <class T>
using packed = slot_map<T>;
template <class T>
using stable = stable_slot_map<T>;

template <class Chained>
class chains_of : public testing::Test {};
using chained_types = testing::Types<chained<packed, plain_count>, chained<stable, plain_count>,
                                     chained<packed, atomic_count>, chained<stable, atomic_count>>;
TYPED_TEST_SUITE(chains_of, chained_types);
}  // namespace

TYPED_TEST(chains_of, a_million_shared_owners_in_a_row_end_without_recursion) {
    on_a_small_stack([] {
        typename TypeParam::store store;
        shared_handle<typename TypeParam::store> first;
        for (int i = 0; i < long_chain; ++i) { first = store.make(i, std::move(first)); }
        const auto second = first->next;
        first.reset();
        (void)store.collect();
        EXPECT_EQ(TypeParam::alive, long_chain - 1) << "the second has another owner";
        EXPECT_EQ(second->number, long_chain - 2);
    });
    EXPECT_EQ(TypeParam::alive, 0);
}

TYPED_TEST(chains_of, collect_spreads_them_over_frames) {
    typename TypeParam::store store{system_memory(), destroys::in_collect};
    shared_handle<typename TypeParam::store> first;
    for (int i = 0; i < 100; ++i) { first = store.make(i, std::move(first)); }
    first.reset();
    EXPECT_EQ(TypeParam::alive, 100);
    for (int frame = 1; frame <= 9; ++frame) {
        const destruction_report r = store.collect({.steps = 11});
        EXPECT_EQ(r.objects, 11u);
        EXPECT_FALSE(r.settled);
        EXPECT_EQ(TypeParam::alive, 100 - 11 * frame);
    }
    EXPECT_TRUE(store.collect(work_limit{.steps = 1}).settled);
    EXPECT_EQ(TypeParam::alive, 0);
}
