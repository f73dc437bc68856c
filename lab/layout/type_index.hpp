// lab/layout/type_index.hpp - every struct, class and union of a program, once.
//
//      unit a     struct particle {...};  --+
//      unit b     struct particle {...};  --+-->   types():  game::particle, 128 bytes
//      unit c     struct particle;        --+
//
// Two definitions are one type when name, namespaces, size and line agree. (In unnamed namespaces of
// two files that may be two types; the first one is kept.) Names are pointers into the debug
// information; what a name lies in is found only where a type lies in it.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace lab::layout {

/// A namespace, class or function around a type.
struct scope {
    const scope* outer = nullptr;
    const char* name = "";
    bool is_function = false;
    std::uint64_t hash = 0;
};

struct indexed_type {
    Dwarf_Die entry{};
    const scope* where = nullptr;
    const char* name = "";
    std::uint64_t size = 0;
    std::uint64_t line = 0;
    unsigned tag = 0;
    std::uint32_t next_same_name = 0;  ///< place in types() plus 1; 0: none
};

[[nodiscard]] std::string full_name(const scope* where, const char* name);

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
        const scope* where = nullptr;  ///< once it was asked for
        bool is_known = false;
    };
    struct named_entry {
        const void* address = nullptr;
        const scope* where = nullptr;
        const char* name = "";
    };

    const scope* scope_at(std::size_t depth);
    const scope* make_scope(const scope* outer, const char* name, bool is_function);
    void see_type(Dwarf_Die entry, unsigned tag, std::size_t depth);
    void see_typedef(Dwarf_Die entry, std::size_t depth);
    void add(indexed_type type);
    [[nodiscard]] const named_entry* find_declaration(const void* address) const;

    std::vector<indexed_type> types_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_name_;  // hash of the full name: the first
    std::deque<scope> scopes_;
    std::vector<named_entry> declarations_;  // and definitions: those of a unit by rising address
    struct part {
        std::size_t begin, end;
    };
    std::map<const void*, part> units_;  // by first address: their part of declarations_
    std::size_t damaged_units_ = 0;

    // of the unit that is being added
    std::vector<level> levels_;
    std::vector<indexed_type> unnamed_;
    std::vector<named_entry> typedefs_;  // what they name, and how
};

}  // namespace lab::layout
