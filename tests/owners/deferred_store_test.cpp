// Behaviours of cairn/owners/deferred_store.hpp: objects that own others of their store.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/deferred_store.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/small_stack.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

/// A node of a list, with branches; counts the living.
template <template <class> class Map>
struct node {
    using store = deferred_store<Map<node>>;
    using owner = unique_handle<store>;
    static inline int alive = 0;

    explicit node(int n, owner behind = {}) : number{n}, next{std::move(behind)} { ++alive; }
    node(node&& other) noexcept
        : number{other.number}, next{std::move(other.next)}, more{std::move(other.more)} {
        ++alive;
    }
    node& operator=(node&&) noexcept = default;
    ~node() { --alive; }

    int number;
    owner next;
    std::vector<owner> more;
};

template <class T>
using packed = slot_map<T>;
template <class T>
using stable = stable_slot_map<T>;
template <class T>
using narrow = slot_map<T, slot_policy<32>>;

template <class Link>
class deferred_store_of : public testing::Test {};
using links = testing::Types<node<packed>, node<stable>>;
TYPED_TEST_SUITE(deferred_store_of, links);

template <class Link>
typename Link::owner chain(typename Link::store& store, int count) {
    typename Link::owner first;
    for (int i = 0; i < count; ++i) { first = store.make(i, std::move(first)); }
    return first;
}

}  // namespace

TYPED_TEST(deferred_store_of, a_million_owners_in_a_row_end_without_recursion) {
    on_a_small_stack([] {
        typename TypeParam::store store;
        auto before = store.make(-1);
        auto first = chain<TypeParam>(store, long_chain);
        EXPECT_EQ(store.size(), static_cast<std::size_t>(long_chain) + 1);
        first.reset();
        EXPECT_EQ(store.size(), 1u);
        EXPECT_EQ(TypeParam::alive, 1);
        EXPECT_EQ(before->number, -1);
        store.objects().validate();
    });
    EXPECT_EQ(TypeParam::alive, 0);
}

TYPED_TEST(deferred_store_of, the_store_may_end_before_a_chain_in_it_does) {
    on_a_small_stack([] {
        typename TypeParam::store store;
        (void)chain<TypeParam>(store, long_chain).release();
    });
    EXPECT_EQ(TypeParam::alive, 0);
}

TYPED_TEST(deferred_store_of, the_store_may_end_before_an_owner_that_is_older_than_what_it_owns) {
    {
        typename TypeParam::store store;
        auto older = store.make(1);
        auto younger = store.make(2);
        older->next = std::move(younger);
        (void)older.release();
    }
    EXPECT_EQ(TypeParam::alive, 0) << "each object ends once";
}

TYPED_TEST(deferred_store_of, an_object_owns_as_many_others_as_it_likes) {
    on_a_small_stack([] {
        typename TypeParam::store store;
        auto root = store.make(0);
        for (int i = 1; i <= 100; ++i) {
            auto branch = chain<TypeParam>(store, 50);
            for (int leaf = 0; leaf < 20; ++leaf) {
                auto made = store.make(leaf);  // first: the rows of a packed map move as it grows
                branch->more.push_back(std::move(made));
            }
            root->more.push_back(std::move(branch));
        }
        EXPECT_EQ(store.size(), 7001u);
        root.reset();
        EXPECT_EQ(store.size(), 0u);
        EXPECT_EQ(TypeParam::alive, 0);
        store.objects().validate();
    });
}

TYPED_TEST(deferred_store_of, an_owner_that_is_assigned_to_ends_what_it_owned) {
    typename TypeParam::store store;
    auto a = chain<TypeParam>(store, 3);
    a = store.make(9);
    EXPECT_EQ(store.size(), 1u);
    EXPECT_EQ(a->number, 9);
    a = std::move(a->next);
    EXPECT_FALSE(a);
    EXPECT_EQ(TypeParam::alive, 0);
}

TYPED_TEST(deferred_store_of, collect_spreads_a_chain_over_frames) {
    typename TypeParam::store store{system_memory(), destroys::in_collect};
    chain<TypeParam>(store, 100).reset();
    auto kept = store.make(7);
    EXPECT_EQ(TypeParam::alive, 101) << "nothing is destroyed before collect()";
    EXPECT_EQ(store.size(), 100u) << "the first waits; it still owns the others";
    EXPECT_FALSE(store.empty());
    EXPECT_EQ(store.waiting_count(), 1u);
    for (int frame = 1; frame <= 9; ++frame) {
        const destruction_report r = store.collect({.steps = 11});
        EXPECT_EQ(r.objects, 11u);
        EXPECT_FALSE(r.settled);
        EXPECT_EQ(TypeParam::alive, 101 - 11 * frame);
    }
    const destruction_report last = store.collect({.steps = 11});
    EXPECT_EQ(last.objects, 1u);
    EXPECT_TRUE(last.settled);
    EXPECT_EQ(last.nanoseconds, 0u);
    EXPECT_EQ(store.size(), 1u);
    EXPECT_EQ(kept->number, 7);
    kept.reset();
    EXPECT_TRUE(store.empty()) << "what waits is not found, so it does not count";
    EXPECT_EQ(store.waiting_count(), 1u);
}

TYPED_TEST(deferred_store_of, a_budget_however_small_destroys_something) {
    typename TypeParam::store store{system_memory(), destroys::in_collect};
    chain<TypeParam>(store, 5000).reset();
    const destruction_report none = store.collect({.steps = 0});
    EXPECT_EQ(none.objects, 1u);
    const destruction_report brief = store.collect({.microseconds = 0});
    EXPECT_GE(brief.objects, 1u);
    EXPECT_LT(brief.objects, 4999u) << "each eighth object asks for the time";
    EXPECT_GT(brief.nanoseconds, 0u);
    EXPECT_FALSE(brief.settled);
    EXPECT_TRUE(store.collect().settled);
    EXPECT_EQ(TypeParam::alive, 0);
}

