// lab/layout/type_layout.hpp - a struct, class or union as a compiler laid it out.
//
//      offset   0     4         8              9      12
//               +-----+---------+--------------+------+-----------+---
//               | age | max_age | pending_kill | hole | position  | ...
//               +-----+---------+--------------+------+-----------+---
//
// Sizes and offsets are bytes, offsets from the beginning of the object, where nothing else is said.
// debug_types.hpp fills it in; the names are the debug information's own bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lab::layout {

enum class role {
    data,
    base,
    virtual_base,  ///< its place is known at run time only
    vtable         ///< the pointer to the table of virtual functions
};

/// Where debug information describes a type; for type_reader alone.
struct die_place {
    void* address = nullptr;
    void* unit = nullptr;
};

struct member {
    std::string_view name;    ///< "" for a base class and an unnamed struct or union
    std::string declaration;  ///< "float age", "int (*call)(int)", "public base"
    role what = role::data;
    std::uint64_t offset = 0;
    std::uint64_t size =
        0;  ///< 0: an array without a bound, or an empty class; of a bit field: the
            ///< bytes that it has bits in
    std::uint64_t alignment = 0;   ///< 0: not known
    std::uint64_t bit_offset = 0;  ///< bits from the beginning of the object
    std::uint64_t bit_size = 0;    ///< 0: not a bit field
    std::uint64_t unit_size = 0;   ///< of a bit field: the size of its type
    bool size_is_known = true;     ///< false: the type is only declared in this program
    bool is_array = false;
    bool is_reference = false;
    std::vector<member> inside;  ///< of an unnamed struct or union; offsets in the outer object
    die_place type;

    [[nodiscard]] bool is_bit_field() const { return bit_size != 0; }
    /// The program can write it elsewhere in the type.
    [[nodiscard]] bool is_movable() const { return what == role::data; }
    [[nodiscard]] std::uint64_t first_bit() const {
        return is_bit_field() ? bit_offset : offset * 8;
    }
    [[nodiscard]] std::uint64_t end_bit() const {
        return is_bit_field() ? bit_offset + bit_size : (offset + size) * 8;
    }
};

struct type_layout {
    std::string name;     ///< with its namespaces
    std::string keyword;  ///< "struct", "class" or "union"
    std::string place;    ///< "file.cpp:12"; "" where it is not known
    std::uint64_t size = 0;
    std::uint64_t alignment = 0;  ///< 0: not known
    std::vector<member> members;  ///< in the order of their offsets; without static ones
    bool is_union = false;
    bool has_unknown_places = false;  ///< virtual bases, variants: what only the running program
                                      ///< knows lies behind or upon the members
};

}  // namespace lab::layout
