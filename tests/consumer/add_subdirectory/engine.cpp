#include "engine.hpp"

cairn::arena frame_memory() { return cairn::arena{4096}; }
