// lab/layout/columns.hpp - the members of a struct as columns of a table (cairn/containers/layout.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/layout/proposal.hpp"
#include "lab/layout/type_layout.hpp"

namespace lab::layout {

struct columns {
    std::string line;  ///< "cairn::table<p, cairn::grouped_soa<cairn::group<&p::a, &p::b>>>"
    std::vector<std::string> remarks;  ///< what keeps a table from taking this type, or a member
                                       ///< from its group; one sentence each
};

/// Members that the same loops use share a column; the others have one each.
/// Requires: at least one loop.
[[nodiscard]] columns propose_columns(const type_layout& type, std::span<const member_set> loops);

}  // namespace lab::layout
