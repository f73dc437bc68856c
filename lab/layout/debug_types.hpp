// lab/layout/debug_types.hpp - the types of a program, from its debug information (DWARF).
//
//      debug_types types{"game"};                 every type once, however many units declare it
//      types.find("particle")                     those that are called so
//      types.read(i)                              its members, with their declarations
//
// Understood: DWARF 2 to 5, compressed sections, .debug_types, .dwo files, the common file that dwz
// makes, and debug information in a file of its own (by build id or .gnu_debuglink).
//
// The library behind it (elfutils' libdw) is optional: without it the constructor throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lab/layout/type_layout.hpp"

namespace lab::layout {

/// One sentence: why a file's types cannot be read.
struct unreadable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class debug_types {
public:
    /// Throws unreadable: no such file, no ELF file, cut off, without debug information.
    explicit debug_types(const std::string& path);
    ~debug_types();
    debug_types(const debug_types&) = delete;
    debug_types& operator=(const debug_types&) = delete;

    [[nodiscard]] std::size_t count() const;
    /// With its namespaces.
    [[nodiscard]] std::string name(std::size_t type) const;

    /// Called exactly so; if there is none, with any namespaces before it; if there is none, with any
    /// template arguments, too.
    [[nodiscard]] std::vector<std::size_t> find(std::string_view name) const;

    /// Its members, with their declarations and alignments.
    [[nodiscard]] type_layout read(std::size_t type) const;
    /// What lies where, and nothing else: cheaper, for all types of a program.
    [[nodiscard]] type_layout measure(std::size_t type) const;
    /// The members of a member's class; without members when it has none.
    [[nodiscard]] type_layout inside(const member& of) const;

    /// What could not be read, one sentence each.
    [[nodiscard]] const std::vector<std::string>& notes() const;

private:
    struct implementation;
    std::unique_ptr<implementation> m_;
};

}  // namespace lab::layout
