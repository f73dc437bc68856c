// cairn/alloc/heap/heap_cold.hpp - cold half of heap.hpp: the core, growing, checking.
//
// A template, so it cannot live in src/ alone; the five heaps that people use are instantiated once
// there (src/alloc/heap.cpp), and no other unit compiles this for them.
#pragma once

#include <cairn/alloc/heap.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

// ---------------------------------------------------------------------------- making one

template <class Fit, class Steps>
constexpr std::uint64_t heap<Fit, Steps>::magic() noexcept {
    std::uint64_t hash = 14695981039346656037ull;  // FNV-1a of the fit's name, and its shape
    for (const char* c = Fit::name; *c != '\0'; ++c) {
        hash = (hash ^ static_cast<unsigned char>(*c)) * 1099511628211ull;
    }
    std::uint64_t shape = sizeof(region_type);
    if constexpr (detail::has_shape<Fit>) { shape ^= std::uint64_t{Fit::shape} << 32; }
    constexpr std::uint64_t format = 3;  // links are encoded, bins hold marked sizes
    return (hash ^ shape ^ Fit::deferred_max << 16 ^ format << 56) * 1099511628211ull;
}

template <class Fit, class Steps>
heap<Fit, Steps>::heap(byte_slice memory) noexcept : heap{no_memory(), 0, false} {
    const std::size_t skipped =
        padding_to(reinterpret_cast<std::uintptr_t>(memory.data()), alignment{granule_size});
    if (memory.size() <= skipped) { return; }
    const std::size_t size = memory.size() - skipped;
    const std::uint32_t granules =
        region_type::granules_in(size, bins::size_for(size / granule_size));
    if (granules == 0) { return; }
    make_home(memory.data() + skipped, granules, size, bins::count_for(size / granule_size));
}

template <class Fit, class Steps>
heap<Fit, Steps>::heap(std::size_t size, allocator_ref upstream) noexcept
    : heap{upstream, 0, true} {
    const std::uint32_t granules =
        region_type::granules_in(size, bins::size_for(size / granule_size));
    if (granules == 0) { return; }
    void* const memory = upstream.allocate(size, alignment{granule_size});
    if (memory == nullptr) { return; }
    make_home(static_cast<std::byte*>(memory), granules, size,
              bins::count_for(size / granule_size));
}

template <class Fit, class Steps>
heap<Fit, Steps>::heap(grow_by growth, allocator_ref upstream) noexcept
    : heap{upstream, growth.block_size < 1024 ? 1024 : growth.block_size, true} {}

template <class Fit, class Steps>
heap<Fit, Steps> heap<Fit, Steps>::adopt(byte_slice memory) noexcept {
    heap h{no_memory(), 0, false};
    if (!is_aligned(memory.data(), alignment{granule_size}) ||
        memory.size() < region_type::size_for(1, bins::size_for(1))) {
        return h;
    }
    auto* const home = reinterpret_cast<region_type*>(memory.data());
    const std::size_t size = home->total_size();
    if (size > memory.size() || !home->extra_fits(sizeof(detail::deferred_header))) { return h; }
    const auto* const header = reinterpret_cast<detail::deferred_header*>(home->extra());
    if (header->magic != magic() || header->total_size != size) { return h; }
    home->poison_unused();
    h.home_ = home;
    h.add_region(home, size);
    h.count_surplus();
    return h;
}

