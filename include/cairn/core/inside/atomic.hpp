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

/// As std::memory_order: what other threads may see before or after the operation.
enum class memory_order : int {
    relaxed = __ATOMIC_RELAXED,
    acquire = __ATOMIC_ACQUIRE,
    release = __ATOMIC_RELEASE,
    acq_rel = __ATOMIC_ACQ_REL,
    seq_cst = __ATOMIC_SEQ_CST,
};

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

    [[nodiscard, gnu::always_inline]] T load(memory_order order) const noexcept {
        T seen;
        __atomic_load(&value_, &seen, static_cast<int>(order));
        return seen;
    }
    [[gnu::always_inline]] void store(T value, memory_order order) noexcept {
        __atomic_store(&value_, &value, static_cast<int>(order));
    }
    /// Returns: what was there.
    [[gnu::always_inline]] T exchange(T value, memory_order order) noexcept {
        T old;
        __atomic_exchange(&value_, &value, &old, static_cast<int>(order));
        return old;
    }
    /// Of an integer. Returns: what was there.
    [[gnu::always_inline]] T fetch_add(T value, memory_order order) noexcept
        requires std::is_integral_v<T>
    {
        return __atomic_fetch_add(&value_, value, static_cast<int>(order));
    }
    [[gnu::always_inline]] T fetch_sub(T value, memory_order order) noexcept
        requires std::is_integral_v<T>
    {
        return __atomic_fetch_sub(&value_, value, static_cast<int>(order));
    }
    [[gnu::always_inline]] T fetch_or(T bits, memory_order order) noexcept
        requires std::is_integral_v<T>
    {
        return __atomic_fetch_or(&value_, bits, static_cast<int>(order));
    }
    [[gnu::always_inline]] T fetch_and(T bits, memory_order order) noexcept
        requires std::is_integral_v<T>
    {
        return __atomic_fetch_and(&value_, bits, static_cast<int>(order));
    }
    /// Stores `desired` where `expected` is. Returns: false when something else was there, which
    /// `expected` is then; the weak one also without a reason.
    [[gnu::always_inline]] bool compare_exchange_weak(T& expected, T desired, memory_order success,
                                                      memory_order failure) noexcept {
        return __atomic_compare_exchange(&value_, &expected, &desired, true,
                                         static_cast<int>(success), static_cast<int>(failure));
    }
    [[gnu::always_inline]] bool compare_exchange_strong(T& expected, T desired,
                                                        memory_order success,
                                                        memory_order failure) noexcept {
        return __atomic_compare_exchange(&value_, &expected, &desired, false,
                                         static_cast<int>(success), static_cast<int>(failure));
    }

private:
    alignas(sizeof(T)) T value_{};
};

/// As std::atomic_ref: a plain integer elsewhere, shared for one operation. (std::atomic_ref is
/// younger than some of the standard libraries.)
template <class T>
class in_place {
public:
    explicit in_place(T& data) noexcept : data_{data} {}

    [[nodiscard]] T load(memory_order order) const noexcept {
        return __atomic_load_n(&data_, static_cast<int>(order));
    }
    void store(T value, memory_order order) noexcept {
        __atomic_store_n(&data_, value, static_cast<int>(order));
    }
    T fetch_or(T bits, memory_order order) noexcept {
        return __atomic_fetch_or(&data_, bits, static_cast<int>(order));
    }

private:
    T& data_;
};

/// As std::atomic_signal_fence: keeps the compiler, and not the processor, from moving accesses.
[[gnu::always_inline]] inline void signal_fence(memory_order order) noexcept {
    __atomic_signal_fence(static_cast<int>(order));
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
