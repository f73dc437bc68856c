// cairn/containers/stable_slot_map/slots_cold.hpp - stable_slots: pages come and go. Included by slots.hpp.
//
//      full page -> holes -> empty: kept as the spare, or its block goes back -> brought back when needed
//
// One empty page is kept, the lowest, so that a map around a page boundary does not allocate and free
// at every second step.
#pragma once

#include <cairn/containers/stable_slot_map/slots.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

template <unsigned L, std::uint32_t I, std::uint32_t G>
std::size_t stable_slots<L, I, G>::next_live(std::size_t index) const noexcept {
    std::size_t p = index >> L;
    if (p >= page_count_) { return no_index; }
    const auto slot = static_cast<std::uint32_t>(index & slot_mask);
    const page* state = pages()[p].state;
    std::uint32_t w = slot / 64;
    std::uint64_t live = live_in(*state, w) & (~std::uint64_t{0} << (slot & 63));
    while (live == 0) {
        const std::uint64_t later = w == 63 ? 0 : state->used & (~std::uint64_t{0} << (w + 1));
        if (later != 0) {
            w = static_cast<std::uint32_t>(std::countr_zero(later));
        } else {
            do {
                if (++p == page_count_) { return no_index; }
                state = pages()[p].state;
            } while (state->used == 0);
            w = static_cast<std::uint32_t>(std::countr_zero(state->used));
        }
        live = live_in(*state, w);
    }
    return (p << L) + w * 64 + static_cast<std::uint32_t>(std::countr_zero(live));
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
handle_fault stable_slots<L, I, G>::fault_of(std::uint32_t index,
                                             std::uint32_t generation) const noexcept {
    if (index == 0 && generation == 0) { return handle_fault::null; }
    if (index >> L >= page_count_) { return handle_fault::foreign; }
    const page& state = *pages()[index >> L].state;
    const std::uint32_t slot = index & slot_mask;
    return lives_.judge(generation, state.generation[slot], page::bit(state.held, slot));
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
void stable_slots<L, I, G>::refuse(std::uint32_t index, std::uint32_t generation, const void* map,
                                   call_site from) const {
    const std::size_t p = index >> L;
    const std::uint32_t word =
        p < page_count_ ? pages()[p].state->generation[index & slot_mask] : 0;
    refuse_handle({fault_of(index, generation), map, "stable_slot_map", index,
                   static_cast<std::uint32_t>(page_count_ << L), word & ~page::vacant, generation},
                  from);
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
void stable_slots<L, I, G>::drop_all_held() noexcept {
    for (std::size_t p = 0; p < page_count_; ++p) {
        for (std::uint32_t w = 0; w < page::word_count; ++w) {
            for (std::uint64_t held = pages()[p].state->held[w]; held != 0; held &= held - 1) {
                drop_held(p, w * 64 + static_cast<std::uint32_t>(std::countr_zero(held)));
            }
        }
    }
}

/// The page is empty, or the slot's generations are used up: it is not free then, but set aside.
template <unsigned L, std::uint32_t I, std::uint32_t G>
[[gnu::noinline]] void stable_slots<L, I, G>::leave_for_long(std::size_t p, page& state,
                                                             std::uint32_t slot,
                                                             std::uint32_t generation) noexcept {
    if (generation == lives_.last()) {
        state.generation[slot] = page::vacant;
        exhaust(state, slot);
    }
    if (state.used == 0) { page_is_empty(p); }
}

/// Takes the lowest free slots in hand. Returns: false when exhausted; nothing has changed then.
template <unsigned L, std::uint32_t I, std::uint32_t G>
[[gnu::noinline]] bool stable_slots<L, I, G>::gather() noexcept {
    size_ += hand_.taken_count();
    hand_.forget();
    std::size_t lowest = no_page;  // has free slots but no memory, and there is none now
    for (std::size_t p = open_page_;; ++p) {
        if (p >= page_count_ && !add_page()) { return false; }
        page& state = *pages()[p].state;
        if (pages()[p].objects == nullptr) {
            if (state.count_open() == 0) { continue; }
            if (!bring_back(p)) {
                lowest = lowest == no_page ? p : lowest;
                continue;
            }
        }
        if (hand_.gather(state)) {
            open_page_ = lowest < p ? lowest : p;
            hand_page_ = &state;
            hand_objects_ = pages()[p].objects;
            hand_index_ = index_of(p, 0);
            return true;
        }
    }
}

/// The slots in hand are found again like all others.
template <unsigned L, std::uint32_t I, std::uint32_t G>
void stable_slots<L, I, G>::drop_hand() noexcept {
    size_ += hand_.taken_count();
    if (hand_.empty()) {
        hand_.forget();
        return;
    }
    hand_.drop(*hand_page_);
    const std::size_t p = hand_index_ >> L;
    open_page_ = p < open_page_ ? p : open_page_;
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
[[gnu::noinline]] bool stable_slots<L, I, G>::add_page() noexcept {
    if (page_count_ == page_count_max) { return false; }
    const std::size_t used = page_count_ * sizeof(entry);
    if (used + sizeof(entry) > table_.size() &&
        grow_by_halves(
            page_count_, page_count_ + 1, grown_count(page_count_, page_count_ + 1),
            [&](std::size_t count) { return table_.grow(count * sizeof(entry), used); }) == 0) {
        return false;
    }
    void* const memory = upstream().allocate(sizeof(page), alignment::of<page>());
    if (memory == nullptr) { return false; }
    void* const objects = upstream().allocate(block_size_, align_);
    if (objects == nullptr) {
        upstream().deallocate(memory, sizeof(page), alignment::of<page>());
        return false;
    }
    poison(objects, block_size_);
    auto* const state = ::new (memory) page;
    lives_.begin();
    state->start(lives_.first());
    const std::uint64_t first = page_count_ << L;
    for (std::uint32_t slot = slot_mask; first + slot > I; --slot) {  // more slots than indices
        page::set(state->blocked, slot);
        if (slot == 0) { break; }
    }
    state->open = state->count_open();
    ::new (static_cast<void*>(pages() + page_count_))
        entry{state, static_cast<std::byte*>(objects)};
    ++page_count_;
    return true;
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
bool stable_slots<L, I, G>::copy_pages(const stable_slots& other) noexcept {
    lives_.copy_from(other.lives_);
    for (std::size_t p = 0; p < other.page_count_; ++p) {
        if (!add_page()) { return false; }
        const page& from = *other.pages()[p].state;
        page& to = *pages()[p].state;
        for (std::uint32_t slot = 0; slot < page::slot_count; ++slot) {
            to.generation[slot] = from.generation[slot] | page::vacant;
        }
        for (std::uint32_t w = 0; w < page::word_count; ++w) {
            to.blocked[w] = from.blocked[w];
            to.held[w] = from.held[w];
        }
        to.held_count = from.held_count;
        to.waiting_count = from.waiting_count;
        to.open = to.count_open();
        if (other.pages()[p].objects == nullptr) { send_back(p); }
    }
    kept_page_count_ = other.kept_page_count_;
    spare_page_ = other.spare_page_;
    exhausted_count_ = other.exhausted_count_;
    return true;
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
bool stable_slots<L, I, G>::bring_back(std::size_t p) noexcept {
    void* const objects = upstream().allocate(block_size_, align_);
    if (objects == nullptr) { return false; }
    poison(objects, block_size_);
    pages()[p].objects = static_cast<std::byte*>(objects);
    pages()[p].state->open = pages()[p].state->count_open();
    return true;
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
void stable_slots<L, I, G>::send_back(std::size_t p) noexcept {
    unpoison(pages()[p].objects, block_size_);
    upstream().deallocate(pages()[p].objects, block_size_, align_);
    pages()[p].objects = nullptr;
    pages()[p].state->open = 0;
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
[[gnu::noinline]] void stable_slots<L, I, G>::page_is_empty(std::size_t p) noexcept {
    if (p < kept_page_count_ || pages()[p].state->keeps_memory()) { return; }
    std::size_t other = spare_page_;
    if (other == p) { return; }
    if (other != no_page && (pages()[other].objects == nullptr || pages()[other].state->used != 0 ||
                             pages()[other].state->keeps_memory())) {
        other = no_page;
    }
    if (other == no_page) {
        spare_page_ = p;
        return;
    }
    spare_page_ = p < other ? p : other;
    send_back(p < other ? other : p);
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
bool stable_slots<L, I, G>::reserve_pages(std::size_t count) noexcept {
    if (count > page_count_max) { return false; }
    while (page_count_ < count) {
        if (!add_page()) { return false; }
    }
    for (std::size_t p = 0; p < count; ++p) {
        if (pages()[p].objects == nullptr) {
            if (!bring_back(p)) { return false; }
            open_page_ = p < open_page_ ? p : open_page_;
        }
    }
    kept_page_count_ = count > kept_page_count_ ? count : kept_page_count_;
    return true;
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
void stable_slots<L, I, G>::return_empty_pages() noexcept {
    drop_hand();
    kept_page_count_ = 0;
    spare_page_ = no_page;
    for (std::size_t p = 0; p < page_count_; ++p) {
        const page& state = *pages()[p].state;
        if (pages()[p].objects != nullptr && state.used == 0 && !state.keeps_memory()) {
            send_back(p);
        }
    }
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
void stable_slots<L, I, G>::release() noexcept {
    drop_hand();
    hand_page_ = nullptr;
    for (std::size_t p = 0; p < page_count_; ++p) {
        if (pages()[p].objects != nullptr) { send_back(p); }
        upstream().deallocate(pages()[p].state, sizeof(page), alignment::of<page>());
    }
    lives_.end();
    page_count_ = open_page_ = size_ = kept_page_count_ = exhausted_count_ = 0;
    spare_page_ = no_page;
    table_.release();
}

template <unsigned L, std::uint32_t I, std::uint32_t G>
void stable_slots<L, I, G>::validate() const noexcept {
#if CAIRN_ASSERTS
    std::size_t live_count = 0;
    for (std::size_t p = 0; p < page_count_; ++p) {
        const page& state = *pages()[p].state;
        CAIRN_ASSERT(pages()[p].objects != nullptr || state.used == 0, "who lives has memory");
        for (std::uint32_t w = 0; w < page::word_count; ++w) {
            CAIRN_ASSERT((state.live[w] & state.blocked[w]) == 0, "alive or blocked, not both");
            CAIRN_ASSERT((state.held[w] & ~state.blocked[w]) == 0, "held slots are blocked");
            CAIRN_ASSERT((state.live[w] != 0) == (((state.used >> w) & 1) != 0),
                         "the summary knows the words with live slots");
            CAIRN_ASSERT(&state != hand_page_ || (hand_.pending(w) & ~state.live[w]) == 0,
                         "slots in hand are marked");
            const bool offered = pages()[p].objects != nullptr && state.free(w) != 0;
            CAIRN_ASSERT(!offered || ((state.open >> w) & 1) != 0,
                         "the summary knows the words with free slots");
            CAIRN_ASSERT(!offered || p >= open_page_, "no page below the open one has a free slot");
            live_count += static_cast<std::size_t>(std::popcount(live_in(state, w)));
        }
        for (std::uint32_t slot = 0; slot < page::slot_count; ++slot) {
            CAIRN_ASSERT((((live_in(state, slot / 64) >> (slot & 63)) & 1) != 0) ==
                             ((state.generation[slot] & page::vacant) == 0),
                         "exactly the live slots can be found");
        }
    }
    CAIRN_ASSERT(live_count == size(), "live objects are counted");
#endif
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
