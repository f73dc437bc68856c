// Cold half of cairn/storage/generations.hpp: drawing numbers, and naming what is wrong with a
// handle.
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

void refuse_handle(const refused_handle& refused, call_site from) {
    evidence known{.object = refused.map, .type = refused.type, .caller = from};
    if (refused.fault != handle_fault::null) {
        known.values[0] = {"slot", refused.slot};
        if (refused.slot < refused.slot_count) {
            known.values[1] = {"life of the slot", refused.slot_life};
        } else {
            known.values[1] = {"slots of the map", refused.slot_count};
        }
        known.values[2] = {"life in the handle", refused.handle_life};
    }
    switch (refused.fault) {
        case handle_fault::null:
            known.kind = misuse_kind::null_handle;
            assert_failed("contains(h)", "the handle is not null", known);
        case handle_fault::foreign:
            known.kind = misuse_kind::foreign_handle;
            assert_failed("contains(h)", "the handle is of this map", known);
        case handle_fault::promised:
            known.kind = misuse_kind::reserved_handle;
            assert_failed("contains(h)", "the handle has its object: it was fulfilled", known);
        case handle_fault::none:
        case handle_fault::stale:
            break;
    }
    known.kind = misuse_kind::stale_handle;
    assert_failed("contains(h)", "the handle is not stale", known);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
