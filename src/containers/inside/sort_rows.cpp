// Cold half of cairn/containers/inside/sort_rows.hpp: the check of a permutation; the radix sort,
// once for 32-bit and once for 64-bit keys.
#include <cairn/containers/inside/key_order.hpp>

#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

bool names_each_once(std::uint32_t* order, std::size_t count) noexcept {
    constexpr std::uint32_t named = std::uint32_t{1} << 31;
    if (count > named) { return true; }
    for (std::size_t i = 0; i < count; ++i) {
        if (order[i] >= count) { return false; }
    }
    for (std::size_t i = 0; i < count; ++i) { order[order[i] & ~named] |= named; }
    bool all = true;
    for (std::size_t i = 0; i < count; ++i) {
        all = all && (order[i] & named) != 0;
        order[i] &= ~named;
    }
    return all;
}

namespace {

// From the lowest byte to the highest, each pass stable: what a pass has put in order stays in
// order among keys that are equal in all later bytes. Every pass places the pairs front to back
// into buckets that lie in order, so equal keys never change places.
//
// The histograms are of the keys, which no pass changes: one look at the beginning counts for all
// of them (on the stack: 8 KiB for 32-bit keys, 16 KiB for 64-bit ones).
template <class Bits>
void sort_bytes(sort_pair<Bits>* pairs, sort_pair<Bits>* spare, std::size_t count) {
    constexpr std::size_t passes = sizeof(Bits);
    std::size_t counts[passes][256] = {};
    for (std::size_t i = 0; i < count; ++i) {  // all histograms in one pass
        Bits key = pairs[i].key;
        for (std::size_t p = 0; p < passes; ++p) {
            ++counts[p][key & 0xFF];
            key = static_cast<Bits>(key >> 8);
        }
    }
    sort_pair<Bits>* from = pairs;
    sort_pair<Bits>* to = spare;
    for (std::size_t p = 0; p < passes; ++p) {
        std::size_t* const bucket = counts[p];
        if (count != 0 && bucket[from[0].key >> (8 * p) & 0xFF] == count) {
            continue;  // this byte is the same everywhere
        }
        // From counts to places: bucket[b] becomes where the next pair with byte b goes.
        std::size_t sum = 0;
        for (std::size_t b = 0; b < 256; ++b) {
            const std::size_t here = bucket[b];
            bucket[b] = sum;
            sum += here;
        }
        for (std::size_t i = 0; i < count; ++i) {
            to[bucket[from[i].key >> (8 * p) & 0xFF]++] = from[i];
        }
        sort_pair<Bits>* const held = from;
        from = to;
        to = held;
    }
    // An odd number of passes has ended in `spare`.
    if (from != pairs) { std::memcpy(pairs, from, count * sizeof(sort_pair<Bits>)); }
}

}  // namespace

void radix_sort(sort_pair<std::uint32_t>* pairs, sort_pair<std::uint32_t>* spare,
                std::size_t count) {
    sort_bytes(pairs, spare, count);
}

void radix_sort(sort_pair<std::uint64_t>* pairs, sort_pair<std::uint64_t>* spare,
                std::size_t count) {
    sort_bytes(pairs, spare, count);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