template <class Fit, class Steps>
heap<Fit, Steps> heap<Fit, Steps>::adopt_untrusted(byte_slice memory) noexcept {
    heap h{no_memory(), 0, false};
    if (!is_aligned(memory.data(), alignment{granule_size}) ||
        memory.size() < region_type::size_for(1, bins::size_for(1))) {
        return h;
    }
    auto* const home = reinterpret_cast<region_type*>(memory.data());
    if (!home->extra_fits(sizeof(detail::deferred_header)) ||
        home->blocks_begin() > memory.size()) {
        return h;
    }
    auto* const header = reinterpret_cast<detail::deferred_header*>(home->extra());
    const std::uint32_t bin_count = header->bin_count;
    if (header->magic != magic() || bin_count > bins::count_for(std::size_t{1} << 20)) { return h; }
    if (!home->has_shape(memory.size(), bins::size_of(bin_count)) ||
        header->total_size != home->total_size() || !home->rebuild(key_for(home))) {
        return h;
    }
    home->poison_unused();
    h.home_ = home;
    bins::make(home->extra(), bin_count, magic(), home->total_size());
    h.add_region(home, home->total_size());
    h.bins_.set_share(bins::share_of(home->granules()));
    h.count_surplus();
    return h;
}

template <class Fit, class Steps>
void heap<Fit, Steps>::make_home(std::byte* memory, std::uint32_t granules, std::size_t memory_size,
                                 std::uint32_t bin_count) noexcept {
    home_ = region_type::create(memory, granules, bins::size_of(bin_count), key_for(memory));
    bins::make(home_->extra(), bin_count, magic(), home_->total_size());
    add_region(home_, memory_size);
    bins_.set_share(bins::share_of(granules));
    count_surplus();
}

// ---------------------------------------------------------------------------- regions

template <class Fit, class Steps>
void heap<Fit, Steps>::add_region(region_type* r, std::size_t size) noexcept {
    CAIRN_ASSERT(regions_.count() == 0 || bins_.surplus().waiting() == 0,
                 "a heap grows only when nothing waits: links count from the lowest region");
    describe(regions_.insert(r, size));
    if (r == home_) {
        bins_.use(home_->extra(), regions_.begin_of_memory(), regions_.reach());
    } else {
        bins_.set_reach(regions_.begin_of_memory(), regions_.reach());
    }
}

template <class Fit, class Steps>
void heap<Fit, Steps>::remove_region(region_type* r) noexcept {
    auto removed = regions_.remove(r);
    forget_description(removed);
    r->unpoison_all();
    count_surplus();
    upstream_.deallocate(r, removed.size, alignment{granule_size});
}

template <class Fit, class Steps>
bool heap<Fit, Steps>::grow(std::uint32_t granules, alignment align) noexcept {
    if (block_size_ == 0 || regions_.count() == region_count_max) { return false; }
    const std::size_t held = regions_.held();
    // Only the home region has bins; what they need is asked for on top.
    constexpr std::size_t share_all = std::size_t{1} << 20;
    const std::uint32_t bin_count = home_ == nullptr ? bins::count_for(share_all) : 0;
    const std::size_t extra = home_ == nullptr ? bins::size_for(share_all) : 0;
    // What the fit must find in the fresh region: the slack of the alignment is part of it.
    std::size_t wanted = granules;
    if (align > alignment{granule_size}) {
        wanted += align.bytes() / granule_size;
        if (wanted > detail::granule_count_max / 2) { return false; }
        wanted = Fit::block_size(static_cast<std::uint32_t>(wanted));
    }
    const std::size_t needed = region_type::size_for(wanted, extra);
    std::size_t size = block_size_ > held / 4 ? block_size_ : held / 4;
    constexpr std::size_t size_limit = std::size_t{detail::granule_count_max} * granule_size;
    size = size < size_limit ? size : size_limit;
    size = size > needed ? size : needed;
    void* memory = upstream_.allocate(size, alignment{granule_size});
    if (memory == nullptr && size > needed) {  // an upstream near its end may have just enough
        size = needed;
        memory = upstream_.allocate(size, alignment{granule_size});
    }
    if (memory == nullptr) { return false; }
    const std::uint32_t fits = region_type::granules_in(size, extra);
    if (home_ == nullptr) {
        make_home(static_cast<std::byte*>(memory), fits, size, bin_count);
    } else {
        add_region(region_type::create(static_cast<std::byte*>(memory), fits, 0, key_for(memory)),
                   size);
        bins_.set_share(bins::share_of((held + size) / granule_size));
        count_surplus();
    }
    return true;
}

