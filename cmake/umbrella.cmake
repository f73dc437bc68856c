# <cairn/cairn.hpp>: every public header but those of std. Written from the list of files, so
# that it can never forget one.
get_target_property(headers cairn HEADER_SET)
set(umbrella "// cairn/cairn.hpp - everything but cairn/std/, which brings heavier headers.
//
// Written by cmake/umbrella.cmake. Convenient in a program; in a header of your own include what you
// use: tools/header_cost.py prints what each costs.
#pragma once

")
foreach(header ${headers})
    if(header MATCHES "include/(cairn/(core|os|storage|alloc|movable|owners|containers|collected|debug|adapt)/[a-z0-9_]+[.]hpp)$")
        string(APPEND umbrella "#include <${CMAKE_MATCH_1}>\n")
    endif()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/cairn/cairn.hpp CONTENT "${umbrella}" @ONLY)
target_sources(cairn PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_BINARY_DIR}/include
               FILES ${PROJECT_BINARY_DIR}/include/cairn/cairn.hpp)
