// lab/layout/findings.hpp - what a layout costs: holes, padding, members on two cache lines, and how
// much of each line a loop uses.
//
// All of it for an object that begins at a cache line, as pahole counts; what an array of them costs
// on average stands beside it where it differs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/layout/type_layout.hpp"

namespace lab::layout {

struct gap {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

struct findings {
    std::vector<gap> holes;          ///< whole bytes between members
    gap padding;                     ///< whole bytes behind the last one
    std::uint64_t hole_size = 0;     ///< the sum of the holes
    std::uint64_t unused_bits = 0;   ///< bits beside bit fields, in bytes that they lie in
    std::uint64_t member_size = 0;   ///< whole bytes that members lie in
    std::uint64_t member_count = 0;  ///< data members, bases and pointers to virtual tables
    std::uint64_t line_count = 0;
    std::vector<const member*> straddling;  ///< those on one line more than their size needs

    [[nodiscard]] std::uint64_t wasted() const { return hole_size + padding.size; }
};

/// A piece of an object that a loop uses.
struct piece {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

struct usage {
    std::vector<std::uint64_t> used_of_line;  ///< bytes, for each line of the object
    std::uint64_t used_size = 0;              ///< their sum
    std::uint64_t touched_lines = 0;
    double lines_in_array = 0;  ///< lines that one object's pieces touch, averaged over an array

    /// Bytes used of the bytes that are loaded: 0 to 1.
    [[nodiscard]] double share(std::uint64_t line_size) const {
        return touched_lines == 0 ? 0
                                  : static_cast<double>(used_size) /
                                        static_cast<double>(touched_lines * line_size);
    }
};

/// True for what lies on more cache lines than its size needs.
[[nodiscard]] bool straddles(std::uint64_t offset, std::uint64_t size, std::uint64_t line_size);

[[nodiscard]] findings look_at(const type_layout& type, std::uint64_t line_size);

/// Pieces lie inside of the object.
[[nodiscard]] usage usage_of(std::uint64_t size, std::span<const piece> pieces,
                             std::uint64_t line_size);

}  // namespace lab::layout
