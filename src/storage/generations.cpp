// Cold half of cairn/storage/generations.hpp: where lives begin, and what is wrong with a handle.
#include <cairn/storage/generations.hpp>

#include <atomic>
#include <bit>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

/// How many maps have begun, for each number of bits.
constinit std::atomic<std::uint64_t> begun[32] = {};

/// Differs between the modules of a process, each of which counts for itself, and between processes
/// where the system places them at random.
std::uint32_t start_of_this_module() noexcept {
    const std::uint64_t mixed =
        (reinterpret_cast<std::uintptr_t>(&begun) >> 4) * 0xd6e8'feb8'6659'fd93u;
    return static_cast<std::uint32_t>(mixed >> 33);
}

}  // namespace

generations::generations(generations&& other) noexcept
    : first_{other.first_},
      last_{other.last_},
      max_{other.max_},
      asked_{other.asked_},
      added_{other.added_} {
    other.end();
}

generations& generations::operator=(generations&& other) noexcept {
    copy_from(other);
    if (this != &other) { other.end(); }
    return *this;
}

void generations::begin() noexcept {
    if (first_ != 0) { return; }
    first_ = added_ = asked_ != 0 ? asked_ : draw(max_);
    last_ = first_ == 1 ? max_ : first_ - 1;
}

void generations::end() noexcept {
    if (first_ != 0 && asked_ != 0) { asked_ = number(1, max_, first_ - 1); }
    first_ = last_ = added_ = 0;
}

bool generations::may_part_with(std::uint32_t generation) const noexcept {
    return generation != 0 && lives_before(generation) <= max_ / 16;
}

void generations::part_with(std::uint32_t generation) noexcept {
    if (lives_before(generation) > lives_before(added_)) { added_ = generation; }
}

std::uint32_t generations::number(std::uint64_t n, std::uint32_t max,
                                  std::uint32_t start) noexcept {
    const std::uint64_t part = n * 0x9e37'79b9'7f4a'7c15u;  // frac(n / golden ratio) * 2^64
    const std::uint64_t low = (part & 0xffff'ffff) * max;
    const std::uint64_t scaled = ((part >> 32) * max + (low >> 32)) >> 32;
    return static_cast<std::uint32_t>((scaled + start) % max) + 1;
}

std::uint32_t generations::draw(std::uint32_t max) noexcept {
    // Maps of one kind of handle count together, for only their handles can be mixed up. max <
    // 2^31, so the width is 31 at most; the mask says so to the compiler.
    const std::uint64_t n = begun[std::bit_width(max) & 31].fetch_add(1, std::memory_order_relaxed);
    return number(n, max, start_of_this_module());
}

handle_fault generations::judge(std::uint32_t generation, std::uint32_t word,
                                bool is_promised) const noexcept {
    //  word             life in the handle      answer
    //  vacant alone     any                     stale: the slot's lives are used up
    //  vacant | life    life                    promised; else foreign: it was not given out yet
    //  life             life                    none: it finds its object
    //  either           before life             stale
    //  either           behind life             foreign: the slot was never in it
    // before and behind: counted from where the lives of this map begin.
    if (generation == 0 || generation > max_) { return handle_fault::foreign; }
    const std::uint32_t life = word & ~vacant;
    if (life == 0) { return handle_fault::stale; }  // every life of the slot is over
    if (generation == life && word != life) {
        return is_promised ? handle_fault::promised : handle_fault::foreign;  // not given out yet
    }
    if (generation == life) { return handle_fault::none; }
    return lives_before(generation) < lives_before(life) ? handle_fault::stale
                                                         : handle_fault::foreign;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
