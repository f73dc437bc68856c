// Cold half of cairn/alloc/heap/regions.hpp: what headers say of one another.
//
//      [ h  size 3, prev 2 ]......[ h  size 4, prev 3, free ]..........[ h  size 2, prev 4 ]
//        g                          g + 3                                g + 7
//
//      agree:   header(g + size).previous == size    and    header(g - previous).size == previous
//
// A write past a block breaks the header behind it. Each size stands twice, eight bytes in
// front of a block and behind its last byte, so the two no longer agree. The last header of a
// region, at granules_, has size 0 and is in use: no block is ever merged with it.
#include <cairn/alloc/heap/regions.hpp>
#include <cairn/storage/inside/address_place.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
namespace {

[[nodiscard, maybe_unused]] evidence misused(misuse_kind kind) noexcept {
    return {.kind = kind, .type = "heap"};
}

}  // namespace

address_place region_base::place_of(const void* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto begin = reinterpret_cast<std::uintptr_t>(this);
    if (at - begin >= total_size()) { return {}; }
    const blocks b = every_block();
    std::uint32_t g = 0;
    // Block by block, as far as the headers make sense: where one does not, the answer is the
    // region as a whole.
    for (std::size_t index = 0; g < granules_; ++index) {
        const block_header header = b.header(g);
        if (header.size() == 0 || header.size() > granules_ - g) { break; }
        const auto payload = reinterpret_cast<std::uintptr_t>(b.payload(g));
        const std::size_t size = payload_size(header.size());
        if (at < payload + size) {
            const bool in_header = at < payload && at + block_header_size >= payload;
            if (at < payload && !in_header) { break; }  // before the first block
            return {.inside = true,
                    .unit = "block",
                    .index = index,
                    .offset = in_header ? payload - at : at - payload,
                    .in_front = in_header,
                    .size = size,
                    .state = header.is_free() || header.is_deferred() ? "freed" : "live"};
        }
        g += header.size();
    }
    return {.inside = true,
            .offset = at - begin,
            .size = total_size(),
            .state = "what the heap needs for itself, or was overrun"};
}

void region_base::poison_unused() noexcept {
    if (!detail::poison_is_seen()) { return; }
    const blocks b = every_block();
    // Headers too, also of blocks in use: only load_hidden() reads them from now on.
    for_each([&](std::uint32_t g, block_header h) {
        poison(b.at(g), block_header_size);
        if (h.is_free() || h.is_deferred()) { poison(b.payload(g), payload_size(h.size())); }
    });
    poison(b.at(granules_), block_header_size);
}

// Headers are read in halves: of a whole one, returned, clang 19 makes one load of eight bytes,
// which waits for the stores of four before it.

bool region_base::agrees(std::uint32_t g, block_header h) const noexcept {
    const blocks b = every_block();
    if (!is_plausible(g, h) || b.previous(g + h.size()) != h.size()) { return false; }
    return h.previous() == 0 ? g == 0 : b.header(g - h.previous()).size() == h.previous();
}

bool region_base::was_freed(std::uint32_t g, block_header h) const noexcept {
    const std::uint32_t state = h.size_and_bits() & block_header::gone;
    if (state == 0 || !is_plausible(g, h)) { return false; }
    // Both bits at once mean that the block has become part of another one: its neighbours have
    // changed, and are not asked.
    // A header that was overrun may look freed; a freed one agrees with its neighbours.
    return state == block_header::gone || !asserts_enabled || agrees(g, h);
}

std::uint32_t region_base::block_around(std::uint32_t g) const noexcept {
    std::uint32_t start = 0;
    while (start < g) {
        const block_header h = every_block().header(start);
        if (!agrees(start, h)) { return g; }
        if (g - start < h.size()) { return start; }
        start += h.size();
    }
    return g;
}

/// The order of the answers: freed before, in the middle of a block, of another size, overrun.
void region_base::freed_wrongly(std::uint32_t g) const noexcept {
    const block_header h = every_block().header(g);
    if (was_freed(g, h)) { heap_is_corrupt(heap_promise::freed_once, this); }
    if (const std::uint32_t start = block_around(g); start != g) {
        const block_header around = every_block().header(start);
        const bool is_freed = around.is_free() || around.is_deferred();
        heap_is_corrupt(is_freed ? heap_promise::freed_once : heap_promise::freed_start, this);
    }
    heap_is_corrupt(agrees(g, h) ? heap_promise::freed_size : heap_promise::header, this);
}

void region_base::check_header([[maybe_unused]] std::uint32_t g, [[maybe_unused]] block_header h,
                               [[maybe_unused]] const evidence& overrun) const noexcept {
    [[maybe_unused]] const blocks b = every_block();
    CAIRN_ASSERT(h.size() != 0 && h.size() <= granules_ - g && h.previous() <= g,
                 "a block's header is as the heap wrote it: nothing overran it", overrun);
    CAIRN_ASSERT(b.previous(g + h.size()) == h.size(),
                 "the header after a block is as the heap wrote it: nothing overran it", overrun);
    // Only the first block has none before it.
    CAIRN_ASSERT(h.previous() == 0 ? g == 0 : b.header(g - h.previous()).size() == h.previous(),
                 "the header before a block is as the heap wrote it: nothing overran it", overrun);
}

region_base::block_counts region_base::validate_blocks() const noexcept {
    block_counts seen;
    std::uint32_t previous = 0;
    [[maybe_unused]] bool previous_free = false;
    std::uint32_t free_total = 0;
    for_each([&](std::uint32_t, block_header h) {
        CAIRN_ASSERT(h.previous() == previous,
                     "a header knows the size of the block before it: nothing overran it",
                     misused(misuse_kind::corrupted));
        CAIRN_ASSERT(!(h.is_free() && h.is_deferred()), "a block is in one state");
        CAIRN_ASSERT(!(h.is_free() && previous_free), "two neighbours are never both free");
        free_total += h.is_free() ? h.size() : 0;
        seen.free += h.is_free() ? 1u : 0u;
        seen.deferred += h.is_deferred() ? 1u : 0u;
        previous_free = h.is_free();
        previous = h.size();
    });
    CAIRN_ASSERT(every_block().header(granules_) == block_header::used(0, previous),
                 "the end of the region is as the heap wrote it: nothing overran it",
                 misused(misuse_kind::corrupted));
    CAIRN_ASSERT(free_total == free_granules_, "the count of free granules is true");
    return seen;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
