// cairn/owners/destruction_report.hpp - collect() of destruction_queue, deferred_store and
// shared_store: its limit, and its report.
//
//      ended.collect({.microseconds = 100});
//      sounds.collect({.steps = 64});             64 objects
//
// A call destroys one object at least; otherwise a small limit would never free anything. The clock
// is read after every eighth object, so a call passes its time by up to eight objects.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/storage/work_limit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What one collect() did.
struct destruction_report {
    std::size_t objects = 0;        // destroyed
    std::uint64_t nanoseconds = 0;  // 0 when the limit has no time
    bool settled = false;           // no object waits any more
};

/// When an object whose owner has ended is destroyed.
enum class destroys : unsigned char {
    at_once,  // by the end of the outermost owner: before that returns, all that it owned is gone
    in_collect,  // by collect()
};

namespace detail {

/// Calls destroy_one() while waits() is true, within `limit`.
template <class Waits, class DestroyOne>
destruction_report destroy_within(const work_limit& limit, Waits waits, DestroyOne destroy_one) {
    CAIRN_ASSERT(limit.bytes == SIZE_MAX,
                 "a limit of collect() is a time or a number of steps: bytes are not counted");
    constexpr std::size_t steps_per_look = 8;
    work_meter meter{limit};
    do {
        const std::size_t slice = meter.steps_until_look(steps_per_look);
        std::size_t done = 0;
        while (waits() && (done == 0 || done < slice)) {
            destroy_one();
            ++done;
        }
        meter.pay(done, 0);
        (void)meter.look();
    } while (waits() && meter.goes_on());
    return {meter.steps(), meter.nanoseconds(), !waits()};
}

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
