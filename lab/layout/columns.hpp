// lab/layout/columns.hpp - the members of a struct as columns of a table
// (cairn/containers/layout.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/layout/proposal.hpp"
#include "lab/layout/type_layout.hpp"

namespace lab::layout {

struct columns {
    std::vector<std::string>
        row;           ///< the lines of the struct "p_row"; none: the type itself will do
    std::string line;  ///< "cairn::table<p_row>"
    std::vector<std::string>
        remarks;  ///< what keeps a table from taking this type; one sentence each
};

/// Members that the same loops use share a column: the proposed row has a struct for them. The
/// other members have a column each.
/// Requires: at least one loop.
[[nodiscard]] columns propose_columns(const type_layout& type, std::span<const member_set> loops);

}  // namespace lab::layout
