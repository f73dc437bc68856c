// lab/layout/placement.hpp - where a compiler puts members that are written in some order.
//
//      char a; double b; char c;     a.......bbbbbbbbc.......     24 bytes
//      double b; char a, c;          bbbbbbbbac......             16 bytes
//
// The rules of the Itanium C++ ABI: every member at the next multiple of its alignment; a bit field in
// the next bits that lie within one unit of its type. Bases and the pointer to the virtual functions
// keep their places.
#pragma once

#include <cstdint>
#include <span>

#include "lab/layout/type_layout.hpp"

namespace lab::layout {

[[nodiscard]] constexpr std::uint64_t rounded_up(std::uint64_t n, std::uint64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

class placement {
public:
    /// Refers to `type`.
    explicit placement(const type_layout& type);

    /// The same type with its movable members in this order (their places in type.members), at their
    /// new offsets, behind those that cannot move.
    [[nodiscard]] type_layout place(std::span<const std::size_t> order) const;

    /// Where the first movable member may begin.
    [[nodiscard]] std::uint64_t begin() const { return begin_; }

private:
    const type_layout* type_;
    std::uint64_t begin_ = 0;
    std::uint64_t alignment_ = 1;
};

}  // namespace lab::layout