template <class Fit, class Steps>
void heap<Fit, Steps>::end() noexcept {
    if constexpr (asserts_enabled) {
        if (ends_empty_) {
            std::size_t live = 0;
            for_each_block(
                [&](const heap_block& b) { live += b.state == block_state::used ? 1u : 0u; });
            [[maybe_unused]] evidence known = about(misuse_kind::leak, {});
            known.values[0] = {"live blocks", live};
            CAIRN_ASSERT(live == 0, "every block of this heap has come back when it ends", known);
        }
    }
    release_all();
}

template <class Fit, class Steps>
void heap<Fit, Steps>::release_all() noexcept {
    // First: without a home nothing is counted that waits in a region which may have gone already.
    home_ = nullptr;
    while (regions_.count() != 0) {
        region_type* const r = regions_.region(regions_.count() - 1);
        if (owned_) {
            remove_region(r);
        } else {
            r->unpoison_all();
            auto removed = regions_.remove(r);
            forget_description(removed);
        }
    }
    spare_ = nullptr;
    bins_ = {};
}

template <class Fit, class Steps>
void heap<Fit, Steps>::steal(heap& other) noexcept {
    home_ = other.home_;
    bins_ = other.bins_;
    spare_ = other.spare_;
    upstream_ = other.upstream_;
    block_size_ = other.block_size_;
    owned_ = other.owned_;
    ends_empty_ = other.ends_empty_;
    other.ends_empty_ = false;
    watch_ = static_cast<detail::allocator_watch&&>(other.watch_);
    regions_.take_all(other.regions_);
    other.release_all();
}

template <class Fit, class Steps>
heap<Fit, Steps>::heap(heap&& other) noexcept : heap{other.upstream_, other.block_size_, false} {
    steal(other);
}

template <class Fit, class Steps>
heap<Fit, Steps>& heap<Fit, Steps>::operator=(heap&& other) noexcept {
    if (this != &other) {
        end();
        steal(other);
    }
    return *this;
}

// ---------------------------------------------------------------------------- the core

/// Where the smallest block that fits is, the first of equals. Over-aligned requests are not
/// compared: they take the first region that serves them.
template <class Fit, class Steps>
std::uint32_t heap<Fit, Steps>::region_of_best_fit(std::uint32_t granules,
                                                   alignment align) const noexcept {
    std::uint32_t best = 0;
    if (align > alignment{granule_size}) { return best; }
    std::uint32_t best_size = detail::no_block;
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        const std::uint32_t size = regions_.region(i)->size_of_fit(granules);
        if (size < best_size) {
            best = i;
            best_size = size;
        }
    }
    return best;
}

template <class Fit, class Steps>
void* heap<Fit, Steps>::allocate_in_regions(std::uint32_t granules, std::size_t size,
                                            alignment align) noexcept {
    std::uint32_t first = 0;
    if constexpr (detail::takes_smallest_of_all_regions<Fit>) {
        first = region_of_best_fit(granules, align);
    }
    for (std::uint32_t i = first; i < regions_.count(); ++i) {
        region_type* const r = regions_.region(i);
        const std::uint32_t g = align <= alignment{granule_size}
                                    ? r->allocate(granules)
                                    : r->allocate_aligned(granules, align);
        if (g != detail::no_block) {
            if (r == spare_) { spare_ = nullptr; }
            void* const p = r->map().payload(g);
            unpoison(p, size);
            left_core(granules);
            return p;
        }
    }
    return nullptr;
}

/// Keeps the books of a block that the core gave away.
template <class Fit, class Steps>
inline void heap<Fit, Steps>::left_core(std::uint32_t granules) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        if (bins_.surplus().took(granules)) [[unlikely]] { merge_surplus(); }
    }
}

