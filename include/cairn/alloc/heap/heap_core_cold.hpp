// cairn/alloc/heap/heap_core_cold.hpp - cold half of heap_core.hpp: nothing of the size waits.
//
// Regions that come and go, the core (which asks the fit), and the merging of what waits.
#pragma once

#include <cairn/alloc/heap/heap_core.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// ---------------------------------------------------------------------------- regions

/// `home`, in `size` bytes, is the first region.
template <class Fit>
void heap_core<Fit>::start(region_type* home, std::size_t size) noexcept {
    // In this order: the bins count their links from the lowest region, shares come from the size,
    // and what may wait from both.
    home_ = home;
    add(home, size);
    bins_.use(home->extra(), regions_.begin_of_memory(), regions_.reach());
    bins_.set_share(bins::share_of(home->granules()));
    count_surplus();
}

template <class Fit>
bool heap_core<Fit>::grow(std::uint32_t granules, alignment align) noexcept {
    if (block_size_ == 0 || regions_.count() == region_set::count_max) { return false; }
    CAIRN_ASSERT(home_ == nullptr || bins_.surplus().waiting() == 0,
                 "a heap grows only when nothing waits: links count from the lowest region");
    // first region   | region | index | bins | blocks ... |
    // all others     | region | index | blocks ......... |
    // Only the home region has bins, as many as any heap can use.
    const std::uint32_t bin_count = home_ == nullptr ? bins::count_for(std::size_t{1} << 20) : 0;
    const std::size_t extra = home_ == nullptr ? bins::size_of(bin_count) : 0;
    // What the fit must find in the fresh region: the slack of the alignment is part of it.
    std::size_t wanted = granules;
    if (align > alignment{granule_size}) {
        wanted += align.bytes() / granule_size;
        if (wanted > granule_count_max / 2) { return false; }
        wanted = Fit::block_size(static_cast<std::uint32_t>(wanted));
    }
    std::size_t size = 0;
    // In so many bytes there is room for `wanted` granules in one free block, so the request that
    // made the heap grow is served by the region that it gets.
    std::byte* const memory = take(region_type::size_for(wanted, extra), size);
    if (memory == nullptr) { return false; }
    if (home_ == nullptr) {
        start(home_region::make(memory, size, bin_count), size);
        return true;
    }
    add(region_type::create(memory, region_type::granules_in(size, 0), 0, region_key(memory)),
        size);
    // The new region may be the lowest: links count from there now. The shares only grow; what was
    // most in use is counted anew with them.
    bins_.set_reach(regions_.begin_of_memory(), regions_.reach());
    bins_.set_share(bins::share_of(regions_.held() / granule_size));
    count_surplus();
    return true;
}

template <class Fit>
void heap_core<Fit>::remove_region(region_type* r) noexcept {
    give_back(r);
    count_surplus();
}

// ---------------------------------------------------------------------------- the core

/// Where the smallest block that fits is, the first of equals. Over-aligned requests are not
/// compared: they take the first region that serves them.
template <class Fit>
std::uint32_t heap_core<Fit>::region_of_best_fit(std::uint32_t granules,
                                                        alignment align) const noexcept {
    std::uint32_t best = 0;
    if (align > alignment{granule_size}) { return best; }
    // no_block is the largest number there is: a region without a fit is never better.
    std::uint32_t best_size = no_block;
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        const std::uint32_t size = region(i)->size_of_fit(granules);
        if (size < best_size) {
            best = i;
            best_size = size;
        }
    }
    return best;
}

template <class Fit>
void* heap_core<Fit>::allocate_in_regions(std::uint32_t granules, std::size_t size,
                                                 alignment align) noexcept {
    std::uint32_t i = 0;
    if constexpr (takes_smallest_of_all_regions<Fit>) { i = region_of_best_fit(granules, align); }
    // From the best one on, where that was asked for; from the first where no region has a fit.
    for (; i < regions_.count(); ++i) {
        region_type* const r = region(i);
        const std::uint32_t g = align <= alignment{granule_size}
                                    ? r->allocate(granules)
                                    : r->allocate_aligned(granules, align);
        if (g != no_block) {
            // It is empty no more. The next region that runs empty is kept in its place.
            if (r == spare_) { spare_ = nullptr; }
            return given_out(r->map().payload(g), granules, size);
        }
    }
    return nullptr;
}

