// Sentences of cairn/owners/unique_handle.hpp and shared_handle.hpp.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <cairn/owners/shared_handle.hpp>
#include <cairn/owners/unique_handle.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/small_stack.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

struct door {
    static inline int alive = 0;
    explicit door(int n) : number{n} { ++alive; }
    door(door&& other) noexcept : number{other.number} { ++alive; }
    door& operator=(door&&) = default;
    ~door() { --alive; }
    int number;
};

template <class K = value>
struct gate {
    field<K, int> number;
    field<K, float> width = 2;
};

template <class Map>
class owners_in : public testing::Test {};
using maps = testing::Types<slot_map<door>, stable_slot_map<door>>;
TYPED_TEST_SUITE(owners_in, maps);

}  // namespace

TYPED_TEST(owners_in, a_unique_handle_erases_its_object_once) {
    TypeParam map;
    typename TypeParam::handle_type weak;
    {
        unique_handle a{map, map.emplace(1)};
        weak = a.handle();
        EXPECT_TRUE(a);
        EXPECT_EQ(a->number, 1);
        unique_handle<TypeParam> b = std::move(a);
        EXPECT_FALSE(a);
        EXPECT_EQ((*b).number, 1);
        EXPECT_TRUE(map.contains(weak));
    }
    EXPECT_FALSE(map.contains(weak));
    EXPECT_EQ(door::alive, 0);
    unique_handle c{map, map.emplace(2)};
    EXPECT_TRUE(map.erase(c.handle())) << "erased by somebody else: the end does nothing";
    EXPECT_FALSE(c);
    c.reset();
    unique_handle d{map, map.emplace(3)};
    const auto freed = d.release();
    EXPECT_TRUE(map.contains(freed));
    EXPECT_TRUE(map.erase(freed));
}

TYPED_TEST(owners_in, the_last_shared_handle_erases_and_the_handle_is_the_weak_one) {
    shared_store<TypeParam> store;
    typename TypeParam::handle_type weak;
    {
        auto a = store.make(7);
        weak = a.handle();
        EXPECT_EQ(a.use_count(), 1u);
        {
            auto b = a;
            EXPECT_EQ(a.use_count(), 2u);
            auto c = store.lock(weak);
            EXPECT_EQ(c->number, 7);
            EXPECT_EQ(store.use_count(weak), 3u);
            b = std::move(c);
            EXPECT_EQ(store.use_count(weak), 2u);
            EXPECT_TRUE(a == b);
        }
        EXPECT_EQ(a.use_count(), 1u);
        EXPECT_EQ(door::alive, 1);
    }
    EXPECT_EQ(door::alive, 0);
    EXPECT_FALSE(store.lock(weak));
    EXPECT_EQ(store.use_count(weak), 0u);
    auto other = store.make(8);
    EXPECT_FALSE(store.lock(weak)) << "the slot is used again, and the old handle does not match";
}

TEST(owners, rows_of_a_table_have_owners_too) {
    shared_store<slot_table<gate<>, soa>> store;
    auto a = store.make(5);
    EXPECT_EQ(a->number, 5);
    EXPECT_EQ(a->width, 2.0f);
    (*a).width = 3;
    auto b = a;
    EXPECT_EQ(b->width, 3.0f);
    slot_table<gate<>, split_soa> map;
    unique_handle u{map, map.emplace(9)};
    EXPECT_EQ(u->number, 9);
}

TEST(owners, atomic_counts_wait_for_collect) {
    shared_store<slot_map<door>, atomic_count> store;
    auto a = store.make(1);
    const auto weak = a.handle();
    a.reset();
    EXPECT_FALSE(store.lock(weak)) << "about to go: nobody can own it again";
    EXPECT_EQ(door::alive, 1);
    EXPECT_EQ(store.collect(), 1u);
    EXPECT_EQ(door::alive, 0);
    EXPECT_EQ(store.collect(), 0u);
}

TEST(owners, atomic_owners_may_be_copied_and_dropped_by_any_thread) {
    shared_store<slot_map<door>, atomic_count> store;
    using shared = shared_store<slot_map<door>, atomic_count>::shared_type;
    std::vector<shared> owners;
    for (int i = 0; i < 200; ++i) { owners.push_back(store.make(i)); }
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([copies = owners]() mutable {
            for (int round = 0; round < 50; ++round) {
                std::vector<shared> more = copies;
                more.clear();
            }
            copies.clear();
        });
    }
    owners.clear();
    for (std::thread& t : threads) { t.join(); }
    EXPECT_EQ(store.collect(), 200u);
    EXPECT_EQ(door::alive, 0);
}

