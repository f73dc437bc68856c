// Cold half of cairn/alloc/heap/regions.hpp: regions, and reports about them.
//
// What is kept beside the regions, and must go with them: home_ points into the set,
// recent_ is a copy of where one of them lies, and Valgrind's number stands in its entry. So
// let_go() forgets recent_ whatever it is, and its callers mend home_.
#include <cairn/alloc/heap/regions.hpp>
#include <cairn/alloc/heap/waiting_blocks.hpp>

#include <cairn/core/alignment.hpp>
#include <cairn/storage/inside/address_place.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
namespace {

/// Valgrind forgets the name of the region.
void forget([[maybe_unused]] region_set::entry& entry) noexcept {
#if CAIRN_ASSERTS
    detail::forget_description(entry.description);
    entry.description = 0;
#endif
}

}  // namespace

heap_memory::heap_memory(heap_memory&& other) noexcept
    : home_{other.home_},
      core_operations_{other.core_operations_},
      upstream_{other.upstream_},
      block_size_{other.block_size_},
      owned_{other.owned_},
      ends_empty_{other.ends_empty_},
      watch_{static_cast<allocator_watch&&>(other.watch_)} {
    // The regions stay where they are, and with them the bins: blocks keep their addresses. recent_
    // is found again by the first check, and a walk begins anew.
    regions_.take_all(other.regions_);
    other.home_ = nullptr;
    other.recent_ = {};
    other.walked_to_ = nullptr;
    other.ends_empty_ = false;
}

heap_memory::~heap_memory() {
    if (asserts_enabled && ends_empty_) {
        std::size_t live = 0;
        for (std::uint32_t i = 0; i < regions_.count(); ++i) {
            // A block that waits in a bin was freed by its owner.
            regions_.region(i)->for_each([&](std::uint32_t, block_header h) {
                live += h.is_free() || h.is_deferred() ? 0u : 1u;
            });
        }
        [[maybe_unused]] evidence known = about(misuse_kind::leak, {});
        known.values[0] = {"live blocks", live};
        CAIRN_ASSERT(live == 0, "every block of this heap has come back when it ends", known);
    }
    watch_.end();
    home_ = nullptr;
    block_size_ = 0;
    // All of them leave the books before the first goes: upstream may come back.
    region_set gone;
    gone.take_all(regions_);
    recent_ = {};
    for (std::uint32_t i = gone.count(); i-- != 0;) {
        forget(gone[i]);
        give_back(gone[i]);
    }
}

// ---------------------------------------------------------------------------- regions

std::byte* heap_memory::take(std::size_t needed, std::size_t& size) noexcept {
    size = next_region_size(block_size_, regions_.held(), regions_.count());
    size = size > needed ? size : needed;
    void* memory = upstream_.allocate(size, alignment{granule_size});
    if (memory == nullptr && size > needed) {  // an upstream near its end may have just enough
        size = needed;
        memory = upstream_.allocate(size, alignment{granule_size});
    }
    return static_cast<std::byte*>(memory);
}

void heap_memory::add(region_base* r, std::size_t size) noexcept {
    describe(regions_.insert(r, size));
}

region_set::entry heap_memory::let_go(region_base* r) noexcept {
    region_set::entry removed = regions_.remove(r);
    forget(removed);
    recent_ = {};
    return removed;
}

void heap_memory::give_back(const region_set::entry& gone) noexcept {
    gone.region->unpoison_all();
    // As it was asked for.
    if (owned_) { upstream_.deallocate(gone.region, gone.size, alignment{granule_size}); }
}

// ---------------------------------------------------------------------------- checks

bool heap_memory::turn_to(const void* p) noexcept {
    const region_base* const r = regions_.at(p);
    if (r == nullptr || !r->contains(p)) { return false; }
    // Payloads of blocks begin at multiples of a granule from here; what lies between is no block.
    recent_ = {reinterpret_cast<std::uintptr_t>(r->every_block().payload(0)),
               std::size_t{r->granules()} * granule_size};
    return is_recent(p);
}

evidence heap_memory::about(misuse_kind kind, call_site from) const noexcept {
    return {.kind = kind, .object = this, .type = "heap", .name = watch_.name(), .caller = from};
}

