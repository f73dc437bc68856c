// Cold half of cairn/containers/inside/object_slots.hpp: growth, and the threads of prewarm().
#include <cairn/containers/inside/object_slots.hpp>

#include <cstring>
#include <new>
#include <thread>
#include <utility>
#if defined(__cpp_exceptions)
#    include <exception>
#endif

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/storage/inside/growth.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

object_slots::object_slots(std::size_t slot_size, std::size_t state_offset, alignment align,
                           allocator_ref upstream) noexcept
    : slot_size_{slot_size},
      state_offset_{state_offset},
      first_offset_{round_up(sizeof(header), align)},
      align_{align},
      upstream_{upstream} {}

// Memory only: the pool has ended the objects before, where they live or wait.
object_slots::~object_slots() {
    [[maybe_unused]] const auto change = mark_.begin(this, "object_pool");
    while (blocks_ != nullptr) {
        header* const gone = std::exchange(blocks_, blocks_->next);
        upstream_.deallocate(gone, size_of(*gone), align_);
    }
    if (stack_ != nullptr) { upstream_.deallocate(stack_, stack_size_ * sizeof(void*)); }
}

bool object_slots::grow(std::size_t wish, std::size_t least, std::size_t total_max) noexcept {
    [[maybe_unused]] const auto change = mark_.begin(this, "object_pool");
    // add_block() points fresh_ at the new block: fresh slots of the one before would be lost.
    CAIRN_ASSERT(fresh_count_ == 0, "a pool grows when its slots are used up");
    // No sum below can wrap: `least` and then `wish` are cut to the room before they are added.
    const std::size_t room = total_max - slot_count_;
    if (least > room) { return false; }
    wish = wish > slot_count_ ? wish : slot_count_;
    wish = wish < room ? wish : room;
    // The slots stay where they are, but their stack is copied.
    wish = wish > least ? wish : least;
    return grow_by_halves(slot_count_, slot_count_ + least, slot_count_ + wish,
                          [this](std::size_t total) { return add_block(total - slot_count_); }) !=
           0;
}

bool object_slots::add_block(std::size_t added) noexcept {
    const std::size_t total = detail::saturating_add(slot_count_, added);
    // It compares with what a block can hold, so neither product below wraps.
    if (!can_ever_hold(total)) { return false; }
    const std::size_t stack_size = total * sizeof(void*);
    const std::size_t block_size = added * slot_size_ + first_offset_;
    // Both pieces before anything changes: a refusal of the second gives the first one back.
    auto* const stack = static_cast<void**>(upstream_.allocate(stack_size));
    if (stack == nullptr) { return false; }
    void* const block = upstream_.allocate(block_size, align_);
    if (block == nullptr) {
        upstream_.deallocate(stack, stack_size);
        return false;
    }
    // before   [ idle idle |             | vacant vacant ]                      slot_count_ entries
    // after    [ idle idle |                                 | vacant vacant ]  total entries
    // Idle objects keep their distance from the bottom, so the position in each one's state stays
    // true; vacant slots keep theirs from the top, from which they are counted.
    if (stack_ != nullptr) {
        std::memcpy(stack, stack_, idle_count_ * sizeof(void*));
        std::memcpy(stack + total - vacant_count_, stack_ + slot_count_ - vacant_count_,
                    vacant_count_ * sizeof(void*));
    }
    void** const old = std::exchange(stack_, stack);
    const std::size_t old_size = std::exchange(stack_size_, total) * sizeof(void*);
    slot_count_ = total;
    blocks_ = ::new (block) header{blocks_, added};
    fresh_ = static_cast<std::byte*>(block) + first_offset_;
    fresh_count_ = added;
    // for_each_built() reads the tag of every slot, also of slots that were never taken.
    for (std::size_t i = 0; i < added; ++i) {
        ::new (static_cast<void*>(&state_of(fresh_ + i * slot_size_))) state{0, 0};
    }
    // Last: a deallocate() of the user may acquire and release.
    if (old != nullptr) { upstream_.deallocate(old, old_size); }
    return true;
}

bool object_slots::has_objects(const header& block) const noexcept {
    const std::byte* const first = reinterpret_cast<const std::byte*>(&block) + first_offset_;
    for (std::size_t i = 0; i < block.count; ++i) {
        void* const slot = const_cast<std::byte*>(first + i * slot_size_);
        if (state_of(slot).tag != 0) { return true; }
    }
    return false;
}

void object_slots::forget_slots(header& block) noexcept {
    std::byte* const begin = reinterpret_cast<std::byte*>(&block) + first_offset_;
    std::byte* const end = begin + block.count * slot_size_;
    if (fresh_ >= begin && fresh_ < end) { fresh_count_ = 0; }
    // before   [ idle idle |      | v v - v - ]      slot_count_ entries; - lies in the block
    // after    [ idle idle | v v v ]                 fewer, in the same order
    void** const vacant = stack_ + slot_count_ - vacant_count_;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < vacant_count_; ++i) {
        auto* const slot = static_cast<std::byte*>(vacant[i]);
        if (slot < begin || slot >= end) { vacant[kept++] = slot; }
    }
    slot_count_ -= block.count;
    vacant_count_ = kept;
    std::memmove(stack_ + slot_count_ - kept, vacant, kept * sizeof(void*));
}

