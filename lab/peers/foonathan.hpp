// lab/peers/foonathan.hpp - foonathan/memory: its pool of nodes, and its stack with a first block of
// the region's size.
#pragma once

#include <foonathan/memory/memory_pool.hpp>
#include <foonathan/memory/memory_stack.hpp>

#include "lab/harness/experiment.hpp"
#include "lab/peers/kinds.hpp"

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

    struct stack {
        ::foonathan::memory::memory_stack<> s;
        ::foonathan::memory::memory_stack<>::marker bottom;
        explicit stack(std::span<std::byte> r) : s{r.size()}, bottom{s.top()} {}
        stack(const stack&) = delete;
        void* allocate(std::size_t size) { return s.allocate(size, 8); }
        void reset() { s.unwind(bottom); }
    };

    template <std::size_t Size>
    static void offer(kinds::pools<Size>, auto visit) {
        visit.template operator()<node_pool<Size>>("foonathan node_pool");
    }
    static void offer(kinds::arenas, auto visit) {
        visit.template operator()<stack>("foonathan::memory_stack");
    }
};

}  // namespace lab::peers
