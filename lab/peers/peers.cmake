# Which peers of the lab are here. Found is not enough: a peer is present when lab/peers/probe.cpp, which
# uses all that it offers, compiled, linked and ran with the flags of the lab. What failed is absent,
# with one line that says why.
#
# Included by lab/CMakeLists.txt, and by cmake/needs for tools/bootstrap: both ask the same
# question.
# Requires: lab_flags (lab/flags.cmake). Gives: lab_peers, a list of names, and for each of them
#
#     lab_<name>_present    TRUE or FALSE
#     lab_<name>_detail     where it is, or why it is absent: one line
#     lab_<name>_package    the Debian package that has it
#     lab_<name>_is_large   TRUE: too large to fetch unasked
#     lab_<name>_target     what to link with; empty for a malloc that is preloaded
#     lab_<name>_library    of a malloc: the file to preload, and
#     lab_<name>_symbol     a function that only this file defines
set(lab_peers_folder ${CMAKE_CURRENT_LIST_DIR})
set(lab_peers "")
set(CAIRN_PROBES_DIR ${CMAKE_BINARY_DIR}/probes CACHE PATH "Where programs and answers of probes lie")
set(CAIRN_LAB_PEERS "all" CACHE STRING "The peers to look for: all, or a list of names")

# The folders of peers that the user names: "entt=ENTT/single_include;snmalloc=..."
# (make lab LAB='--peer entt=FOLDER').
set(CAIRN_LAB_PEER_FOLDERS "" CACHE STRING "Include folders of peers: NAME=FOLDER, a list")

# lab_folder_of(<variable> <name>): the folder that the user named for a peer, or "".
function(lab_folder_of variable name)
    set(${variable} "" PARENT_SCOPE)
    foreach(pair IN LISTS CAIRN_LAB_PEER_FOLDERS)
        if(pair MATCHES "^([^=]+)=(.+)$" AND CMAKE_MATCH_1 STREQUAL name)
            set(${variable} "${CMAKE_MATCH_2}" PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

# A program that runs here, and not under an emulator that may not be there.
set(lab_probes_run TRUE)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    set(lab_probes_run FALSE)
endif()

# lab_first_error(<variable> <output of a compiler>): its first complaint, without the place.
function(lab_first_error variable text)
    string(REGEX MATCH "(error: |undefined reference|cannot find|No space left)[^\n]*" error "${text}")
    string(REGEX REPLACE "^error: " "" error "${error}")
    string(REGEX REPLACE "[\r;]" " " error "${error}")
    if(error STREQUAL "")
        set(error "no error was named")
    endif()
    set(${variable} "${error}" PARENT_SCOPE)
endfunction()

# lab_probe(<why> <name> <source> [TARGET <target>] [NOT_RUN] [FILES <file>...])
# <why>: "" when <source>, with <target>, compiled, linked and ran, otherwise one line. An answer
# "yes" is kept until the compiler, a flag, <source>, or one of FILES changes; "no" is asked again
# each time. <source> sees the name as LAB_PEER.
function(lab_probe why name source)
    cmake_parse_arguments(PARSE_ARGV 3 arg "NOT_RUN" "TARGET" "FILES")
    set(facts "${CMAKE_CXX_COMPILER}|${CMAKE_CXX_COMPILER_VERSION}|${CMAKE_CXX_FLAGS}|${lab_flags}")
    string(APPEND facts "|${CMAKE_EXE_LINKER_FLAGS}|$ENV{CPATH}|$ENV{CPLUS_INCLUDE_PATH}|$ENV{LIBRARY_PATH}")
    foreach(file IN LISTS source arg_FILES)
        file(TIMESTAMP ${file} time)
        string(APPEND facts "|${file}|${time}")
    endforeach()
    string(SHA256 key "${facts}")
    set(program ${CAIRN_PROBES_DIR}/${name})
    set(answer ${program}.yes)
    if(EXISTS ${answer} AND (NOT arg_NOT_RUN OR EXISTS ${program}))
        file(READ ${answer} known)
        if(known STREQUAL key)
            set(${why} "" PARENT_SCOPE)
            return()
        endif()
    endif()

    file(MAKE_DIRECTORY ${CAIRN_PROBES_DIR})
    set(CMAKE_TRY_COMPILE_CONFIGURATION ${CMAKE_BUILD_TYPE})
    cmake_path(SET root NORMALIZE ${lab_peers_folder}/../..)
    try_compile(compiled SOURCES ${source} NO_CACHE
        CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${root};${root}/include"
        CXX_STANDARD 20 CXX_EXTENSIONS ON
        COMPILE_DEFINITIONS ${lab_flags} -DCAIRN_ASSERTS=0 -DLAB_PEER=${name} -Wfatal-errors
        LINK_LIBRARIES ${arg_TARGET} ${CMAKE_DL_LIBS}
        OUTPUT_VARIABLE output COPY_FILE ${program})
    if(NOT compiled)
        lab_first_error(error "${output}")
        set(${why} "does not compile: ${error}" PARENT_SCOPE)
        return()
    endif()
    if(lab_probes_run AND NOT arg_NOT_RUN)
        execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} ${program} TIMEOUT 20
            RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
        if(NOT result EQUAL 0)
            set(${why} "compiles, but its program did not end well (${result})" PARENT_SCOPE)
            return()
        endif()
    endif()
    file(WRITE ${answer} ${key})
    set(${why} "" PARENT_SCOPE)
