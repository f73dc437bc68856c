# Toolchain file of the *-clang presets: clang 19 where it is installed, else the newest from 16 on.
find_program(CAIRN_CLANGXX NAMES clang++-19 clang++-22 clang++-21 clang++-20 clang++-18 clang++-17
             clang++-16 clang++ REQUIRED)
mark_as_advanced(CAIRN_CLANGXX)
set(CMAKE_CXX_COMPILER ${CAIRN_CLANGXX})
