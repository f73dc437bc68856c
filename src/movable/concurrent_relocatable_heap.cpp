// Cold half of cairn/movable/concurrent_relocatable_heap.hpp: the words beside the objects.
//
//     owner    take: bytes of the heap -----> construct -----> publish: readers may enter
//              unpublish: none may enter, none is inside -----> destroy -----> bytes go back
//     mover    close: as unpublish, for a moment -----> copy -----> open, at the new address
//
// A word belongs to a slot of the heap's table and holds the slot's generation. The
// heap itself is used by one thread at a time, the owner's; readers see the words alone.
#include <cairn/core/assert.hpp>
#include <cairn/movable/concurrent_relocatable_heap.hpp>

#include <new>
#include <thread>

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

detail::relocatable_heap_options with_count(detail::relocatable_heap_options o) noexcept {
    if (o.object_count == 0) { o.object_count = 65'536; }
    return o;
}

// Whose objects this thread is moving: a reader on the mover's own thread would wait for itself.
thread_local const concurrent_relocatable_heap* moving_here = nullptr;

}  // namespace

concurrent_relocatable_heap::concurrent_relocatable_heap(std::size_t size, allocator_ref upstream,
                                                         const options& how) noexcept
    : heap_{size, upstream, with_count(how)}, upstream_{upstream} {
    make_pin_words(upstream);
}

concurrent_relocatable_heap::concurrent_relocatable_heap(byte_slice region, allocator_ref upstream,
                                                         const options& how) noexcept
    : heap_{region, upstream, with_count(how)}, upstream_{upstream} {
    make_pin_words(upstream);
}

void concurrent_relocatable_heap::make_pin_words(allocator_ref upstream) noexcept {
    // A word for each slot there will ever be. Without them take() refuses everything.
    const std::uint32_t count = heap_.slot_count();
    if (count == 0) { return; }
    void* const memory = upstream.allocate(count * sizeof(pin_word), detail::cache_line_alignment);
    if (memory == nullptr) { return; }
    pin_words_ = static_cast<pin_word*>(memory);
    pin_word_count_ = count;
    for (std::uint32_t i = 0; i < count; ++i) {
        ::new (static_cast<void*>(pin_words_ + i)) pin_word;
    }
    // The mover asks each object's word before it moves it: close() fails while a reader is inside,
    // and that object stays where it is for this round.
    heap_.set_move_observer(
        {this,
         [](void* self, std::uint32_t slot) noexcept {
             return static_cast<concurrent_relocatable_heap*>(self)->pin_words_[slot].close();
         },
         [](void* self, std::uint32_t slot, void* address) noexcept {
             static_cast<concurrent_relocatable_heap*>(self)->pin_words_[slot].open(
                 static_cast<std::byte*>(address));
         }});
}

concurrent_relocatable_heap::~concurrent_relocatable_heap() {
    for (std::uint32_t i = 0; i < pin_word_count_; ++i) {
        CAIRN_ASSERT(!pin_words_[i].is_pinned(), "no reader holds an object when its heap ends");
        pin_words_[i].~pin_word();
    }
    if (pin_words_ != nullptr) {
        upstream_.deallocate(pin_words_, pin_word_count_ * sizeof(pin_word),
                             detail::cache_line_alignment);
    }
}

auto concurrent_relocatable_heap::take(std::size_t size, alignment align,
                                       const relocation& how) noexcept -> handle_type {
    // The table must not grow: readers look at the pin words beside it.
    if (heap_.free_slot_count() == 0 || pin_word_count_ == 0) { return {}; }
    return heap_.allocate(size, align, how);
}

void concurrent_relocatable_heap::publish(handle_type h) noexcept {
    pin_words_[h.index()].begin(h.generation(), static_cast<std::byte*>(heap_.get(h)));
}

bool concurrent_relocatable_heap::unpublish(handle_type h, call_site from) noexcept {
    if constexpr (asserts_enabled) {
        heap_.expect_object(h, "an object is freed once, by its handle",
                            {.kind = misuse_kind::double_free,
                             .object = this,
                             .type = "concurrent_relocatable_heap",
                             .caller = from});
    }
    // False when a reader holds it: then nothing has changed, and the owner tries again later. Once
    // it is true no reader gets in, and the bytes may go.
    return heap_.contains(h) && pin_words_[h.index()].end();
}

bool concurrent_relocatable_heap::try_deallocate(handle_type h, call_site from) noexcept {
    if (!unpublish(h, from)) { return false; }
    heap_.deallocate(h);
    return true;
}

compaction_report concurrent_relocatable_heap::compact(const work_limit& limit) noexcept {
    // Kept, not cleared: a hook of one heap's object may compact another heap.
    const concurrent_relocatable_heap* const outer = moving_here;
    moving_here = this;
    const compaction_report result = heap_.compact(limit);
    moving_here = outer;
    return result;
}

detail::enter_result concurrent_relocatable_heap::wait_and_enter(
    pin_word& word, std::uint32_t generation) const noexcept {
    CAIRN_ASSERT(moving_here != this, "on_relocated() does not pin its own object");
    for (unsigned tries = 0;; ++tries) {
        const detail::enter_result e = word.try_enter(generation);
        if (e != detail::enter_result::busy) { return e; }
        // A copy takes microseconds; a mover that the system has stopped takes longer.
        if (tries >= 64) { std::this_thread::yield(); }
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
