#define CAIRN_IMPLEMENTATION
#include "cairn_std.hpp"
//
#include "cairn_all.hpp"
//
#include "cairn_testing.hpp"
