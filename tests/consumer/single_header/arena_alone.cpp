// A program with one family in one file.
// [include]
#define CAIRN_IMPLEMENTATION
#include "cairn_arena.hpp"
// [/include]

int main() {
    alignas(64) std::byte memory[1024];
    cairn::arena frame{memory};
    return frame.allocate(16) != nullptr && frame.allocate(2048) == nullptr ? 0 : 1;
}
