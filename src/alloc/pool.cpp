// Cold half of cairn/alloc/pool.hpp: birth, moves, batches. Chunks coming and going are in
// growth.cpp, questions and checks in files of those names.
#include <cairn/alloc/pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/null_allocator.hpp>

#include "pool/checks.hpp"
#include "pool_rules.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

constexpr std::size_t first_chunk_size = std::size_t{16} << 10;

}  // namespace

// ------------------------------------------------------------------------------------------------
// birth, moves and death

pool::pool(std::size_t slot_size, alignment align, allocator_ref upstream, options how) noexcept
    : stride_{detail::stride_of(slot_size, align)},
      options_{how},
      upstream_{upstream},
      align_{align} {
    if (options_.slots_per_chunk == 0) {
        options_.slots_per_chunk = std::max<std::size_t>(1, first_chunk_size / stride_);
    }
    next_chunk_slots_ = options_.slots_per_chunk;
    if (options_.name != nullptr) { set_name(options_.name); }
}

pool::pool(slice<std::byte> buffer, std::size_t slot_size, alignment align) noexcept
    : stride_{detail::stride_of(slot_size, align)},
      next_chunk_slots_{0},
      upstream_{no_memory()},
      align_{align},
      fixed_{true} {
    // Until the end of this function it is a pool without a slot: each return leaves one that
    // refuses.
    options_.slot_count_max = 0;
    // buffer  | lost | slots ...... | 0 to 7 | chunk record | 8 nulls | stack: 8 bytes a slot |
    //               ^ first                 ^ side                   ^ floor_
    // As many slots as fit with one pointer each; when the bytes in front of the record do not fit,
    // one slot less is certain to.
    const alignment begin_align = std::max(align, alignment::of<void*>());
    const std::size_t lost =
        detail::padding_to(reinterpret_cast<std::uintptr_t>(buffer.data()), begin_align);
    constexpr std::size_t overhead = sizeof(chunk) + lookahead * sizeof(void*);
    if (buffer.size() < lost + overhead) { return; }
    const std::size_t size = buffer.size() - lost;
    if (stride_ > size) { return; }
    std::size_t count = (size - overhead) / (stride_ + sizeof(void*));
    if (count != 0 && required_size(count, slot_size, align) > size) {
        --count;  // the 7 bytes in front of the side block did not fit
    }
    if (count == 0) { return; }
    std::byte* const first = buffer.data() + lost;
    std::byte* const side = first + detail::round_up(count * stride_, alignment::of<void*>());
    chunks_ = reinterpret_cast<chunk*>(side);
    chunk_count_ = chunk_capacity_ = 1;
    floor_ = top_ = reinterpret_cast<void**>(side + sizeof(chunk)) + lookahead;
    std::memset(floor_ - lookahead, 0, lookahead * sizeof(void*));
    stack_capacity_ = slot_count_ = options_.slot_count_max = count;
    // A chunk of which nothing is carved: the first allocations cut it from its begin.
    chunks_[0] = {first, first, count, pool_checks::make_live(count)};
    poison(first, count * stride_);
    select(0);
}

pool::pool(pool&& other) noexcept
    : latest_{other.latest_},
      top_{other.top_},
      floor_{other.floor_},
      carve_{other.carve_},
      carve_end_{other.carve_end_},
      stride_{other.stride_},
      chunks_{other.chunks_},
      chunk_count_{other.chunk_count_},
      chunk_capacity_{other.chunk_capacity_},
      stack_capacity_{other.stack_capacity_},
      embedded_side_{other.embedded_side_},
      embedded_size_{other.embedded_size_},
      slot_count_{other.slot_count_},
      selected_{other.selected_},
      next_chunk_slots_{other.next_chunk_slots_},
      options_{other.options_},
      upstream_{other.upstream_},
      align_{other.align_},
      fixed_{other.fixed_},
      // seen_ is not taken along: the first check finds a chunk again.
      watch_{std::move(other.watch_)} {
    pool_checks::expect_no_upstream(other);
    other.forget();
}

pool& pool::operator=(pool&& other) noexcept {
    // Ended and built again in place: the end of this pool is checked, and its memory goes back.
    // `other` may lie in a slot of this pool.
    return detail::begin_anew(*this, other);
}

pool::~pool() {
    if constexpr (asserts_enabled) { check_end(); }
    carve_ = carve_end_ = nullptr;
    top_ = floor_;
    latest_ = nullptr;
    selected_ = none;
    give_all_back(std::exchange(chunk_count_, 0));
}

/// Empty and valid; what was held has been taken over or given back.
void pool::forget() noexcept {
    pool_checks::forget_chunks(*this);
    latest_ = nullptr;
    top_ = floor_ = nullptr;
    carve_ = carve_end_ = nullptr;
    chunks_ = nullptr;
    chunk_count_ = chunk_capacity_ = stack_capacity_ = slot_count_ = embedded_size_ = 0;
    embedded_side_ = nullptr;
    selected_ = none;
    next_chunk_slots_ = options_.slots_per_chunk;
    if (fixed_) { options_.slot_count_max = 0; }
}

