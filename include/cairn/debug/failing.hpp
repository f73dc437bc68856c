// cairn/debug/failing.hpp - memory that runs out exactly when a test wants it to.
//
//      request   0   1   2   3   4   5   6   7   8   9
//                .   .   .   X   X   X   X   X   X   X    refuse_from(3)
//                .   .   .   X   X   .   .   .   .   .    refuse_from(3, 2)
//                .   .   .   X   .   .   .   X   .   .    refuse_every(4)
//                .   X   .   .   .   .   X   .   .   X    refuse_randomly(3, seed)
//                .   .   .   .   .   X big   .   .   .    limit_size(n): live bytes stay within n
//
//      for (std::size_t n = 0; !passed_without_refusal; ++n) {   // failure at every point
//          cairn::failing memory{heap};
//          memory.refuse_from(n, 1);
//          run(memory);                                          // must cope, whatever n is
//      }
//      class test { cairn::failing<cairn::heap<>> memory; ... };     // a member that owns its heap
//
// Use it for: proving that "out of memory" is a path that works.
// Look elsewhere for: a real budget of a subsystem in a shipped program (alloc/budget.hpp).
//
// The rules may be combined: a request is refused when any of them refuses it. Growing a block in
// place is a request too; freeing and shrinking never are.
// Cost:    a counter and a few compares for each request, then the allocator inside.
// Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/counts_live.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Owns an A (`failing<pool>{args...}`) or refers to one (`failing{a}` is `failing<A&>`).
template <byte_allocator A>
class failing : public detail::counts_live<failing<A>, A> {
    using base = detail::counts_live<failing<A>, A>;

public:
    using base::base;
    using base::live_size;

    // allocate() and try_resize() are refused when a rule refuses them; the allocator inside is not
    // asked then. live_size(), peak_size(): core/inside/counts_live.hpp.

    /// As a count: no end.
    static constexpr std::size_t all = static_cast<std::size_t>(-1);

    /// Refuses `count` requests beginning with number `first`; the first request ever is number 0.
    void refuse_from(std::size_t first, std::size_t count = all) noexcept {
        first_ = first;
        count_ = count;
    }

    /// Refuses the n-th, 2n-th, 3n-th ... request (counted from 1); 0: none.
    void refuse_every(std::size_t n) noexcept { every_ = n; }

    /// Refuses one request in `n` on average, the same ones for the same seed; 0: none.
    void refuse_randomly(std::size_t n, std::uint64_t seed) noexcept {
        one_in_ = n;
        random_ = seed;
    }

    /// Refuses what would bring the live bytes above `bytes`.
    void limit_size(std::size_t bytes) noexcept { byte_limit_ = bytes; }

    /// Takes all rules back.
    void refuse_nothing() noexcept {
        refuse_from(all, 0);
        refuse_every(0);
        refuse_randomly(0, 0);
        limit_size(all);
    }

    /// Requests so far, refused ones included.
    [[nodiscard]] std::size_t request_count() const noexcept { return request_count_; }

    /// Requests that a rule refused.
    [[nodiscard]] std::size_t refused_count() const noexcept { return refused_count_; }

private:
    friend base;

    [[nodiscard]] bool admits(std::size_t size) noexcept {
        const std::size_t number = request_count_++;
        const bool refused =
            (number >= first_ && number - first_ < count_) ||
            (every_ != 0 && (number + 1) % every_ == 0) ||
            (one_in_ != 0 && next_random() % one_in_ == 0) ||
            (byte_limit_ != all && (live_size() > byte_limit_ || size > byte_limit_ - live_size()));
        refused_count_ += refused ? 1 : 0;
        return !refused;
    }

    std::uint64_t next_random() noexcept {  // splitmix64 (Steele, Lea, Flood 2014)
        std::uint64_t z = random_ += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    std::size_t first_ = all;  // request number
    std::size_t count_ = 0;
    std::size_t every_ = 0;
    std::size_t one_in_ = 0;
    std::size_t byte_limit_ = all;
    std::size_t request_count_ = 0;
    std::size_t refused_count_ = 0;
    std::uint64_t random_ = 0;
};

template <class A>
failing(A&) -> failing<A&>;
failing(allocator_ref) -> failing<allocator_ref>;

}}  // namespace cairn::CAIRN_FLAVOUR
