// cairn/owners/shared_handle/counts.hpp - the cell of a slot: the number of owners, and how it is
// found from there.
//
//      plain_count     | owners 4 | next 4 | handle 4 or 8 |           one thread
//      atomic_count    | generation and owners 8 | object or next 8 |  any threads: owner_word.hpp
//
//      owners > 0      the object lives
//      owners == 0     `next` leads to the next object that has ended, until collect() erases it
//
// Cost: 12 or 16 bytes a slot.
#pragma once

#include <cstdint>

#include <cairn/owners/shared_handle/owner_word.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

template <class Handle>
class plain_cell {
public:
    void begin(Handle h, void*) noexcept {
        owners_ = 1;
        handle_ = h;
    }
    void add() noexcept { ++owners_; }
    [[nodiscard]] bool drop() noexcept { return --owners_ == 0; }
    [[nodiscard]] bool try_lock(Handle) noexcept { return owners_ != 0 && ++owners_ != 0; }
    [[nodiscard]] std::uint32_t owners(Handle) const noexcept { return owners_; }
    [[nodiscard]] Handle handle(std::uint32_t) const noexcept { return handle_; }
    [[nodiscard]] std::uint32_t& next() noexcept { return next_; }

private:
    std::uint32_t owners_;
    std::uint32_t next_;  // number of the next that has ended
    Handle handle_;
};

template <class Handle>
class atomic_cell {
public:
    void begin(Handle h, void* object) noexcept {
        object_or_next_ = reinterpret_cast<std::uintptr_t>(object);
        word_.begin(h.generation());
    }
    void add() noexcept { word_.add(); }
    [[nodiscard]] bool drop() noexcept { return word_.drop(); }
    [[nodiscard]] bool try_lock(Handle h) noexcept { return word_.try_lock(h.generation()); }
    [[nodiscard]] std::uint32_t owners(Handle h) const noexcept {
        return word_.owners(h.generation());
    }
    [[nodiscard]] Handle handle(std::uint32_t index) const noexcept {
        return Handle::make(index, word_.generation());
    }
    [[nodiscard]] std::uintptr_t& next() noexcept { return object_or_next_; }
    [[nodiscard]] void* object() const noexcept { return reinterpret_cast<void*>(object_or_next_); }

private:
    basic_owner_word<std_atoms> word_;
    std::uintptr_t object_or_next_;  // the object as long as it has an owner
};

}  // namespace detail

/// Counts of owners in one thread.
struct plain_count {
    /// A store's data for each slot: the number of owners, and a link of objects without owners.
    template <class Handle>
    using cell = detail::plain_cell<Handle>;
    /// Whether owners may be copied, dropped and locked in several threads.
    static constexpr bool is_atomic = false;
};

/// Counts of owners in any threads.
struct atomic_count {
    /// A store's data for each slot: the number of owners, and a link of objects without owners.
    template <class Handle>
    using cell = detail::atomic_cell<Handle>;
    /// Whether owners may be copied, dropped and locked in several threads.
    static constexpr bool is_atomic = true;
};

}}  // namespace cairn::CAIRN_FLAVOUR
