# What the library is built as, and what its users must know of it: asserts, static or shared. The
# target and the package files carry the definitions; cairn/core/inside/flavour.hpp has the linker compare them.

# CAIRN_ASSERTS: a truth value, or a list of configurations.
string(TOUPPER "${CAIRN_ASSERTS}" asserts)
if(asserts MATCHES "^(ON|OFF|TRUE|FALSE|YES|NO|Y|N|1|0)$")
    set(cairn_asserts_value $<BOOL:${CAIRN_ASSERTS}>)
else()
    set(known Debug Release RelWithDebInfo MinSizeRel ${CMAKE_CONFIGURATION_TYPES} ${CMAKE_BUILD_TYPE})
    foreach(configuration ${CAIRN_ASSERTS})
        if(NOT configuration IN_LIST known)
            message(FATAL_ERROR "cairn: CAIRN_ASSERTS is ON, OFF or a list of configurations, and "
                    "${configuration} is neither")
        endif()
    endforeach()
    list(JOIN CAIRN_ASSERTS "," configurations)
    set(cairn_asserts_value $<IF:$<CONFIG:${configurations}>,1,0>)
endif()
target_compile_definitions(cairn PUBLIC CAIRN_ASSERTS=${cairn_asserts_value})
get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(is_multi_config)
    set_target_properties(cairn PROPERTIES DEBUG_POSTFIX d)   # both fit into one prefix
endif()

set_target_properties(cairn PROPERTIES POSITION_INDEPENDENT_CODE ON)   # plugins link it too
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Otherwise the dynamic linker keeps a plugin with cairn in it for ever: docs/plugins.md.
    target_compile_options(cairn PRIVATE -fno-gnu-unique)
endif()

# A shared cairn: one for all modules of a process. Below 1.0 each minor version is an interface of its own.
if(BUILD_SHARED_LIBS)
    target_compile_definitions(cairn PUBLIC CAIRN_SHARED=1)
    set_target_properties(cairn PROPERTIES VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    if(NOT APPLE)
        set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)   # cairn's names and no others
        target_link_options(cairn PRIVATE LINKER:--version-script=${exports})
        set_target_properties(cairn PROPERTIES LINK_DEPENDS ${exports})
    endif()
endif()
