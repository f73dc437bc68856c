// lab/layout/type_index.hpp - every struct, class and union of a program, once.
//
//      unit a     struct particle {...};  --+
//      unit b     struct particle {...};  --+-->   types():  game::particle, 128 bytes
//      unit c     struct particle;        --+
//
// Two definitions are one type when name, namespaces, size and line agree. (In unnamed namespaces of
// two files that may be two types; the first one is kept.)
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lab::layout {

/// "game::particle": equal names are one string.
struct type_name {
    const std::string* full = nullptr;
    std::size_t own_begin = 0;
    /// "particle".
    [[nodiscard]] std::string_view own() const { return std::string_view{*full}.substr(own_begin); }
};

struct indexed_type {
    Dwarf_Die entry{};
    type_name name;
    std::uint64_t size = 0;
    std::uint64_t line = 0;
    unsigned tag = 0;
    std::uint32_t next_same_name = 0;  ///< place in types() plus 1; 0: none
};

class type_index {
public:
    /// All types of one unit.
    void add_unit(const Dwarf_Die& unit);

    [[nodiscard]] const std::vector<indexed_type>& types() const { return types_; }
    [[nodiscard]] std::size_t damaged_units() const { return damaged_units_; }

    /// The definition of a type that is only declared at this entry; nullptr when there is none.
    [[nodiscard]] const indexed_type* definition_of(const Dwarf_Die& declared) const;

private:
    struct level {
        Dwarf_Die entry{};
        unsigned tag = 0;
        std::string prefix;  ///< what the names in it begin with, once it was asked for
        bool is_known = false;
    };

    /// For a type below levels_[0] to levels_[depth - 1].
    const std::string& prefix_at(std::size_t depth);
    type_name name_in(const std::string& prefix, const char* name);
    void see_type(Dwarf_Die entry, unsigned tag, std::size_t depth);
    void see_typedef(Dwarf_Die entry, std::size_t depth);
    void add(indexed_type type);

    using names_of_entries = std::unordered_map<const void*, type_name>;  // by their addresses

    std::vector<indexed_type> types_;
    std::unordered_set<std::string> names_;
    std::unordered_map<const std::string*, std::uint32_t> by_name_;  // the first type of a name
    names_of_entries named_;  // declarations, and definitions
    std::size_t damaged_units_ = 0;

    // of the unit that is being added
    std::vector<level> levels_;
    std::vector<indexed_type> unnamed_;
    names_of_entries typedefs_;  // what they name
};

}  // namespace lab::layout
