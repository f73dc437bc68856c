// cairn/alloc/heap/heap_cold.hpp - cold half of heap.hpp: its beginnings, and questions to it.
//
// A template, so it cannot live in src/ alone; the five heaps that people use are instantiated once
// there (src/alloc/heap.cpp), and no other unit compiles this for them.
#pragma once

#include <cairn/alloc/heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

// ---------------------------------------------------------------------------- making one

template <class Fit>
heap<Fit>::heap(allocator_ref upstream, std::size_t block_size, bool owned,
                       const options& how) noexcept
    : core_{upstream, block_size, owned} {
    if (how.name != nullptr) { set_name(how.name); }
    expect_empty_end(how.all_back_at_end);
}

template <class Fit>
heap<Fit>::heap(byte_slice memory, const options& how) noexcept
    : heap{no_memory(), 0, false, how} {
    // A region begins at a multiple of 16; what is too small for one block makes a heap that
    // refuses everything.
    const std::size_t skipped =
        padding_to(reinterpret_cast<std::uintptr_t>(memory.data()), alignment{granule_size});
    const std::size_t size = memory.size() > skipped ? memory.size() - skipped : 0;
    const std::uint32_t bin_count = bins::count_for(size / granule_size);
    if (home_region::granules_in(size, bin_count) == 0) { return; }
    core_.start(home_region::make(memory.data() + skipped, size, bin_count), size);
}

template <class Fit>
heap<Fit>::heap(std::size_t size, allocator_ref upstream, const options& how) noexcept
    : heap{upstream, 0, true, how} {
    const std::uint32_t bin_count = bins::count_for(size / granule_size);
    if (home_region::granules_in(size, bin_count) == 0) { return; }
    // Too few bytes for a block are not asked for. A refusal leaves a heap without a region.
    void* const memory = upstream.allocate(size, alignment{granule_size});
    if (memory != nullptr) { core_.start(home_region::make(memory, size, bin_count), size); }
}

template <class Fit>
heap<Fit>::heap(grow_by growth, allocator_ref upstream, const options& how) noexcept
    : heap{upstream, growth.block_size < 1024 ? 1024 : growth.block_size, true, how} {}

template <class Fit>
heap<Fit> heap<Fit>::adopt(byte_slice memory) noexcept {
    heap h{no_memory(), 0, false, {}};
    if (region_type* const home = home_region::find(memory)) {
        h.core_.start(home, home->total_size());
    }
    return h;
}

template <class Fit>
heap<Fit> heap<Fit>::adopt_untrusted(byte_slice memory) noexcept {
    heap h{no_memory(), 0, false, {}};
    if (region_type* const home = home_region::find_untrusted(memory)) {
        h.core_.start(home, home->total_size());
    }
    return h;
}

// ---------------------------------------------------------------------------- queries

template <class Fit>
std::size_t heap<Fit>::largest_free() const noexcept {
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < core_.regions_.count(); ++i) {
        const std::uint32_t here = core_.region(i)->largest_free();
        best = here > best ? here : best;
    }
    return best == 0 ? 0 : detail::payload_size(best);
}

template <class Fit>
heap_stats heap<Fit>::stats() const noexcept {
    heap_stats s{};
    s.region_count = core_.regions_.count();
    s.capacity = core_.regions_.granules() * granule_size;
    s.free_size = core_.regions_.free_granules() * granule_size;
    for (std::uint32_t c = 0; c < core_.waiting().count(); ++c) {
        const std::uint32_t count = core_.waiting().waiting_in(core_.waiting()[c]);
        s.deferred_count += count;
        s.deferred_size += std::size_t{count} * core_.waiting()[c].granules() * granule_size;
    }
    return s;
}

template <class Fit>
void heap<Fit>::validate() const noexcept {
    if constexpr (asserts_enabled) {
        //     blocks marked as waiting, in all regions == blocks listed in all bins
        //     granules the core has given away         == in use + waiting
        std::size_t marked = 0;
        for (std::uint32_t i = 0; i < core_.regions_.count(); ++i) {
            marked += core_.region(i)->validate();
        }
        std::size_t listed = 0;
        core_.waiting().validate([&](const detail::deferred_bin& b, const std::byte* p) {
            CAIRN_ASSERT(owns(p), "a deferred block lies in the heap");
            const detail::block_header h = core_.header_of(p);
            CAIRN_ASSERT(h.is_deferred() && h.size() == b.granules(),
                         "a deferred block is marked, and of the size of its class");
            ++listed;
        });
        CAIRN_ASSERT(listed == marked, "every deferred block waits in a bin");
        if (Fit::deferred_max != 0) {
            CAIRN_ASSERT(core_.regions_.granules() - core_.regions_.free_granules() ==
                             core_.waiting().surplus().taken(),
                         "what is in use is counted");
        }
    }
}

template <class Fit>
template <class Visit>
void heap<Fit>::for_each_block(Visit visit) const {
    for (std::uint32_t i = 0; i < core_.regions_.count(); ++i) {
        core_.region(i)->for_each([&](std::uint32_t g, detail::block_header h) {
            const block_state state = h.is_free()       ? block_state::free
                                      : h.is_deferred() ? block_state::deferred
                                                        : block_state::used;
            visit(heap_block{core_.region(i)->map().payload(g), detail::payload_size(h.size()),
                             state});
        });
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