endfunction()

# Leaves the calling function when CAIRN_LAB_PEERS leaves this peer out.
macro(lab_skip_unwanted name)
    if(NOT CAIRN_LAB_PEERS STREQUAL "all" AND NOT "${name}" IN_LIST CAIRN_LAB_PEERS)
        set(detail "not in CAIRN_LAB_PEERS")
        lab_say_peer(${name})
        return()
    endif()
endmacro()

# Gives the variables of a peer to the caller of the caller.
macro(lab_say_peer name)
    list(APPEND lab_peers ${name})
    set(lab_peers ${lab_peers} PARENT_SCOPE)
    foreach(property present detail package is_large target library symbol)
        set(lab_${name}_${property} "${${property}}" PARENT_SCOPE)
    endforeach()
    if(NOT present)
        message(STATUS "lab: peer ${name} is absent (${detail})")
    endif()
endmacro()

# lab_peer(<name> <package> [HEADER <file>] [SUFFIXES <folder>...] [LIBRARIES <name>...]
#          [ALSO <name>...] [PREFIXES <folder>...] [DEFINE <macro>...] [LARGE])
# <package>: "-" where Debian has none; the user names its folder (CAIRN_LAB_PEER_FOLDERS).
# With PREFIXES header and libraries are taken from one and the same of them: the first that works.
# ALSO: libraries of the system that some versions need, linked where they are there and needed.
function(lab_peer name package)
    cmake_parse_arguments(PARSE_ARGV 2 arg "LARGE" "HEADER" "SUFFIXES;LIBRARIES;ALSO;PREFIXES;DEFINE")
    set(is_large ${arg_LARGE})
    set(present FALSE)
    set(detail "")
    set(target "")
    set(library "")
    set(symbol "")
    lab_skip_unwanted(${name})
    if(NOT arg_PREFIXES)
        set(arg_PREFIXES default)
    endif()
    set(number 0)
    foreach(prefix IN LISTS arg_PREFIXES)
        set(only_here)
        if(NOT prefix STREQUAL "default")
            set(only_here PATHS ${prefix} PATH_SUFFIXES include lib NO_DEFAULT_PATH)
        endif()
        set(is_found TRUE)
        unset(include)
        if(arg_HEADER)
            lab_folder_of(folder ${name})
            if(NOT folder STREQUAL "")
                find_path(include ${arg_HEADER} PATHS ${folder} NO_DEFAULT_PATH NO_CACHE)
                if(NOT include)
                    set(detail "${folder} has no ${arg_HEADER}")
                endif()
            elseif(only_here)
                find_path(include ${arg_HEADER} ${only_here} NO_CACHE)
            else()
                find_path(include ${arg_HEADER} PATH_SUFFIXES ${arg_SUFFIXES} NO_CACHE)
            endif()
            if(NOT include)
                set(is_found FALSE)
            endif()
        endif()
        set(files)
        foreach(wanted IN LISTS arg_LIBRARIES)
            unset(file)
            find_library(file NAMES ${wanted} ${only_here} NO_CACHE)
            list(APPEND files "${file}")
            if(NOT file)
                set(is_found FALSE)
            endif()
        endforeach()
        if(NOT is_found)
            continue()
        endif()

        math(EXPR number "${number} + 1")
        set(candidate lab_peer_${name}_${number})
        add_library(${candidate} INTERFACE IMPORTED GLOBAL)
        set(place "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
        if(arg_HEADER)
            string(REGEX REPLACE "/$" "" place ${include})
            target_include_directories(${candidate} INTERFACE ${include})
            list(APPEND files_of_${number} ${include}/${arg_HEADER})
        endif()
        target_compile_definitions(${candidate} INTERFACE ${arg_DEFINE})
        set(also)
        foreach(wanted IN LISTS arg_ALSO)
            unset(file)
            find_library(file NAMES ${wanted} NO_CACHE)
            if(file)
                list(APPEND also ${file})
            endif()
        endforeach()
        target_link_libraries(${candidate} INTERFACE ${files})
        if(also)
            target_link_libraries(${candidate} INTERFACE
                -Wl,--push-state,--as-needed ${also} -Wl,--pop-state)
        endif()
        lab_probe(why ${name} ${lab_peers_folder}/probe.cpp TARGET ${candidate}
            FILES ${lab_peers_folder}/${name}.hpp ${lab_peers_folder}/kinds.hpp ${lab_peers_folder}/plf_store.hpp
                ${lab_peers_folder}/../families/graph_family.hpp ${files} ${files_of_${number}})
        if(why STREQUAL "")
            set(present TRUE)
            set(detail ${place})
            set(target ${candidate})
            break()
        endif()
        if(detail STREQUAL "")
            set(detail "${place}: ${why}")
        endif()
    endforeach()
    if(detail STREQUAL "" AND WIN32)
        set(detail "not found for Windows")
    elseif(detail STREQUAL "" AND package STREQUAL "-")
        set(detail "no Debian package has it: make lab LAB='--peer ${name}=FOLDER'")
    elseif(detail STREQUAL "")
        set(detail "Debian package ${package}")
    endif()
    if(package STREQUAL "-")
        set(package "")
    endif()
    lab_say_peer(${name})
endfunction()

# lab_malloc(<name> <package> <symbol> <soname>...): a malloc replacement that is preloaded into
# processes of its own. Present: the probe saw that malloc and <symbol> were this file's.
function(lab_malloc name package symbol)
    set(present FALSE)
    set(is_large FALSE)
    set(target "")
    set(library "")
    lab_skip_unwanted(${name})
    unset(library)
    find_library(library NAMES ${ARGN} NO_CACHE)
    if(WIN32)
        set(library "")
        set(detail "a process of Windows cannot be given another malloc from outside")
    elseif(NOT library)
        set(library "")
        set(detail "Debian package ${package}")
    elseif(NOT lab_preload_obstacle STREQUAL "")
        set(detail "the probe of preloaded libraries ${lab_preload_obstacle}")
    else()
        set(result 0)
        if(lab_probes_run)
            execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_PRELOAD=${library}
                ${CMAKE_CROSSCOMPILING_EMULATOR} ${CAIRN_PROBES_DIR}/preload ${library} ${symbol} TIMEOUT 20
                RESULT_VARIABLE result OUTPUT_VARIABLE detail ERROR_QUIET)
        endif()
        if(result EQUAL 0)
            set(present TRUE)
            file(REAL_PATH ${library} detail)
            cmake_path(GET detail FILENAME detail)
        elseif(detail STREQUAL "")
            set(detail "a program with ${library} did not end well (${result})")
        endif()
    endif()
    string(STRIP "${detail}" detail)
    lab_say_peer(${name})