/// For fits with classes: `size` is of class `c`, whose blocks have `granules`.
/// (No requires-clause: clang 17 and gcc 14 write one into the function's name, gcc 12 does not,
/// and then a program and a library of the two do not link.)
template <class Fit, class Steps>
void* heap<Fit, Steps>::allocate_class_from_core(std::uint32_t c, std::uint32_t granules,
                                                 std::size_t size) noexcept {
    if constexpr (detail::has_size_classes<Fit>) {
        if (regions_.count() == 1) [[likely]] {
            if (void* const p = home_->allocate_class(c, granules)) [[likely]] {
                unpoison(p, size);
                left_core(granules);
                return p;
            }
        }
    }
    return allocate_with_effort(granules, size, default_alignment);
}

template <class Fit, class Steps>
void* heap<Fit, Steps>::allocate_from_core(std::size_t size, alignment align) noexcept {
    if constexpr (detail::has_size_classes<Fit>) {
        if (size <= detail::payload_size(Fit::small_max) && align <= alignment{granule_size})
            [[likely]] {
            const std::uint32_t c = Fit::class_of_small(detail::granules_for(size));
            return allocate_class_from_core(c, Fit::size_of_small_class(c), size);
        }
    }
    if (size > size_max) { return nullptr; }
    if constexpr (detail::has_size_classes<Fit>) {
        if (align <= alignment{granule_size}) [[likely]] {
            const std::uint32_t c =
                Fit::class_of_request(static_cast<std::uint32_t>(detail::granules_for(size)));
            return allocate_class_from_core(c, Fit::size_of_class(c), size);
        }
    }
    const std::uint32_t granules =
        Fit::block_size(static_cast<std::uint32_t>(detail::granules_for(size)));
    if (regions_.count() == 1 && align <= alignment{granule_size}) [[likely]] {
        const std::uint32_t g = home_->allocate(granules);
        if (g != detail::no_block) [[likely]] {
            void* const p = home_->map().payload(g);
            unpoison(p, size);
            left_core(granules);
            return p;
        }
    }
    return allocate_with_effort(granules, size, align);
}

template <class Fit, class Steps>
void* heap<Fit, Steps>::allocate_with_effort(std::uint32_t granules, std::size_t size,
                                             alignment align) noexcept {
    if (align.bytes() > size_max) { return nullptr; }
    if (void* const p = allocate_in_regions(granules, size, align)) { return p; }
    // The last resort: what was deferred may fit, or merge into something that does.
    if (merge_deferred()) {
        if (void* const p = allocate_in_regions(granules, size, align)) { return p; }
    }
    return grow(granules, align) ? allocate_in_regions(granules, size, align) : nullptr;
}

template <class Fit, class Steps>
void heap<Fit, Steps>::free_in_core(void* p) noexcept {
    if (regions_.count() == 1) [[likely]] { return free_in(home_, p); }
    give_to_core(p);
    // More waits than is in use: what waits holds regions that no block in use needs.
    if (Fit::deferred_max != 0 && bins_.surplus().wants_to_shrink()) { merge_surplus(); }
}