// ------------------------------------------------------------------------------------------------
// batches

std::size_t pool::allocate_n(slice<void*> out) noexcept {
    return detail::allocate_each(*this, out);
}

void pool::deallocate_n(slice<void* const> freed) noexcept {
    for (void* const p : freed) { deallocate(p); }
}

/// Carving goes on where chunk `index` was left.
void pool::select(std::size_t index) noexcept {
    selected_ = index;
    carve_ = chunks_[index].carved_end;
    carve_end_ = chunks_[index].first + chunks_[index].slot_count * stride_;
}

/// The record of the chunk that is being carved learns how far. At any time one chunk at most is
/// carved in part: the selected one. All others are carved wholly or not at all.
void pool::park_selected() noexcept {
    if (selected_ != none) { chunks_[selected_].carved_end = carve_; }
}

/// Puts all free slots onto the stack and sorts it, the lowest address on top. Returns: how many.
std::size_t pool::sort_free() noexcept {
    if (latest_ != nullptr) { *top_++ = std::exchange(latest_, nullptr); }
    std::sort(floor_, top_, std::greater<>{});
    return static_cast<std::size_t>(top_ - floor_);
}

// ------------------------------------------------------------------------------------------------
// the end of all objects

// Destructors may destroy other objects of the pool, before or after the loop comes to them. So the
// slots of objects that have ended lie in the stack, in any order, and each of these slots holds
// the number of its entry, in bytes that no object uses any more:
//
//      stack   | sorted, before the loop | a | b | c |        a holds 6, b 7, c 8
//                                          6   7   8
//
// A live object may begin with any number, but the entry of that number is then another slot's.
// Checked builds look at the state of the slot instead.
// Source: Briggs and Torczon, An efficient representation for sparse sets, 1993.

/// True when `p`, a carved slot, has been freed, or its object has ended. Slots of less than 8
/// bytes hold no number: false, unless the build is checked.
bool pool::has_ended(const void* p) const noexcept {
    if constexpr (asserts_enabled) {
        const chunk* const c = find_chunk(p);
        return c != nullptr && c->live != nullptr && !c->live[pool_checks::index(*this, *c, p)];
    }
    if (stride_ < sizeof(std::size_t)) { return false; }
    std::size_t entry;
    std::memcpy(&entry, p, sizeof entry);
    return entry < static_cast<std::size_t>(top_ - floor_) && floor_[entry] == p;
}

[[maybe_unused]] static constexpr const char* made_meanwhile =
    "no object is made while all objects of a pool are destroyed";

/// Entries of the stack from `first` on are new: their slots get their numbers. Returns: the number
/// of entries.
std::size_t pool::number_entries(std::size_t first) noexcept {
    if (latest_ != nullptr) { *top_++ = std::exchange(latest_, nullptr); }
    const auto count = static_cast<std::size_t>(top_ - floor_);
    CAIRN_ASSERT(count >= first, made_meanwhile);
    for (std::size_t i = first; i < count && stride_ >= sizeof i; ++i) {
        detail::unpoison_defined(floor_[i], sizeof i);
        std::memcpy(floor_[i], &i, sizeof i);
    }
    return count;
}

void pool::destroy_each(void (*destroy)(void*) noexcept) noexcept {
    std::size_t free_left = sort_free();  // descending: the lowest address is on top
    std::size_t numbered = free_left;
    CAIRN_ASSERT(!is_ending_, "all objects of a pool are destroyed once",
                 {.object = this, .type = "pool", .name = options_.name});
    is_ending_ = true;
    [[maybe_unused]] const std::byte* const carved = carve_;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        std::byte* const end = carved_end(i);
        for (std::byte* p = chunks_[i].first; p != end; p += stride_) {
            if (free_left != 0 && floor_[free_left - 1] == p) {
                --free_left;
            } else if (!has_ended(p)) {
                pool_checks::forget_live(*this, chunks_[i], p);
                destroy(p);
                CAIRN_ASSERT(carve_ == carved, made_meanwhile);
                *top_++ = p;
                numbered = number_entries(numbered);
            }
        }
    }
    is_ending_ = false;
}

/// Slots that were never given out since the last reset: behind the carved end of each chunk.
std::size_t pool::untouched_count() const noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        count += chunks_[i].slot_count -
                 static_cast<std::size_t>(carved_end(i) - chunks_[i].first) / stride_;
    }
    return count;
}

void pool::reset() noexcept {
    latest_ = nullptr;
    top_ = floor_;
    carve_ = carve_end_ = nullptr;
    selected_ = none;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        chunks_[i].carved_end = chunks_[i].first;
        pool_checks::clear_live(chunks_[i]);
        poison(chunks_[i].first, chunks_[i].slot_count * stride_);
    }
    // The lowest chunk: addresses ascend again. allocate_in_next_chunk() goes on with the next one.
    if (chunk_count_ != 0) { select(0); }
}

}}  // namespace cairn::CAIRN_FLAVOUR
