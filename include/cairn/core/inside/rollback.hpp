// cairn/core/inside/rollback.hpp - what was done half is undone, unless it was finished.
//
//      void* const memory = a.allocate(size, align);
//      rollback undo{[&] { a.deallocate(memory, size, align); }};
//      T* const object = construct_at<T>(memory, args...);   throws: `undo` runs
//      undo.cancel();                                        does not: it stays
//
// Cost: none where the compiler sees both ends: the flag lives in no register.
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Calls `undo()` when it ends, unless cancel() was called.
template <class Undo>
class rollback {
public:
    explicit constexpr rollback(Undo undo) noexcept : undo_{static_cast<Undo&&>(undo)} {}
    rollback(const rollback&) = delete;
    rollback& operator=(const rollback&) = delete;
    constexpr ~rollback() {
        if (armed_) { undo_(); }
    }

    constexpr void cancel() noexcept { armed_ = false; }

private:
    Undo undo_;
    bool armed_ = true;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
