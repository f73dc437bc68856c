// What cairn/alloc/pool_of.hpp promises.
#include <cairn/alloc/pool_of.hpp>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/test_upstream.hpp"

namespace {

TEST(pool_of, makes_and_destroys_objects) {
    test_upstream upstream;
    {
        cairn::pool_of<std::string> names{upstream};
        std::string* const a = names.make("a name that is too long for the small buffer");
        std::string* const b = names.make(40u, 'b');
        ASSERT_NE(a, nullptr);
        EXPECT_EQ(b->size(), 40u);
        names.destroy(a);
        names.destroy(nullptr);
        (void)names.make("another name that is too long for the small buffer");
        std::size_t letters = 0;
        names.for_each([&](std::string& s) { letters += s.size(); });
        EXPECT_EQ(letters, 90u);
        names.destroy_all();
        EXPECT_EQ(names.stats().live_count, 0u);
    }
    alignas(8) std::array<std::byte, cairn::pool_of<int>::required_size(5)> buffer;
    cairn::pool_of<int> numbers{buffer};
    for (int i = 0; i < 5; ++i) { EXPECT_EQ(*numbers.make(i), i); }
    EXPECT_EQ(numbers.make(5), nullptr);
}

TEST(pool_of, destroy_all_runs_the_destructor_of_each_live_object) {
    struct counted {
        int* ended;
        explicit counted(int* e) : ended{e} {}
        ~counted() { ++*ended; }
    };
    int ended = 0;
    cairn::pool_of<counted> pool;
    for (int i = 0; i < 5; ++i) { (void)pool.make(&ended); }
    pool.destroy_all();
    EXPECT_EQ(ended, 5);
}

}  // namespace
