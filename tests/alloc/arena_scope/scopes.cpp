// Sentences of cairn/alloc/arena_scope.hpp about scopes: what is destroyed and rewound at their
// end.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

using namespace cairn;

namespace {
struct noisy {
    std::string* log;
    char name;
    noisy(std::string* l, char n) : log{l}, name{n} {}
    noisy(const noisy&) = delete;
    ~noisy() { log->push_back(name); }
};

struct counted {
    static inline int alive = 0;
    counted() { ++alive; }
    ~counted() { --alive; }
    int payload = 5;
};
}  // namespace

#if defined(__cpp_exceptions)
namespace {
struct thrower {
    explicit thrower(int n) {
        if (n == 3) { throw n; }
    }
    ~thrower() { --alive; }
    static inline int alive = 0;
};
struct throws_on_third {
    throws_on_third() {
        if (built == 2) { throw 1; }
        ++built;
    }
    ~throws_on_third() { --built; }
    static inline int built = 0;
};
}  // namespace
#endif

TEST(arena_scope, rewinds_at_its_end) {
    arena a{1_KiB};
    (void)a.allocate(16);
    {
        arena_scope scope{a};
        (void)scope.make_array<int>(100);
        EXPECT_GT(a.used_size(), 400u);
    }
    EXPECT_EQ(a.used_size(), 16u);
}

TEST(arena_scope, runs_destructors_in_reverse_order) {
    arena a{4_KiB};
    std::string log;
    {
        arena_scope scope{a};
        (void)scope.make<noisy>(&log, 'a');
        (void)scope.make<int>(5);
        (void)scope.make<noisy>(&log, 'b');
        {
            arena_scope inner{a};
            (void)inner.make<noisy>(&log, 'x');
        }
        EXPECT_EQ(log, "x");
        (void)scope.make<noisy>(&log, 'c');
    }
    EXPECT_EQ(log, "xcba");
}

TEST(arena_scope, destroys_arrays_and_over_aligned_objects) {
    struct alignas(128) wide : counted {};
    growing_arena a{256};
    {
        arena_scope scope{a};
        auto objects = scope.make_array<counted>(50);
        ASSERT_EQ(objects.size(), 50u);
        EXPECT_EQ(objects[49].payload, 5);
        wide* const w = scope.make<wide>();
        EXPECT_TRUE(detail::is_aligned(w, alignment{128}));
        EXPECT_EQ(counted::alive, 51);
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(arena_scope, destroys_the_objects_of_an_array_last_one_first) {
    struct numbered {
        std::string* log = nullptr;
        char name = 0;
        ~numbered() {
            if (log != nullptr) { log->push_back(name); }
        }
    };
    std::string log;
    arena a{1_KiB};
    {
        arena_scope scope{a};
        const slice<numbered> objects = scope.make_array<numbered>(4);
        ASSERT_EQ(objects.size(), 4u);
        for (std::size_t i = 0; i != 4; ++i) {
            objects[i].name = static_cast<char>('a' + i);
            objects[i].log = &log;
        }
    }
    EXPECT_EQ(log, "dcba");
}

TEST(arena_scope, an_object_costs_itself_and_one_node) {
    std::string log;  // outlives the object that writes to it as it ends
    arena a{1_KiB};
    arena_scope scope{a};
    (void)scope.make<noisy>(&log, 'a');
    EXPECT_EQ(a.used_size(), detail::round_up(3 * sizeof(void*) + sizeof(noisy), alignment{16}));
}

TEST(arena_scope, an_exhausted_arena_constructs_nothing) {
    arena a{64};
    arena_scope scope{a};
    EXPECT_TRUE(scope.make_array<counted>(1000).empty());
    EXPECT_TRUE(scope.make_array<counted>(SIZE_MAX / 2).empty());
    EXPECT_EQ(counted::alive, 0);
}

#if defined(__cpp_exceptions)
TEST(arena_scope, a_throwing_constructor_leaves_what_was_there) {
    arena a{4_KiB};
    {
        arena_scope scope{a};
        EXPECT_THROW((void)scope.make<thrower>(3), int);
        EXPECT_THROW((void)scope.make_array<throws_on_third>(5), int);
        EXPECT_EQ(throws_on_third::built, 0) << "what was built is destroyed";
    }
    EXPECT_EQ(thrower::alive, 0) << "what was never built is never destroyed";
}
#endif

TEST(arena_scope, works_on_every_arena_and_as_an_upstream) {
    virtual_arena a{1_MiB};
    {
        arena_scope scope{a};
        growing_arena inner{1_KiB, scope};
        EXPECT_NE(inner.allocate(5000), nullptr);
    }
    EXPECT_EQ(a.used_size(), 0u);
}

TEST(arena_scope, marks_and_rewinds_in_it_are_its_own) {
    arena a{4_KiB};
    const auto in_front = a.mark();
    {
        arena_scope outer{a};
        (void)outer.allocate(16);
        {
            arena_scope inner{a};
            const auto begin = a.mark();
            (void)inner.allocate(64);
            const auto later = a.mark();
            (void)inner.allocate(64);
            a.rewind(later);
            a.rewind(begin);
            (void)inner.allocate(32);
        }
        EXPECT_EQ(a.used_size(), 16u);
        (void)outer.allocate(16);
        a.rewind(in_front);  // the place where `outer` began: nothing in front of it is lost
        (void)outer.allocate(16);
    }
    EXPECT_EQ(a.used_size(), 0u);
    a.rewind(in_front);
}

TEST(arena_scope, destructors_may_allocate_from_it_and_open_scopes_of_its_arena) {
    struct careful {
        arena_scope<arena>* scope;
        ~careful() {
            EXPECT_NE(scope->allocate(16), nullptr);
            arena_scope inner{scope->arena()};
            EXPECT_NE(inner.allocate(16), nullptr);
        }
    };
    arena a{4_KiB};
    {
        arena_scope scope{a};
        (void)scope.make<careful>(&scope);
        (void)scope.make<careful>(&scope);
    }
    EXPECT_EQ(a.used_size(), 0u);
}
