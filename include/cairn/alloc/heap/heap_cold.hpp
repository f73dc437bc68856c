// cairn/alloc/heap/heap_cold.hpp - cold half of heap.hpp: nothing of the size waits.
//
// Constructing and adopting, regions that come and go, the core (which asks the fit), the merging
// of waiting blocks, and queries. A template, so it cannot live in src/ alone; for cairn's own fits
// it is compiled once there (src/alloc/heap.cpp, src/alloc/heap/other_fits.cpp).
#pragma once

#include <cairn/alloc/heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

[[nodiscard]] inline std::uint32_t region_key(const void* region) noexcept {
    return static_cast<std::uint32_t>(secret_of(region));
}

/// Which kind of heap a first region is of: the fit's name, and its shape.
template <class Fit>
[[nodiscard]] constexpr std::uint64_t heap_mark() noexcept {
    std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
    for (const char* c = Fit::name; *c != '\0'; ++c) {
        hash = (hash ^ static_cast<unsigned char>(*c)) * 1099511628211ull;
    }
    std::uint64_t shape = sizeof(region<Fit>);
    if constexpr (has_shape<Fit>) { shape ^= std::uint64_t{Fit::shape} << 32; }
    constexpr std::uint64_t format = 5;  // links are encoded, bins count blocks
    return (hash ^ shape ^ Fit::deferred_max << 16 ^ format << 56) * 1099511628211ull;
}

}  // namespace detail

// ---------------------------------------------------------------------------- making one

template <class Fit>
heap<Fit>::heap(allocator_ref upstream, std::size_t block_size, bool owned,
                const options& how) noexcept
    : detail::heap_memory{upstream, block_size, owned} {
    if (how.name != nullptr) { set_name(how.name); }
    expect_empty_end(how.all_back_at_end);
}

template <class Fit>
heap<Fit>::heap(byte_slice memory, const options& how) noexcept : heap{no_memory(), 0, false, how} {
    // A region begins at a multiple of 16; memory too small for one block makes a heap
    // that refuses everything.
    const std::size_t skipped = detail::padding_to(reinterpret_cast<std::uintptr_t>(memory.data()),
                                                   alignment{granule_size});
    const std::size_t size = memory.size() > skipped ? memory.size() - skipped : 0;
    const std::uint32_t bin_count = bins::count_for(size / granule_size);
    if (region_type::granules_in(size, bins::size_of(bin_count)) == 0) { return; }
    start(make_home(memory.data() + skipped, size, bin_count), size);
}

template <class Fit>
heap<Fit>::heap(std::size_t size, allocator_ref upstream, const options& how) noexcept
    : heap{upstream, 0, true, how} {
    const std::uint32_t bin_count = bins::count_for(size / granule_size);
    if (region_type::granules_in(size, bins::size_of(bin_count)) == 0) { return; }
    // Too few bytes for a block are not asked for. A refusal leaves a heap without a region.
    void* const memory = upstream.allocate(size, alignment{granule_size});
    if (memory != nullptr) { start(make_home(memory, size, bin_count), size); }
}

template <class Fit>
heap<Fit>::heap(grow_by growth, allocator_ref upstream, const options& how) noexcept
    : heap{upstream, growth.block_size < 1024 ? 1024 : growth.block_size, true, how} {}

template <class Fit>
heap<Fit>::heap(allocator_ref upstream, const options& how) noexcept
    : heap{grow_by{64_KiB}, upstream, how} {}

template <class Fit>
heap<Fit> heap<Fit>::adopt(byte_slice memory) noexcept {
    heap h{no_memory(), 0, false, {}};
    if (region_type* const home = find_home(memory)) { h.start(home, home->total_size()); }
    return h;
}

// ---------------------------------------------------------------------------- the first region

//      | region | index | mark, bin, bin ... | blocks ...
//                         ^ extra()
//
// The mark says of which fit the heap is and how long the region: all else that adopting needs
// stands in the region itself.

/// One free block in `size` bytes. Requires: there is room for one granule.
template <class Fit>
auto heap<Fit>::make_home(void* memory, std::size_t size, std::uint32_t bin_count) noexcept
    -> region_type* {
    const std::size_t extra = bins::size_of(bin_count);
    auto* const home =
        region_type::create(static_cast<std::byte*>(memory), region_type::granules_in(size, extra),
                            extra, detail::region_key(memory));
    bins::make(home->extra(), bin_count, detail::heap_mark<Fit>(), home->total_size());
    return home;
}

