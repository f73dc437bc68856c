# A VALIDATOR for find_program: the tests take a second compiler only where it is new enough for cairn. The
# clang++ of Debian 12 is version 14.
function(cairn_takes_compiler is_taken program)
    execute_process(COMMAND ${program} -std=c++20 -fsyntax-only -x c++
        -I${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/cairn/core/inside/supported.hpp
        RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(NOT status EQUAL 0)
        set(${is_taken} FALSE PARENT_SCOPE)
    endif()
endfunction()
