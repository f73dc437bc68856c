// Cold half of cairn/collected/marking_worker.hpp: the shared state of worker and program.
//
//      program: store, weak get          log (128 names)
//                                         | full, or a step
//                                         v
//                                   set of names A    <- the program fills it
//                                         | try_hand_over(): the worker is through with B
//                                         v
//      worker:  run()               set of names B -> marks, stack, references
//                                         | no places known: kept at the upper end of the stack
//                                         v
//      program: step()              trace(); when nothing is left anywhere: the end of marking
//
// The stack, its queue, objects set aside and marks belong to the side that has the gate. Only
// two things are touched without it: names that are handed over, and marks, which the program sets
// for new objects and reads before it logs a value.
#include <cstring>
#include <new>
#include <thread>

#include "sharing.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

namespace {

/// Nothing waits to be traced by the worker, but names.
bool is_dry(const collected_region& r) noexcept {
    return r.stack_count == 0 && r.queue_count == 0 && r.piece == r.piece_end &&
           r.set_aside.is_empty();
}

bool has_names(const marking_share& s) noexcept {
    return !s.sets[0].is_empty() || !s.sets[1].is_empty();
}

/// All names that were logged. This thread has the gate. Returns: true when none is left.
bool see_all_names(collected_region& r, allowance& left) noexcept {
    marking_share& s = *r.share;
    if (name_set* const names = s.received()) {
        if (!see_names(r, *names, left)) { return false; }
        s.handover.give_back();
    }
    return see_names(r, s.sets[s.handover.filled()], left);
}

/// What the worker has kept for the program goes where all the rest waits.
void move_deferred(collected_region& r) noexcept {
    std::memmove(r.stack + r.stack_count, r.stack + (r.stack_capacity - r.deferred_count),
                 r.deferred_count * sizeof(object_name));
    r.stack_count += r.deferred_count;
    r.deferred_count = 0;
}

/// This thread has the gate, and nothing is left that a worker could do.
void stop_sharing(collected_region& r) noexcept {
    r.share->close_gate();
    count_work_of_worker(r);
    r.is_shared = false;
}

/// Marking is this thread's alone, whatever was under way.
void stop_worker(collected_region& r) noexcept {
    if (r.is_shared) {
        allowance all{SIZE_MAX, SIZE_MAX, 0};
        static_cast<void>(r.share->try_take_gate(true));
        stop_sharing(r);
        move_deferred(r);
        static_cast<void>(see_all_names(r, all));
    }
    r.share->destroy();
    r.share = nullptr;
}

}  // namespace

marking_share* marking_share::create(collected_region& r, marking_worker& w) noexcept {
    CAIRN_ASSERT(w.region_ == nullptr, "a worker marks for one heap at a time");
    const std::size_t chunk_count = r.end_chunk - r.first_chunk;
    const std::size_t flags = chunk_count / 64 + 1;
    const std::size_t bits = chunk_count * words_per_chunk;
    const std::size_t begin = round_up(sizeof(marking_share), alignment{64});
    const std::size_t size = begin + 2 * (flags + bits) * sizeof(std::uint64_t);
    void* const memory = r.upstream.allocate(size, alignment{64});
    if (memory == nullptr) { return nullptr; }
    auto* const s = ::new (memory) marking_share{r, w, size};
    auto* words = reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(memory) + begin);
    std::memset(words, 0, 2 * flags * sizeof(*words));
    for (std::size_t i = 0; i < 2; ++i) {
        s->sets[i] = {words + i * flags, words + 2 * flags + i * bits, r.first_chunk};
    }
    w.region_ = &r;
    return s;
}

void marking_share::destroy() noexcept {
    worker.region_ = nullptr;
    const allocator_ref upstream = region.upstream;
    const std::size_t all = size;
    this->~marking_share();
    upstream.deallocate(this, all, alignment{64});
}

bool marking_share::try_take_gate(bool insists) noexcept {
    const auto program = decltype(worker.gate_)::of_program;
    if (worker.gate_.try_take(program)) { return true; }
    if (!insists) { return false; }
    worker.is_wanted_.store(true, memory_order::relaxed);
    // A unit takes less than a microsecond; a thread that the system has stopped takes longer.
    for (unsigned tries = 0; !worker.gate_.try_take(program); ++tries) {
        if (tries >= 64) { std::this_thread::yield(); }
    }
    worker.is_wanted_.store(false, memory_order::relaxed);
    return true;
}

std::size_t marking_share::take_work() noexcept {
    const std::uint64_t now = worker.work_.load(memory_order::relaxed);
    const std::size_t work = now - work_seen;
    work_seen = now;
    return work;
}

std::size_t count_work_of_worker(collected_region& r) noexcept {
    const std::size_t work = r.share->take_work();
    count_work(r, work);
    r.cycle.work_by_worker += work;
    return work;
}

void share_marking(collected_region& r) noexcept {
    if (r.share == nullptr) { return; }
    r.is_shared = true;
    r.share->open_gate();
}

void hand_over_log(collected_region& r) noexcept {
    marking_share& s = *r.share;
    name_set& names = s.sets[s.handover.filled()];
    for (std::uint32_t i = 0; i < r.log_count; ++i) { names.add(r.log[i]); }
    r.log_count = 0;
    if (!names.is_empty()) { s.handover.try_hand_over(); }
}

bool mark_beside_worker(collected_region& r, allowance& left) noexcept {
    marking_share& s = *r.share;
    hand_over_log(r);
    if (!s.try_take_gate(left.way == beside_worker::insists)) {
        left.waits = true;
        return false;
    }
    const bool marks = left.way != beside_worker::leaves;
    bool is_done = trace_deferred(r, left);
    // Names that are seen here are the last ones; before, they are the worker's.
    if (is_done && (marks || is_dry(r))) { is_done = see_all_names(r, left); }
    if (is_done && marks) { is_done = trace_marked(r, left); }
    is_done = is_done && is_dry(r) && r.deferred_count == 0 && r.log_count == 0 && !has_names(s);
    if (is_done) {
        stop_sharing(r);
    } else {
        s.give_back_gate();
        left.waits = !marks && !left.is_used_up();
    }
    return is_done;
}

}  // namespace detail

bool collected_heap::mark_on(marking_worker& worker) noexcept {
    if (region_ == nullptr) { return false; }
    detail::collected_region& r = *region_;
    mark_alone();
    r.share = detail::marking_share::create(r, worker);
    if (r.share != nullptr && r.now == detail::phase::mark) { detail::share_marking(r); }
    return r.share != nullptr;
}

void collected_heap::mark_alone() noexcept {
    if (region_ != nullptr && region_->share != nullptr) { detail::stop_worker(*region_); }
}

marking_worker::~marking_worker() {
    if (region_ != nullptr) { detail::stop_worker(*region_); }
}

}}  // namespace cairn::CAIRN_FLAVOUR
