// cairn/alloc/inside/byte_credits.hpp - a count of bytes that threads hold parts of.
//
//      0                                      granted        limit
//      |=======================|====|==|========|---------------|
//      |<---- live blocks ---->| A  |B |   C    |
//                               credits of the threads
//
// A thread pays for a block from its credit, which no other thread writes. A credit that is too
// small takes more from the shared count; a credit above twice the step gives the rest back.
//
// Invariant: granted = live bytes + all credits, and granted <= limit unless the limit was lowered.
// Cost:      within the credit: a load, a compare, a store. Else one exchange of the shared word.
// Threads:   each credit: one. The rest: any.
#pragma once

#include <cstddef>

#include <cairn/core/inside/atoms.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Atoms>
class basic_byte_credits {
    using word = typename Atoms::template atomic<std::size_t>;

public:
    /// Bytes that one thread may give out unasked. Its thread writes it, others may read it.
    struct credit {
        word size{0};
    };

    basic_byte_credits(std::size_t limit_size, std::size_t step) noexcept
        : limit_{limit_size}, step_{step} {}

    /// Pays for `size` bytes from `mine`. Returns: false when the credit is too small.
    [[nodiscard]] static bool pay(credit& mine, std::size_t size) noexcept {
        const std::size_t held = mine.size.load(memory_order::relaxed);
        if (size > held) { return false; }
        mine.size.store(held - size, memory_order::relaxed);
        return true;
    }
    /// Puts `size` bytes back into `mine`. Returns: false when it would hold too much.
    [[nodiscard]] bool put(credit& mine, std::size_t size) const noexcept {
        const std::size_t held = mine.size.load(memory_order::relaxed) + size;
        if (held > 2 * step_) { return false; }
        mine.size.store(held, memory_order::relaxed);
        return true;
    }

    /// Pays for `size` bytes from `mine` and, for what is missing there, from the shared count; the
    /// credit becomes up to a step. `mine`: nullptr for a thread without one.
    /// Returns: false when the limit is in the way; nothing has changed then.
    [[nodiscard]] bool pay_shared(credit* mine, std::size_t size) noexcept {
        // Nothing is paid at any limit: a block shrinks also when the limit was lowered below it.
        if (size == 0 || (mine != nullptr && pay(*mine, size))) { return true; }
        const std::size_t missing = size - held_by(mine);
        std::size_t granted = granted_.load(memory_order::relaxed);
        std::size_t extra = 0;
        do {
            const std::size_t limit = limit_.load(memory_order::relaxed);
            if (granted > limit || missing > limit - granted) { return false; }
            extra = mine != nullptr ? next_credit(limit - granted - missing) : 0;
        } while (!granted_.compare_exchange_weak(granted, granted + missing + extra,
                                                 memory_order::relaxed, memory_order::relaxed));
        raise_peak(granted + missing + extra);
        if (mine != nullptr) { mine->size.store(extra, memory_order::relaxed); }
        return true;
    }
    /// Puts `size` bytes back; the credit keeps a step, or nothing where the limit was lowered.
    void put_shared(credit* mine, std::size_t size) noexcept {
        const std::size_t held = held_by(mine) + size;
        const bool is_above = granted_.load(memory_order::relaxed) > limit_size();
        const std::size_t kept = mine == nullptr || is_above ? 0 : held < step_ ? held : step_;
        if (mine != nullptr) { mine->size.store(kept, memory_order::relaxed); }
        granted_.fetch_sub(held - kept, memory_order::relaxed);
    }

    /// True when `size` bytes more are within the limit.
    [[nodiscard]] bool has_room_for(std::size_t size) const noexcept {
        const std::size_t granted = granted_size();
        return granted <= limit_size() && size <= limit_size() - granted;
    }
    void set_limit_size(std::size_t bytes) noexcept { limit_.store(bytes, memory_order::relaxed); }
    [[nodiscard]] std::size_t limit_size() const noexcept {
        return limit_.load(memory_order::relaxed);
    }
    /// Bytes of live blocks and of credits.
    [[nodiscard]] std::size_t granted_size() const noexcept {
        return granted_.load(memory_order::relaxed);
    }
    [[nodiscard]] std::size_t peak_size() const noexcept {
        return peak_.load(memory_order::relaxed);
    }
    [[nodiscard]] static std::size_t held_by(const credit* mine) noexcept {
        return mine != nullptr ? mine->size.load(memory_order::relaxed) : 0;
    }

private:
    /// A credit is at most a sixteenth of what is left, so the last bytes are not all in credits.
    [[nodiscard]] std::size_t next_credit(std::size_t left) const noexcept {
        return left / 16 < step_ ? left / 16 : step_;
    }
    void raise_peak(std::size_t granted) noexcept {
        std::size_t peak = peak_.load(memory_order::relaxed);
        while (peak < granted && !peak_.compare_exchange_weak(peak, granted, memory_order::relaxed,
                                                              memory_order::relaxed)) {}
    }

    word granted_{0};   // bytes
    word limit_;        // bytes
    word peak_{0};      // the most that granted_ was
    std::size_t step_;  // bytes of a full credit
};

using byte_credits = basic_byte_credits<std_atoms>;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
