// How do I keep a region that is nearly full usable, for objects of many sizes that live long?
#include <cairn/movable/relocatable_heap.hpp>

#include <cstdio>
#include <cstring>
#include <vector>

using namespace cairn::literals;

struct sound {  // trivially copyable: moves by its bytes
    float samples[64];
    float volume;
};

int main() {
    cairn::relocatable_heap heap{1_MiB};
    std::vector<cairn::relocatable_heap::handle_type> assets;  // raw bytes, named by handles
    for (std::size_t i = 0; const auto h = heap.allocate(500 + i * 7919 % 9000); ++i) {
        std::memset(heap.get(h), static_cast<int>(i), heap.size(h));
        assets.push_back(h);
    }
    for (std::size_t i = 0; i < assets.size(); i += 3) { heap.deallocate(assets[i]); }
    std::printf("%zu holes, fragmentation %.2f\n", heap.stats().hole_count,
                heap.stats().fragmentation());
    if (heap.allocate(100'000)) { return 1; }  // a third of it is free, and it does not fit

    // A typed object acts as a pointer; what the GPU reads is pinned, and stays.
    const cairn::relocatable<sound> shot = heap.make<sound>();
    if (!shot) { return 2; }
    shot->volume = 0.5f;
    cairn::pinned<sound> still = shot.pin();
    const sound* const address = still.get();

    int frames = 0;
    for (bool settled = false; !settled; ++frames) {
        // ... the frame: every address from get() is good here ...
        settled = heap.compact({.microseconds = 50}).settled;  // the safe point
    }
    if (still.get() != address || shot->volume != 0.5f) { return 3; }
    still.reset();  // the GPU is done
    heap.compact();
    std::printf("%d frames later: %zu hole, fragmentation %.2f\n", frames, heap.stats().hole_count,
                heap.stats().fragmentation());
    const bool is_stale = heap.get(assets[0]) == nullptr;  // a freed object is detected
    return is_stale && heap.allocate(100'000) && heap.get(assets[1]) != nullptr ? 0 : 4;
}