/// The first region that these bytes are; nullptr: they are none. Reads nothing outside of
/// `memory`, whatever stands there.
template <class Fit>
auto heap<Fit>::find_home(byte_slice memory) noexcept -> region_type* {
    if (!detail::is_aligned(memory.data(), alignment{detail::granule_size}) ||
        memory.size() < region_type::size_for(1, bins::size_for(1))) {
        return nullptr;
    }
    auto* const home = reinterpret_cast<region_type*>(memory.data());
    if (home->total_size() > memory.size() || !home->extra_fits(sizeof(detail::deferred_header))) {
        return nullptr;
    }
    const auto& header = *reinterpret_cast<const detail::deferred_header*>(home->extra());
    if (header.magic != detail::heap_mark<Fit>() || header.total_size != home->total_size()) {
        return nullptr;
    }
    home->poison_unused();
    return home;
}

// ---------------------------------------------------------------------------- regions

/// `home`, in `size` bytes, is the first region.
template <class Fit>
void heap<Fit>::start(region_type* home, std::size_t size) noexcept {
    home_ = home;
    add(home, size);
    bins_.use(home->extra(), regions_.begin_of_memory(), regions_.reach(),
              home->granules() - home->free_granules(), block_size_ != 0);
    regions_changed();
}

/// The heap has a region more or less.
template <class Fit>
void heap<Fit>::regions_changed() noexcept {
    bins_.set_reach(regions_.begin_of_memory(), regions_.reach());
    if constexpr (Fit::deferred_max != 0) {
        bins_.books().set_capacity(regions_.granules(), regions_.count() > 1);
    }
    for (std::uint32_t i = 0; i < regions_.count(); ++i) { rank(i); }
}

/// Writes down anew how large the largest free block of a region is.
template <class Fit>
void heap<Fit>::rank(std::uint32_t i) noexcept {
    if constexpr (detail::has_size_classes<Fit>) { regions_.set_rank(i, region(i)->rank()); }
}

template <class Fit>
bool heap<Fit>::grow(std::uint32_t granules, alignment align) noexcept {
    watch_.expect_not_ended(this, "heap");
    if (block_size_ == 0 || regions_.count() == detail::region_set::count_max) { return false; }
    // first region   | region | index | bins | blocks ... |
    // all others     | region | index | blocks ......... |
    // Only the home region has bins, as many as any heap can use.
    const std::uint32_t bin_count = home_ == nullptr ? bins::count_for(std::size_t{1} << 20) : 0;
    const std::size_t extra = home_ == nullptr ? bins::size_of(bin_count) : 0;
    // What the fit must find in the fresh region: the slack of the alignment is part of it.
    std::size_t wanted = granules;
    if (align > alignment{detail::granule_size}) {
        wanted += align.bytes() / detail::granule_size;
        if (wanted > detail::granule_count_max / 2) { return false; }
        wanted = Fit::block_size(static_cast<std::uint32_t>(wanted));
    }
    std::size_t size = 0;
    // In so many bytes there is room for `wanted` granules in one free block, so the request that
    // made the heap grow is served by the region that it gets.
    std::byte* const memory = take(region_type::size_for(wanted, extra), size);
    if (memory == nullptr) { return false; }
    // An upstream that allocates and frees here may have ended home, which needs room for bins, or
    // taken the last region.
    if ((home_ == nullptr && extra == 0) || regions_.count() == detail::region_set::count_max) {
        upstream_.deallocate(memory, size, alignment{granule_size});
        return grow(granules, align);
    }
    if (home_ == nullptr) {
        start(make_home(memory, size, bin_count), size);
        return true;
    }
    add(region_type::create(memory, region_type::granules_in(size, 0), 0,
                            detail::region_key(memory)),
        size);
    regions_changed();
    return true;
}

/// The heap is whole without `r` before the memory goes: upstream may allocate, free and trim here.
template <class Fit>
void heap<Fit>::remove_region(region_type* r) noexcept {
    const detail::region_set::entry removed = let_go(r);
    if (r == home_) {
        home_ = nullptr;
        bins_ = {};
    } else {
        regions_changed();
    }
    give_back(removed);
}

