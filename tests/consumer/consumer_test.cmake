# cmake -Dway=... -Dcompiler=... -Dsource=... -Dbuild=... -Dwork=... -P consumer_test.cmake
# Builds tests/consumer/main.cpp as a stranger would, and runs it: by -Demulator=... where this build
# is for another processor or system, where programs end in -Dsuffix=... and are linked with -Dlink=...
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

function(debuggers_are_installed script)   # ... and gdb, where it is, takes them from this script
    foreach(file cairn_views.py cairn_gdb.py cairn_lldb.py cairn.natvis)
        if(NOT EXISTS ${work}/moved/share/cairn/debuggers/${file})
            message(FATAL_ERROR "${file} is not installed")
        endif()
    endforeach()
    find_program(gdb NAMES gdb)
    if(gdb)
        must(${gdb} -nx -batch -x ${script} -ex "info pretty-printer")
        if(NOT output MATCHES "\n  cairn\n")
            message(FATAL_ERROR "gdb did not take the printers of ${script}:\n${output}")
        endif()
    endif()
endfunction()

file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
set(here ${CMAKE_CURRENT_LIST_DIR})
separate_arguments(link UNIX_COMMAND "${link}")

if(way MATCHES "find_package|pkg_config")
    must(${CMAKE_COMMAND} --install ${build} --prefix ${work}/first)
    file(RENAME ${work}/first ${work}/moved)   # an installed folder may be moved
    debuggers_are_installed(${work}/moved/share/cairn/debuggers/cairn_gdb.py)
    # A static library names its thread library, which newer C libraries have inside and older ones
    # have not.
    file(GLOB_RECURSE packages ${work}/moved/*/cairn-config.cmake ${work}/moved/*/cairn-targets.cmake ${work}/moved/*/cairn.pc)
    set(said "")
    foreach(package ${packages})
        file(READ ${package} text)
        string(APPEND said "${text}")
    endforeach()
    file(GLOB shared ${build}/libcairn.so*)
    set(sentences "find_dependency\\(Threads\\)" "INTERFACE_LINK_LIBRARIES \"Threads::Threads" "Libs: [^\n]*-lcairn[^\n]* -pthread")
    foreach(sentence ${sentences})
        if(NOT shared AND NOT said MATCHES "${sentence}")
            message(FATAL_ERROR "no package file says ${sentence}:\n${said}")
        endif()
    endforeach()
endif()

if(way STREQUAL configurations)
    # One tree, two configurations: each has its own asserts, in the library and in its user.
    must(${CMAKE_COMMAND} -G "Ninja Multi-Config" -S ${here}/configurations -B ${work}/build
         -DCMAKE_CXX_COMPILER=${compiler} -DCAIRN_SOURCE_DIR=${source})
    foreach(configuration_and_value "Debug;1" "RelWithDebInfo;1" "Release;0")
        list(GET configuration_and_value 0 configuration)
        list(GET configuration_and_value 1 value)
        must(ninja -C ${work}/build -f build-${configuration}.ninja -t commands consumer)
        foreach(file consumer/main.cpp src/core/assert.cpp)
            if(NOT output MATCHES "CAIRN_ASSERTS=${value}[^\n]*${file}")
                message(FATAL_ERROR "${configuration} does not compile ${file} with ${value}:\n${output}")
            endif()
        endforeach()
    endforeach()
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${source} -B ${work}/misspelt -DCAIRN_ASSERTS=Debgu
                    -DCAIRN_TESTS=OFF -DCMAKE_CXX_COMPILER=${compiler}
                    RESULT_VARIABLE result ERROR_VARIABLE said OUTPUT_QUIET)
    string(REGEX REPLACE "[ \n]+" " " said "${said}")
    if(result EQUAL 0 OR NOT said MATCHES "Debgu is neither")
        message(FATAL_ERROR "a configuration that does not exist is taken: ${said}")
    endif()
    return()
endif()

if(way STREQUAL old_compilers)
    # A machine may have an older clang, which cairn refuses: no test asks that one.
    foreach(name clang++-19 clang++-18 clang++-17 clang++-16 clang++)
        file(WRITE ${work}/old/${name} "#!/bin/sh\necho 'error: cairn needs gcc 12, clang 16' >&2\nexit 1\n")
        file(CHMOD ${work}/old/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    endforeach()
    set(ENV{PATH} "${work}/old:$ENV{PATH}")
    must(${CMAKE_COMMAND} -G Ninja -S ${source} -B ${work}/build -DCMAKE_CXX_COMPILER=${compiler}
         -DCAIRN_CLANGXX=${compiler}   # a toolchain file of clang's would look for it again
         -DCMAKE_VERIFY_INTERFACE_HEADER_SETS=ON)
    file(STRINGS ${work}/build/CMakeCache.txt asked REGEX "^CAIRN_[A-Z]+.*=${work}/old/")
    file(STRINGS ${work}/build/CMakeCache.txt looked REGEX "^CAIRN_(SECOND|MODULE)_COMPILER")
    if(asked OR NOT looked)
        message(FATAL_ERROR "a compiler that is too old is taken: ${asked}${looked}")
    endif()
    return()
endif()

if(way STREQUAL optimized_sources)
    # Nothing is built: what would be run is asked for. The last -O of a command is the one that counts.
    function(expect level file)
        if(NOT output MATCHES "\n?([^\n]*-c [^\n]*${file})")
            message(FATAL_ERROR "no command compiles ${file}:\n${output}")
        endif()
        string(REGEX MATCHALL " -O[0-9a-z]*" levels "${CMAKE_MATCH_1}")
        list(POP_BACK levels last)
        string(STRIP "${last}" last)
        if(NOT "${last}" STREQUAL "${level}")
            message(FATAL_ERROR "${what}: ${file} is compiled at '${last}', not at '${level}'")
        endif()
    endfunction()
    function(configured_with expected)   # ... and what the sources of cairn are then compiled at
        list(JOIN ARGN " " what)
        must(${CMAKE_COMMAND} -G Ninja -S ${here}/optimized_sources -B ${work}/build
             -UCMAKE_BUILD_TYPE -UCMAKE_CXX_FLAGS* -UCAIRN_* -UOPTIONS_FOR_ALL -DCMAKE_CXX_COMPILER=${compiler} -DCAIRN_SOURCE_DIR=${source} ${ARGN})
        must(ninja -C ${work}/build -t commands consumer)
        expect("${expected}" src/core/assert.cpp)
        set(what "${what}" PARENT_SCOPE)
        set(output "${output}" PARENT_SCOPE)
    endfunction()
    configured_with(-O2 -DCMAKE_BUILD_TYPE=Debug)
    expect("" consumer/main.cpp)   # the user's own code is as the user asked
    # A build by hand takes all of src/ but the two files of other systems (docs/packages.md).
    file(GLOB_RECURSE sources RELATIVE ${source} ${source}/src/*.cpp)
    list(FILTER sources EXCLUDE REGEX "src/os/page_memory_")
    foreach(file ${sources} src/os/page_memory_)
        if(NOT output MATCHES "-c [^\n]*/${file}")
            message(FATAL_ERROR "${file} is no part of the library")
        endif()
    endforeach()
    configured_with(-O2)   # no build type
    configured_with(-O2 -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-g -Og")
    expect(-Og consumer/main.cpp)
    configured_with(-O3 -DCMAKE_BUILD_TYPE=Release)
    configured_with("" -DCMAKE_BUILD_TYPE=Debug -DCAIRN_OPTIMIZED_SOURCES=OFF)
    configured_with(-Os -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-Os)
    configured_with("" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-fsanitize=address)
    configured_with("" -DCMAKE_BUILD_TYPE=Debug -DOPTIONS_FOR_ALL=-fsanitize=address)
    configured_with("" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=--coverage)
    # One tree with several configurations.
    set(what "Ninja Multi-Config")
    must(${CMAKE_COMMAND} -G "Ninja Multi-Config" -S ${here}/optimized_sources -B ${work}/multi
         -DCMAKE_CXX_COMPILER=${compiler} -DCAIRN_SOURCE_DIR=${source})
    foreach(configuration_and_level "Debug;-O2;" "Release;-O3;-O3" "RelWithDebInfo;-O2;-O2")
        list(GET configuration_and_level 0 configuration)
        list(GET configuration_and_level 1 level)
        list(GET configuration_and_level 2 level_of_user)
        must(ninja -C ${work}/multi -f build-${configuration}.ninja -t commands consumer)
        expect("${level}" src/core/assert.cpp)
        expect("${level_of_user}" consumer/main.cpp)
    endforeach()
    return()
endif()

if(way STREQUAL single_header)
    # The same bytes wherever the tool is called and whereto it writes.
    must(${python} ${source}/tools/amalgamate -o ${work}/single)
    execute_process(COMMAND ${python} ${source}/tools/amalgamate -o ${work}/again arena all
                    WORKING_DIRECTORY / RESULT_VARIABLE result)
    must(${python} ${source}/tools/amalgamate -o ${work}/again/cairn_debug.hpp debug)
    foreach(name arena all debug)
        must(${CMAKE_COMMAND} -E compare_files ${work}/single/cairn_${name}.hpp ${work}/again/cairn_${name}.hpp)
    endforeach()
    must(${CMAKE_COMMAND} -G Ninja -S ${here}/single_header -B ${work}/build -DCMAKE_CXX_COMPILER=${compiler}
         -DCAIRN_SOURCE_DIR=${source} -DSINGLE_HEADER_DIR=${work}/single)
    must(${CMAKE_COMMAND} --build ${work}/build)
    must(${CMAKE_CTEST_COMMAND} --test-dir ${work}/build --output-on-failure)
    # A program without the implementation does not link, and the linker names the remedy.
    file(WRITE ${work}/alone.cpp "#include \"cairn_arena.hpp\"\nint main() {}\n")
    execute_process(COMMAND ${compiler} -std=c++20 -I${work}/single ${work}/alone.cpp -o ${work}/alone
                    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(result EQUAL 0 OR NOT output MATCHES "one_source_file_must_define_CAIRN_IMPLEMENTATION_of_cairn_0_1")
        message(FATAL_ERROR "the linker does not say that CAIRN_IMPLEMENTATION is missing:\n${output}")
    endif()
    return()
endif()

if(way STREQUAL module)
    # By clang alone, as docs/packages.md says. The library of this build is gcc's or clang's.
    must(${python} ${source}/tools/module.py)
    file(STRINGS ${build}/CMakeCache.txt asserts REGEX "^CAIRN_ASSERTS:.*=(OFF|0)$")
    set(options -std=c++20 -pthread -DCAIRN_ASSERTS=1)
    if(asserts)
        set(options -std=c++20 -pthread -DCAIRN_ASSERTS=0)
    endif()
    if(target)
        list(APPEND options --target=${target})
    endif()
    must(${clang} ${options} -I${source}/include --precompile ${source}/src/cairn.cppm -o ${work}/cairn.pcm)
    must(${clang} ${options} -Werror -fmodule-file=cairn=${work}/cairn.pcm ${here}/module/main.cpp ${work}/cairn.pcm
         ${build}/libcairn.a ${link} -o ${work}/consumer${suffix})
    must(${emulator} ${work}/consumer${suffix})
    return()
endif()

if(way STREQUAL shared)
    must(${CMAKE_COMMAND} -G Ninja -S ${source} -B ${work}/library -DBUILD_SHARED_LIBS=ON
         -DCAIRN_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g0
         -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_INSTALL_LIBDIR=lib -DCAIRN_OPTIMIZED_SOURCES=OFF)
    must(${CMAKE_COMMAND} --build ${work}/library)
    must(${CMAKE_COMMAND} --install ${work}/library --prefix ${work}/moved)
    file(GLOB_RECURSE script ${work}/moved/share/gdb/auto-load/libcairn.so.*-gdb.py)
    debuggers_are_installed("${script}")
    must(readelf --dynamic --wide ${work}/moved/lib/libcairn.so)
    if(NOT output MATCHES "soname: \\[libcairn[.]so[.]0[.]1\\]")
        message(FATAL_ERROR "the shared library has no versioned name:\n${output}")
    endif()
    must(nm --dynamic --defined-only --extern-only ${work}/moved/lib/libcairn.so)
    string(REGEX MATCHALL "[^\n]+" symbols "${output}")
    list(FILTER symbols EXCLUDE REGEX "(_Z[A-Z]*N?K?5cairn|_ZT[A-Z]N|this_program_needs_cairn_)")
    if(symbols)
        message(FATAL_ERROR "the shared library exports what is not cairn's: ${symbols}")
    endif()
    must(${CMAKE_COMMAND} -G Ninja -S ${here}/find_package -B ${work}/user
         -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_PREFIX_PATH=${work}/moved)
    must(${CMAKE_COMMAND} --build ${work}/user)
    must(${emulator} ${work}/user/consumer)
    # Two plugins and a program with one cairn for all of them.
    set(flags -std=c++20 -I${here}/.. -I${work}/moved/include -DCAIRN_ASSERTS=1 -DCAIRN_SHARED=1 -pthread)
    set(with -L${work}/moved/lib -lcairn -Wl,-rpath,${work}/moved/lib -ldl)
    foreach(plugin one two)
        must(${compiler} ${flags} -O1 -fPIC -shared ${here}/../modules/module.cpp
             -o ${work}/${plugin}.so ${with})
    endforeach()
    must(${compiler} ${flags} -O1 -DMODULE_HOST_HAS_CAIRN ${here}/../modules/host.cpp
         ${here}/../modules/module.cpp -o ${work}/host ${with})
    foreach(mode local global)
        must(${emulator} ${work}/host ${mode} ${work}/one.so ${work}/two.so)
    endforeach()
    # A program that was told nothing of the library being shared does not link.
    execute_process(COMMAND ${compiler} -std=c++20 -I${here}/.. -I${work}/moved/include -DCAIRN_ASSERTS=1
                    -fPIC -shared -pthread ${here}/../modules/module.cpp -o ${work}/untold.so ${with}
                    RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(result EQUAL 0)
        message(FATAL_ERROR "a user of the shared library without CAIRN_SHARED links")
    endif()
    return()
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
    must(${compiler} -std=c++20 -Werror ${here}/main.cpp ${flags} ${link} -o ${work}/consumer${suffix})
    must(${emulator} ${work}/consumer${suffix})
    must(${pkg_config} --cflags --libs cairn-testing)
    separate_arguments(flags UNIX_COMMAND "${output}")
    must(${compiler} -std=c++20 -Werror ${here}/../testing/expect_broken_promise_plain.cpp ${flags} ${link}
         -o ${work}/consumer_tests${suffix})
    must(${emulator} ${work}/consumer_tests${suffix})
else()
    must(${CMAKE_COMMAND} -G Ninja -S ${here}/${way} -B ${work}/build
         -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_PREFIX_PATH=${work}/moved
         -DCAIRN_SOURCE_DIR=${source} -DCAIRN_OPTIMIZED_SOURCES=OFF)
    must(${CMAKE_COMMAND} --build ${work}/build --target consumer consumer_tests)
    must(${emulator} ${work}/build/consumer${suffix})
    must(${emulator} ${work}/build/consumer_tests${suffix})
    if(way STREQUAL add_subdirectory)
        # A library that has cairn inside is installed and found by others.
        must(${CMAKE_COMMAND} --build ${work}/build --target engine)
        must(${CMAKE_COMMAND} --install ${work}/build --prefix ${work}/moved)
        must(${CMAKE_COMMAND} -G Ninja -S ${here}/exported -B ${work}/user
             -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_PREFIX_PATH=${work}/moved)
        must(${CMAKE_COMMAND} --build ${work}/user)
        must(${emulator} ${work}/user/game${suffix})
    endif()
endif()
