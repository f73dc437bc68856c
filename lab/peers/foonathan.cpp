// lab/peers/foonathan.cpp - foonathan/memory: memory_stack with a first block of the region's size.
#include <foonathan/memory/memory_stack.hpp>

#include "lab/families/arena_family.hpp"

namespace {

struct stack {
    foonathan::memory::memory_stack<> s;
    foonathan::memory::memory_stack<>::marker bottom;
    explicit stack(std::span<std::byte> r) : s{r.size()}, bottom{s.top()} {}
    stack(const stack&) = delete;
    void* allocate(std::size_t size) { return s.allocate(size, 8); }
    void reset() { s.unwind(bottom); }
};

const bool offered = lab::offer_arena<stack>("foonathan::memory_stack", lab::kind::peer);

}  // namespace
