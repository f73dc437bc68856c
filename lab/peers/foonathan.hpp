// lab/peers/foonathan.hpp - foonathan/memory: its pool of nodes. Its stack is in foonathan.cpp.
#pragma once

#include <foonathan/memory/memory_pool.hpp>

#include <cstddef>

namespace lab::peers {

struct foonathan {
    template <std::size_t Size>
    struct node_pool {
        static constexpr bool is_told_the_count = true;
        ::foonathan::memory::memory_pool<> slots;
        explicit node_pool(std::size_t count)
            : slots{Size, ::foonathan::memory::memory_pool<>::min_block_size(Size, count)} {}
        void* allocate() { return slots.allocate_node(); }
        void deallocate(void* p) { slots.deallocate_node(p); }
    };

    template <std::size_t Size, class Offer>
    static void offer_pools(Offer offer) {
        offer.template operator()<node_pool<Size>>("foonathan node_pool");
    }
};

}  // namespace lab::peers
