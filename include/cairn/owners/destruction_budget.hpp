// cairn/owners/destruction_budget.hpp - how many objects a frame can afford to destroy.
//
//      ended.collect({.microseconds = 100});       what destruction_queue, deferred_store and
//      sounds.collect({.objects = 64});            shared_store take, and what they answer
//
// A call destroys one object at least, or what waits would never go. The clock is read after every
// eighth object: a time is passed by the eight objects that were under way.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/os/clock.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct destruction_budget {
    std::size_t objects = SIZE_MAX;       // destroyed; 0 counts as 1
    std::uint32_t microseconds = no_end;  // from the call to the return

    /// As a time: no end.
    static constexpr std::uint32_t no_end = 0xFFFF'FFFF;
};

/// What the budget went into.
struct destruction_report {
    std::size_t objects = 0;        // destroyed
    std::uint64_t nanoseconds = 0;  // 0 when the budget has no time
    bool settled = false;           // nothing waits any more
};

/// When an object whose owner has ended is destroyed.
enum class destroys : unsigned char {
    at_once,  // by the end of the outermost owner: before that returns, all that it owned is gone
    in_collect,  // by collect()
};

namespace detail {

/// One call of collect().
class destruction_meter {
public:
    explicit destruction_meter(const destruction_budget& budget) noexcept
        : objects_max_{budget.objects != 0 ? budget.objects : 1},
          limit_{budget.microseconds == destruction_budget::no_end
                     ? 0
                     : std::uint64_t{budget.microseconds} * 1000 + 1},
          begin_{limit_ != 0 ? monotonic_nanoseconds() : 0} {}

    /// May one object more be destroyed?
    [[nodiscard]] bool goes_on() const noexcept {
        if (objects_ >= objects_max_) { return false; }
        return limit_ == 0 || objects_ == 0 || objects_ % 8 != 0 ||
               monotonic_nanoseconds() - begin_ < limit_;
    }
    void count() noexcept { ++objects_; }

    [[nodiscard]] destruction_report report(bool settled) const noexcept {
        return {objects_, limit_ != 0 ? monotonic_nanoseconds() - begin_ : 0, settled};
    }

private:
    std::size_t objects_max_;
    std::size_t objects_ = 0;
    std::uint64_t limit_;  // in nanoseconds; 0: none
    std::uint64_t begin_;
};

}  // namespace detail

}}  // namespace cairn::CAIRN_FLAVOUR