void object_slots::shrink_stack() noexcept {
    void** smaller = nullptr;
    if (slot_count_ != 0) {
        smaller = static_cast<void**>(upstream_.allocate(slot_count_ * sizeof(void*)));
        if (smaller == nullptr) { return; }
        std::memcpy(smaller, stack_, slot_count_ * sizeof(void*));
    }
    void** const old = std::exchange(stack_, smaller);
    const std::size_t old_size = std::exchange(stack_size_, slot_count_) * sizeof(void*);
    upstream_.deallocate(old, old_size);
}

std::size_t object_slots::give_back_blocks() noexcept {
    [[maybe_unused]] const auto change = mark_.begin(this, "object_pool");
    std::size_t built = 0;
    for_each_built([&](void*) { ++built; });
    // A constructor or destructor of an object called this: its slot is on no list, and stays.
    if (built + vacant_count_ + fresh_count_ != slot_count_) { return 0; }
    std::size_t bytes = 0;
    for (header** at = &blocks_; *at != nullptr;) {
        header* const block = *at;
        if (has_objects(*block)) {
            at = &block->next;
            continue;
        }
        forget_slots(*block);
        bytes += size_of(*block);
        *at = block->next;
        upstream_.deallocate(block, size_of(*block), align_);
    }
    if (bytes != 0) {
        bytes += (stack_size_ - slot_count_) * sizeof(void*);
        shrink_stack();
        bytes -= (stack_size_ - slot_count_) * sizeof(void*);
    }
    return bytes;
}

bool object_slots::reserve(std::size_t count, std::size_t total_max) noexcept {
    const std::size_t missing = count - slot_count_;
    if (count > total_max || !can_ever_hold(count)) { return false; }
    // The new block brings the fresh slots from now on: the others are vacant, the first one next.
    while (fresh_count_ != 0) { give_vacant(fresh_ + --fresh_count_ * slot_size_); }
    // When this is refused the slots have only changed their list: they are still to be had.
    return grow(missing, missing, total_max);
}

void object_slots::validate() const noexcept {
    std::size_t built = 0;
    std::size_t waiting = 0;
    for_each_built([&](void* slot) {
        ++built;
        waiting += is_idle(slot, state_of(slot)) ? 1u : 0u;
    });
    // An object that was taken keeps its old position: it is idle only while the stack agrees.
    CAIRN_ASSERT(waiting == idle_count_, "every idle object is on the stack once");
    CAIRN_ASSERT(built + vacant_count_ + fresh_count_ == slot_count_,
                 "every slot is accounted for");
    for (std::size_t i = 0; i < idle_count_; ++i) {
        CAIRN_ASSERT(state_of(stack_[i]).position == i,
                     "an idle object's state names its place on the stack");
    }
}

namespace {

/// The work of one thread, and its exception: an exception that leaves a thread ends the program.
struct part_of_work {
    void (*run)(void*, std::size_t, std::size_t, std::size_t);
    void* context;
    std::size_t part;
    std::size_t first;
    std::size_t last;
#if defined(__cpp_exceptions)
    std::exception_ptr thrown;
#endif

    void operator()() noexcept {
#if defined(__cpp_exceptions)
        try {
            run(context, part, first, last);
        } catch (...) { thrown = std::current_exception(); }
#else
        run(context, part, first, last);
#endif
    }
};

/// False when the system has no thread to give.
bool start(std::thread& worker, part_of_work& work) noexcept {
#if defined(__cpp_exceptions)
    try {
        worker = std::thread{[&work] { work(); }};
    } catch (...) { return false; }
#else
    worker = std::thread{[&work] { work(); }};
#endif
    return true;
}

}  // namespace

void run_in_parts(std::size_t count, std::size_t part_count, std::size_t multiple,
                  void (*run)(void*, std::size_t, std::size_t, std::size_t), void* context) {
    part_count = part_count == 0 ? 1 : part_count > part_count_max ? part_count_max : part_count;
    // Rounding the step up only makes parts fewer: parts * step >= count with at most part_count of
    // them, so the two arrays have room for all.
    std::size_t step = (count + part_count - 1) / part_count;
    step = (step + multiple - 1) / multiple * multiple;
    part_of_work work[part_count_max];
    std::thread workers[part_count_max];
    std::size_t parts = 0;
    for (std::size_t first = 0; first < count; first += step, ++parts) {
        const std::size_t last = count - first < step ? count : first + step;
        work[parts].run = run;
        work[parts].context = context;
        work[parts].part = parts;
        work[parts].first = first;
        work[parts].last = last;
    }
    // A part for which the system has no thread is done here, before this thread's own part: the
    // work is always done, only later.
    for (std::size_t p = 1; p < parts; ++p) {
        if (!start(workers[p], work[p])) { work[p](); }
    }
    if (parts != 0) { work[0](); }
    // Every part ends before one of their exceptions leaves: they work on this frame's arrays and
    // in the caller's context.
    for (std::size_t p = 1; p < parts; ++p) {
        if (workers[p].joinable()) { workers[p].join(); }
    }
#if defined(__cpp_exceptions)
    for (std::size_t p = 0; p < parts; ++p) {
        if (work[p].thrown) { std::rethrow_exception(work[p].thrown); }
    }
#endif
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