template <class Fit, class Steps>
void heap<Fit, Steps>::give_to_core(void* p) noexcept {
    region_type* const r = regions_.at(p);
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

template <class Fit, class Steps>
inline void heap<Fit, Steps>::free_in(region_type* r, void* p) noexcept {
    const auto b = r->map();
    const std::uint32_t g = b.block_of(p);
    if constexpr (poison_is_watched) { poison(p, detail::payload_size(b.header(g).size())); }
    const std::uint32_t size = r->free(g);
    if constexpr (Fit::deferred_max != 0) { bins_.surplus().gave_back(size); }
}

/// For a class of which take_newest() found no block.
template <class Fit, class Steps>
void* heap<Fit, Steps>::allocate_unwaited(std::size_t size, const bin& b) noexcept {
    bins_.expect_none(b);
    return allocate_class_from_core(bins_.class_of(b), b.granules(), size);
}

/// Returns: false when no block waits in `b`.
template <class Fit, class Steps>
bool heap<Fit, Steps>::merge_newest(bin& b) noexcept {
    std::byte* const p = take_newest(b);
    if (p == nullptr) {
        bins_.expect_none(b);
        return false;
    }
    give_to_core(p);
    return true;
}

/// Merges one block that waits beyond the share of its class, if one of the next bins has one.
template <class Fit, class Steps>
void heap<Fit, Steps>::merge_surplus() noexcept {
    if (bin* const b = bins_.next_surplus()) { (void)merge_newest(*b); }
}

/// After a change of the regions or of the shares.
template <class Fit, class Steps>
void heap<Fit, Steps>::count_surplus() noexcept {
    if (Fit::deferred_max == 0 || home_ == nullptr) { return; }
    const std::size_t granules = regions_.granules();
    bins_.recount(granules, granules - regions_.free_granules(), regions_.count() > 1);
}

/// Returns: true when there was something to merge.
template <class Fit, class Steps>
bool heap<Fit, Steps>::merge_deferred() noexcept {
    bool any = false;
    for (std::uint32_t c = 0; c < bins_.count(); ++c) {
        Steps::touch();
        while (merge_newest(bins_[c])) { any = true; }
    }
    return any;
}

template <class Fit, class Steps>
void heap<Fit, Steps>::deallocate(void* p, [[maybe_unused]] call_site from) noexcept {
    if (p == nullptr) { return; }
    [[maybe_unused]] const detail::allocator_watch::use inside{watch_, this, "heap", from};
    check_freed(p, SIZE_MAX, from);
    if constexpr (Fit::deferred_max != 0) {
        const detail::block_header header = header_of(p);
        if (header.is_free() || header.is_deferred()) [[unlikely]] {
            detail::heap_is_corrupt(detail::heap_promise::freed_once, home_);
        }
        const std::uint32_t granules = header.size();
        if (bins_.covers(detail::payload_size(granules))) {
            bin& b = bins_[Fit::class_of_free(granules)];
            if (bins_.put(b, static_cast<std::byte*>(p))) [[likely]] { return; }
        }
    }
    free_in_core(p);
}

template <class Fit, class Steps>
bool heap<Fit, Steps>::try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment) noexcept {
    [[maybe_unused]] const detail::allocator_watch::use inside{watch_, this, "heap", {}};
    check_freed(p, old_size, {});
    if (new_size > size_max) { return false; }
    const std::uint32_t granules =
        Fit::block_size(static_cast<std::uint32_t>(detail::granules_for(new_size)));
    region_type* const r = regions_.at(p);
    const std::uint32_t before = r->free_granules();
    if (!r->resize(r->map().block_of(p), granules)) { return false; }
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

template <class Fit, class Steps>
void heap<Fit, Steps>::reset() noexcept {
    [[maybe_unused]] const detail::allocator_watch::use inside{watch_, this, "heap", {}};
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        region_type* const r = regions_.region(i);
        r->clear(key_for(r));
    }
    bins_.clear();
    count_surplus();
}

template <class Fit, class Steps>
void heap<Fit, Steps>::trim() noexcept {
    [[maybe_unused]] const detail::allocator_watch::use inside{watch_, this, "heap", {}};
    merge_deferred();
    count_surplus();  // what was most is forgotten
    if (block_size_ == 0) { return; }
    for (std::uint32_t i = regions_.count(); i-- != 0;) {
        region_type* const r = regions_.region(i);
        if (r != home_ && r->is_empty()) { remove_region(r); }
    }
    spare_ = nullptr;
    if (regions_.count() == 1 && home_->is_empty()) { release_all(); }
}

// ---------------------------------------------------------------------------- queries

