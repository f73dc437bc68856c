// lab/layout/unit_walk.hpp - all entries of one unit of debug information, in one pass.
//
//      unit                            depth 0
//        namespace game                      1
//          struct particle                   2
//            member age                      3
//        subprogram main                     1
//
// libdw goes from an entry to its sibling by skipping everything below it, so that a walk over a tree
// skips the same bytes once for each level above them. This one goes through the bytes once: how long
// an entry is follows from its abbreviation, which is asked from libdw once per unit.
//
// Cost: about 10 ns an entry. Every step moves ahead, so damaged data end the walk, too.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace lab::layout {

class unit_walk {
public:
    /// From the unit's own entry on; `section_end` is where the bytes of its section end.
    unit_walk(const Dwarf_Die& unit, const unsigned char* section_end);

    /// The next entry. Returns: false behind the last one, or where the bytes make no sense.
    bool next();
    [[nodiscard]] bool is_damaged() const { return is_damaged_; }

    /// The entry; libdw's functions take it.
    [[nodiscard]] Dwarf_Die entry() const;
    [[nodiscard]] unsigned tag() const { return current_->tag; }
    [[nodiscard]] std::size_t depth() const { return depth_; }

private:
    enum class shape : std::uint8_t {
        fixed,
        leb,
        text,
        block1,
        block2,
        block4,
        block_leb,
        indirect,
        unknown
    };
    struct step {
        shape how = shape::fixed;
        std::uint32_t size = 0;  ///< of a fixed one
    };
    struct abbreviation {
        unsigned tag = 0;
        bool has_children = false;
        std::vector<step> steps;
    };

    [[nodiscard]] step step_of(unsigned form) const;
    const abbreviation* find(std::uint64_t code, const unsigned char* entry);
    /// Behind the value, or nullptr.
    const unsigned char* skip(const unsigned char* at, step s) const;
    /// Reads a number in base 128. Returns: false at the end of the bytes.
    bool read_leb(const unsigned char*& at, std::uint64_t& n) const;
    [[nodiscard]] std::uint64_t read_fixed(const unsigned char* at, unsigned size) const;

    Dwarf_CU* unit_;
    const unsigned char* unit_begin_;
    const unsigned char* at_;
    const unsigned char* end_;
    std::uint8_t address_size_ = 8;
    std::uint8_t offset_size_ = 4;
    Dwarf_Half version_ = 4;
    bool is_big_endian_ = false;
    bool is_damaged_ = false;
    std::size_t next_depth_ = 0;
    std::size_t depth_ = 0;
    const unsigned char* entry_ = nullptr;
    const abbreviation* current_ = nullptr;
    std::vector<std::int32_t> by_code_;       // place in abbreviations_; -1: not asked yet
    std::deque<abbreviation> abbreviations_;  // which stay where they are
};

}  // namespace lab::layout
