// tests/support/explorer/fibre.hpp - the stacks of the threads that explorer.hpp runs: ucontext on
// POSIX, fibres of the system on Windows; and what the address sanitizer wants to be told when one is
// left for another.
//
//   fibre              a stack and a place to go on; an empty one is the system thread that explores
//   begin(f, run)      what `f` does when somebody goes on at it: run(), from its start
//   switch_fibres()    leaves one for another
//   arrive(home)       what run() calls first
//   is_begun_anew()    what it calls when a finished one is gone on at
#pragma once

#include <cstddef>

#if defined(_WIN32)
#    include "support/explorer/fibre_windows.hpp"
#else
#    include "support/explorer/fibre_posix.hpp"
#endif
