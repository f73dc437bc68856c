// tests/fuzz/heap.hpp - bytes as operations on heaps; the books are kept beside, and validate() after
// every step.
//
// First byte: which of the fits, second: how large the region. Then three bytes an operation: what,
// size, which. One target a fit (heap_good_fit.cpp, ...), so that each gets the fuzzer's whole time.
#pragma once

#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/step_bound.hpp"

namespace cairn::fuzzing {

struct piece {
    std::byte* data;
    std::size_t size;
    alignment align;
    std::byte fill;
};

inline void require(bool fine) {
    if (!fine) { std::abort(); }
}

inline void check(const piece& p) {
    for (std::size_t i = 0; i < p.size; ++i) { require(p.data[i] == p.fill); }
}

template <class Fit>
void run(const std::uint8_t* at, const std::uint8_t* end, std::size_t region, bool grows) {
    test::bounded_heap<Fit> h =
        grows ? test::bounded_heap<Fit>{grow_by{region}} : test::bounded_heap<Fit>{region};
    std::vector<piece> live;
    for (; end - at >= 3; at += 3) {
        const std::size_t size = at[1] < 200 ? at[1] * 3u : (at[1] - 199u) * 500u;
        if (at[0] % 8 < 4) {
            const alignment align{std::size_t{1} << (at[0] / 8 % 16 < 10 ? 4 : at[0] / 8 % 16)};
            auto* const data = static_cast<std::byte*>(h.allocate(size, align));
            if (data == nullptr) { continue; }
            require(detail::is_aligned(data, align) && h.owns(data) && h.usable_size(data) >= size);
            live.push_back({data, size, align, std::byte{at[2]}});
            if (size != 0) { std::memset(data, at[2], size); }
        } else if (!live.empty()) {
            std::swap(live[at[2] % live.size()], live.back());
            piece& p = live.back();
            check(p);
            if (at[0] % 8 == 7) {
                if (h.try_resize(p.data, p.size, size, p.align)) {
                    p.size = size;
                    if (size != 0) { std::memset(p.data, static_cast<int>(p.fill), size); }
                }
            } else if (at[0] % 8 == 6) {
                h.deallocate(p.data);
                live.pop_back();
            } else {
                h.deallocate(p.data, p.size, p.align);
                live.pop_back();
            }
        } else if (at[0] == 0xFF) {
            h.trim();
        }
        h.validate();
        require(h.exceeded == 0);  // steps beyond the documented maximum
    }
    for (const piece& p : live) {
        check(p);
        h.deallocate(p.data, p.size, p.align);
    }
    h.trim();
    h.validate();
    require(h.stats().free_size == h.stats().capacity);
}

/// The first byte says which of the fits the rest is for.
template <class... Fits>
int run_one_of(const std::uint8_t* data, std::size_t size) {
    if (size < 2) { return 0; }
    const std::size_t region = 1024 + std::size_t{data[1] % 16u} * 1500;
    const bool grows = data[1] >= 128;
    std::size_t left = data[0] % sizeof...(Fits);
    ((left-- == 0 ? run<Fits>(data + 2, data + size, region, grows) : void()), ...);
    return 0;
}

}  // namespace cairn::fuzzing