TEST(owners, what_has_lost_its_last_owner_is_locked_by_none_while_it_waits) {
    shared_store<slot_map<door>> store{system_memory(), destroys::in_collect};
    auto a = store.make(1);
    const auto weak = a.handle();
    a.reset();
    EXPECT_EQ(door::alive, 1);
    EXPECT_FALSE(store.lock(weak));
    EXPECT_EQ(store.use_count(weak), 0u);
    EXPECT_EQ(store.collect(), 1u);
    EXPECT_EQ(door::alive, 0);
}

TEST(owners, a_handle_is_not_locked_when_its_slot_has_another_object) {
    shared_store<slot_map<door>> store;
    auto a = store.make(1);
    const auto weak = a.handle();
    a.reset();
    for (int i = 0; i < 1000 && (!a || a.handle().index() != weak.index()); ++i) {
        a = store.make(i);
    }
    ASSERT_EQ(a.handle().index(), weak.index());
    EXPECT_FALSE(store.lock(weak));
    EXPECT_EQ(store.use_count(weak), 0u);
    EXPECT_EQ(a.use_count(), 1u);
}

TEST(owners, collect_inside_a_destructor_leaves_it_to_the_one_that_runs) {
    struct nosy;
    using crowd = shared_store<stable_slot_map<nosy>>;
    struct nosy {
        crowd* all;
        destruction_report* inner;
        ~nosy() { *inner = all->collect(destruction_budget{}); }
    };
    destruction_report inner[2] = {{9, 9, true}, {9, 9, true}};
    crowd all{system_memory(), destroys::in_collect};
    for (destruction_report& r : inner) { all.make(&all, &r).reset(); }
    EXPECT_EQ(all.collect(), 2u);
    for (const destruction_report& r : inner) {
        EXPECT_EQ(r.objects, 0u);
        EXPECT_FALSE(r.settled);
    }
}

TEST(owners, exhausted_stores_give_empty_owners) {
    for (std::size_t refused = 0; refused < 10; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 1);
        shared_store<slot_map<door>> store{upstream};
        std::vector<shared_store<slot_map<door>>::shared_type> owners;
        for (int i = 0; i < 200; ++i) {
            if (auto a = store.make(i)) { owners.push_back(a); }
        }
        EXPECT_GE(owners.size(), 198u);
        EXPECT_EQ(static_cast<std::size_t>(door::alive), owners.size());
    }
}

TEST(owners, a_store_without_an_index_left_touches_no_count) {
    shared_store<slot_map<door, slot_policy<16, 7>>> store;
    std::vector<decltype(store)::shared_type> owners;
    while (auto a = store.make(1)) { owners.push_back(std::move(a)); }
    const auto second = owners[0];
    EXPECT_EQ(store.use_count(second.handle()), 2u);
    EXPECT_FALSE(store.make(2));
    EXPECT_EQ(store.use_count(second.handle()), 2u);
    owners.clear();
    EXPECT_EQ(door::alive, 1);
}

TEST(owners, an_index_behind_the_last_block_of_cells_has_no_cell) {
    detail::cell_blocks cells{8, system_memory()};
    const std::size_t end = (std::size_t{1} << detail::cell_blocks::block_count_max) - 1;
    EXPECT_EQ(cells.ensure(end * detail::cell_blocks::first_count), nullptr);
    EXPECT_EQ(cells.ensure(SIZE_MAX), nullptr);
    EXPECT_NE(cells.ensure(0), nullptr);
}

namespace {
struct anything {
    virtual ~anything() = default;
};
struct linked {
    int number;
    std::unique_ptr<anything> owned;  // perhaps another one of the same store
};
template <class Store>
struct another_one : anything {
    explicit another_one(shared_handle<Store> p) noexcept : it{std::move(p)} {}
    shared_handle<Store> it;
};

template <class Store>
void check_a_chain() {
    Store store;
    auto before = store.make(1, nullptr);
    auto last = store.make(2, nullptr);
    auto middle = store.make(3, std::make_unique<another_one<Store>>(std::move(last)));
    auto first = store.make(4, std::make_unique<another_one<Store>>(std::move(middle)));
    auto after = store.make(5, nullptr);
    EXPECT_EQ(store.objects().size(), 5u);
    first.reset();
    (void)store.collect();
    EXPECT_EQ(store.objects().size(), 2u);
    EXPECT_EQ(before->number, 1);
    EXPECT_EQ(after->number, 5);
    store.objects().validate();
}
}  // namespace