/// Counts an operation of the core, and gives a region back that has been empty for long.
template <class Fit>
void heap<Fit>::count_operation() noexcept {
    // Each 16th looks at one region: the work is the same for any number of regions.
    if (++core_operations_ % detail::operations_for_a_look != 0) [[likely]] { return; }
    // Downwards: removing one moves those behind it, which were looked at before.
    const auto i = static_cast<std::uint32_t>(~(core_operations_ / detail::operations_for_a_look) %
                                              region_count_max);
    if (i >= regions_.count() || region(i) == home_) { return; }
    CAIRN_DETAIL_STEP();
    const std::uint64_t passed = core_operations_ - regions_[i].empty_since;
    if (region(i)->is_empty() && passed >= detail::empty_region_delay) { remove_region(region(i)); }
}

// ---------------------------------------------------------------------------- the core

/// Where the smallest block that fits is, the first of equals. Over-aligned requests are not
/// compared: they take the first region that serves them.
template <class Fit>
std::uint32_t heap<Fit>::region_of_best_fit(std::uint32_t granules,
                                            alignment align) const noexcept {
    std::uint32_t best = 0;
    if (align > alignment{detail::granule_size}) { return best; }
    // detail::no_block is the largest number there is: a region without a fit is never better.
    std::uint32_t best_size = detail::no_block;
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        const std::uint32_t size = region(i)->size_of_fit(granules);
        if (size < best_size) {
            best = i;
            best_size = size;
        }
    }
    return best;
}

/// The fullest region that serves an over-aligned request. Two regions are asked at most, however
/// many there are.
/// Returns: region_count_max where none has room for the gap in front of the payload, and the
///          fullest has no aligned hole. Another region may have one.
template <class Fit>
std::uint32_t heap<Fit>::region_for_aligned(std::uint32_t granules, alignment align) const noexcept
    requires detail::has_size_classes<Fit>
{
    const std::uint32_t i = regions_.fullest(Fit::class_of_request(granules) + 1);
    if (i == region_count_max) { return i; }
    if (region(i)->aligned_hole(granules, align).block != detail::no_block) { return i; }
    // Room for the gap in front of the payload, too.
    const std::size_t room = granules + align.bytes() / granule_size - 1;
    if (room > detail::granule_count_max) { return region_count_max; }
    return regions_.fullest(Fit::class_of_request(static_cast<std::uint32_t>(room)) + 1);
}

/// `asks_each`: all regions, for an over-aligned request.
template <class Fit>
void* heap<Fit>::allocate_in_regions(std::uint32_t granules, std::size_t size, alignment align,
                                     [[maybe_unused]] bool asks_each) noexcept {
    std::uint32_t i = 0;
    if constexpr (detail::takes_smallest_of_all_regions<Fit>) {
        i = region_of_best_fit(granules, align);
    }
    if constexpr (detail::has_size_classes<Fit>) {
        // The rank of one region alone is not kept: merge_newest().
        if (regions_.count() > 1) {
            if (align <= alignment{granule_size}) {
                i = regions_.fullest(Fit::class_of_request(granules) + 1);
            } else if (!asks_each) {
                i = region_for_aligned(granules, align);
            }
        }
    }
    // From the best one on, where that was asked for; from the first where no region has a fit.
    for (; i < regions_.count(); ++i) {
        region_type* const r = region(i);
        const std::uint32_t g = align <= alignment{detail::granule_size}
                                    ? r->allocate(granules)
                                    : r->allocate_aligned(granules, align);
        if (g != detail::no_block) {
            rank(i);
            return given_out(r->map().payload(g), granules, size);
        }
    }
    return nullptr;
}

/// Keeps the books of a block that the core gave away.
template <class Fit>
inline void* heap<Fit>::given_out(void* p, [[maybe_unused]] std::uint32_t granules,
                                  std::size_t size) noexcept {
    unpoison(p, size);
    if constexpr (Fit::deferred_max != 0) {
        // A merge is work enough for one request.
        if (!bins_.books().took(granules) || !merge_one(false)) { bins_.books().settle(); }
    }
    return p;
}

/// A request of `size` bytes, whose block has `granules`; not over-aligned.
template <class Fit>
void* heap<Fit>::allocate_granules(std::uint32_t granules, std::size_t size) noexcept {
    // One region alone is home: the others go before it does.
    if (regions_.count() == 1) [[likely]] {
        const std::uint32_t g = home()->allocate(granules);
        if (g != detail::no_block) [[likely]] {
            return given_out(home()->map().payload(g), granules, size);
        }
    }
    return allocate_with_effort(granules, size, default_alignment);
}

