# CAIRN_MODULE: `import cairn;` (src/cairn.cppm), the target cairn::module. Its interface is compiled by each
# project that imports it, with that project's compiler and flags; what is installed is the source.
option(CAIRN_MODULE "Make the module cairn: CMake 3.28, Ninja and clang 16 or newer" OFF)
if(NOT CAIRN_MODULE)
    return()
endif()
if(CMAKE_VERSION VERSION_LESS 3.28)
    message(FATAL_ERROR "cairn: CAIRN_MODULE needs CMake 3.28, and this is ${CMAKE_VERSION}; what to tell "
            "clang by hand is in docs/packages.md")
endif()
add_library(cairn_module)
add_library(cairn::module ALIAS cairn_module)
target_sources(cairn_module PUBLIC FILE_SET CXX_MODULES BASE_DIRS ${PROJECT_SOURCE_DIR}/src
               FILES ${PROJECT_SOURCE_DIR}/src/cairn.cppm)
target_link_libraries(cairn_module PUBLIC cairn)
set_target_properties(cairn_module PROPERTIES EXPORT_NAME module POSITION_INDEPENDENT_CODE ON)
