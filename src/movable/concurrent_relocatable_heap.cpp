// Cold half of cairn/movable/concurrent_relocatable_heap.hpp.
#include <cairn/core/assert.hpp>
#include <cairn/movable/concurrent_relocatable_heap.hpp>

#include <new>
#include <thread>

namespace cairn::inline CAIRN_FLAVOUR {
namespace {

relocatable_heap_options with_count(relocatable_heap_options o) noexcept {
    if (o.object_count == 0) { o.object_count = 65'536; }
    return o;
}

// Whose objects this thread is moving: a reader on the mover's own thread would wait for itself.
thread_local const concurrent_relocatable_heap* moving_here = nullptr;

}  // namespace

concurrent_relocatable_heap::concurrent_relocatable_heap(
    std::size_t size, allocator_ref upstream, const relocatable_heap_options& options) noexcept
    : heap_{size, upstream, with_count(options)}, upstream_{upstream} {
    make_gates(upstream);
}

concurrent_relocatable_heap::concurrent_relocatable_heap(
    byte_slice region, allocator_ref upstream, const relocatable_heap_options& options) noexcept
    : heap_{region, upstream, with_count(options)}, upstream_{upstream} {
    make_gates(upstream);
}

void concurrent_relocatable_heap::make_gates(allocator_ref upstream) noexcept {
    const std::uint32_t count = heap_.slot_count();
    if (count == 0) { return; }
    void* const memory = upstream.allocate(count * sizeof(gate), cache_line_alignment);
    if (memory == nullptr) { return; }
    gates_ = static_cast<gate*>(memory);
    gate_count_ = count;
    for (std::uint32_t i = 0; i < count; ++i) { ::new (static_cast<void*>(gates_ + i)) gate; }
    heap_.set_move_gate(
        {this,
         [](void* self, std::uint32_t slot) noexcept {
             return static_cast<concurrent_relocatable_heap*>(self)->gates_[slot].close();
         },
         [](void* self, std::uint32_t slot, void* address) noexcept {
             static_cast<concurrent_relocatable_heap*>(self)->gates_[slot].open(
                 static_cast<std::byte*>(address));
         }});
}

concurrent_relocatable_heap::~concurrent_relocatable_heap() {
    for (std::uint32_t i = 0; i < gate_count_; ++i) {
        CAIRN_ASSERT(!gates_[i].is_pinned(), "nobody holds an object when its heap ends");
        gates_[i].~gate();
    }
    if (gates_ != nullptr) {
        upstream_.deallocate(gates_, gate_count_ * sizeof(gate), cache_line_alignment);
    }
}

auto concurrent_relocatable_heap::take(std::size_t size, alignment align,
                                       const relocation& how) noexcept -> handle_type {
    // The table must not grow: readers look at the gates beside it.
    if (heap_.free_slot_count() == 0 || gate_count_ == 0) { return {}; }
    return heap_.allocate(size, align, how);
}

void concurrent_relocatable_heap::publish(handle_type h) noexcept {
    gates_[h.index()].begin(h.generation(), static_cast<std::byte*>(heap_.get(h)));
}

bool concurrent_relocatable_heap::unpublish(handle_type h) noexcept {
    CAIRN_ASSERT(heap_.contains(h), "an object is freed once, by its handle");
    return heap_.contains(h) && gates_[h.index()].end();
}

bool concurrent_relocatable_heap::try_deallocate(handle_type h) noexcept {
    if (!unpublish(h)) { return false; }
    heap_.deallocate(h);
    return true;
}

compaction_report concurrent_relocatable_heap::compact(const compaction_budget& budget) noexcept {
    const concurrent_relocatable_heap* const outer = moving_here;
    moving_here = this;
    const compaction_report result = heap_.compact(budget);
    moving_here = outer;
    return result;
}

detail::entry concurrent_relocatable_heap::wait_and_enter(gate& g,
                                                          std::uint32_t generation) const noexcept {
    CAIRN_ASSERT(moving_here != this, "an object that is told of its move does not pin itself");
    for (unsigned tries = 0;; ++tries) {
        const detail::entry e = g.try_enter(generation);
        if (e != detail::entry::busy) { return e; }
        // A copy takes microseconds; a mover that the system has stopped takes longer.
        if (tries >= 64) { std::this_thread::yield(); }
    }
}

}  // namespace cairn::inline CAIRN_FLAVOUR
