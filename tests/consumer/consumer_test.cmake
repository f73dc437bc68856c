# cmake -Dway=... -Dcompiler=... -Dsource=... -Dbuild=... -Dwork=... -P consumer_test.cmake
# Builds tests/consumer/main.cpp as a stranger would, and runs it.
cmake_minimum_required(VERSION 3.25)

function(must)   # runs a command; its output is shown when it fails, and ends the test
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                    ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command}\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
set(here ${CMAKE_CURRENT_LIST_DIR})

if(way MATCHES "find_package|pkg_config")
    must(${CMAKE_COMMAND} --install ${build} --prefix ${work}/first)
    file(RENAME ${work}/first ${work}/moved)   # an installed folder may be moved
endif()

if(way STREQUAL pkg_config)
    find_program(pkg_config NAMES pkg-config pkgconf)
    if(NOT pkg_config)
        message(STATUS "no pkg-config here: skipped")
        return()
    endif()
    file(GLOB_RECURSE pc ${work}/moved/*/cairn.pc)
    get_filename_component(folder ${pc} DIRECTORY)
    set(ENV{PKG_CONFIG_PATH} ${folder})
    must(${pkg_config} --cflags --libs cairn)
    separate_arguments(flags UNIX_COMMAND "${output}")
    must(${compiler} -std=c++20 -Werror ${here}/main.cpp ${flags} -o ${work}/consumer)
    must(${work}/consumer)
else()
    must(${CMAKE_COMMAND} -G Ninja -S ${here}/${way} -B ${work}/build
         -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_PREFIX_PATH=${work}/moved
         -DCAIRN_SOURCE_DIR=${source})
    must(${CMAKE_COMMAND} --build ${work}/build --target consumer)
    must(${work}/build/consumer)
endif()
