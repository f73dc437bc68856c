# CAIRN_OPTIMIZED_SOURCES: the library's own sources are compiled with -O2 where a build type asks for no
# optimization (-O0 or -Og: Debug, or no build type at all). Checks stay, and so does -g: a program that
# is debugged all day does not wait for code that is not its own. Never reaches the users of the library.
#
# A build that names another level itself (-O1, -Os ...), or that instruments (sanitizers, coverage), is
# left as it is: what it measures and reports should be what it asked for.
option(CAIRN_OPTIMIZED_SOURCES "Compile cairn's own sources with -O2 in Debug builds, too" ON)

# Sets `result` to TRUE when nothing in these flags speaks against -O2.
function(cairn_may_raise result)
    list(JOIN ARGN " " flags)
    if(" ${flags} " MATCHES " (-O[123sz4]|-Ofast|-fsanitize=|--coverage|-fprofile-|-fcoverage-|-ftest-coverage|-pg )")
        set(${result} FALSE PARENT_SCOPE)
    else()
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

if(CAIRN_OPTIMIZED_SOURCES AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT cairn_options_have_slashes)
    get_directory_property(cairn_directory_flags COMPILE_OPTIONS)   # add_compile_options() of a parent
    cairn_may_raise(raised ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_DEBUG} ${cairn_directory_flags})
    if(raised)
        target_compile_options(cairn PRIVATE $<$<CONFIG:Debug>:-O2>)
    endif()
    get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
    cairn_may_raise(raised ${CMAKE_CXX_FLAGS} ${cairn_directory_flags})
    if(raised AND NOT is_multi_config AND NOT CMAKE_BUILD_TYPE)
        target_compile_options(cairn PRIVATE -O2)
    endif()
endif()
