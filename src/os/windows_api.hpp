// <windows.h>, once for all, and nothing on other systems: what a file defines before it would be
// too late in a single header, whose first source has included it.
#pragma once

#if defined(_WIN32)
#    if !defined(WIN32_LEAN_AND_MEAN)
#        define WIN32_LEAN_AND_MEAN
#    endif
#    if !defined(NOMINMAX)
#        define NOMINMAX
#    endif
#    if !defined(_WIN32_WINNT)
#        define _WIN32_WINNT 0x0601  // Windows 7: QueryWorkingSetEx from kernel32
#    endif
#    if !defined(PSAPI_VERSION)
#        define PSAPI_VERSION 2
#    endif
#    include <windows.h>
// after windows.h
#    include <psapi.h>
#endif
