// What the tests of cairn/movable/relocation.hpp share: types that move in each of the ways.
#pragma once

#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <utility>

namespace relocation_tests {

using cairn::work_limit;

inline constexpr auto everything = work_limit{};

struct plain {
    int a, b;
};
struct marked {  // not trivially copyable, but its bytes may move
    explicit marked(int v) : value{v} {}
    marked(const marked&) = delete;
    ~marked() { ++ended; }
    int value;
    static inline int ended = 0;
};
struct moved {
    explicit moved(std::string t) noexcept : text{std::move(t)} {}
    std::string text;  // with libstdc++, short ones point into themselves
};
struct hears {
    explicit hears(int v) : self{this}, value{v} {}
    hears* self;
    int value;
    static inline const hears* left = nullptr;
    void on_relocated(hears* from) noexcept {
        EXPECT_EQ(self, from);
        self = this;
        left = from;
    }
};
struct does_it_itself {
    explicit does_it_itself(int v) noexcept : value{v} {}
    does_it_itself(does_it_itself&&) = delete;
    static void relocate(does_it_itself* to, does_it_itself* from) noexcept {
        ::new (static_cast<void*>(to)) does_it_itself{from->value + 100};
    }
    int value;
};

}  // namespace relocation_tests

template <>
inline constexpr bool cairn::enable_trivial_relocation<relocation_tests::marked> = true;