template <class Fit>
void* heap<Fit>::allocate_from_core(std::size_t size, alignment align) noexcept {
    // Before the size becomes granules, which have 30 bits: nothing below can wrap.
    if (size > size_max) { return nullptr; }
    const std::uint32_t granules = granules_of(size);
    if (align <= alignment{detail::granule_size}) [[likely]] {
        return allocate_granules(granules, size);
    }
    return allocate_with_effort(granules, size, align);
}

template <class Fit>
void* heap<Fit>::allocate_with_effort(std::uint32_t granules, std::size_t size,
                                      alignment align) noexcept {
    if (align.bytes() > size_max) { return nullptr; }
    count_operation();  // first: upstream, which it may call, may reset the heap
    if (void* const p = allocate_in_regions(granules, size, align)) { return p; }
    // A heap that can grow merges no waiting block. A heap that cannot grow merges all of them: the
    // last resort. A merged block may be large enough for this request.
    const bool grown = grow(granules, align);
    if constexpr (Fit::deferred_max != 0) { bins_.books().set_growing(grown); }
    void* const p =
        grown || merge_deferred() ? allocate_in_regions(granules, size, align) : nullptr;
    if (p != nullptr || grown || regions_.count() <= 1) { return p; }
    // Two regions were asked for an over-aligned request. Any other one may have an aligned hole
    // without room for a gap: each is asked once, as part of the last resort.
    return align > alignment{granule_size} ? allocate_in_regions(granules, size, align, true)
                                           : nullptr;
}

/// Frees a block of `b` that put() did not let wait.
template <class Fit>
void heap<Fit>::wait_or_free(void* p, [[maybe_unused]] bin& b) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        if (!bins_.books().refuses(b)) { return wait_after_a_look(p, b); }
    }
    free_in_core(p, b.granules);
}

// Out of line: the registers that it saves would be saved by each free of the core.
template <class Fit>
[[CAIRN_NOINLINE]] void heap<Fit>::wait_after_a_look(void* p, [[maybe_unused]] bin& b) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        if (!bins_.put_after_a_look(b, static_cast<std::byte*>(p))) { free_in_core(p, b.granules); }
    }
}

/// `asked`: as region::free_at() takes it.
template <class Fit>
void heap<Fit>::free_in_core(void* p, std::uint32_t asked) noexcept {
    if (regions_.count() == 1) [[likely]] { return free_in(home(), p, asked); }
    free_in_several(p, asked);
}

// Out of line: the registers that it saves would be saved by each free in one region.
template <class Fit>
[[CAIRN_NOINLINE]] void heap<Fit>::free_in_several(void* p, std::uint32_t asked) noexcept {
    give_to_core(p, asked);
    if constexpr (Fit::deferred_max != 0) {
        // Waiting blocks must not keep regions in which no block is in use. Each call merges one
        // block, so that the oldest of a list merge too, or eight where more waits than lives.
        auto& books = bins_.books();
        books.settle();
        // A call that finds no block at the cursor has moved it to the next one.
        const auto merged = [this] { return merge_one(true) || merge_one(true); };
        if (books.is_sparse() && merged()) {
            for (unsigned n = 1; n < 8 && books.wants_to_shrink() && merged(); ++n) {}
        }
    }
    count_operation();
}

/// Requires: there are several regions.
template <class Fit>
void heap<Fit>::give_to_core(void* p, std::uint32_t asked) noexcept {
    const std::uint32_t i = regions_.index_of(p);
    region_type* const r = region(i);
    free_in(r, p, asked);
    // r may be one free block now: nothing of `p` is read from here on.
    rank(i);
    if (r->is_empty()) [[unlikely]] { regions_[i].empty_since = core_operations_; }
}

template <class Fit>
[[CAIRN_FORCE_INLINE]] inline void heap<Fit>::free_in(region_type* r, void* p,
                                                      std::uint32_t asked) noexcept {
    if (p == walked_to_) [[unlikely]] { walk_past_freed(); }
    if (!r->contains(p)) [[unlikely]] {
        detail::heap_is_corrupt(detail::heap_promise::freed_here, r);
    }
    const auto b = r->map();
    const std::uint32_t g = b.block_of(p);
    // Before free_at(): afterwards the header may be that of a larger block, and the links of the
    // fit lie in the payload.
    if constexpr (detail::poison_is_watched) {
        cairn::poison(p, detail::payload_size(b.header(g).size()));
    }
    const std::uint32_t size = r->free_at(g, asked);
    if constexpr (Fit::deferred_max != 0) { bins_.books().gave_back(size); }
}

