// cairn/storage/generations.hpp - the first generation of a map's slots, chosen so that foreign
// handles are detected.
//
//      the generations of a handle, 1 to max, are a ring:
//
//          1 ------> 2 ------> ... ------> max ------> 1
//               ^                   ^           ^
//               map 1 begins here   map 3       map 2         each map draws another number
//               |----->             |-->        |------->     and its slots walk up from there
//
// A handle holds the generation of its slot. If every map began at generation 1, a handle of one
// map would find an object of another map of the same type: of a map that replaced the first
// (m = {}), or that was made in its place. So each map begins at another number, which it draws
// when it first grows. A map that was moved from or assigned to draws again.
//
// The n-th number is max * frac(n / golden ratio): each falls into the widest gap that the numbers
// before it have left (three-gap theorem: Steinhaus, Sos), so the ring is shared as evenly as it
// can be without knowing how many there will be. In figures:
//
//   exact      Two maps of which one was made as the d-th after the other begin at least
//              max / (2.62 d) lives apart. So as long as
//                (maps made with handles of these bits) x (lives of the busiest slot) x 2.62 <= max
//              no handle of one map finds anything in another.
//   by chance  Beyond that a foreign handle finds an object with a probability of 1 / max.
//
//      handle     lives (max)      exact, for example                             else 1 in
//      64 bits    2,147,483,647    1000 maps, 800,000 lives of one slot           2 * 10^9
//      32 bits    4,095            15 maps, 100 lives; or 1500 maps of one life   4,095
//      16 bits    63               4 maps, 6 lives; or 24 maps of one life        63
//
// A slot walks the ring once and is worn out then: it has as many lives wherever it begins. The
// numbers differ from process to process and between the modules of one, as far as the system
// places them at random. Where two machines must count alike (lockstep), name the first life: see
// slot_map::options. Two maps that are given the same number do not tell each other's handles.
//
// Cost:    nothing at look-ups. Drawing: one atomic addition and four multiplications, at first
//          growth.
// Threads: as the map; drawing from many at once is safe.
#pragma once

#include <cstdint>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Why a handle finds nothing.
enum class handle_fault : unsigned char {
    none,      // it finds its object
    null,      // it names nothing
    foreign,   // of another map, or of what this one held before it was replaced; or forged
    promised,  // its object is not there yet (promise_handle)
    stale,     // its object is gone
};

namespace detail {

/// The choices of a map at run time.
struct slot_map_options {
    /// The first life of every slot, up to handle_type::generation_max. 0: a number of the map's
    /// own, which differs from map to map and from run to run, so that handles of another map find
    /// nothing (see above). A number makes equal handles on two machines that do the same
    /// (lockstep); give each map another number, far from the others, or they find objects with
    /// each other's handles. A map with a number that was moved from or assigned to begins at
    /// another number, the same on every machine.
    std::uint32_t first_generation = 0;
};

}  // namespace detail

/// Which free slot begins its next life: slot_directory.hpp. `usual` depends on the handle: lifo,
/// the fastest, where a generation has 28 bits or more; fifo, which spreads lives best, below.
enum class reuse { fifo, lifo, usual };

namespace detail {

/// The proof that recycle_slots() of a map asks for: write it only where it is true.
struct no_handles_left_t {
    explicit no_handles_left_t() = default;
};

}  // namespace detail

/// The proof, as a value.
inline constexpr detail::no_handles_left_t no_handles_left{};

namespace detail {

/// What `order` means to handles whose generations have so many bits.
[[nodiscard]] constexpr reuse order_for(reuse order, unsigned generation_bits) noexcept {
    if (order != reuse::usual) { return order; }
    return generation_bits >= 28 ? reuse::lifo : reuse::fifo;
}

/// The lives of the slots of one map.
class generations {
public:
    static constexpr std::uint32_t vacant = 0x8000'0000;  // above every generation

    /// Requires: 1 <= max < 2^31; first <= max. 0: the map draws the number.
    constexpr explicit generations(std::uint32_t max, std::uint32_t first = 0) noexcept
        : max_{max}, asked_{first} {
        CAIRN_ASSERT(first <= max, "the first generation fits its bits");
    }
    /// After a move the source draws a new first generation before it is used again.
    generations(generations&& other) noexcept;
    generations& operator=(generations&& other) noexcept;

    /// The same lives as those of `other`, from here on: for a copy of its slots.
    void copy_from(const generations& other) noexcept { *this = other; }

    /// Draws where lives begin, once.
    void begin() noexcept;
    /// All slots are gone: those of the next begin() have other lives. A number that was asked for
    /// is followed by the same one on every machine.
    void end() noexcept;

    /// The first life of every slot, and the last. 0 before begin().
    [[nodiscard]] constexpr std::uint32_t first() const noexcept { return first_; }
    [[nodiscard]] constexpr std::uint32_t last() const noexcept { return last_; }
    [[nodiscard]] constexpr std::uint32_t largest() const noexcept { return max_; }
    /// The life in which slots begin that are added now: first(), or later after part_with().
    [[nodiscard]] constexpr std::uint32_t added() const noexcept { return added_; }
    /// True when a free slot that is in life `generation` may go back to the upstream.
    [[nodiscard]] bool may_part_with(std::uint32_t generation) const noexcept;
    /// A free slot that would be in life `generation` next goes back: slots that are added from now
    /// on begin in this life, or later. So a handle of a slot that went finds nothing in the slot
    /// that has its number next. Slots with more than a 16th of their lives behind them stay, so
    /// that new slots have 15/16 of their lives at least.
    void part_with(std::uint32_t generation) noexcept;

    /// True when the life after `generation` is not generation + 1.
    [[nodiscard]] constexpr bool turns_at(std::uint32_t generation) const noexcept {
        return generation == max_ || generation == last_;
    }
    /// The lives of a slot before life `generation`.
    [[nodiscard]] constexpr std::uint32_t lives_before(std::uint32_t generation) const noexcept {
        return generation >= first_ ? generation - first_ : generation + (max_ - first_);
    }

    /// The next number of the sequence, 1 to max: each is drawn once by one module of the process.
    [[nodiscard]] static std::uint32_t draw(std::uint32_t max) noexcept;

    /// What is wrong with a handle of life `generation` in a slot whose word is `word`: the life
    /// that it is in or will be in next, `vacant` while no object can be found; vacant alone: used
    /// up.
    [[nodiscard]] handle_fault judge(std::uint32_t generation, std::uint32_t word,
                                     bool is_promised) const noexcept;

    /// The n-th number of the sequence above, counted from `start`: 1 to max.
    [[nodiscard]] static std::uint32_t number(std::uint64_t n, std::uint32_t max,
                                              std::uint32_t start) noexcept;

private:
    generations(const generations&) = default;
    generations& operator=(const generations&) = default;

    std::uint32_t first_ = 0;
    std::uint32_t last_ = 0;  // beside max_: the end of a life asks for both
    std::uint32_t max_;
    std::uint32_t asked_;
    std::uint32_t added_ = 0;  // of slots that are added
};

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
