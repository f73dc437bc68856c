// tests/containers/stable_slot_map_rooms/full_map.hpp - a map whose chunks are full.
#pragma once

#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

namespace rooms_tests {

/// 64 of them fill a chunk; two free slots are worth a visit.
struct large {
    std::byte bytes[1024];
};

/// A map whose chunks are full, and no slot waits in the batch.
struct full_map {
    using handle_type = cairn::stable_slot_map<large>::handle_type;
    static constexpr std::size_t per_chunk = cairn::stable_slot_map<large>::slots_per_chunk;

    explicit full_map(std::size_t chunk_count) {
        for (std::size_t i = 0; i < chunk_count * per_chunk; ++i) {
            handles.push_back(map.emplace());
            EXPECT_EQ(handles.back().index(), i);
        }
    }
    void erase(std::size_t chunk, std::size_t slot) {
        EXPECT_TRUE(map.erase(handles[chunk * per_chunk + slot]));
        map.validate();
    }
    void erase_chunk(std::size_t chunk) {
        for (std::size_t slot = 0; slot < per_chunk; ++slot) { erase(chunk, slot); }
    }
    /// The slot that the next object gets, as (chunk, slot).
    std::pair<std::size_t, std::size_t> next() {
        const auto h = map.emplace();
        EXPECT_TRUE(h);
        map.validate();
        return {h.index() / per_chunk, h.index() % per_chunk};
    }

    test_upstream upstream;
    cairn::stable_slot_map<large> map{upstream};
    std::vector<handle_type> handles;
};

using place = std::pair<std::size_t, std::size_t>;

}  // namespace rooms_tests
