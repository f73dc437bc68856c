# Toolchain file: Linux on arm64, by Debian's cross compiler (package g++-aarch64-linux-gnu); what is
# built runs under qemu (package qemu-user-static), as ctest runs it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
find_program(CAIRN_ARM64_GXX NAMES aarch64-linux-gnu-g++ aarch64-linux-gnu-g++-14
             aarch64-linux-gnu-g++-13 aarch64-linux-gnu-g++-12 REQUIRED)
mark_as_advanced(CAIRN_ARM64_GXX)
set(CMAKE_CXX_COMPILER ${CAIRN_ARM64_GXX})
find_program(CAIRN_ARM64_QEMU NAMES qemu-aarch64-static qemu-aarch64)
mark_as_advanced(CAIRN_ARM64_QEMU)
if(CAIRN_ARM64_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${CAIRN_ARM64_QEMU} -L /usr/aarch64-linux-gnu)
endif()
# Packages of this machine are for its own processor.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
