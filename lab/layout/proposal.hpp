// lab/layout/proposal.hpp - another order of the same members: smaller, off the borders of lines, and
// what a loop uses together.
//
//      as written   | a | ... | v |         | v |w|  ...      v lies on two lines
//      proposed     | v w a | ...                             the loop's members first
//
// Where placement.hpp does not give the offsets that the debug information states for the order that
// is there (packed, aligned by hand, empty members that share a place), nothing is proposed.
//
// Cost: O(members^2 * line size), some hundred microseconds for 50 members.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/layout/type_layout.hpp"

namespace lab::layout {

/// The members that a loop uses, by their place in type_layout::members.
using member_set = std::vector<std::size_t>;

struct proposal {
    std::string why_not;  ///< one sentence; the rest is empty then
    type_layout type;     ///< the same members, in the proposed order, at their new offsets
    std::vector<std::size_t> order;  ///< for each of them, where it stands now
    bool is_better = false;          ///< false: the order that is there is as good
};

/// `loops`: each set is one loop; the first is the most important one. May be empty.
[[nodiscard]] proposal propose_order(const type_layout& type, std::span<const member_set> loops,
                                     std::uint64_t line_size);

}  // namespace lab::layout
