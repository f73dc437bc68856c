// cairn/debug/hardened/random_places.hpp - where freed blocks wait.
//
//      places    [ block | block |       | block | ... ]     a power of two of them
//                            ^ |
//               a freed block  |  the block that had the place goes back to its allocator
//
// A block that comes takes a random place by one exchange of a word: nothing is locked, no thread
// waits for another, and a fork finds every place whole.
#pragma once

#include <cstddef>

#include <cairn/core/inside/atomic.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class random_places {
public:
    /// `count` is rounded up to a power of two. Without memory for them there are none.
    explicit random_places(std::size_t count) noexcept;
    random_places(const random_places&) = delete;
    random_places& operator=(const random_places&) = delete;
    /// Requires: every place is empty.
    ~random_places();

    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// Returns: what place `i` had; nullptr: nothing.
    [[nodiscard]] void* exchange(std::size_t i, void* p) noexcept {
        return places_[i].exchange(p, memory_order::acq_rel);
    }
    /// `p` takes a random place. Returns: what has none any more; nullptr: nothing.
    [[nodiscard]] void* replace(void* p) noexcept {
        return count_ != 0 ? exchange(random() & (count_ - 1), p) : p;
    }
    /// Calls f(p) for each that waits.
    template <class F>
    void visit(F&& f) const noexcept {
        for (std::size_t i = 0; i < count_; ++i) {
            if (const void* const p = places_[i].load(memory_order::acquire)) { f(p); }
        }
    }

private:
    [[nodiscard]] static std::size_t random() noexcept;

    atomic<void*>* places_ = nullptr;
    std::size_t count_ = 0;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
