#include "lab/layout/unit_walk.hpp"

#include <dwarf.h>

namespace lab::layout {

unsigned unit_walk::tag() const {
    Dwarf_Die entry = path_.back();
    return static_cast<unsigned>(dwarf_tag(&entry));
}

bool unit_walk::is_there(int answer) {
    is_damaged_ = answer < 0 || (answer == 0 && next_.addr <= path_.back().addr) ||
                  (answer == 0 && dwarf_tag(&next_) == DW_TAG_invalid);
    return answer == 0 && !is_damaged_;
}

bool unit_walk::next() {
    constexpr std::size_t depth_max = 1000;  // of entries in entries: more than programs have
    if (path_.empty()) {
        path_.push_back(next_);
        return true;
    }
    if (path_.size() < depth_max && is_there(dwarf_child(&path_.back(), &next_))) {
        path_.push_back(next_);
        return true;
    }
    for (; !is_damaged_ && path_.size() > 1; path_.pop_back()) {
        if (!is_there(dwarf_siblingof(&path_.back(), &next_))) continue;
        path_.back() = next_;
        return true;
    }
    return false;
}

}  // namespace lab::layout
