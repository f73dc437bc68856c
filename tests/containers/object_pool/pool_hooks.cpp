// Sentences of cairn/containers/pool_hooks.hpp: which hooks a pool calls, and when.
#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/pool_hooks.hpp>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

using namespace cairn;

namespace {
struct told {
    int exits = 0;
    int enters = 0;
    int resets = 0;
    int functions = 0;
    void on_exit_free_list() { ++exits; }
    void on_enter_free_list() { ++enters; }
    void reset() { ++resets; }
};
}  // namespace

TEST(object_pool, tells_members_and_functions_and_the_rules_switch_either_off) {
    const auto add = [](told& t) { ++t.functions; };
    const auto run = [&]<hook_rules Rules>() {
        object_pool<told, decltype(pool_hooks{add, add}), Rules> pool{pool_hooks{add, add}};
        told* const object = pool.acquire_raw();
        pool.release(object);
        (void)pool.acquire_raw();
        const told seen = *object;
        pool.release(object);
        return seen;
    };
    const told all = run.operator()<hook_rules::all>();
    EXPECT_EQ(all.exits, 2);
    EXPECT_EQ(all.enters, 1);
    EXPECT_EQ(all.resets, 1);
    EXPECT_EQ(all.functions, 3);
    const told members = run.operator()<hook_rules::members>();
    EXPECT_EQ(members.exits, 2);
    EXPECT_EQ(members.functions, 0);
    const told functions = run.operator()<hook_rules::functions>();
    EXPECT_EQ(functions.exits + functions.enters + functions.resets, 0);
    EXPECT_EQ(functions.functions, 3);
    const told none = run.operator()<hook_rules::none>();
    EXPECT_EQ(none.exits + none.enters + none.resets + none.functions, 0);
}

TEST(object_pool, builds_with_a_function_when_there_is_no_default_constructor) {
    struct numbered {
        explicit numbered(int n) : number{n} {}
        int number;
    };
    int next = 10;
    auto create = [&next] { return numbered{next++}; };
    object_pool<numbered, pool_hooks<no_hook, no_hook, decltype(create)>> pool{
        pool_hooks{no_hook{}, no_hook{}, create}};
    auto a = pool.acquire();
    auto b = pool.acquire();
    EXPECT_EQ(a->number, 10);
    EXPECT_EQ(b->number, 11);
}

TEST(pool_hooks, the_object_leaves_before_the_function_and_enters_after_it) {
    static std::string order;
    struct traveller {
        void on_exit_free_list() { order += "exit "; }
        void on_enter_free_list() { order += "enter "; }
        void reset() { order += "reset "; }
    };
    const auto acquired = [](traveller&) { order += "acquired "; };
    const auto released = [](traveller&) { order += "released "; };
    object_pool<traveller, decltype(pool_hooks{acquired, released})> pool{
        pool_hooks{acquired, released}};
    pool.release(pool.acquire_raw());
    EXPECT_EQ(order, "exit acquired released enter reset ");
}

TEST(pool_hooks, what_is_absent_costs_nothing) {
    static_assert(std::is_empty_v<pool_hooks<>>);
    static_assert(sizeof(object_pool<int>) == sizeof(object_pool<int, pool_hooks<no_hook>>));
    const auto stateless = [](int&) {};
    using hooks = decltype(pool_hooks{stateless, stateless});
    static_assert(std::is_empty_v<hooks>);
    static_assert(sizeof(object_pool<int>) == sizeof(object_pool<int, hooks>));
    static_assert(!detail::has_reset<int> && !detail::has_on_enter_free_list<int> &&
                  !detail::has_on_exit_free_list<int>);
}

namespace {
struct boomerang;
object_pool<boomerang>* home = nullptr;
enum class moment { none, leaves, enters, ends } releases_at = moment::none;
struct boomerang {
    ~boomerang() { come_back(moment::ends); }
    void on_exit_free_list() { come_back(moment::leaves); }
    void on_enter_free_list() { come_back(moment::enters); }
    void come_back(moment now) {
        if (releases_at == now) {
            releases_at = moment::none;
            home->release(*this);
        }
    }
};
}  // namespace

TEST(pool_hooks, an_object_that_releases_itself_in_a_hook_or_its_destructor_stops_the_program) {
    object_pool<boomerang> pool;
    home = &pool;
    const auto cycle = [&](moment when) {
        boomerang* const object = pool.acquire_raw();
        pool.release(object);
        releases_at = when;
        if (when == moment::leaves) { (void)pool.acquire_raw(); }
        if (when == moment::enters) { pool.release(pool.acquire_raw()); }
        if (when == moment::ends) { pool.trim(0); }
    };
    for (const moment when : {moment::leaves, moment::enters, moment::ends}) {
        EXPECT_DEATH(cycle(when), "an object is released once, to the pool it came from");
    }
    cycle(moment::none);
    pool.validate();
}

TEST(object_pool, an_object_may_hide_its_address) {
    struct shy {
        shy* operator&() { return nullptr; }  // NOLINT
    };
    object_pool<shy> pool;
    shy& object = *pool.acquire_raw();
    pool.release(object);
    EXPECT_EQ(pool.live_count(), 0u);
}

TEST(object_pool, a_number_alone_is_no_argument) {
    static_assert(!std::is_constructible_v<object_pool<int>, int>);
    static_assert(!std::is_constructible_v<object_pool<int>, int, allocator_ref>);
    static_assert(std::is_constructible_v<object_pool<int>, allocator_ref>);
}
