# Toolchain file: Windows (x86-64) by clang and lld, on the headers and the runtime of Debian's mingw-w64
# (packages clang-19, lld-19, g++-mingw-w64-x86-64-posix). Thread-local variables are the system's own:
# gcc before 16 emulates them there, and frees a thread's before their destructors run (its PR 80816).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
find_program(CAIRN_CLANGXX NAMES clang++-19 clang++-22 clang++-21 clang++-20 clang++-18 clang++-17
             clang++-16 clang++ REQUIRED)
mark_as_advanced(CAIRN_CLANGXX)
set(CMAKE_CXX_COMPILER ${CAIRN_CLANGXX})
set(CMAKE_CXX_COMPILER_TARGET x86_64-w64-windows-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -fuse-ld=lld")
# libstdc++ pulls in libgcc's emulation, which wants the thread library after it.
set(CMAKE_CXX_STANDARD_LIBRARIES
    "-lpthread -Wl,--start-group -lgcc_eh -lpthread -lkernel32 -Wl,--end-group")
