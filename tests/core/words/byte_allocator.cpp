// Sentences of cairn/core/byte_allocator.hpp: what is optional is found where it is.
#include <cairn/core/byte_allocator.hpp>
#include <gtest/gtest.h>

#include <cstddef>

using namespace cairn;

namespace {

struct least {
    void* allocate(std::size_t, alignment) noexcept { return nullptr; }
    void deallocate(void*, std::size_t, alignment) noexcept {}
};
struct throwing {
    void* allocate(std::size_t, alignment) { return nullptr; }
    void deallocate(void*, std::size_t, alignment) noexcept {}
};
struct other_pointer {
    char* allocate(std::size_t, alignment) noexcept { return nullptr; }
    void deallocate(void*, std::size_t, alignment) noexcept {}
};
struct full : least {
    bool try_resize(void*, std::size_t, std::size_t, alignment) noexcept { return false; }
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment) const noexcept { return size; }
    [[nodiscard]] bool owns(const void*) const noexcept { return false; }
    void reset() noexcept {}
    void validate() const noexcept {}
    int mark() { return 0; }
    void rewind(int) {}
};
struct changes_when_asked : least {
    bool owns(const void*) noexcept { return false; }
    std::size_t good_size(std::size_t size, alignment) noexcept { return size; }
};

}  // namespace

TEST(byte_allocator, needs_two_operations_that_do_not_throw) {
    static_assert(byte_allocator<least>);
    static_assert(byte_allocator<least&>, "wrappers hold an A or an A&");
    static_assert(!byte_allocator<throwing>);
    static_assert(!byte_allocator<other_pointer>);
    static_assert(!byte_allocator<int>);
}

TEST(byte_allocator, needs_no_stubs) {
    static_assert(!resizes_in_place<least> && !has_good_size<least> && !has_owns<least>);
    static_assert(!resettable<least> && !validatable<least> && !markable<least>);
    static_assert(resizes_in_place<full> && has_good_size<full> && has_owns<full>);
    static_assert(resettable<full> && validatable<full> && markable<full>);
    static_assert(resizes_in_place<full&> && has_owns<full&> && markable<full&>);
}

TEST(byte_allocator, questions_are_asked_of_a_const_allocator) {
    static_assert(byte_allocator<changes_when_asked>);
    static_assert(!has_owns<changes_when_asked> && !has_good_size<changes_when_asked>);
}
