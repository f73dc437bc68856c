// cairn/alloc/pool/hot_path.hpp - what a pool inlines into its callers.
//
// Unchecked, an allocation is the slot freed last, a load from the stack of the others, or a step
// along untouched ones.
// In checked builds it is the short way, and a call of the guarded one for all that it refuses.
#pragma once

#include <cairn/alloc/pool.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

#if CAIRN_ASSERTS
// The short way is open while no thread is on the guarded way, which the gate says, and none on the
// short one, which the top says: it is null meanwhile. A thread that finds it shut goes the guarded
// way, which names the two. It changes nothing before all is known to be well, so the guarded way
// begins anew.
// (docs/decisions/0005-how-a-check-is-cheap.md)

[[gnu::always_inline]] inline void* pool::allocate_alone() noexcept {
    void** const top = top_;
    if (reinterpret_cast<std::uintptr_t>(top) <= lookup_.gate) [[unlikely]] { return nullptr; }
    top_ = nullptr;
    __asm__ volatile("" : : "m"(top_));  // another thread may see it
    void* const slot = top[-1];
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(slot) - lookup_.first;
    if (offset < lookup_.size) [[likely]] {
        // The stack lies outside of the slots: what it holds is where a slot begins.
        bool* const live =
            lookup_.live + (detail::slot_lookup::product{offset} * lookup_.inverse >> 64);
        if (detail::is_short_slot_as_filled(slot, lookup_.tail, stride_)) [[likely]] {
            *live = true;
            detail::mark_given_out(slot);
            top_ = top - 1;
            return slot;
        }
    }
    top_ = top;
    return nullptr;
}

[[gnu::always_inline]] inline bool pool::deallocate_alone(void* p) noexcept {
    void** const top = top_;
    if (reinterpret_cast<std::uintptr_t>(top) < lookup_.gate) [[unlikely]] { return false; }
    top_ = nullptr;
    __asm__ volatile("" : : "m"(top_));
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - lookup_.first;
    if (offset < lookup_.size) [[likely]] {
        // offset = q * stride + r: the product is q * 2^64 + q * e + r * inverse, where e is below
        // the stride. So its lower half is below the inverse where r is 0: q * e is below 2^52, the
        // inverse of a short stride at least 2^56.
        const auto number = detail::slot_lookup::product{offset} * lookup_.inverse;
        bool* const live = lookup_.live + (number >> 64);
        if (static_cast<std::uint64_t>(number) < lookup_.inverse && *live) [[likely]] {
            *live = false;
            detail::fill_short_slot(p, lookup_.tail, stride_);
            *top = p;
            top_ = top + 1;
            return true;
        }
    }
    top_ = top;
    return false;
}
#endif

inline void* pool::allocate() noexcept {
#if CAIRN_ASSERTS
#    ifdef __OPTIMIZE__
    void* const slot = allocate_alone();
    return slot != nullptr ? slot : allocate_untouched();
#    else
    return checked_allocate();
#    endif
#else
    if (void* const p = latest_; p != nullptr) [[likely]] {
        latest_ = nullptr;
        unpoison(p, stride_);
        return p;
    }
    // In this order, and through a local, gcc and clang keep the chain from one allocation to the
    // next at one addition (docs/dead-ends.md has the orders that lost).
    void** const top = top_;
    if (top == floor_) [[unlikely]] { return carve(); }
    void* const ahead = top[-static_cast<std::ptrdiff_t>(lookahead)];
    top_ = top - 1;
    // Written to soon: its line arrives while the slots before it are being filled.
    __builtin_prefetch(ahead, 1);
    void* const p = top[-1];
    unpoison(p, stride_);
    return p;
#endif
}

inline void* pool::carve() noexcept {
    std::byte* const p = carve_;
    if (p == carve_end_) [[unlikely]] { return allocate_in_next_chunk(); }
    carve_ = p + stride_;
    unpoison(p, stride_);
    return p;
}

inline void pool::deallocate(void* p, [[maybe_unused]] call_site from) noexcept {
#if CAIRN_ASSERTS
#    ifdef __OPTIMIZE__
    if (!deallocate_alone(p)) [[unlikely]] { deallocate_guarded(p, from); }
#    else
    checked_deallocate(p, from);
#    endif
#else
    if (p == nullptr) [[unlikely]] { return; }
    poison(p, stride_);
    void* const before = latest_;
    latest_ = p;
    if (before != nullptr) {
        void** const top = top_;
        *top = before;
        top_ = top + 1;
    }
#endif
}

inline void* pool::allocate(std::size_t size, alignment align) noexcept {
    if (size > stride_ || align > align_) [[unlikely]] { return nullptr; }
    return allocate();
}

inline void pool::deallocate(void* p, [[maybe_unused]] std::size_t size,
                             [[maybe_unused]] alignment align, call_site from) noexcept {
#if CAIRN_ASSERTS
#    ifdef __OPTIMIZE__
    if (size <= stride_ && align <= align_) [[likely]] { return deallocate(p, from); }
#    endif
    checked_deallocate(p, size, align, from);
#else
    deallocate(p, from);
#endif
}

template <class F>
void pool::for_each_live(F&& f) {
    std::size_t free_left = sort_free();  // descending: the lowest address is on top
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        std::byte* const end = carved_end(i);
        for (std::byte* p = chunks_[i].first; p != end; p += stride_) {
            if (free_left != 0 && floor_[free_left - 1] == p) {
                --free_left;
            } else {
                f(static_cast<void*>(p));  // what it frees lands above the sorted part
            }
        }
    }
}

constexpr std::size_t pool::required_size(std::size_t count, std::size_t slot_size,
                                          alignment align) noexcept {
    const std::size_t stride = round_up(slot_size != 0 ? slot_size : 1, align);
    // [ slots | up to 7 bytes | chunk record | pad | stack ]
    const std::size_t slots = saturating_multiply(count, stride);
    const std::size_t links = saturating_multiply(saturating_add(lookahead, count), sizeof(void*));
    // no upstream has that much
    constexpr std::size_t absurd = SIZE_MAX;
    if (stride < slot_size || slots > absurd - sizeof(void*)) { return absurd; }
    return saturating_add(saturating_add(round_up(slots, alignment::of<void*>()), sizeof(chunk)),
                          links);
}

}}  // namespace cairn::CAIRN_FLAVOUR
