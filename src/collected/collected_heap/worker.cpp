// Cold half of cairn/collected/marking_worker.hpp: the worker's thread.
//
//      names that were handed over, the stack --> see() --> stack --> places that are known, arrays
//                                                             | none: kept for the program
//                                                             v
//                                                     the stack's upper end
#include <algorithm>
#include <cstring>

#include "marking_loop.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail { namespace {

constexpr std::size_t work_per_look_of_worker = 2048;  // at the clock; then step() may count it

/// The places of the chunk's type, from the worker's own copy: what make() writes lies beside the
/// original, and the line would travel with each object. Returns: nullptr when it has no places.
[[CAIRN_FORCE_INLINE]] inline const marking_share::places* places_of(
    const collected_region& r, marking_share& share, const chunk_record& c) noexcept {
    if (c.way != tracing::places && c.way != tracing::unlearned) { return nullptr; }
    marking_share::places& copy = share.types[c.type - r.types];
    if (!copy.is_known) [[unlikely]] {
        if (c.type->way != tracing::places) { return nullptr; }
        copy.is_known = true;
        copy.place_count = c.type->place_count;
        std::memcpy(copy.places, c.type->places, sizeof(copy.places));
        copy.price = static_cast<std::uint32_t>(price_of(object_size(c), copy.place_count));
    }
    return &copy;
}

/// An object that the worker has no places for. Returns: bytes of work.
[[CAIRN_NOINLINE]] std::size_t trace_otherwise_beside_program(collected_region& r,
                                                              object_name object) noexcept {
    const chunk_record& c = r.chunks[object / chunk_size];
    if (c.way == tracing::all_words) {
        r.piece = object;
        r.piece_end = object + static_cast<object_name>(object_size(c));
        return 0;
    }
    if (r.stack_count == room_on_stack(r)) {
        set_object_aside(r, object);
    } else {
        ++r.deferred_count;
        r.stack[room_on_stack(r)] = object;
    }
    return 0;  // step() traces it and pays for it
}

/// This thread has the gate. Returns: true when it could go on.
bool trace_beside_program(collected_region& r, allowance& left) noexcept {
    marking_share& share = *r.share;
    marking_loop<marks_beside_program> loop{r};
    bool has_more = true;
    while (!left.is_used_up() && !share.is_gate_wanted()) {
        if (r.piece != r.piece_end) {
            left.pay(loop.trace_piece());
            continue;
        }
        const object_name object = loop.next();
        if (object == 0) {
            name_set* const names = share.received();
            if (names == nullptr) {
                has_more = false;
                break;
            }
            static_cast<void>(see_word(loop, names->take()));
            if (names->is_empty()) { share.handover.give_back(); }
            left.pay(0);
            continue;
        }
        const chunk_record& c = r.chunks[object / chunk_size];
        if (const auto* const known = places_of(r, share, c)) [[likely]] {
            loop.trace_places(object, *known);
            left.pay(known->price);
        } else {
            loop.save();
            left.pay(trace_otherwise_beside_program(r, object));
            loop.load();
        }
    }
    loop.save();
    return has_more;
}

}}  // namespace detail

bool marking_worker::run(const work_limit& limit) noexcept {
    const auto is_wanted = [this] { return is_wanted_.load(detail::memory_order::relaxed); };
    if (is_wanted() || !gate_.try_take(decltype(gate_)::of_worker)) { return false; }
    const std::uint64_t work = work_.load(detail::memory_order::relaxed);
    detail::work_meter meter{limit};
    bool has_more = true;
    while (has_more && meter.goes_on() && !is_wanted()) {
        const std::size_t steps = meter.steps_until_look(SIZE_MAX);
        const std::size_t bytes = meter.bytes_until_look(SIZE_MAX);
        detail::allowance left{std::min(bytes, detail::work_per_look_of_worker), steps, 0};
        has_more = detail::trace_beside_program(*region_, left);
        meter.pay(steps - left.steps, left.done);
        work_.store(work + meter.bytes(), detail::memory_order::relaxed);
        (void)meter.look();
    }
    gate_.give_back();
    return has_more && !is_wanted();
}

}}  // namespace cairn::CAIRN_FLAVOUR
