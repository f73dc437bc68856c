#define CAIRN_IMPLEMENTATION
#include "cairn_std.hpp"
//
#include "cairn_all.hpp"