/// Keeps the books of a block that the core gave away.
template <class Fit>
inline void* heap_core<Fit>::given_out(void* p, [[maybe_unused]] std::uint32_t granules,
                                              std::size_t size) noexcept {
    unpoison(p, size);
    if constexpr (Fit::deferred_max != 0) {
        if (bins_.surplus().took(granules)) [[unlikely]] { merge_surplus(); }
    }
    return p;
}

/// For fits with classes: `size` is of class `c`, whose blocks have `granules`.
/// (No requires-clause: clang 17 and gcc 14 write one into the function's name, gcc 12 does not,
/// and then a program and a library of the two do not link.)
template <class Fit>
void* heap_core<Fit>::allocate_class_from_core(std::uint32_t c, std::uint32_t granules,
                                                      std::size_t size) noexcept {
    if constexpr (has_size_classes<Fit>) {
        // One region alone is home: the others go before it does.
        if (regions_.count() == 1) [[likely]] {
            if (void* const p = home()->allocate_class(c, granules)) [[likely]] {
                return given_out(p, granules, size);
            }
        }
    }
    return allocate_with_effort(granules, size, default_alignment);
}

template <class Fit>
void* heap_core<Fit>::allocate_from_core(std::size_t size, alignment align) noexcept {
    if constexpr (has_size_classes<Fit>) {
        if (size <= payload_size(Fit::small_max) && align <= alignment{granule_size}) [[likely]] {
            const std::uint32_t c = Fit::class_of_small(granules_for(size));
            return allocate_class_from_core(c, Fit::size_of_small_class(c), size);
        }
    }
    // Before the size becomes granules, which have 30 bits: nothing below can wrap.
    if (size > size_max) { return nullptr; }
    if constexpr (has_size_classes<Fit>) {
        if (align <= alignment{granule_size}) [[likely]] {
            const std::uint32_t c =
                Fit::class_of_request(static_cast<std::uint32_t>(granules_for(size)));
            return allocate_class_from_core(c, Fit::size_of_class(c), size);
        }
    }
    const std::uint32_t granules = Fit::block_size(static_cast<std::uint32_t>(granules_for(size)));
    if (regions_.count() == 1 && align <= alignment{granule_size}) [[likely]] {
        const std::uint32_t g = home()->allocate(granules);
        if (g != no_block) [[likely]] {
            return given_out(home()->map().payload(g), granules, size);
        }
    }
    return allocate_with_effort(granules, size, align);
}

template <class Fit>
void* heap_core<Fit>::allocate_with_effort(std::uint32_t granules, std::size_t size,
                                                  alignment align) noexcept {
    if (align.bytes() > size_max) { return nullptr; }
    if (void* const p = allocate_in_regions(granules, size, align)) { return p; }
    // What costs nothing first, what costs time next, what costs memory last.
    // The last resort: what was deferred may fit, or merge into something that does.
    if (merge_deferred()) {
        if (void* const p = allocate_in_regions(granules, size, align)) { return p; }
    }
    return grow(granules, align) ? allocate_in_regions(granules, size, align) : nullptr;
}

template <class Fit>
void heap_core<Fit>::free_in_core(void* p) noexcept {
    if (regions_.count() == 1) [[likely]] { return free_in(home(), p); }
    give_to_core(p);
    // More waits than is in use: what waits holds regions that no block in use needs.
    if (Fit::deferred_max != 0 && bins_.surplus().wants_to_shrink()) { merge_surplus(); }
}

template <class Fit>
void heap_core<Fit>::give_to_core(void* p) noexcept {
    // After free_in() r may be one free block; nothing of `p` is read from here on.
    auto* const r = static_cast<region_type*>(regions_.at(p));
    free_in(r, p);
    if (block_size_ != 0 && r->is_empty() && r != home_) [[unlikely]] {
        // One empty region stays, so that a free and an allocation at the edge do not call
        // upstream.
        if (spare_ != nullptr) {
            remove_region(r);
        } else {
            spare_ = r;
        }
    }
}

template <class Fit>
[[gnu::always_inline]] inline void heap_core<Fit>::free_in(region_type* r,
                                                                  void* p) noexcept {
    const auto b = r->map();
    const std::uint32_t g = b.block_of(p);
    // Before free(): afterwards the header may be that of a larger block, and the links of the fit
    // lie in the payload.
    if constexpr (poison_is_watched) { poison(p, payload_size(b.header(g).size())); }
    const std::uint32_t size = r->free(g);
    if constexpr (Fit::deferred_max != 0) { bins_.surplus().gave_back(size); }
}

