// tests/fuzz/heap_adopt.cpp - bytes as changes of a heap's region, which is then adopted without
// trust.
//
// First byte: which fit. Then three bytes a change: where (two), what.
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/mutated_region.hpp"

namespace {

template <class Fit>
void run(const std::uint8_t* at, const std::uint8_t* end) {
    constexpr std::size_t size = 6000;
    static const std::vector<std::byte> original = cairn::test::used_region<Fit>(size, 1);
    std::vector<std::byte> memory(size + 16);
    std::byte* const begin =
        memory.data() +
        cairn::padding_to(reinterpret_cast<std::uintptr_t>(memory.data()), cairn::alignment{16});
    std::memcpy(begin, original.data(), size);
    for (; end - at >= 3; at += 3) {
        begin[(at[0] + std::size_t{at[1]} * 256) % size] = std::byte{at[2]};
    }
    (void)cairn::test::adopt_and_use<Fit>(cairn::byte_slice{begin, size}, 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cairn;
    if (size == 0) { return 0; }
    switch (data[0] % 7) {
        case 0:
            run<good_fit>(data + 1, data + size);
            break;
        case 1:
            run<strict_good_fit>(data + 1, data + size);
            break;
        case 2:
            run<best_fit>(data + 1, data + size);
            break;
        case 3:
            run<first_fit>(data + 1, data + size);
            break;
        case 4:
            run<half_fit>(data + 1, data + size);
            break;
        case 5:
            run<basic_good_fit<4, 64, 16>>(data + 1, data + size);
            break;
        default:
            run<basic_best_fit<2>>(data + 1, data + size);
    }
    return 0;
}
