// Which heap do I take, and does my memory suffice? One word between < > changes the policy; the
// region that never refuses is a constant expression.
#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/required_size.hpp>
#include <cairn/core/sizes.hpp>

#include <cstdio>
#include <vector>

using namespace cairn::literals;

template <class Fit>
bool play(const char* when) {
    // [proved]
    // At most 20 KiB live at a time, requests of 32 bytes to 1 KiB: proved, not hoped.
    constexpr std::size_t size = cairn::required_size<Fit>(20_KiB, 1_KiB, 32);
    std::vector<std::byte> memory(size);
    cairn::heap<Fit> level{memory};
    // [/proved]

    struct piece {
        void* data;
        std::size_t size;
    };
    std::vector<piece> live;
    std::size_t live_size = 0;
    unsigned random = 1;
    for (int i = 0; i < 5000; ++i) {
        random = random * 1664525u + 1013904223u;
        const std::size_t wanted = 32 + random / 65536 % 993;
        while (live_size + wanted > 20_KiB) {  // somebody has to go
            const std::size_t victim = random % live.size();
            level.deallocate(live[victim].data, live[victim].size);
            live_size -= live[victim].size;
            live[victim] = live.back();
            live.pop_back();
        }
        void* const p = level.allocate(wanted);
        if (p == nullptr) { return false; }  // never
        live.push_back({p, wanted});
        live_size += wanted;
    }
    level.validate();
    std::printf("%-10s region %7zu bytes, largest free %7zu   %s\n", Fit::name, size,
                level.largest_free(), when);
    for (const piece& b : live) { level.deallocate(b.data, b.size); }
    return true;
}

int main() {
    const bool fine = play<cairn::good_fit>("the default: constant time") &&
                      play<cairn::best_fit>("every byte counts") &&
                      play<cairn::first_fit>("the smallest proof; keeps the high end free") &&
                      play<cairn::half_fit>("a proof, in constant time");
    return fine ? 0 : 1;
}
