// Cold half of cairn/collected/collected_heap.hpp: beginning, end and reports.
#include "collected_heap/engine.hpp"

#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/os/system_allocator.hpp>

#include <cstring>
#include <new>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

namespace {

constexpr std::size_t capacity_max = std::size_t{3} << 30;
constexpr std::size_t lives_per_chunk = chunk_size / slot_size_min;

/// Where the parts lie, in bytes from the beginning: the drawing of region.hpp.
struct region_plan {
    std::size_t chunk_count;   // for objects
    std::size_t stack_count;   // names
    std::size_t record_count;  // of chunks, with those before the first
    std::size_t free_bits, set_aside_bits, records, marks, live, stack, first_chunk, set_aside;
    std::size_t lives, end;

    region_plan(std::size_t size, std::size_t stack_wish) noexcept {
        chunk_count = (size < capacity_max ? size : capacity_max) / chunk_size;
        const std::size_t stack_max = chunk_count * chunk_size / slot_size_min;
        stack_count = stack_wish != 0 ? stack_wish : chunk_count * (chunk_size / 64);
        stack_count = stack_count < stack_max ? stack_count : stack_max;
        const std::size_t stack_size = stack_count * sizeof(object_name);
        // The records, with marks and live, take 1/51 of the chunks; those of the chunks before the
        // first are counted.
        record_count = chunk_count + chunk_count / 32 + stack_size / chunk_size + 16;
        const std::size_t bits = (record_count / 64 + 1) * 8;
        free_bits = round_up(sizeof(collected_region), alignment{64});
        set_aside_bits = free_bits + bits;
        records = round_up(set_aside_bits + bits, alignment{64});
        marks = records + record_count * sizeof(chunk_record);
        live = marks + record_count * words_per_chunk * sizeof(std::uint64_t);
        stack = live + record_count * words_per_chunk * sizeof(std::uint64_t);
        first_chunk = round_up(stack + stack_size, alignment{chunk_size});
        set_aside = first_chunk + chunk_count * chunk_size;
        lives = set_aside + chunk_count * words_per_chunk * 8;
        end = lives + chunk_count * lives_per_chunk * sizeof(std::uint32_t);
    }
};

collected_region* build_region(std::byte* memory, const region_plan& plan,
                               const collected_heap_options& how, allocator_ref upstream) noexcept {
    auto* const r = ::new (memory) collected_region{upstream};
    const auto words_at = [memory](std::size_t offset) {
        return reinterpret_cast<std::uint64_t*>(memory + offset);
    };
    // Only the two bit sets of chunks are cleared. Records, marks and live bits are when their
    // chunk is taken, so that a large heap that is hardly used touches little memory.
    std::memset(memory + plan.free_bits, 0, plan.records - plan.free_bits);
    r->free_chunks = words_at(plan.free_bits);
    r->chunks = reinterpret_cast<chunk_record*>(memory + plan.records);
    r->marks = words_at(plan.marks);
    r->marks[0] = 1;  // null is marked
    r->live = words_at(plan.live);
    r->stack = reinterpret_cast<object_name*>(memory + plan.stack);
    r->lives = reinterpret_cast<std::uint32_t*>(memory + plan.lives);
    r->stack_capacity = static_cast<std::uint32_t>(plan.stack_count);
    r->begin = static_cast<object_name>(plan.first_chunk);
    r->end = static_cast<object_name>(plan.set_aside);
    r->first_chunk = static_cast<std::uint32_t>(plan.first_chunk / chunk_size);
    r->end_chunk = static_cast<std::uint32_t>(plan.set_aside / chunk_size);
    r->highest_chunk = r->first_chunk;
    r->set_aside = {words_at(plan.set_aside_bits), words_at(plan.set_aside), r->first_chunk};
    r->free_chunk_count = r->end_chunk - r->first_chunk;
    for (std::uint32_t i = r->first_chunk; i < r->end_chunk; ++i) {
        r->free_chunks[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    // As if a cycle had just ended with nothing in the heap.
    r->free_at_end = capacity_of(*r);
    r->collects_always = how.stress;
    r->verifies = how.verify;
    r->help_max = r->help_left = how.work_in_make_max;
    r->cycle_ended = how.cycle_ended;
    r->cycle_ended_context = how.cycle_ended_context;
    r->block_size = plan.end;
    // A checker sees all of it as freed until make() hands out a slot.
    poison(memory + plan.first_chunk, plan.chunk_count * chunk_size);
    return r;
}

}  // namespace

collected_region* create_region(std::size_t size, const collected_heap_options& how,
                                allocator_ref upstream) noexcept {
    const region_plan plan{size, how.mark_stack_count};
    // Pages of the system's, since no other allocator gives multiples of 4 GiB. The upstream counts
    // them.
    if (!upstream.try_charge(plan.end)) { return nullptr; }
    void* const memory = page_allocator{how.pages}.allocate(plan.end, alignment{region_alignment});
    if (memory == nullptr) {
        upstream.refund(plan.end);
        return nullptr;
    }
    collected_region* const r = build_region(static_cast<std::byte*>(memory), plan, how, upstream);
    if constexpr (asserts_enabled) { add_to_known_regions(*r); }
    return r;
}

void end_all_roots(collected_region& r) noexcept {
    CAIRN_ASSERT(r.root_count == 0, "a root ends before its heap",
                 {.kind = misuse_kind::outlived,
                  .object = &r,
                  .type = "collected_heap",
                  .caller = r.roots.next->line(),
                  .values = {{"roots", r.root_count}}});
    // A build without checks goes on: a root that is left behind is null, and ends without harm.
    while (r.roots.next != &r.roots) {
        r.roots.next->object = nullptr;
        r.roots.next = r.roots.next->next;
    }
    r.roots.previous = r.next_root = &r.roots;
    r.root_count = 0;
}

void destroy_region(collected_region& r) noexcept {
    if constexpr (asserts_enabled) { remove_from_known_regions(r); }
    unpoison(base_of(r) + r.begin, r.end - r.begin);
    const allocator_ref upstream = r.upstream;
    const std::size_t size = r.block_size;
    // The region lies in the block that is given back: what that takes was copied before.
    r.~collected_region();
    page_allocator{}.deallocate(&r, size, alignment{region_alignment});
    upstream.refund(size);
}

}  // namespace detail

collected_heap::collected_heap(std::size_t size, const options& how) noexcept
    : collected_heap{size, system_memory(), how} {}

collected_heap::collected_heap(std::size_t size, allocator_ref upstream,
                               const options& how) noexcept
    : region_{detail::create_region(size, how, upstream)} {}

collected_heap& collected_heap::operator=(collected_heap&& other) noexcept {
    return detail::begin_anew(*this, other);
}

void collected_heap::release() noexcept {
    if (region_ == nullptr) { return; }
    detail::collected_region& r = *region_;
    mark_alone();
    detail::end_all_roots(r);
    // Destructors of garbage that a running cycle has found run in it; the others below.
    if (r.now != detail::phase::idle) { (void)step(work_limit{}); }
    detail::end_all_objects(r);
    detail::end_all_roots(r);  // those that a destructor made
    detail::destroy_region(r);
    region_ = nullptr;
}

bool collected_heap::owns(const void* p) const noexcept {
    if (region_ == nullptr || detail::region_bits(p) != detail::region_bits(region_)) {
        return false;
    }
    const detail::object_name name = detail::name_of(p);
    return name >= region_->begin && name < region_->end;
}

std::size_t collected_heap::capacity() const noexcept {
    return region_ == nullptr ? 0 : detail::capacity_of(*region_);
}

detail::collected_heap_stats collected_heap::stats() const noexcept {
    if (region_ == nullptr) { return {}; }
    const detail::collected_region& r = *region_;
    detail::collected_heap_stats s{};
    s.capacity = capacity();
    s.used_size = r.used_size;
    s.free_size = s.capacity - r.used_size;
    s.free_chunk_count = r.free_chunk_count;
    detail::visit_chunks(r, r.first_chunk, [&](std::uint32_t number, const detail::chunk_record&) {
        for (std::uint32_t w = 0; w < detail::words_per_chunk; ++w) {
            const std::uint64_t objects = detail::objects_of_word(r, number, w);
            s.object_count += static_cast<std::size_t>(std::popcount(objects));
        }
        return true;
    });
    s.root_count = r.root_count;
    s.type_count = r.type_count;
    s.allocated_size = r.allocated_size;
    s.cycle_count = r.cycle_count;
    s.set_aside_count = compiler::load(r.set_aside_count, compiler::memory_order::relaxed);
    s.work_in_make = r.work_in_make;
    s.last_cycle = r.last_cycle;
    s.slowest_speed = r.slowest_speed;
    return s;
}

void collected_heap::validate() const noexcept {
    if (region_ != nullptr) { detail::validate_region(*region_); }
}

}}  // namespace cairn::CAIRN_FLAVOUR
