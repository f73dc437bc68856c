// Cold half of cairn/collected/collected_heap.hpp: the phases in turn, within a limit.
//
//      begin_cycle   O(types): the snapshot is taken by the barriers from now on
//      advance       one slice of the phase that is on
//      end_cycle     O(1)
//
// Nothing here walks over objects, roots or chunks as a whole: each slice is bounded by its
// allowance.
#include "sharing.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

namespace {

constexpr std::size_t unlimited = SIZE_MAX;
constexpr std::size_t work_per_look = 2048;  // at the clock

/// Objects that were made before and those made after share the open words: the rest of a word is
/// black from now on.
void mark_open_words(collected_region& r) noexcept {
    for (std::uint32_t i = 0; i < r.type_count; ++i) {
        const type_record& t = r.types[r.used_types[i]];
        if (t.free_bits == 0) { continue; }
        r.marks[name_of(t.word_begin) / word_span] |= t.free_bits;
    }
}

bool has_before_collect(const collected_region& r) noexcept {
    for (std::uint32_t i = 0; i < r.type_count; ++i) {
        const type_record& t = r.types[r.used_types[i]];
        if (t.type->before_collect != nullptr && t.chunk_count != 0) { return true; }
    }
    return false;
}

void begin_cycle(collected_region& r) noexcept {
    // Nothing is scanned here. Which objects are white, grey or black follows from the marks, and
    // these are all 0: each chunk was cleared when it was swept or taken.
    r.cycle = {};
    r.work_beyond_slots = 0;
    r.cycle.root_count = r.root_count;
    r.help_left = r.help_max;
    r.now = phase::roots;
    r.is_marking = true;
    r.next_root = r.roots.next;
    mark_open_words(r);
    r.work_left_max = work_of_cycle(r);
    // Objects made during a cycle stay until the end of the next one: two cycles share the free
    // memory.
    r.room = (capacity_of(r) - r.used_size) / 2;
    r.paid_until = r.allocated_size;
}

void begin_sweep(collected_region& r) noexcept {
    r.now = phase::sweep;
    // One number makes every chunk unswept: none is visited for it.
    ++r.sweep_stamp;
    r.next_chunk = r.make_chunk = r.first_chunk;
    r.next_word = r.next_bit = 0;
}

void end_marking(collected_region& r) noexcept {
    r.is_marking = false;
    if constexpr (asserts_enabled) {
        if (r.verifies) { verify_marks(r); }
    }
    if (has_before_collect(r)) {
        r.now = phase::before_collect;
        r.next_chunk = r.first_chunk;
        r.next_word = r.next_bit = 0;
    } else {
        begin_sweep(r);
    }
}

void end_cycle(collected_region& r) noexcept {
    r.now = phase::idle;
    ++r.cycle_count;
    r.used_by_last_cycle = r.cycle.allocated_size;
    r.free_at_end = capacity_of(r) - r.used_size;
    constexpr std::uint64_t least_work_to_learn_from = 65536;
    // The speed of this thread, in bytes a microsecond, from cycles that are long enough for the
    // clock. The slowest counts, since a promise that is derived from it has to hold.
    const std::uint64_t own_work = r.cycle.bytes - r.cycle.work_by_worker;
    if (r.cycle.nanoseconds != 0 && own_work >= least_work_to_learn_from) {
        const double speed =
            1000.0 * static_cast<double>(own_work) / static_cast<double>(r.cycle.nanoseconds);
        r.slowest_speed = r.slowest_speed == 0 || speed < r.slowest_speed ? speed : r.slowest_speed;
    }
}

/// After the last step of a cycle, when all of it is counted.
void tell_cycle(collected_region& r) noexcept {
    r.cycle.number = r.cycle_count;
    r.last_cycle = r.cycle;
    r.last_work_beyond_slots = r.work_beyond_slots;
    if (r.cycle_ended == nullptr) { return; }
    const user_code runs{r};
    r.cycle_ended(r.cycle_ended_context, r.last_cycle);
}

/// One slice. Ends where the phase ends, or the allowance.
void advance(collected_region& r, allowance& left) noexcept {
    switch (r.now) {
        case phase::idle:
            break;
        case phase::roots:
            scan_roots(r, left);
            if (r.next_root == &r.roots) {
                r.now = phase::mark;
                share_marking(r);
            }
            break;
        case phase::mark:
            if (r.is_shared ? mark_beside_worker(r, left) : trace_marked(r, left)) {
                end_marking(r);
            }
            break;
        case phase::before_collect:
            if (call_before_collect(r, left)) { begin_sweep(r); }
            break;
        case phase::sweep:
            if (sweep(r, left)) { end_cycle(r); }
            break;
    }
}

/// Takes the worker's marking since the last step off the limit, but for one unit.
/// Returns: the worker's rest.
beside_worker share_limit(collected_region& r, work_limit& limit) noexcept {
    const std::size_t by_worker = r.is_shared ? count_work_of_worker(r) : 0;
    if (limit.is_none()) { return beside_worker::insists; }
    // A limit of time or steps: where the worker has marked since the last step, the rest is left
    // to it.
    if (limit.bytes == SIZE_MAX) {
        return by_worker == 0 ? beside_worker::marks : beside_worker::leaves;
    }
    if (limit.bytes != 0) {
        // One byte stays, so that a step always makes progress, and ends a phase that has only its
        // end left.
        limit.bytes -= by_worker < limit.bytes ? by_worker : limit.bytes - 1;
    }
    return beside_worker::marks;
}

/// Goes on with the running cycle until it ends or the limit is reached.
collection_report run(collected_region& r, work_limit limit) noexcept {
    collection_report report;
    const std::uint64_t freed_count = r.cycle.freed_count;
    const std::uint64_t freed_size = r.cycle.freed_size;
    const beside_worker way = share_limit(r, limit);
    const phase before = r.now;
    bool waits = false;
    work_meter meter{limit};
    ++r.cycle.step_count;
    while (r.now != phase::idle && meter.goes_on() && !waits) {
        const std::size_t steps = meter.steps_until_look(SIZE_MAX);
        allowance left{meter.bytes_until_look(work_per_look), steps, 0, way};
        advance(r, left);
        count_work(r, left.done);
        meter.pay(steps - left.steps, left.done);
        r.cycle.nanoseconds += meter.look();
        waits = left.waits;
    }
    if (r.cycle.longest_step < meter.nanoseconds()) { r.cycle.longest_step = meter.nanoseconds(); }
    report.cycle_ended = before != phase::idle && r.now == phase::idle;
    if (report.cycle_ended) { tell_cycle(r); }
    report.bytes = meter.bytes();
    report.steps = meter.steps();
    report.nanoseconds = meter.nanoseconds();
    report.freed_count = static_cast<std::size_t>(r.cycle.freed_count - freed_count);
    report.freed_size = static_cast<std::size_t>(r.cycle.freed_size - freed_size);
    report.is_idle = r.now == phase::idle;
    return report;
}

void count_help(collected_region& r, std::size_t work) noexcept {
    count_work(r, work);
    r.cycle.work_in_make += work;
    r.work_in_make += work;
    r.help_left -= work < r.help_left ? work : r.help_left;
}

collection_report whole_cycle(collected_region& r) noexcept {
    if (r.now == phase::idle) { begin_cycle(r); }
    return run(r, {});
}

void check_safe_point([[maybe_unused]] const collected_region& r) noexcept {
    CAIRN_ASSERT(!r.is_in_user_code,
                 "a trace, a destructor, a before_collect or a visitor begins no step of its heap");
#if CAIRN_ASSERTS
    CAIRN_ASSERT(r.under_construction.begin == nullptr, "a constructor begins no step of its heap");
#endif
}

}  // namespace

