// lab/peers/tbb.hpp - TBB's allocator, by its functions and as an allocator of the standard containers.
#pragma once

#include <tbb/scalable_allocator.h>

#include "lab/peers/kinds.hpp"

namespace lab::peers {

struct tbb {
    template <std::size_t Size>
    struct scalable {
        explicit scalable(std::size_t) {}
        void* allocate() { return ::scalable_malloc(Size); }
        void deallocate(void* p) { ::scalable_free(p); }
    };

    template <std::size_t Size>
    static void offer(kinds::pools<Size>, auto visit) {
        visit.template operator()<scalable<Size>>("tbb scalable_malloc");
    }
    template <std::size_t Size>
    static void offer(kinds::thread_pools<Size>, auto visit) {
        visit.template operator()<scalable<Size>>("tbb scalable_malloc");
    }
    static void offer(kinds::node_allocators, auto visit) {
        visit.template operator()<::tbb::scalable_allocator>("tbb::scalable_allocator");
    }
};

}  // namespace lab::peers