template <class Fit, class Steps>
std::size_t heap<Fit, Steps>::largest_free() const noexcept {
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        const std::uint32_t here = regions_.region(i)->largest_free();
        best = here > best ? here : best;
    }
    return best == 0 ? 0 : detail::payload_size(best);
}

template <class Fit, class Steps>
heap_stats heap<Fit, Steps>::stats() const noexcept {
    heap_stats s{};
    s.region_count = regions_.count();
    s.capacity = regions_.granules() * granule_size;
    s.free_size = regions_.free_granules() * granule_size;
    for (std::uint32_t c = 0; c < bins_.count(); ++c) {
        const std::uint32_t count = bins_.waiting_in(bins_[c]);
        s.deferred_count += count;
        s.deferred_size += std::size_t{count} * bins_[c].granules() * granule_size;
    }
    return s;
}

template <class Fit, class Steps>
void heap<Fit, Steps>::validate() const noexcept {
    if constexpr (asserts_enabled) {
        std::size_t marked = 0;
        for (std::uint32_t i = 0; i < regions_.count(); ++i) {
            marked += regions_.region(i)->validate();
        }
        std::size_t listed = 0;
        bins_.validate([&](const bin& b, const std::byte* p) {
            CAIRN_ASSERT(owns(p), "a deferred block lies in the heap");
            const detail::block_header h = header_of(p);
            CAIRN_ASSERT(h.is_deferred() && h.size() == b.granules(),
                         "a deferred block is marked, and of the size of its class");
            ++listed;
        });
        CAIRN_ASSERT(listed == marked, "every deferred block waits in a bin");
        if (Fit::deferred_max != 0) {
            CAIRN_ASSERT(regions_.granules() - regions_.free_granules() == bins_.surplus().taken(),
                         "what is in use is counted");
        }
    }
}

// ---------------------------------------------------------------------------- names

template <class Fit, class Steps>
void heap<Fit, Steps>::set_name([[maybe_unused]] const char* name) noexcept {
    if constexpr (asserts_enabled) {
        static constexpr detail::allocator_type type{"heap", &heap::place_of};
        watch_.set_name(name, this, type);
        for (std::uint32_t i = 0; i < regions_.count(); ++i) { describe(regions_[i]); }
    }
}

/// Valgrind calls the region by the heap's name.
template <class Fit, class Steps>
void heap<Fit, Steps>::describe([[maybe_unused]] typename regions::entry& entry) noexcept {
#if CAIRN_ASSERTS
    forget_description(entry);
    entry.description = watch_.describe(entry.region, entry.size);
#endif
}

template <class Fit, class Steps>
void heap<Fit, Steps>::forget_description([[maybe_unused]]
                                          typename regions::entry& entry) noexcept {
#if CAIRN_ASSERTS
    cairn::forget_description(entry.description);
    entry.description = 0;
#endif
}

/// Blocks are numbered by address, inside their region. Walks it: O(blocks). Believes no header
/// that leads out of it: this is asked when something has been overrun.
template <class Fit, class Steps>
detail::address_place heap<Fit, Steps>::place_of(const void* object, const void* address) noexcept {
    const heap& h = *static_cast<const heap*>(object);
    const region_type* const r = h.regions_.at(address);
    if (r == nullptr) { return {}; }
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto begin = reinterpret_cast<std::uintptr_t>(r);
    if (at - begin >= r->total_size()) { return {}; }
    std::uint32_t g = 0;
    for (std::size_t index = 0; g < r->granules(); ++index) {
        const detail::block_header header = r->map().header(g);
        if (header.size() == 0 || header.size() > r->granules() - g) { break; }
        const auto payload = reinterpret_cast<std::uintptr_t>(r->map().payload(g));
        const std::size_t size = detail::payload_size(header.size());
        if (at < payload + size) {
            const bool in_header = at < payload && at + detail::block_header_size >= payload;
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
            .size = r->total_size(),
            .state = "what the heap needs for itself, or was overrun"};
}

}  // namespace cairn::inline CAIRN_FLAVOUR