template <class Fit>
void heap<Fit>::deallocate(void* p, [[maybe_unused]] call_site from) noexcept {
    if (p == nullptr) { return; }
    // Where blocks wait, the header says the size: in checked builds it is compared with its
    // neighbours first, in all builds it must not say that the block is free or waits.
    check_freed(p, SIZE_MAX, 0, from);
    if constexpr (Fit::deferred_max != 0) {
        const detail::block_header header = header_of(p);
        if (header.is_free() || header.is_deferred()) [[unlikely]] {
            detail::heap_is_corrupt(detail::heap_promise::freed_once, home_);
        }
        const auto [b, word] = bins_.bin_for(detail::payload_size(header.size()));
        if (b != nullptr) {
            if (bins_.put(*b, word, static_cast<std::byte*>(p))) { return; }
            return wait_or_free(p, *b);
        }
    }
    // The core finds out whether `p` lies in the heap before it reads a header.
    free_in_core(p, detail::size_unknown);
}

template <class Fit>
bool heap<Fit>::try_resize(void* p, [[maybe_unused]] std::size_t old_size, std::size_t new_size,
                           alignment) noexcept {
    if constexpr (asserts_enabled) { expect_live(p, granules_of(old_size), old_size, {}); }
    if (new_size > size_max) { return false; }
    const std::uint32_t i = regions_.count() == 0 ? 0 : regions_.index_of(p);
    region_type* const r = region(i);
    // What the core has given away changes by the difference, in either direction.
    const std::uint32_t before = r->free_granules();
    if (!r->resize(r->map().block_of(p), granules_of(new_size))) { return false; }
    if constexpr (Fit::deferred_max != 0) {
        bins_.books().resized(std::ptrdiff_t{before} - r->free_granules());
        bins_.books().settle();
    }
    rank(i);
    if constexpr (detail::poison_is_watched) {
        auto* const end = static_cast<std::byte*>(p) + new_size;
        if (new_size < old_size) {
            poison(end, old_size - new_size);
        } else {
            unpoison(p, new_size);
        }
    }
    return true;
}

// ----------------------------------------------------------------------- waiting blocks

/// For a class of which take_newest() found no block.
template <class Fit>
void* heap<Fit>::allocate_unwaited(std::size_t size, const bin& b) noexcept {
    // A link that led nowhere, or to a block that does not wait, ends here: the core is asked only
    // when the bin is truly empty.
    bins_.expect_none(b);
    return allocate_granules(b.granules, size);
}

/// Returns: false when no block waits in `b`.
template <class Fit>
bool heap<Fit>::merge_newest([[maybe_unused]] bin& b) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        if (std::byte* const p = bins_.take_newest(b, b.word())) {
            if (regions_.count() == 1) [[likely]] {
                free_in(home(), p, b.granules);
            } else {
                give_to_core(p, b.granules);
            }
            return true;
        }
        bins_.expect_none(b);
    }
    return false;
}

/// Merges one block that waits beyond the share of its class, or, where `any`, any block, if the
/// bin at the cursor has one. Returns: false when it has none; then the next bins were searched.
template <class Fit>
bool heap<Fit>::merge_one(bool any) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        bin* const b = bins_.next_to_merge(any);
        return b != nullptr && merge_newest(*b);
    }
    return false;
}

/// After the regions were emptied, or all that waited was merged.
template <class Fit>
void heap<Fit>::count_anew() noexcept {
    if (home_ == nullptr) { return; }
    bins_.count_anew(regions_.granules() - regions_.free_granules(), block_size_ != 0);
    regions_changed();
}

/// Returns: true when there was something to merge.
template <class Fit>
bool heap<Fit>::merge_deferred() noexcept {
    bool any = false;
    if constexpr (Fit::deferred_max != 0) {
        for (std::uint32_t c = 0; c < bins_.count(); ++c) {
            while (merge_newest(bins_[c])) { any = true; }
        }
    }
    return any;
}

template <class Fit>
void heap<Fit>::reset() noexcept {
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        region(i)->clear(detail::region_key(region(i)));
        regions_[i].empty_since = core_operations_;
    }
    bins_.clear();
    walked_to_ = nullptr;
    count_anew();
}

template <class Fit>
void heap<Fit>::trim() noexcept {
    merge_deferred();
    count_anew();  // what was most is forgotten
    if (block_size_ == 0) { return; }
    // Downwards: removing one moves those behind it, which were looked at before. Upstream may
    // have removed others meanwhile.
    for (std::uint32_t i = regions_.count(); i-- != 0;) {
        if (i >= regions_.count()) { continue; }
        region_type* const r = region(i);
        if (r != home_ && r->is_empty()) { remove_region(r); }
    }
    // Home last, and only alone: the bins of all the others lie in it.
    if (regions_.count() == 1 && home_->is_empty()) { remove_region(home()); }
}

