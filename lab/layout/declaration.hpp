// lab/layout/declaration.hpp - a member as the program declares it.
#pragma once

#include <elfutils/libdw.h>

#include <string>

namespace lab::layout {

/// "float age", "int (*call)(float)", "char text[12]"; an empty name gives the type alone. Classes
/// without their namespaces, as debug information names them.
[[nodiscard]] std::string declare(const Dwarf_Die& type, const std::string& name);

}  // namespace lab::layout
