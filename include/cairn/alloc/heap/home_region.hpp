// cairn/alloc/heap/home_region.hpp - the first region of a heap: with the bins in it, and a mark by
// which adopt() knows it again.
//
//      | region | index | mark, bin, bin ... | blocks ...
//                         ^ extra()
//
// The mark says of which fit the heap is and how long the region: all else that adopting needs
// stands in the region itself. Bytes that others could write are walked, and what can be made anew
// from the headers of the blocks is made anew.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/heap/deferred_bins.hpp>
#include <cairn/alloc/heap/region.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/os/inside/process_secret.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

[[nodiscard]] inline std::uint32_t region_key(const void* region) noexcept {
    return static_cast<std::uint32_t>(secret_of(region));
}

template <class Fit>
struct home_region {
    using region_type = region<Fit>;
    using bins = deferred_bins<Fit>;

    /// Which kind of heap a region is of: the fit's name, and its shape.
    [[nodiscard]] static constexpr std::uint64_t mark() noexcept {
        std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
        for (const char* c = Fit::name; *c != '\0'; ++c) {
            hash = (hash ^ static_cast<unsigned char>(*c)) * 1099511628211ull;
        }
        std::uint64_t shape = sizeof(region_type);
        if constexpr (has_shape<Fit>) { shape ^= std::uint64_t{Fit::shape} << 32; }
        constexpr std::uint64_t format = 3;  // links are encoded, bins hold marked sizes
        return (hash ^ shape ^ Fit::deferred_max << 16 ^ format << 56) * 1099511628211ull;
    }

    /// Granules for blocks in `size` bytes with `bin_count` bins; 0: too few bytes.
    [[nodiscard]] static constexpr std::uint32_t granules_in(std::size_t size,
                                                             std::uint32_t bin_count) noexcept {
        return region_type::granules_in(size, bins::size_of(bin_count));
    }

    /// One free block in `size` bytes. Requires: granules_in(size, bin_count) != 0.
    [[nodiscard]] static region_type* make(void* memory, std::size_t size,
                                           std::uint32_t bin_count) noexcept {
        auto* const home =
            region_type::create(static_cast<std::byte*>(memory), granules_in(size, bin_count),
                                bins::size_of(bin_count), region_key(memory));
        bins::make(home->extra(), bin_count, mark(), home->total_size());
        return home;
    }

    /// The region that these bytes are; nullptr: they are none.
    [[nodiscard]] static region_type* find(byte_slice memory) noexcept {
        region_type* const home = with_mark(memory);
        if (home != nullptr) { home->poison_unused(); }
        return home;
    }

    /// As find(), for bytes that are not trusted. O(blocks + index).
    [[nodiscard]] static region_type* find_untrusted(byte_slice memory) noexcept {
        region_type* const home = with_mark(memory);
        if (home == nullptr) { return nullptr; }
        const std::uint32_t bin_count = header_of(*home).bin_count;
        if (bin_count > bins::count_for(std::size_t{1} << 20) ||
            !home->has_shape(memory.size(), bins::size_of(bin_count)) ||
            !home->rebuild(region_key(home))) {
            return nullptr;
        }
        home->poison_unused();
        bins::make(home->extra(), bin_count, mark(), home->total_size());
        return home;
    }

private:
    /// Reads nothing outside of `memory`, whatever stands there.
    [[nodiscard]] static region_type* with_mark(byte_slice memory) noexcept {
        if (!is_aligned(memory.data(), alignment{granule_size}) ||
            memory.size() < region_type::size_for(1, bins::size_for(1))) {
            return nullptr;
        }
        auto* const home = reinterpret_cast<region_type*>(memory.data());
        if (home->total_size() > memory.size() || !home->extra_fits(sizeof(deferred_header)) ||
            header_of(*home).magic != mark() || header_of(*home).total_size != home->total_size()) {
            return nullptr;
        }
        return home;
    }
    [[nodiscard]] static const deferred_header& header_of(region_type& home) noexcept {
        return *reinterpret_cast<const deferred_header*>(home.extra());
    }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