endfunction()

# ---- the peers, in the order of the reports ------------------------------------------------------
cmake_path(GET lab_peers_folder PARENT_PATH lab_folder)
lab_probe(lab_preload_obstacle preload ${lab_peers_folder}/preload_probe.cpp NOT_RUN
    FILES ${lab_folder}/harness/preload.hpp)
lab_malloc(mimalloc libmimalloc-dev mi_version libmimalloc.so.2 libmimalloc.so.3)
lab_malloc(jemalloc libjemalloc-dev mallctl libjemalloc.so.2)
lab_malloc(tcmalloc libgoogle-perftools-dev tc_version libtcmalloc_minimal.so.4)
lab_malloc(tbbmalloc libtbb-dev __TBB_malloc_proxy libtbbmalloc_proxy.so.2)

lab_peer(std_pmr libstdc++-12-dev)   # comes with every C++20 library
lab_peer(foonathan libfoonathan-memory-dev HEADER foonathan/memory/memory_stack.hpp
    SUFFIXES foonathan_memory LIBRARIES foonathan_memory DEFINE FOONATHAN_MEMORY=1)
# Header and library of one version. Static: the shared library would cost every worker 40 ms.
lab_peer(llvm llvm-dev HEADER llvm/Support/Allocator.h LARGE
    LIBRARIES libLLVMSupport.a libLLVMDemangle.a ALSO tinfo
    PREFIXES /usr/lib/llvm-22 /usr/lib/llvm-21 /usr/lib/llvm-20 /usr/lib/llvm-19 /usr/lib/llvm-18
             /usr/lib/llvm-17 /usr/lib/llvm-16 /usr/lib/llvm-15 /usr/lib/llvm-14)
lab_peer(boost libboost-dev HEADER boost/pool/pool.hpp)
lab_peer(poly_collection libboost-dev HEADER boost/poly_collection/base_collection.hpp)
lab_peer(tbb libtbb-dev HEADER tbb/scalable_allocator.h LIBRARIES tbbmalloc)
# In a folder of its own since Debian 13.
lab_peer(moodycamel libconcurrentqueue-dev HEADER concurrentqueue.h
    SUFFIXES concurrentqueue/moodycamel concurrentqueue)
lab_peer(plf_colony libplf-colony-dev HEADER plf_colony.h)
# No package of Debian has these: the user names the folder to include from.
lab_peer(entt - HEADER entt/entt.hpp)
lab_peer(plf_hive - HEADER plf_hive.h)
lab_peer(snmalloc - HEADER snmalloc/snmalloc.h DEFINE SNMALLOC_USE_WAIT_ON_ADDRESS=1)
lab_peer(boehm libgc-dev HEADER gc.h LIBRARIES gc)
lab_peer(lua liblua5.4-dev HEADER lua.hpp SUFFIXES lua5.4 LIBRARIES lua5.4)
