// lab/layout/unit_walk.hpp - all entries of one unit of debug information, those outside first.
//
//      unit                            depth 0
//        namespace game                      1
//          struct particle                   2
//            member age                      3
//        subprogram main                     1
//
// Every step moves ahead in the bytes, so damaged data end the walk, too.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <vector>

namespace lab::layout {

class unit_walk {
public:
    /// From the unit's own entry on.
    explicit unit_walk(const Dwarf_Die& unit) : next_{unit} {}

    /// The next entry. Returns: false behind the last one, or where the bytes make no sense.
    bool next();

    [[nodiscard]] bool is_damaged() const { return is_damaged_; }
    [[nodiscard]] const Dwarf_Die& entry() const { return path_.back(); }
    [[nodiscard]] unsigned tag() const;
    [[nodiscard]] std::size_t depth() const { return path_.size() - 1; }

private:
    /// libdw's answer to a question for the next entry: 0 found, 1 there is none, -1 an error.
    bool is_there(int answer);

    std::vector<Dwarf_Die> path_;  // from the unit's entry to the current one
    Dwarf_Die next_;
    bool is_damaged_ = false;
};

}  // namespace lab::layout
