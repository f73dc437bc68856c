// lab/experiments/cache_walk.hpp - the walk alone, for cachegrind: cairn --lab-walk ORDER PADDING TURNS
#pragma once

namespace lab {

int walk_main(int argc, char** argv);

}  // namespace lab
