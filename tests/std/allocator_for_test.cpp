// Sentences of cairn/std/allocator_for.hpp.
#include <cairn/alloc/heap.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/std/allocator_for.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

using namespace cairn;

namespace {

failing<heap<>> memory;
heap<>& never_ended() noexcept {
    static auto* const h = new heap<>;
    return *h;
}

template <class T>
using here = allocator_for<memory>::type<T>;

/// As nlohmann::basic_json: a template of one parameter makes the allocators from nothing.
template <template <class> class Allocator>
struct value {
    using text = std::basic_string<char, std::char_traits<char>, Allocator<char>>;
    using object = std::map<text, value, std::less<>, Allocator<std::pair<const text, value>>>;

    template <class T, class... Args>
    static T* create(Args&&... args) {
        Allocator<T> allocator;
        using traits = std::allocator_traits<Allocator<T>>;
        auto destroyer = [&](T* p) { traits::deallocate(allocator, p, 1); };
        std::unique_ptr<T, decltype(destroyer)> p{traits::allocate(allocator, 1), destroyer};
        traits::construct(allocator, p.get(), std::forward<Args>(args)...);
        return p.release();
    }
};

static_assert(std::is_empty_v<here<int>> && std::is_trivially_copyable_v<here<int>>);
static_assert(sizeof(std::vector<int, here<int>>) == sizeof(std::vector<int>));
static_assert(std::allocator_traits<here<int>>::is_always_equal::value);
static_assert(std::is_same_v<std::allocator_traits<here<int>>::rebind_alloc<char>, here<char>>);
static_assert(std::is_same_v<here<int>::rebind<char>::other, here<char>>);

}  // namespace

TEST(allocator_for, gives_containers_the_memory_that_it_names) {
    {
        std::vector<int, here<int>> numbers(100, 7);
        EXPECT_EQ(memory.live_size(), 400u);
        std::unordered_map<
            int, std::basic_string<char, std::char_traits<char>, here<char>>, std::hash<int>,
            std::equal_to<>,
            here<std::pair<const int, std::basic_string<char, std::char_traits<char>, here<char>>>>>
            names;
        names[3] = "a name that is longer than what a string keeps inside";
        std::vector<int, here<int>> moved = std::move(numbers);
        EXPECT_EQ(moved.size(), 100u);
        std::vector<bool, here<bool>> bits(1000);
        EXPECT_GT(memory.live_size(), 500u);
    }
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(allocator_for, is_a_template_of_one_parameter) {
    using json = value<here>;
    auto* const object = json::create<json::object>();
    (*object)["a name that is longer than what a string keeps inside"] = {};
    EXPECT_GT(memory.live_size(), 100u);
    std::destroy_at(object);
    here<json::object>{}.deallocate(object, 1);
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(allocator_for, names_a_function_whose_memory_is_made_at_its_first_use) {
    std::vector<double, allocator_for<never_ended>::type<double>> numbers(10);
    EXPECT_TRUE(never_ended().owns(numbers.data()));
}

TEST(allocator_for, throws_what_the_standard_library_expects) {
    memory.refuse_from(memory.request_count());
    std::vector<int, here<int>> numbers;
    EXPECT_THROW(numbers.push_back(1), std::bad_alloc);
    memory.refuse_nothing();
    numbers.push_back(1);
    EXPECT_THROW((void)here<int>{}.allocate(SIZE_MAX / 2), std::bad_array_new_length);
}

TEST(allocator_for, is_equal_to_each_of_its_kind) {
    EXPECT_TRUE(here<int>{} == here<char>{});
    EXPECT_FALSE(here<int>{} != here<int>{});
}
