// How do I delete something that the GPU still draws? retire() it until its fence has passed.
#include <cairn/containers/stable_slot_map.hpp>

#include <cstdint>

struct buffer {
    static inline int alive = 0;
    buffer() { ++alive; }
    buffer(const buffer&) = delete;  // addresses never change, so it need not move
    ~buffer() { --alive; }
};

int main() {
    // [retire]
    cairn::stable_slot_map<buffer> buffers;
    const auto shadow = buffers.emplace();
    const std::uint64_t submitted_frame = 7;

    const bool retired = buffers.retire(shadow, submitted_frame);  // look-ups fail from now on ...
    const bool hidden = retired && !buffers.contains(shadow);

    buffers.collect(6);  // ... but frame 7 is still being drawn
    const bool kept = buffer::alive == 1;

    buffers.collect(7);  // the GPU has passed the fence of frame 7
    const bool destroyed = buffer::alive == 0;
    // [/retire]
    return hidden && kept && destroyed ? 0 : 1;
}
