// lab/families/random_order.hpp - random orders and numbers, the same on every machine.
#pragma once

#include "lab/harness/experiment.hpp"

namespace lab {

/// 0 .. count - 1 in random order.
[[nodiscard]] inline std::vector<std::uint32_t> shuffled(std::size_t count, unsigned seed = 3) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::mt19937 random{seed};
    for (std::size_t i = count; i > 1; --i) {
        std::swap(order[i - 1], order[(std::uint64_t{random()} * i) >> 32]);
    }
    return order;
}

/// `count` numbers below `bound`.
[[nodiscard]] inline std::vector<std::uint32_t> random_indices(std::size_t count, std::size_t bound,
                                                               unsigned seed = 4) {
    std::mt19937 random{seed};
    std::vector<std::uint32_t> indices(count);
    for (auto& i : indices) i = static_cast<std::uint32_t>(random() % bound);
    return indices;
}

}  // namespace lab
