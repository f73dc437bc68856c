// cairn/core/inside/atomic.hpp - the operations of std::atomic on one word, without <atomic>.
//
//      +-------+
//      | value |     alignas(sizeof(T)): 1, 2, 4 or 8 bytes, one machine word, never a lock
//      +-------+
//
// <atomic> brings <string>, <system_error> and the threads of the C library along (gcc 12 to 14:
// its waiting needs them): 24,000 lines, a third of the time that <cairn/cairn.hpp> took to read.
// Functions, orders and their meaning are those of std::atomic; sources of the library use that
// where they keep their own state.
//
// Cost: that of the instruction; each call is inlined in every build, at -O0 too.
#pragma once

#include <type_traits>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

using compiler::memory_order;
using compiler::signal_fence;

/// One word that threads share: the operations of std::atomic<T> that the library uses, each with
/// its order named.
template <class T>
class atomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8 &&
                      (sizeof(T) & (sizeof(T) - 1)) == 0,
                  "what threads share is one machine word");

public:
    constexpr atomic() noexcept = default;
    constexpr atomic(T value) noexcept : value_{value} {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard, CAIRN_FORCE_INLINE]] T load(memory_order order) const noexcept {
        return compiler::load(value_, order);
    }
    [[CAIRN_FORCE_INLINE]] void store(T value, memory_order order) noexcept {
        word().store(value, order);
    }
    /// Returns: what was there.
    [[CAIRN_FORCE_INLINE]] T exchange(T value, memory_order order) noexcept {
        return word().exchange(value, order);
    }
    /// Of an integer. Returns: what was there.
    [[CAIRN_FORCE_INLINE]] T fetch_add(T value, memory_order order) noexcept
        requires std::is_integral_v<T>
    {
        return word().fetch_add(value, order);
    }
    [[CAIRN_FORCE_INLINE]] T fetch_sub(T value, memory_order order) noexcept
        requires std::is_integral_v<T>
    {
        return word().fetch_sub(value, order);
    }
    [[CAIRN_FORCE_INLINE]] T fetch_or(T bits, memory_order order) noexcept
        requires std::is_integral_v<T>
    {
        return word().fetch_or(bits, order);
    }
    [[CAIRN_FORCE_INLINE]] T fetch_and(T bits, memory_order order) noexcept
        requires std::is_integral_v<T>
    {
        return word().fetch_and(bits, order);
    }
    /// Stores `desired` where `expected` is. Returns: false when something else was there, which
    /// `expected` is then; the weak one also without a reason.
    [[CAIRN_FORCE_INLINE]] bool compare_exchange_weak(T& expected, T desired, memory_order success,
                                                      memory_order failure) noexcept {
        return word().compare_exchange_weak(expected, desired, success, failure);
    }
    [[CAIRN_FORCE_INLINE]] bool compare_exchange_strong(T& expected, T desired,
                                                        memory_order success,
                                                        memory_order failure) noexcept {
        return word().compare_exchange_strong(expected, desired, success, failure);
    }

private:
    [[CAIRN_FORCE_INLINE]] compiler::atomic_ref<T> word() noexcept {
        return compiler::atomic_ref<T>{value_};
    }

    alignas(sizeof(T)) T value_{};
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
