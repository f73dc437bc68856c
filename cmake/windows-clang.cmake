# Toolchain file: Windows (x86-64) by clang and lld, on the headers and the runtime of Debian's mingw-w64
# (packages clang-19, lld-19, g++-mingw-w64-x86-64-posix). Thread-local variables are the system's own:
# gcc before 16 emulates them there, and frees a thread's before their destructors run (its PR 80816).
# What is built runs under wine (package wine64), as ctest runs it.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
find_program(CAIRN_CLANGXX NAMES clang++-19 clang++-22 clang++-21 clang++-20 clang++-18 clang++-17
             clang++-16 clang++ REQUIRED)
mark_as_advanced(CAIRN_CLANGXX)
set(CMAKE_CXX_COMPILER ${CAIRN_CLANGXX})
set(CMAKE_CXX_COMPILER_TARGET x86_64-w64-windows-gnu)
string(REPLACE "clang++" "clang" CMAKE_C_COMPILER ${CAIRN_CLANGXX})   # GoogleTest asks for one
set(CMAKE_C_COMPILER_TARGET x86_64-w64-windows-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -fuse-ld=lld")
# libstdc++ pulls in libgcc's emulation, which wants the thread library after it.
set(CMAKE_CXX_STANDARD_LIBRARIES
    "-lpthread -Wl,--start-group -lgcc_eh -lpthread -lkernel32 -Wl,--end-group")
# Not the script /usr/bin/wine of Debian, which warns about 32-bit programs at each start.
find_program(CAIRN_WINE NAMES wine64 wine HINTS /usr/lib/wine)
mark_as_advanced(CAIRN_WINE)
if(CAIRN_WINE)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${CAIRN_WINE})
endif()
# Packages of this machine are for its own system.
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
