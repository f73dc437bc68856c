// lab/layout/report.hpp - what `cairn layout` says: to the terminal, and as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/layout/columns.hpp"
#include "lab/layout/findings.hpp"
#include "lab/layout/proposal.hpp"
#include "lab/layout/type_layout.hpp"

namespace lab::layout {

/// The members that one loop uses: --uses position,velocity.
struct loop {
    std::vector<std::string> names;
    std::vector<piece> pieces;
    member_set members;  ///< those of the type itself, not of its bases
    usage costs;
};

/// All about one type.
struct type_report {
    type_layout type;
    findings found;
    std::vector<loop> loops;
    proposal order;
    std::vector<usage> costs_then;  ///< of each loop, in the proposed order
    columns as_columns;             ///< where there are loops
};

/// One row of the list of types.
struct summary_row {
    std::string name;
    std::uint64_t size = 0;
    std::uint64_t wasted = 0;
    std::uint64_t hole_size = 0;
    std::uint64_t padding = 0;
    std::uint64_t lines = 0;
    std::uint64_t straddling = 0;
};

struct program_report {
    std::string path;
    std::uint64_t line_size = 64;
    std::size_t type_count = 0;
    std::vector<type_report> types;  ///< those that were asked for
    std::vector<summary_row> rows;   ///< or a list, worst first
    std::size_t rows_left_out = 0;
    std::vector<std::string> notes;
};

[[nodiscard]] std::string as_text(const program_report& report);
[[nodiscard]] std::string as_json(const program_report& report);

/// The bytes of an object, a row for each cache line, a letter for each member, '.' for a hole.
/// `only`: the bytes that are shown; all when it is empty.
[[nodiscard]] std::vector<std::string> picture(const type_layout& type, std::uint64_t line_size,
                                               std::span<const piece> only);

/// Without control characters: names are whatever bytes a file has.
[[nodiscard]] std::string printable(std::string_view text);

/// The letter of member number `i`.
[[nodiscard]] char letter(std::size_t i);

}  // namespace lab::layout
