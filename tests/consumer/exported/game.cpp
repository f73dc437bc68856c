#include <engine.hpp>

int main() {
    cairn::arena memory = frame_memory();
    return memory.allocate(64, cairn::default_alignment) != nullptr ? 0 : 1;
}