TYPED_TEST(deferred_store_of, no_handle_finds_what_waits) {
    typename TypeParam::store store{system_memory(), destroys::in_collect};
    auto a = store.make(1);
    auto b = store.make(2);
    const auto weak = a.handle();
    EXPECT_TRUE(store.find(weak));
    EXPECT_EQ(store[weak].number, 1);
    a.reset();
    EXPECT_FALSE(store.contains(weak));
    EXPECT_FALSE(store.find(weak));
    EXPECT_FALSE(store.erase(weak)) << "once";
    EXPECT_EQ(store.waiting_count(), 1u);
    EXPECT_TRUE(store.contains(b.handle()));
    store.make(10).reset();
    EXPECT_FALSE(store.contains(weak)) << "nor when another one waits before it";
    EXPECT_EQ(store.collect().objects, 2u);
    std::vector<typename TypeParam::owner> later;
    for (int i = 0; i < 100; ++i) { later.push_back(store.make(i)); }
    for (const auto& c : later) {
        EXPECT_TRUE(store.contains(c.handle())) << "slots are used again, and nothing waits there";
    }
    EXPECT_FALSE(store.contains(weak));
    if (asserts_enabled) {
        const auto gone = b.handle();
        b.reset();
        EXPECT_TRUE(expect_broken_promise([&] {
                        (void)store[gone];
                    }).says("an object that was erased is not asked for"));
    }
}

TYPED_TEST(deferred_store_of, refused_memory_is_an_empty_owner_and_changes_nothing) {
    for (std::size_t refused = 0; refused < 6; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 1);
        typename TypeParam::store store{upstream};
        std::vector<typename TypeParam::owner> owners;
        for (int i = 0; i < 200; ++i) {
            if (auto a = store.make(i)) { owners.push_back(std::move(a)); }
        }
        EXPECT_GE(owners.size(), 198u);
        EXPECT_EQ(TypeParam::alive, static_cast<int>(owners.size()));
        EXPECT_EQ(store.size(), owners.size());
    }
}

TEST(deferred_store, an_object_may_make_and_end_others_while_it_ends) {
    struct phoenix;
    using birds = deferred_store<stable_slot_map<phoenix>>;
    struct phoenix {
        birds* sky;
        int lives;
        unique_handle<birds> friend_of{};
        ~phoenix() {
            if (lives > 0) { (void)sky->erase(sky->emplace(sky, lives - 1)); }
        }
    };
    birds sky;
    auto a = sky.make(&sky, 5);
    a->friend_of = sky.make(&sky, 3);
    a.reset();
    EXPECT_EQ(sky.size(), 0u);
    EXPECT_TRUE(sky.objects().empty());
}

TEST(deferred_store, collect_inside_a_destructor_leaves_it_to_the_one_that_runs) {
    struct nosy;
    using crowd = deferred_store<slot_map<nosy>>;
    struct nosy {
        crowd* all;
        destruction_report* inner;
        nosy(crowd* a, destruction_report* r) noexcept : all{a}, inner{r} {}
        nosy(nosy&& other) noexcept : all{other.all}, inner{std::exchange(other.inner, nullptr)} {}
        nosy& operator=(nosy&& other) noexcept {
            std::swap(inner, other.inner);
            return *this;
        }
        ~nosy() {
            if (inner != nullptr) { *inner = all->collect(); }
        }
    };
    destruction_report inner[2] = {{9, 9, true}, {9, 9, true}};
    crowd all{system_memory(), destroys::in_collect};
    for (destruction_report& r : inner) { all.make(&all, &r).reset(); }
    EXPECT_EQ(all.collect().objects, 2u);
    for (const destruction_report& r : inner) {
        EXPECT_EQ(r.objects, 0u);
        EXPECT_FALSE(r.settled);
    }
}

TEST(deferred_store, its_map_is_told_its_options) {
    using store_type = deferred_store<slot_map<int>>;
    constexpr store_type::options how{.first_generation = 5};
    store_type at_once{system_memory(), how};
    store_type in_collect{system_memory(), destroys::in_collect, how};
    EXPECT_EQ(at_once.emplace(1).generation(), 5u);
    EXPECT_EQ(in_collect.emplace(1).generation(), 5u);
}

TEST(deferred_store, takes_handles_of_any_width) {
    typename node<narrow>::store store;
    static_assert(sizeof(store.emplace(1)) == 4);
    auto a = chain<node<narrow>>(store, 1000);
    a.reset();
    EXPECT_EQ(node<narrow>::alive, 0);
}

TEST(deferred_store, rows_of_a_table_own_others_of_it) {
    struct node_row;
    using rows = deferred_store<slot_table<node_row, aos>>;
    struct node_row {
        int number;
        unique_handle<rows> next;
    };
    on_a_small_stack([] {
        rows store;
        unique_handle<rows> first;
        for (int i = 0; i < 20'000; ++i) { first = store.make(node_row{i, std::move(first)}); }
        first.reset();
        EXPECT_EQ(store.size(), 0u);
    });
}

TEST(deferred_store, is_named_where_an_object_is_incomplete) {
    struct later;
    using store = deferred_store<slot_map<later>>;
    static_assert(sizeof(unique_handle<store>) == 16);
    struct later {
        int number;
    };
    store s;
    EXPECT_EQ(s.make(4)->number, 4);
}