TEST(owners, an_object_may_own_others_of_its_store) {
    check_a_chain<shared_store<slot_map<linked>>>();
    check_a_chain<shared_store<stable_slot_map<linked>>>();
    check_a_chain<shared_store<slot_map<linked>, atomic_count>>();
}

TEST(owners, are_equal_when_they_own_the_same_object_or_nothing) {
    shared_store<slot_map<door>> one{system_memory(), {.first_generation = 1}};
    shared_store<slot_map<door>> other{system_memory(), {.first_generation = 1}};
    auto a = one.make(1);
    auto b = other.make(1);
    EXPECT_EQ(a.handle(), b.handle()) << "the handles of two stores with the same number are alike";
    EXPECT_FALSE(a == b);
    EXPECT_TRUE(a == one.lock(a.handle()));
    EXPECT_FALSE(a == nullptr);
    a.reset();
    b.reset();
    EXPECT_TRUE(a == b) << "nothing is the same nothing everywhere";
    EXPECT_TRUE(a == nullptr);
}

TYPED_TEST(owners_in, a_unique_handle_that_is_assigned_to_erases_what_it_owned) {
    TypeParam map;
    unique_handle a{map, map.emplace(1)};
    unique_handle b{map, map.emplace(2)};
    a = std::move(b);
    EXPECT_EQ(map.size(), 1u);
    EXPECT_EQ(a->number, 2);
    EXPECT_EQ(door::alive, 1);
}

TYPED_TEST(owners_in, misuse_is_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    TypeParam map;
    unique_handle<TypeParam> unique;
    shared_handle<shared_store<TypeParam>> shared;
    EXPECT_DEATH((void)*unique, "an owner is used while it has an object");
    EXPECT_DEATH((void)unique->number, "an owner is used while it has an object");
    EXPECT_DEATH((void)*shared, "an owner is used while it has an object");
    EXPECT_DEATH((void)shared->number, "an owner is used while it has an object");
    unique = unique_handle{map, map.emplace(1)};
    map.clear();
    EXPECT_DEATH((void)*unique, "an owner is used while its object lives");
    EXPECT_DEATH((void)unique->number, "an owner is used while its object lives");
}

TYPED_TEST(owners_in, misuse_is_reported_with_the_owner_and_its_handle) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const auto expect_report = [](const caught_promise& told, misuse_kind kind, const void* owner,
                                  const char* type) {
        EXPECT_EQ(told.kind(), kind) << told;
        EXPECT_EQ(told.object(), owner) << told;
        EXPECT_STREQ(told.type(), type);
    };
    TypeParam map;
    unique_handle<TypeParam> unique;
    using store_type = shared_store<TypeParam>;
    typename store_type::shared_type shared;
    expect_report(expect_broken_promise([&] { (void)*unique; }), misuse_kind::null_handle, &unique,
                  "unique_handle");
    expect_report(expect_broken_promise([&] { (void)unique->number; }), misuse_kind::null_handle,
                  &unique, "unique_handle");
    expect_report(expect_broken_promise([&] { (void)*shared; }), misuse_kind::null_handle, &shared,
                  "shared_handle");
    expect_report(expect_broken_promise([&] { (void)shared->number; }), misuse_kind::null_handle,
                  &shared, "shared_handle");

    unique = unique_handle{map, map.emplace(1)};
    map.clear();
    const auto gone = expect_broken_promise([&] { (void)unique->number; });
    expect_report(gone, misuse_kind::stale_handle, &unique, "unique_handle");
    EXPECT_EQ(gone.value("slot"), unique.handle().index());
    EXPECT_EQ(gone.value("life in the handle"), unique.handle().generation());
    expect_report(expect_broken_promise([&] { (void)*unique; }), misuse_kind::stale_handle, &unique,
                  "unique_handle");

    const auto erased_behind_it = [](bool by_arrow) {
        store_type store;
        auto owner = store.make(1);
        (void)store.objects().erase(owner.handle());
        if (by_arrow) {
            (void)owner->number;
        } else {
            (void)*owner;
        }
    };
    for (const bool by_arrow : {false, true}) {
        const auto told = expect_broken_promise([&] { erased_behind_it(by_arrow); });
        EXPECT_TRUE(told.says("an owner is used while its object lives")) << told;
        EXPECT_EQ(told.kind(), misuse_kind::stale_handle) << told;
        EXPECT_STREQ(told.type(), "shared_handle");
        EXPECT_NE(told.value("slot"), ~0ull) << told;
    }
}

