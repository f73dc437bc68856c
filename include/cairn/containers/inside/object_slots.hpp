// cairn/containers/inside/object_slots.hpp - the untyped half of object_pool: slots and their
// states.
//
//      block:   +--------+-------------+-------------+-------------+- - -     blocks double in size
//               | header | object | st | object | st | object | st |
//               +--------+-------------+-------------+-------------+- - -
//                                   ^ state: the tag of the pool (0: not built), and where on the
//                                     stack the object was put last
//
//      stack:   | idle idle idle idle -->            <-- vacant vacant |
//                 built, waiting                         not built, or no more
//
// The stack lies outside the objects, so that taking many of them touches none and waits for no
// chain of cache misses. An object is idle exactly when the stack holds it at the position that its
// state names: release() finds a second release or a foreign object with a few compares, without a
// hash map, in every build.
//
// Invariant: idle_count_ + vacant_count_ + fresh_count_ + live == slot_count_.
// Cost:      take and give: a load, a store and a compare each. Growing allocates one block and one
//            larger stack.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/callback_mark.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class object_slots {
public:
    struct state {
        std::uint32_t tag;       // whose object this is; 0: not built
        std::uint32_t position;  // on the stack, when it was put there last
    };

    object_slots(std::size_t slot_size, std::size_t state_offset, alignment align,
                 allocator_ref upstream) noexcept;
    ~object_slots();
    object_slots(const object_slots&) = delete;
    object_slots& operator=(const object_slots&) = delete;

    /// One more block: of `wish` objects, or of as many as there are when that is more; of less
    /// when the upstream is short, down to `least` or an eighth of what there is. Never beyond
    /// `total_max` slots in all. Returns: false when that leaves no room for `least`, or when the
    /// allocator is exhausted; nothing has changed then.
    [[nodiscard]] bool grow(std::size_t wish, std::size_t least, std::size_t total_max) noexcept;

    /// False: no memory holds `count` slots, or no stack counts them.
    [[nodiscard]] bool can_ever_hold(std::size_t count) const noexcept {
        return count <= UINT32_MAX && count <= (PTRDIFF_MAX - first_offset_) / slot_size_;
    }

    /// A slot without an object: a used one, or the next fresh one; nullptr: none left.
    [[nodiscard]] void* take_vacant() noexcept {
        if (vacant_count_ != 0) { return stack_[slot_count_ - vacant_count_--]; }
        if (fresh_count_ == 0) { return nullptr; }
        void* const slot = fresh_;
        fresh_ += slot_size_;
        --fresh_count_;
        return slot;
    }
    void give_vacant(void* slot) noexcept { stack_[slot_count_ - ++vacant_count_] = slot; }

    [[nodiscard]] state& state_of(void* slot) const noexcept {
        return *reinterpret_cast<state*>(static_cast<std::byte*>(slot) + state_offset_);
    }

    /// True when the object in this slot waits on the stack.
    [[nodiscard]] bool is_idle(void* slot, state s) const noexcept {
        return s.position < idle_count_ && stack_[s.position] == slot;
    }

    /// use(slot) for every slot whose object is built.
    template <class Use>
    void for_each_built(Use use) const {
        for (header* h = blocks_; h != nullptr; h = h->next) {
            std::byte* slot = reinterpret_cast<std::byte*>(h) + first_offset_;
            for (std::size_t i = 0; i < h->count; ++i, slot += slot_size_) {
                if (state_of(slot).tag != 0) { use(static_cast<void*>(slot)); }
            }
        }
    }

    /// use(slot) for every slot whose object is built and not idle; `use` may change which.
    template <class Use>
    void for_each_live(Use use) const {
        for_each_built([&](void* slot) {
            if (!is_idle(slot, state_of(slot))) { use(slot); }
        });
    }

    /// Gives each block in which no object is built back to upstream, and the stack that is too
    /// large then, unless upstream refuses a smaller one. Returns: the bytes that went back.
    /// Cost: O(slots) compares; one call of upstream per block, and two for the stack.
    std::size_t give_back_blocks() noexcept;

    /// Slots for `count` objects in all. Returns: as grow().
    /// Requires: count > slot_count_.
    [[nodiscard]] bool reserve(std::size_t count, std::size_t total_max) noexcept;

    void validate() const noexcept;

    [[nodiscard]] bool add_block(std::size_t added) noexcept;

    struct header {
        header* next;
        std::size_t count;  // slots
    };
    [[nodiscard]] std::size_t size_of(const header& block) const noexcept {
        return first_offset_ + block.count * slot_size_;
    }
    [[nodiscard]] bool has_objects(const header& block) const noexcept;
    /// Takes the slots of a block without objects out of the vacant and the fresh slots.
    void forget_slots(header& block) noexcept;
    void shrink_stack() noexcept;

    //  stack_[0 .. idle_count_)                           idle, the newest last
    //  stack_[slot_count_ - vacant_count_ .. slot_count_) vacant, the newest first
    //  idle_count_ + vacant_count_ <= slot_count_: each slot is at most once in one of both
    void** stack_ = nullptr;  // stack_size_ entries, of which slot_count_ are in use
    std::size_t stack_size_ = 0;
    std::size_t idle_count_ = 0;    // at the bottom of the stack
    std::size_t vacant_count_ = 0;  // at its top
    std::size_t slot_count_ = 0;
    std::byte* fresh_ = nullptr;   // slots of the newest block that never had an object
    std::size_t fresh_count_ = 0;  // of them
    std::size_t slot_size_;        // bytes, object and state
    std::size_t state_offset_;     // bytes from the begin of a slot
    std::size_t first_offset_;     // bytes from a block's begin to its first slot
    alignment align_;
    callback_mark mark_;  // while upstream is asked; in unchecked builds in the padding
    header* blocks_ = nullptr;
    allocator_ref upstream_;
};

/// Calls run(context, part, first, last) for consecutive parts of [0, count), each on its own
/// thread, the first on this one. Parts begin at multiples of `multiple`.
/// Throws: what the first part that threw has thrown, after all parts have ended.
void run_in_parts(std::size_t count, std::size_t part_count, std::size_t multiple,
                  void (*run)(void* context, std::size_t part, std::size_t first, std::size_t last),
                  void* context);

inline constexpr std::size_t part_count_max = 64;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