void heap_memory::check_middle([[maybe_unused]] const region_base& r,
                               [[maybe_unused]] std::uint32_t g,
                               [[maybe_unused]] call_site from) const noexcept {
    if constexpr (asserts_enabled) {
        const std::uint32_t start = r.block_around(g);
        const block_map b = r.every_block();
        const block_header around = b.header(start);
        // Inside a block that is free or waits: it was freed, and has become part of that one.
        CAIRN_ASSERT(start == g || !(around.is_free() || around.is_deferred()),
                     "a block is freed once", about(misuse_kind::double_free, from));
        evidence middle = about(misuse_kind::foreign_pointer, from);
        middle.values[0] = {"bytes into the block", (g - start) * granule_size};
        middle.values[1] = {"bytes of the block", payload_size(around.size())};
        CAIRN_ASSERT(start == g, "a pointer to the start of a block is freed", middle);
        r.check_header(g, b.header(g), about(misuse_kind::corrupted, from));
    }
}

void heap_memory::check_freed([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t size,
                              [[maybe_unused]] std::size_t good_size,
                              [[maybe_unused]] call_site from) const noexcept {
    // In this order, each question makes the next one safe to ask: in a region, at a granule, not
    // freed before, a header that agrees with its neighbours, the size.
    if constexpr (asserts_enabled) {
        watch_.expect_not_ended(this, "heap");
        const region_base* const r = regions_.at(p);
        CAIRN_ASSERT(r != nullptr && r->contains(p), "a block is freed to the heap it came from",
                     about(misuse_kind::foreign_pointer, from));
        CAIRN_ASSERT(is_aligned(p, alignment{granule_size}),
                     "a pointer to the start of a block is freed",
                     about(misuse_kind::foreign_pointer, from));
        const std::uint32_t g = r->every_block().block_of(p);
        const block_header h = r->every_block().header(g);
        CAIRN_ASSERT(!r->was_freed(g, h), "a block is freed once",
                     about(misuse_kind::double_free, from));
        if (!r->agrees(g, h)) { check_middle(*r, g, from); }
        CAIRN_ASSERT(h.size_and_bits() < block_header::free_bit,
                     "a block's header is as the heap wrote it: nothing overran it",
                     about(misuse_kind::corrupted, from));
        // A free without a size: the header is believed.
        if (size == SIZE_MAX) { return; }
        [[maybe_unused]] evidence sizes = about(misuse_kind::wrong_size, from);
        sizes.values[0] = {"bytes of the block", payload_size(h.size())};
        sizes.values[1] = {"bytes freed", size};
        CAIRN_ASSERT(payload_size(h.size()) == good_size,
                     "a block is freed with the size that it was asked with", sizes);
    }
}

void heap_memory::check_waiting([[maybe_unused]] const void* p,
                                [[maybe_unused]] std::uint32_t granules) const noexcept {
    if constexpr (asserts_enabled) {
        const region_base* const r = regions_.at(p);
        CAIRN_ASSERT(
            r != nullptr && r->contains(p) && is_aligned(p, alignment{granule_size}),
            "a block that waits is as the heap wrote it: nothing wrote into it after it was freed",
            about(misuse_kind::corrupted, {}));
        const std::uint32_t g = r->every_block().block_of(p);
        const block_header h = r->every_block().header(g);
        CAIRN_ASSERT(h.is_deferred() && !h.is_free() && h.size() == granules,
                     "a block that waits is as the heap wrote it: nothing overran it",
                     about(misuse_kind::corrupted, {}));
        if (!r->agrees(g, h)) { r->check_header(g, h, about(misuse_kind::corrupted, {})); }
    }
}

// ---------------------------------------------------------------------------- names

void heap_memory::set_name([[maybe_unused]] const char* name) noexcept {
    if constexpr (asserts_enabled) {
        static constexpr allocator_type type{"heap", &heap_memory::place_of};
        watch_.set_name(name, this, type);
        for (std::uint32_t i = 0; i < regions_.count(); ++i) { describe(regions_[i]); }
    }
}

/// Valgrind calls the region by the heap's name.
void heap_memory::describe([[maybe_unused]] region_set::entry& entry) noexcept {
#if CAIRN_ASSERTS
    forget(entry);
    entry.description = watch_.describe(entry.region, entry.size);
#endif
}

address_place heap_memory::place_of(const void* object, const void* address) noexcept {
    const region_base* const r = static_cast<const heap_memory*>(object)->regions_.at(address);
    return r == nullptr ? address_place{} : r->place_of(address);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
