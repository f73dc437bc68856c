// cairn/storage/work_limit.hpp - how much one call may do: compaction, collection, destruction.
//
//      heap.compact({.microseconds = 50});                 once a frame
//      heap.step({.bytes = 64_KiB});                       the same work on every machine: replays
//      ended.collect({.steps = 64});                       64 objects are destroyed
//      heap.compact();                                     no limit: a loading screen
//
//      call                                a step                       bytes
//      relocatable_heap::compact()         an object or a hole that     copied
//                                          is looked at, O(log n)
//      collected_heap::step()              a unit of work               of work: collected_heap.hpp
//      marking_worker::run()                                            has the prices
//      collect() of a store of owners      an object that is destroyed  not counted
//
// The limit that is reached first ends the call. A call passes its limit by what was under way when
// the limit was reached; each of the functions above documents how much that is.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/compiler.hpp>
#include <cairn/os/inside/clock.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What one call may do. Each limit that is not set is no limit.
struct work_limit {
    /// Stands in front of the first number: {50}, without a name, does not compile.
    struct unit {
        constexpr unit() noexcept = default;
        unit(unsigned long long) = delete;  // the limit has a unit: {.microseconds = 50}
    };
    [[CAIRN_NO_UNIQUE_ADDRESS]] unit named{};
    std::size_t bytes = SIZE_MAX;         // of work, as the call counts it
    std::uint32_t microseconds = no_end;  // from the call to the return
    std::size_t steps = SIZE_MAX;         // objects or moves, as the call counts them

    /// As `microseconds`: no limit of time.
    static constexpr std::uint32_t no_end = 0xFFFF'FFFF;

    /// True when the time is limited.
    [[nodiscard]] constexpr bool is_timed() const noexcept { return microseconds != no_end; }
    /// True when nothing is limited.
    [[nodiscard]] constexpr bool is_none() const noexcept {
        return bytes == SIZE_MAX && steps == SIZE_MAX && !is_timed();
    }
};

namespace detail {

/// Counts the work of one call against its limit. The clock is read where the limit has a time,
/// by look() only. `work_per_look`: the work between two looks.
class work_meter {
public:
    explicit work_meter(const work_limit& limit) noexcept
        : bytes_max_{limit.bytes},
          steps_max_{limit.steps},
          time_max_{limit.is_timed() ? std::uint64_t{limit.microseconds} * 1000 : UINT64_MAX},
          start_{limit.is_timed() ? monotonic_nanoseconds() : 0} {}

    [[nodiscard]] bool goes_on() const noexcept {
        return bytes_ < bytes_max_ && steps_ < steps_max_ && has_time_for(1);
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
    /// From the beginning to the last look(). 0 when the limit has no time.
    [[nodiscard]] std::uint64_t nanoseconds() const noexcept { return nanoseconds_; }

    /// Bytes, or steps, that are left; at most `work_per_look` where the clock has to be read.
    [[nodiscard]] std::size_t bytes_until_look(std::size_t work_per_look) const noexcept {
        return until_look(bytes_max_, bytes_, work_per_look);
    }
    [[nodiscard]] std::size_t steps_until_look(std::size_t work_per_look) const noexcept {
        return until_look(steps_max_, steps_, work_per_look);
    }
    [[nodiscard]] bool has_bytes_for(std::size_t bytes) const noexcept {
        return bytes_ <= bytes_max_ && bytes <= bytes_max_ - bytes_;
    }
    [[nodiscard]] bool has_time_for(std::uint64_t nanoseconds) const noexcept {
        return nanoseconds_ + nanoseconds <= time_max_;
    }

    void pay(std::size_t steps, std::size_t bytes) noexcept {
        steps_ += steps;
        bytes_ += bytes;
    }
    /// Reads the clock. Returns: nanoseconds since the last look; 0 when the limit has no time.
    std::uint64_t look() noexcept {
        if (!is_timed()) { return 0; }
        const std::uint64_t before = nanoseconds_;
        nanoseconds_ = monotonic_nanoseconds() - start_;
        return nanoseconds_ - before;
    }

private:
    [[nodiscard]] std::size_t until_look(std::size_t limit, std::size_t done,
                                         std::size_t work_per_look) const noexcept {
        const std::size_t left = done < limit ? limit - done : 0;
        return is_timed() && left > work_per_look ? work_per_look : left;
    }

    [[nodiscard]] bool is_timed() const noexcept { return time_max_ != UINT64_MAX; }

    std::size_t bytes_max_;
    std::size_t steps_max_;
    std::uint64_t time_max_;  // nanoseconds; UINT64_MAX: no limit
    std::uint64_t start_;     // of the clock
    std::uint64_t nanoseconds_ = 0;
    std::size_t bytes_ = 0;
    std::size_t steps_ = 0;
};

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
