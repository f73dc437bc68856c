// Sentences of cairn/core/inside/construct.hpp, at every size around those that are built in another way.
#include <cairn/core/inside/construct.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

using namespace cairn;

namespace {

constexpr unsigned char dirt = 0xa5;

/// Builds a T() in the middle of dirty bytes. Returns: what is true of it, and nothing beside it
/// was written.
template <class T, class Check>
bool built_among_dirt(Check check) {
    constexpr std::size_t margin = 64;
    alignas(T) std::array<unsigned char, sizeof(T) + 2 * margin> bytes;
    std::memset(bytes.data(), dirt, bytes.size());
    T* const object = detail::construct_at<T>(bytes.data() + margin);
    bool right = static_cast<void*>(object) == bytes.data() + margin && check(*object);
    for (std::size_t i = 0; i < margin; ++i) {
        right = right && bytes[i] == dirt && bytes[bytes.size() - 1 - i] == dirt;
    }
    return right;
}

template <std::size_t Size>
struct bytes_of {
    unsigned char bytes[Size];
};
template <std::size_t Size>
bool is_zeroed() {
    return built_among_dirt<bytes_of<Size>>([](const bytes_of<Size>& object) {
        for (const unsigned char b : object.bytes) {
            if (b != 0) { return false; }
        }
        return true;
    });
}

TEST(construct, numbers_are_zero_whatever_the_size) {
    const auto sizes_from = []<std::size_t First, std::size_t... I>(std::index_sequence<I...>) {
        return (is_zeroed<First + I>() && ...);
    };
    EXPECT_TRUE(sizes_from.operator()<1>(std::make_index_sequence<8>{}));
    EXPECT_TRUE(sizes_from.operator()<60>(std::make_index_sequence<80>{}));
    EXPECT_TRUE(sizes_from.operator()<250>(std::make_index_sequence<12>{}));
    EXPECT_TRUE(is_zeroed<4096>());
}

struct with_members {
    std::uint64_t numbers[14];
    int with_members::* member;  // null is not 0
    void* pointer;
    int one;
};
TEST(construct, null_pointers_are_null_those_to_members_too) {
    EXPECT_TRUE(built_among_dirt<with_members>([](const with_members& object) {
        return object.member == nullptr && object.pointer == nullptr && object.numbers[13] == 0;
    }));
}

struct with_values {
    float zeros[28]{};
    float ones[4] = {1, 1, 1, 1};
};
struct with_itself {
    std::uint64_t numbers[14]{};
    const with_itself* self = this;
};
TEST(construct, initializers_of_members_run_where_the_object_is) {
    EXPECT_TRUE(built_among_dirt<with_values>(
        [](const with_values& object) { return object.zeros[27] == 0 && object.ones[3] == 1; }));
    EXPECT_TRUE(built_among_dirt<with_itself>(
        [](const with_itself& object) { return object.self == &object; }));
}

int elsewhere = 0;
struct with_pointers {
    std::uint64_t numbers[10]{};
    void* none = nullptr;
    int* other = &elsewhere;
    int (*function)() = nullptr;
};
struct with_its_part {
    std::uint64_t numbers[14]{};
    const std::uint64_t* part = numbers + 3;
};
TEST(construct, addresses_of_others_are_kept_and_those_of_its_own_parts_are_its_own) {
    EXPECT_TRUE(built_among_dirt<with_pointers>([](const with_pointers& object) {
        return object.none == nullptr && object.other == &elsewhere && object.function == nullptr &&
               object.numbers[9] == 0;
    }));
    EXPECT_TRUE(built_among_dirt<with_its_part>(
        [](const with_its_part& object) { return object.part == object.numbers + 3; }));
#if defined(__GNUC__) && !defined(__clang__)
    static_assert(detail::built_by_stores<with_pointers>, "or gcc clears it by rep stosq");
    static_assert(!detail::built_by_stores<with_itself> && !detail::built_by_stores<with_its_part>);
#endif
}

struct with_a_count {
    static inline int count = 0;
    std::uint64_t numbers[14]{};
    int number = ++count;
};
class with_secrets {
    std::uint64_t numbers_[14] = {1, 2, 3};

public:
    with_secrets() = default;
    [[nodiscard]] std::uint64_t sum() const {
        return numbers_[0] + numbers_[1] + numbers_[2] + numbers_[13];
    }
};
TEST(construct, initializers_of_members_run_once_for_each_object) {
    EXPECT_TRUE(
        built_among_dirt<with_a_count>([](const auto& object) { return object.number == 1; }));
    EXPECT_TRUE(
        built_among_dirt<with_a_count>([](const auto& object) { return object.number == 2; }));
    EXPECT_TRUE(
        built_among_dirt<with_secrets>([](const auto& object) { return object.sum() == 6; }));
}

TEST(construct, brackets_are_those_that_fit) {
    struct aggregate {
        int a;
        int b = 7;
    };
    aggregate room{0, 0};
    EXPECT_EQ(detail::construct_at<aggregate>(&room, 1)->b, 7);
    EXPECT_EQ(detail::construct_at<aggregate>(&room, 1, 2)->b, 2);
    int number = 0;
    EXPECT_EQ(*detail::construct_at<int>(&number, 3), 3);
}

TEST(construct, a_large_type_needs_no_default) {
    struct asset {
        explicit asset(int n) : first{n} {}
        int first;
        int others[31] = {};
    };
    alignas(asset) std::byte room[sizeof(asset)];
    EXPECT_EQ(detail::construct_at<asset>(room, 3)->first, 3);
}

}  // namespace
