#pragma once
#include <cairn/alloc/arena.hpp>

cairn::arena frame_memory();