// ---------------------------------------------------------------------------- queries

template <class Fit>
std::size_t heap<Fit>::largest_free() const noexcept {
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        const std::uint32_t here = region(i)->largest_free();
        best = here > best ? here : best;
    }
    return best == 0 ? 0 : detail::payload_size(best);
}

template <class Fit>
detail::heap_stats heap<Fit>::stats() const noexcept {
    detail::heap_stats s{};
    s.region_count = regions_.count();
    s.capacity = regions_.granules() * granule_size;
    s.free_size = regions_.free_granules() * granule_size;
    for (std::uint32_t c = 0; c < bins_.count(); ++c) {
        const std::uint32_t count = bins_[c].count();
        s.deferred_count += count;
        s.deferred_size += std::size_t{count} * bins_[c].granules * granule_size;
    }
    return s;
}

template <class Fit>
void heap<Fit>::validate() const noexcept {
    if constexpr (asserts_enabled) {
        //     blocks marked as waiting, in all regions == blocks listed in all bins
        //     granules the core has given away         == in use + waiting
        std::size_t marked = 0;
        for (std::uint32_t i = 0; i < regions_.count(); ++i) { marked += region(i)->validate(); }
        std::size_t listed = 0;
        bins_.validate([&](const detail::deferred_bin& b, const std::byte* p) {
            CAIRN_ASSERT(owns(p), "a deferred block lies in the heap");
            const detail::block_header h = header_of(p);
            CAIRN_ASSERT(h.is_deferred() && h.size() == b.granules,
                         "a deferred block is marked, and of the size of its class");
            ++listed;
        });
        CAIRN_ASSERT(listed == marked, "every deferred block waits in a bin");
        if constexpr (Fit::deferred_max != 0) {
            CAIRN_ASSERT(home_ == nullptr || regions_.granules() - regions_.free_granules() ==
                                                 bins_.books().taken(),
                         "what is in use is counted");
        }
    }
}

template <class Fit>
template <class Visit>
void heap<Fit>::for_each_block(Visit visit) const {
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        region(i)->for_each(
            [&](std::uint32_t g, detail::block_header h) { visit(shown_block(*region(i), g, h)); });
    }
}

//      [ used ][ used ][ free ][ used ][ waits ][ used ]
//      |<- shown: 3 of 3 ---->| ^ walked_to_
//
// A block that is not free begins where it begins until it is freed in its region: its neighbours
// merge with free blocks only. So between two parts one address is kept, and one free() moves it.

template <class Fit>
template <class Visit>
bool heap<Fit>::for_some_blocks(std::size_t count, Visit visit) {
    const void* const from = walked_to_;
    walked_to_ = nullptr;
    if (from == this) { return false; }
    std::uint32_t i = from == nullptr ? 0 : regions_.index_of(from);
    std::uint32_t g = from == nullptr ? 0 : region(i)->map().block_of(from);
    for (; i < regions_.count(); ++i, g = 0) {
        const region_type& r = *region(i);
        const std::size_t before = regions_.granules_before(i);
        g = r.for_some(g, count, [&](std::uint32_t at, detail::block_header h) {
            visit(shown_block(r, at, h), (before + at) * granule_size);
        });
        if (g < r.granules()) {
            walked_to_ = r.map().payload(g);
            return true;
        }
    }
    return false;
}

/// Before the block at which a walk stands is freed: the walk goes on with the next one that is not
/// free. There is at most one free block between two others, and one in an empty region.
template <class Fit>
[[CAIRN_NOINLINE, CAIRN_COLD]] void heap<Fit>::walk_past_freed() noexcept {
    std::uint32_t i = regions_.index_of(walked_to_);
    std::uint32_t g = region(i)->map().block_of(walked_to_);
    for (g += region(i)->map().header(g).size(); i < regions_.count(); ++i, g = 0) {
        const region_type& r = *region(i);
        if (g < r.granules() && r.map().header(g).is_free()) { g += r.map().header(g).size(); }
        if (g < r.granules()) {
            walked_to_ = r.map().payload(g);
            return;
        }
    }
    walked_to_ = this;
}

}}  // namespace cairn::CAIRN_FLAVOUR
