// cairn/alloc/heap/heap_memory.hpp - where the regions of a heap come from, and what is known of
// them: the part of a heap that no fit changes.
//
//      upstream <---> | home | region | spare | ...      regions_, sorted by address
//                        ^ the first one, which holds the bins
//
// Compiled once: taking memory and giving it back, the name, and what checked builds say.
//
// Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/heap/region_base.hpp>
#include <cairn/alloc/heap/region_set.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class heap_memory {
public:
    /// `block_size`: of what is taken at least; 0: nothing is. `owned`: regions go back.
    heap_memory(allocator_ref upstream, std::size_t block_size, bool owned) noexcept
        : upstream_{upstream}, block_size_{block_size}, owned_{owned} {}
    heap_memory(heap_memory&& other) noexcept;
    heap_memory& operator=(heap_memory&&) = delete;
    /// Gives every region back; checked builds assert before that nothing lives, where that was
    /// asked for.
    ~heap_memory();

    // ------------------------------------------------------------------------ regions

    /// Memory for one more region: `size` bytes, at least `needed`; nullptr: there is none.
    [[nodiscard]] std::byte* take(std::size_t needed, std::size_t& size) noexcept;
    /// `r` is one of the regions now, in `size` bytes of upstream's.
    void add(region_base* r, std::size_t size) noexcept;
    void give_back(region_base* r) noexcept;
    void give_all_back() noexcept;

    // ------------------------------------------------------------------------ checks

    /// Asserts that `p` is a live block of this heap, and, but where `size` is SIZE_MAX, that it
    /// has `good_size` bytes, which is what a request of `size` gets.
    void check_freed(const void* p, std::size_t size, std::size_t good_size,
                     call_site from) const noexcept;
    /// Asserts that `p` waits in the bin of blocks with `granules`.
    void check_waiting(const void* p, std::uint32_t granules) const noexcept;

    /// `p` lies in the region that was looked at last, where a block may begin.
    [[nodiscard, gnu::always_inline]] inline bool is_recent(const void* p) const noexcept {
        const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - recent_.first;
        return offset < recent_.size && offset % granule_size == 0;
    }
    /// The region of `p` is the recent one from now on. Returns: false where there is none.
    bool turn_to(const void* p) noexcept;

    /// The checks of a block about which all is well, which nearly every one is: it has `granules`,
    /// and `state` beside its size in its header. Requires: is_recent(p); poison_is_seen() says no.
    [[nodiscard, gnu::always_inline]] inline bool stands(const void* p, std::uint32_t granules,
                                                         std::uint32_t state) const noexcept {
        const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - recent_.first;
        return std::size_t{granules} * granule_size <= recent_.size - offset &&
               region_base::stands(static_cast<const std::byte*>(p) - block_header_size, offset,
                                   granules, state);
    }

    void set_name(const char* name) noexcept;
    void expect_empty_end(bool expected) noexcept { ends_empty_ = expected; }
    [[nodiscard]] bool owns(const void* p) const noexcept {
        const region_base* const r = regions_.at(p);
        return r != nullptr && r->contains(p);
    }

    // ------------------------------------------------------------------------ data

    region_base* home_ = nullptr;   // the first one, which holds the bins
    region_base* spare_ = nullptr;  // the one empty region that is kept
    allocator_ref upstream_;
    std::size_t block_size_;
    bool owned_;
    bool ends_empty_ = false;  // live blocks at the end are a mistake
    [[no_unique_address]] allocator_watch watch_;
    struct payloads {
        std::uintptr_t first = 0;
        std::size_t size = 0;  // bytes; 0: no region
    } recent_;                 // of one region: checked builds look there first
    region_set regions_;

private:
    [[nodiscard]] evidence about(misuse_kind kind, call_site from) const noexcept;
    void describe(region_set::entry& entry) noexcept;
    [[nodiscard]] static address_place place_of(const void* object, const void* address) noexcept;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
