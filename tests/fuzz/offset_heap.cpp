// tests/fuzz/offset_heap.cpp - bytes as operations on an offset heap, moves in flight included; an
// interval map beside it, and validate() after every step.
#include <cairn/movable/offset_heap.hpp>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <vector>

using namespace cairn;

namespace {

void require(bool fine) {
    if (!fine) { std::abort(); }
}

template <class Offset>
void run(const std::uint8_t* at, const std::uint8_t* end, Offset capacity, std::uint32_t limit) {
    using heap_type = basic_offset_heap<Offset>;
    heap_type h{capacity, {.allocation_count_max = limit}};
    std::vector<offset_allocation> live;
    std::vector<typename heap_type::move> moves;
    const auto moving = [&](offset_allocation a) {
        for (const auto& m : moves) {
            if (m.what == a) { return true; }
        }
        return false;
    };
    for (; end - at >= 3; at += 3) {
        const std::size_t pick = live.empty() ? 0 : at[2] % live.size();
        switch (at[0] % 8) {
            case 0:
            case 1:
            case 2:
                if (const auto a =
                        h.allocate(at[1], static_cast<Offset>(Offset{1} << at[2] % 9), at[0])) {
                    require(h.offset(a) % (Offset{1} << at[2] % 9) == 0);
                    live.push_back(a);
                }
                break;
            case 3:
                if (!live.empty() && !moving(live[pick])) {
                    h.deallocate(live[pick]);
                    require(!h.contains(live[pick]));
                    live[pick] = live.back();
                    live.pop_back();
                }
                break;
            case 4:
                if (!live.empty()) { (void)h.try_resize(live[pick], at[1]); }
                break;
            case 5: {
                typename heap_type::move out[4];
                const std::size_t n = h.plan(out, 4, {at[1] % 5u, 600, at[2], at[0] >= 128});
                for (std::size_t i = 0; i < n; ++i) {
                    require(out[i].to < out[i].from);
                    moves.push_back(out[i]);
                }
                break;
            }
            case 6:
                if (!moves.empty()) {
                    const auto m = moves[at[1] % moves.size()];
                    moves[at[1] % moves.size()] = moves.back();
                    moves.pop_back();
                    if (at[2] % 4 == 0) {
                        h.cancel(m);
                    } else {
                        h.commit(m);
                        require(h.offset(m.what) == m.to);
                    }
                }
                break;
            default:
                if (at[1] % 2 == 0) {
                    (void)h.grow(static_cast<Offset>(h.capacity() + at[2]));
                } else {
                    (void)h.shrink(static_cast<Offset>(h.capacity() - h.capacity() / 8));
                }
        }
        h.validate();
    }
    for (const auto& m : moves) { h.cancel(m); }
    for (const auto a : live) { h.deallocate(a); }
    h.validate();
    require(h.stats().largest_free == h.capacity());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) { return 0; }
    const std::uint32_t limit = data[0] % 4 == 0 ? 1 + data[1] % 20u : 0xFFFF'FFFF;
    if (data[0] % 2 == 0) {
        run<std::uint32_t>(data + 2, data + size, data[1] * 20u, limit);
    } else {
        run<std::uint64_t>(data + 2, data + size, data[1] * 20u, limit);
    }
    return 0;
}