TEST(owners, of_one_object_are_one_key_of_a_hash_table) {
    shared_store<slot_map<door>> doors;
    std::unordered_set<shared_handle<shared_store<slot_map<door>>>> seen;
    const auto a = doors.make(1);
    const auto b = doors.make(2);
    EXPECT_TRUE(seen.insert(a).second);
    EXPECT_FALSE(seen.insert(a).second);
    EXPECT_TRUE(seen.insert(b).second);
    EXPECT_TRUE(seen.insert(nullptr).second);
    EXPECT_EQ(a.use_count(), 2u);
}

// ---- chains -------------------------------------------------------------------------------------

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
        const destruction_report r = store.collect({.objects = 11});
        EXPECT_EQ(r.objects, 11u);
        EXPECT_FALSE(r.settled);
        EXPECT_EQ(TypeParam::alive, 100 - 11 * frame);
    }
    EXPECT_TRUE(store.collect(destruction_budget{.objects = 1}).settled);
    EXPECT_EQ(TypeParam::alive, 0);
}

// ---- handles that any thread locks ----------------------------------------------------------------

TEST(owners, a_handle_of_another_store_is_locked_in_none) {
    shared_store<stable_slot_map<door>, atomic_count> store;
    shared_store<stable_slot_map<door>, atomic_count> other;
    const auto a = store.make(1);
    EXPECT_FALSE(other.lock(a.handle())) << "no cell was ever made there";
    const auto b = other.make(2);
    EXPECT_FALSE(other.lock(a.handle())) << "the lives of each map begin elsewhere";
    EXPECT_FALSE(other.lock({}));
    EXPECT_EQ(other.use_count(a.handle()), 0u);
    EXPECT_EQ(other.lock(b.handle())->number, 2);
}

TEST(owners, in_a_stable_map_atomic_owners_find_their_object_without_the_map) {
    shared_store<stable_slot_map<door>, atomic_count> store;
    const auto a = store.make(1);
    const auto weak = a.handle();
    EXPECT_EQ(&*a, static_cast<const door*>(store.objects().find(weak)));
    EXPECT_EQ(a.operator->(), &*a);
    EXPECT_EQ(store.lock(weak)->number, 1);
}

TEST(owners, any_thread_locks_handles_while_the_store_makes_and_collects) {
    using store_type = shared_store<stable_slot_map<door>, atomic_count>;
    using weak_type = store_type::handle_type;
    static constexpr int rounds = 300;
    static constexpr std::size_t shown_count = 64;
    store_type store;
    std::atomic<std::uint64_t> shown[shown_count] = {};  // handles, by relaxed stores
    std::atomic<bool> done = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            while (!done.load(std::memory_order_relaxed)) {
                for (std::size_t i = 0; i < shown_count; ++i) {
                    const weak_type weak =
                        weak_type::from_raw(shown[i].load(std::memory_order_relaxed));
                    const auto owner = store.lock(weak);
                    if (!owner) { continue; }
                    const auto copy = owner;
                    if (copy->number % static_cast<int>(shown_count) != static_cast<int>(i)) {
                        wrong.fetch_add(1, std::memory_order_relaxed);
                    }
                }
            }
        });
    }
    std::vector<store_type::shared_type> owners(shown_count);
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < shown_count; ++i) {
            owners[i] = store.make(round * static_cast<int>(shown_count) + static_cast<int>(i));
            shown[i].store(owners[i].handle().raw(), std::memory_order_relaxed);
        }
        (void)store.collect({.objects = 100});
    }
    owners.clear();
    done.store(true, std::memory_order_relaxed);
    for (std::thread& t : threads) { t.join(); }
    (void)store.collect();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(store.objects().size(), 0u);
}
