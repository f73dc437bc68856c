// Behaviours of cairn/std/unique_in.hpp: smart pointers whose memory is cairn's.
#include <cairn/core/null_allocator.hpp>
#include <cairn/std/unique_in.hpp>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

/// Counts the living, and throws from the constructor on demand.
struct citizen {
    static inline int alive = 0;
    static inline int throw_at = -1;
    std::string name;
    explicit citizen(std::string n = {}) : name{std::move(n)} {
        if (alive == throw_at) { throw std::runtime_error{"full"}; }
        ++alive;
    }
    citizen(const citizen&) = delete;
    ~citizen() { --alive; }
};

}  // namespace

TEST(unique_in, destroys_the_object_and_gives_the_memory_back) {
    test_upstream memory;
    {
        unique_in<citizen> p = make_unique_in<citizen>(memory, "ada");
        ASSERT_NE(p, nullptr);
        EXPECT_EQ(p->name, "ada");
        EXPECT_EQ(memory.live_size(), sizeof(citizen));
        unique_in<citizen> q = std::move(p);
        EXPECT_EQ(p, nullptr);
        EXPECT_EQ(citizen::alive, 1);
        q = make_unique_in<citizen>(memory, "bob");
        EXPECT_EQ(citizen::alive, 1);
        EXPECT_EQ(q.get_deleter().inner(), allocator_ref{memory});
    }
    EXPECT_EQ(citizen::alive, 0);
}

TEST(unique_in, is_three_words_and_two_when_the_allocator_type_is_named) {
    static_assert(sizeof(unique_in<int>) == sizeof(void*) + sizeof(allocator_ref));
    static_assert(sizeof(unique_in<int, test_upstream>) == 2 * sizeof(void*));
    static_assert(sizeof(unique_in<int[]>) == 2 * sizeof(void*) + sizeof(allocator_ref));
    static_assert(sizeof(unique_in<int[], test_upstream>) == 3 * sizeof(void*));
    static_assert(!std::is_constructible_v<unique_in<const int>, unique_in<std::string>>);
    test_upstream memory;
    auto p = make_unique_in<citizen, test_upstream>(memory, "eve");
    static_assert(std::is_same_v<decltype(p), unique_in<citizen, test_upstream>>);
    EXPECT_EQ(&p.get_deleter().inner(), &memory);
}

TEST(unique_in, destroys_the_objects_of_an_array_last_one_first) {
    struct numbered {
        std::string* log = nullptr;
        char name = 0;
        ~numbered() {
            if (log != nullptr) { log->push_back(name); }
        }
    };
    std::string log;
    test_upstream memory;
    {
        auto objects = make_unique_in<numbered[]>(memory, 4);
        ASSERT_NE(objects, nullptr);
        for (std::size_t i = 0; i != 4; ++i) {
            objects[i].name = static_cast<char>('a' + i);
            objects[i].log = &log;
        }
    }
    EXPECT_EQ(log, "dcba");
}

TEST(unique_in, a_derived_pointer_does_not_become_a_base_pointer) {
    struct base {
        virtual ~base() = default;
    };
    struct derived : base {
        int more[4];
    };
    static_assert(!std::is_convertible_v<unique_in<derived>, unique_in<base>>);
}

TEST(unique_in, arrays_begin_as_zeros_and_know_their_count) {
    test_upstream memory;  // its fresh memory is not zero
    auto numbers = make_unique_in<float[]>(memory, 1000);
    ASSERT_NE(numbers, nullptr);
    for (std::size_t i = 0; i < 1000; ++i) { ASSERT_EQ(numbers[i], 0.0f); }
    EXPECT_EQ(numbers.get_deleter().count(), 1000u);
    auto people = make_unique_in<citizen[]>(memory, 5);
    EXPECT_EQ(citizen::alive, 5);
    people.reset();
    EXPECT_EQ(citizen::alive, 0);
    auto none = make_unique_in<citizen[]>(memory, 0);
    EXPECT_NE(none, nullptr);
}

TEST(unique_in, exhausted_memory_is_a_null_pointer) {
    EXPECT_EQ(make_unique_in<citizen>(no_memory(), "nobody"), nullptr);
    EXPECT_EQ(make_unique_in<citizen[]>(no_memory(), 3), nullptr);
    test_upstream memory;
    EXPECT_EQ(make_unique_in<double[]>(memory, SIZE_MAX / 4), nullptr) << "no wrap";
    EXPECT_EQ(make_unique_in<double[]>(memory, SIZE_MAX / sizeof(double) + 2), nullptr)
        << "nor to a size that could be had";
    EXPECT_EQ(citizen::alive, 0);
}

TEST(unique_in, its_deleters_do_nothing_with_nullptr) {
    test_upstream memory;
    auto one = make_unique_in<citizen>(memory, "ada");
    auto many = make_unique_in<citizen[]>(memory, 5);
    one.get_deleter()(nullptr);
    many.get_deleter()(nullptr);
    EXPECT_EQ(citizen::alive, 6);
    EXPECT_EQ(memory.live_count(), 2u);
}

TEST(unique_in, a_throwing_constructor_leaves_nothing_behind) {
    test_upstream memory;
    citizen::throw_at = 0;
    EXPECT_THROW((void)make_unique_in<citizen>(memory, "x"), std::runtime_error);
    citizen::throw_at = 3;
    EXPECT_THROW((void)make_unique_in<citizen[]>(memory, 5), std::runtime_error);
    citizen::throw_at = -1;
    EXPECT_EQ(citizen::alive, 0);
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(make_shared_in, object_and_counts_are_one_block_that_lives_as_long_as_the_last_weak_pointer) {
    test_upstream memory;
    std::weak_ptr<citizen> watcher;
    {
        std::shared_ptr<citizen> p = make_shared_in<citizen>(memory, "ada");
        EXPECT_EQ(memory.request_count(), 1u);
        watcher = p;
        std::shared_ptr<citizen> q = p;
        p.reset();
        EXPECT_EQ(q->name, "ada");
    }
    EXPECT_EQ(citizen::alive, 0) << "the object dies with the last owner";
    EXPECT_TRUE(watcher.expired());
    EXPECT_EQ(memory.live_count(), 1u) << "its block waits for the last watcher";
    watcher.reset();
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(make_shared_in, converts_to_base_and_makes_arrays) {
    struct base {
        virtual ~base() = default;
        virtual int id() const { return 1; }
    };
    struct derived final : base {
        int more[8] = {};
        int id() const override { return 2; }
    };
    test_upstream memory;
    {
        std::shared_ptr<base> p = make_shared_in<derived>(memory);
        EXPECT_EQ(p->id(), 2);
        allocator_ref ref{memory};
        std::shared_ptr<int[]> numbers = make_shared_in<int[]>(ref, 100);
        EXPECT_EQ(numbers[99], 0);
    }
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(make_shared_in, exhausted_memory_throws_and_a_throwing_constructor_leaves_nothing_behind) {
    EXPECT_THROW((void)make_shared_in<citizen>(no_memory(), "nobody"), std::bad_alloc);
    test_upstream memory;
    const allocator_ref ref{memory};
    for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 4, SIZE_MAX / 8 + 1, SIZE_MAX / 16 + 1}) {
        EXPECT_THROW((void)make_shared_in<double[]>(ref, count), std::bad_alloc) << count;
    }
    citizen::throw_at = 0;
    EXPECT_THROW((void)make_shared_in<citizen>(memory, "x"), std::runtime_error);
    citizen::throw_at = -1;
    EXPECT_EQ(memory.live_count(), 0u);
}