void count_work(collected_region& r, std::size_t work) noexcept {
    r.cycle.bytes += work;
    r.work_left_max -= work < r.work_left_max ? work : r.work_left_max;
}

bool help_make(collected_region& r) noexcept {
    if (r.is_in_user_code || r.is_ending || r.help_left == 0) { return false; }
    // A chunk that is swept may have room for what make() wants: one is enough to try again.
    if (r.now == phase::sweep) {
        if (!sweep_one_for_make(r)) { return false; }
        count_help(r, chunk_price);
        return true;
    }
    if (r.now != phase::roots && r.now != phase::mark) { return false; }
    // Nothing comes free before marking ends, so make() finishes that, as far as its own allowance
    // goes.
    while (r.now == phase::roots || r.now == phase::mark) {
        if (r.help_left == 0) { return false; }
        allowance some{r.help_left, unlimited, 0};
        advance(r, some);
        count_help(r, some.done);
    }
    return true;
}

}  // namespace detail

collection_report collected_heap::step(const work_limit& limit) noexcept {
    if (region_ == nullptr) { return {.is_idle = true}; }
    detail::collected_region& r = *region_;
    detail::check_safe_point(r);
    if (r.collects_always) { return collect(); }
    if (r.now == detail::phase::idle) {
        if (!limit.is_none() && !detail::is_time_to_begin(r)) { return {.is_idle = true}; }
        detail::begin_cycle(r);
    }
    const collection_report report = detail::run(r, limit);
    detail::note_payment(r);
    return report;
}

collection_report collected_heap::step() noexcept {
    if (region_ == nullptr) { return {.is_idle = true}; }
    detail::collected_region& r = *region_;
    const bool is_idle = r.now == detail::phase::idle;
    return step({.bytes = is_idle ? detail::least_work_owed : detail::owed_work(r)});
}

collection_report collected_heap::collect() noexcept {
    if (region_ == nullptr) { return {.is_idle = true}; }
    detail::collected_region& r = *region_;
    detail::check_safe_point(r);
    collection_report report;
    // What became garbage after the running cycle began is black in it: only a second one finds it.
    if (r.now != detail::phase::idle) { report = detail::whole_cycle(r); }
    const collection_report second = detail::whole_cycle(r);
    detail::note_payment(r);
    r.used_by_last_cycle = 0;
    report.bytes += second.bytes;
    report.steps += second.steps;
    report.freed_size += second.freed_size;
    report.freed_count += second.freed_count;
    report.cycle_ended = report.is_idle = true;
    if (r.collects_always) { report.moved_count = detail::move_all(r); }
    return report;
}

}}  // namespace cairn::CAIRN_FLAVOUR
