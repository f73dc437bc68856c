// cairn/core/version.hpp - which cairn this is, for the preprocessor.
//
//      #if CAIRN_VERSION >= 200          // 0.2.0 or newer
//
// Below 1.0 a minor version may change the interface, a patch does not. Programs and libraries of
// two minor versions do not link with each other: flavour.hpp.
#pragma once

#define CAIRN_VERSION_MAJOR 0
#define CAIRN_VERSION_MINOR 1
#define CAIRN_VERSION_PATCH 0
#define CAIRN_VERSION \
    (CAIRN_VERSION_MAJOR * 10000 + CAIRN_VERSION_MINOR * 100 + CAIRN_VERSION_PATCH)
