// lab/peers/tbb.hpp - TBB's allocator, by its functions and as an allocator of the standard containers.
#pragma once

#include <tbb/scalable_allocator.h>

#include <cstddef>

namespace lab::peers {

struct tbb {
    template <std::size_t Size>
    struct scalable {
        explicit scalable(std::size_t) {}
        void* allocate() { return ::scalable_malloc(Size); }
        void deallocate(void* p) { ::scalable_free(p); }
    };

    template <std::size_t Size, class Offer>
    static void offer_pools(Offer offer) {
        offer.template operator()<scalable<Size>>("tbb scalable_malloc");
    }
    template <std::size_t Size, class Offer>
    static void offer_thread_pools(Offer offer) {
        offer.template operator()<scalable<Size>>("tbb scalable_malloc");
    }
    template <class Offer>
    static void offer_node_allocators(Offer offer) {
        offer.template operator()<::tbb::scalable_allocator>("tbb::scalable_allocator");
    }
};

}  // namespace lab::peers
