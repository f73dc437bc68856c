// What a growing arena answers: sizes, its high-water mark, what lies at an address, and whether
// its lists are as they should be.
#include <cairn/alloc/growing_arena.hpp>

#include <initializer_list>

#include <cairn/storage/inside/address_place.hpp>

#include "block.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

///     in use = full_size_ + region_.used_size()
/// Within one block region_ keeps the peak, at every retreat; this adds the blocks beside it,
/// whenever they are about to change. So allocate() counts nothing.
void growing_arena::note_peak() noexcept {
    const std::size_t now = full_size_ + region_.high_water_size();
    cycle_peak_ = now > cycle_peak_ ? now : cycle_peak_;
    peak_ = now > peak_ ? now : peak_;
}

void growing_arena::set_name(const char* name) noexcept {
    static constexpr detail::allocator_type type{
        "growing_arena", [](const void* object, const void* address) noexcept {
            const auto& a = *static_cast<const growing_arena*>(object);
            detail::address_place place;
            const auto at = reinterpret_cast<std::uintptr_t>(address);
            std::size_t number = a.block_count_;  // newest first, the spares last
            for (const block* list : {a.used_, a.spare_}) {
                for (const block* b = list; b != nullptr; b = b->next) {
                    --number;
                    if (at < b->begin() || at >= b->end()) { continue; }
                    const std::uintptr_t top = list == a.spare_                ? b->begin()
                                               : b == a.used_ && !b->oversized ? a.region_.top()
                                                                               : b->top;
                    place = {.inside = true,
                             .unit = "block",
                             .index = number,
                             .offset = at - b->begin(),
                             .size = b->payload_size(),
                             .state = at < top ? detail::given_out : detail::not_given_out};
                }
            }
            return place;
        }};
    how_.name = name;
    watch_.set_name(name, this, type);
    for (block* list : {used_, spare_}) {
        for (block* b = list; b != nullptr; b = b->next) {
            detail::forget_description(b->description);
            b->description =
                watch_.describe(reinterpret_cast<void*>(b->begin()), b->payload_size());
        }
    }
}

bool growing_arena::owns(const void* p) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    for (const block* b = used_; b != nullptr; b = b->next) {
        if (address >= b->begin() && address < b->end()) { return true; }
    }
    return false;
}

std::size_t growing_arena::used_size() const noexcept { return full_size_ + region_.used_size(); }

std::size_t growing_arena::capacity() const noexcept {
    return held_size_ - block_count_ * block::header_size;
}

std::size_t growing_arena::block_count() const noexcept { return block_count_; }

std::size_t growing_arena::high_water_size() const noexcept {
    const std::size_t now = full_size_ + region_.high_water_size();
    return now > peak_ ? now : peak_;
}

void growing_arena::reset_high_water() noexcept {
    peak_ = 0;
    region_.reset_high_water();
}

void growing_arena::validate() const noexcept {
    region_.validate();
    std::size_t count = 0;
    std::size_t held = 0;
    std::size_t full = 0;
    for (const block* b = used_; b != nullptr; b = b->next) {
        ++count;
        held += b->size;
        CAIRN_ASSERT(b->serial <= last_serial_, "no block is younger than the youngest");
        if (b == used_ && !b->oversized) {
            CAIRN_ASSERT(region_.begin() == b->begin() && region_.end() == b->end(),
                         "the region lies inside the current block");
        } else {
            CAIRN_ASSERT(b->top >= b->begin() && b->top <= b->end(),
                         "the live bytes of a full block lie inside it");
            full += b->top - b->begin();
        }
    }
    for (const block* b = spare_; b != nullptr; b = b->next) {
        ++count;
        held += b->size;
    }
    CAIRN_ASSERT(count == block_count_, "every block is used or spare");
    CAIRN_ASSERT(held == held_size_, "every byte asked of upstream is in a block");
    CAIRN_ASSERT(full == full_size_, "the live bytes of full blocks add up");
    (void)count, (void)held, (void)full;
}

}}  // namespace cairn::CAIRN_FLAVOUR