template <class Fit>
void heap_core<Fit>::deallocate(void* p, [[maybe_unused]] call_site from) noexcept {
    if (p == nullptr) { return; }
    [[maybe_unused]] const allocator_watch::use inside{watch_, this, "heap", from};
    // The header says the size: in checked builds it is compared with its neighbours first, in all
    // builds it must not say that the block is free or waits.
    check_freed(p, SIZE_MAX, 0, from);
    if constexpr (Fit::deferred_max != 0) {
        const block_header header = header_of(p);
        if (header.is_free() || header.is_deferred()) [[unlikely]] {
            heap_is_corrupt(heap_promise::freed_once, home_);
        }
        const std::uint32_t granules = header.size();
        if (bins_.covers(payload_size(granules))) {
            bin& b = bins_[Fit::class_of_free(granules)];
            if (bins_.put(b, static_cast<std::byte*>(p))) [[likely]] { return; }
        }
    }
    free_in_core(p);
}

template <class Fit>
bool heap_core<Fit>::resize(void* p, std::size_t old_size, std::size_t new_size) noexcept {
    [[maybe_unused]] const allocator_watch::use inside{watch_, this, "heap", {}};
    expect_live(p, granules_of(old_size), old_size, {});
    if (new_size > size_max) { return false; }
    auto* const r = static_cast<region_type*>(regions_.at(p));
    // What the core has given away changes by the difference, in either direction.
    const std::uint32_t before = r->free_granules();
    if (!r->resize(r->map().block_of(p), granules_of(new_size))) { return false; }
    if constexpr (Fit::deferred_max != 0) {
        bins_.surplus().gave_back(std::size_t{r->free_granules()} - before);  // wraps when it grew
    }
    if constexpr (poison_is_watched) {
        auto* const end = static_cast<std::byte*>(p) + new_size;
        if (new_size < old_size) {
            poison(end, old_size - new_size);
        } else {
            unpoison(p, new_size);
        }
    }
    return true;
}

// ---------------------------------------------------------------------------- what waits

/// For a class of which take_newest() found no block.
template <class Fit>
void* heap_core<Fit>::allocate_unwaited(std::size_t size, const bin& b) noexcept {
    // A link that led nowhere, or to a block that does not wait, ends here: the core is asked only
    // when the bin is truly empty.
    bins_.expect_none(b);
    return allocate_class_from_core(bins_.class_of(b), b.granules(), size);
}

/// Returns: false when no block waits in `b`.
template <class Fit>
bool heap_core<Fit>::merge_newest(bin& b) noexcept {
    std::byte* const p = take_newest(b);
    if (p == nullptr) {
        bins_.expect_none(b);
        return false;
    }
    give_to_core(p);
    return true;
}

/// Merges one block that waits beyond the share of its class, if one of the next bins has one.
template <class Fit>
void heap_core<Fit>::merge_surplus() noexcept {
    if (bin* const b = bins_.next_surplus()) { (void)merge_newest(*b); }
}

/// After a change of the regions or of the shares.
template <class Fit>
void heap_core<Fit>::count_surplus() noexcept {
    if (Fit::deferred_max == 0 || home_ == nullptr) { return; }
    const std::size_t granules = regions_.granules();
    bins_.recount(granules, granules - regions_.free_granules(), regions_.count() > 1);
}

/// Returns: true when there was something to merge.
template <class Fit>
bool heap_core<Fit>::merge_deferred() noexcept {
    // Afterwards nothing waits, in any bin: what grow() asks for.
    bool any = false;
    for (std::uint32_t c = 0; c < bins_.count(); ++c) {
        while (merge_newest(bins_[c])) { any = true; }
    }
    return any;
}

template <class Fit>
void heap_core<Fit>::reset() noexcept {
    [[maybe_unused]] const allocator_watch::use inside{watch_, this, "heap", {}};
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        region(i)->clear(region_key(region(i)));
    }
    bins_.clear();
    count_surplus();
}

template <class Fit>
void heap_core<Fit>::trim() noexcept {
    [[maybe_unused]] const allocator_watch::use inside{watch_, this, "heap", {}};
    merge_deferred();
    count_surplus();  // what was most is forgotten
    if (block_size_ == 0) { return; }
    // Downwards: removing one moves those behind it, which were looked at before.
    for (std::uint32_t i = regions_.count(); i-- != 0;) {
        region_type* const r = region(i);
        if (r != home_ && r->is_empty()) { remove_region(r); }
    }
    spare_ = nullptr;
    // Home last, and only alone: the bins of all the others lie in it.
    if (regions_.count() == 1 && home_->is_empty()) {
        give_all_back();
        bins_ = {};
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
