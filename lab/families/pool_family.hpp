// lab/families/pool_family.hpp - slots of one size, offered alike by everybody, for `pool`, `threads`
// and `nodes`.
//
// An adapter for slots of Size bytes:
//
//      template <std::size_t Size>
//      struct my_pool {
//          explicit my_pool(std::size_t slot_count);   // about how many will be live at once
//          void* allocate();
//          void deallocate(void* p);
//      };
//
// The loops are templates of the adapter, so that what inlines for a user inlines here.
#pragma once

#include <list>
#include <memory_resource>
#include <mutex>

#include <cairn/alloc/pool.hpp>

#include "lab/families/random_order.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/peers/offers.hpp"

namespace lab::slots {

using lab::random_indices;
using lab::shuffled;

// ---- data that all share -----------------------------------------------------------------------

inline constexpr std::size_t burst_count = 10'000;

// ---- limits and the seeds' own designs ---------------------------------------------------------

/// `count` slots, from a cache line on.
template <std::size_t Size>
struct slot_block {
    std::vector<std::byte> memory;
    explicit slot_block(std::size_t count) : memory(count * Size + 64) {}
    std::byte* operator[](std::size_t i) {
        const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
        return memory.data() + (64 - begin % 64) % 64 + i * Size;
    }
};

/// The hand-written free list: the link lies in the free slot. (Boost.Pool and EASTL sit on it.)
template <std::size_t Size>
struct intrusive_list {
    void* head = nullptr;
    slot_block<Size> block;
    explicit intrusive_list(std::size_t count) : block{count} {
        for (std::size_t i = count; i-- != 0;) deallocate(block[i]);
    }
    void* allocate() {
        void* const p = head;
        if (p != nullptr) head = *static_cast<void**>(p);
        return p;
    }
    void deallocate(void* p) {
        *static_cast<void**>(p) = head;
        head = p;
    }
};

/// The hand-written stack of pointers beside the slots.
template <std::size_t Size>
struct pointer_stack {
    std::vector<void*> stack;
    slot_block<Size> block;
    void** top = stack.data();
    explicit pointer_stack(std::size_t count) : stack(count), block{count} {
        for (std::size_t i = count; i-- != 0;) deallocate(block[i]);
    }
    void* allocate() { return top != stack.data() ? *--top : nullptr; }
    void deallocate(void* p) { *top++ = p; }
};

/// No allocator: the addresses that a stack would give out next are known beforehand, nothing is
/// remembered. Only for loops that take and free as many as there are, always in the same order.
template <std::size_t Size>
struct known_addresses {
    slot_block<Size> block;
    std::vector<void*> order;
    std::size_t next = 0;
    explicit known_addresses(std::size_t count) : block{count}, order(count + 8) {
        const std::vector<std::uint32_t> shuffle = shuffled(count);
        for (std::size_t i = 0; i != count; ++i) order[i] = block[shuffle[i]];
    }
    void* allocate() {
        __builtin_prefetch(order[next + 8], 1);
        return order[next++];
    }
    void deallocate(void* p) {
        observe(p);
        --next;
    }
};

/// The article's "external free list": std::vector<T*> with push_back and pop_back.
template <std::size_t Size>
struct article_external_list {
    std::vector<void*> free_slots;
    std::vector<std::byte> memory;
    explicit article_external_list(std::size_t count) : memory(count * Size) {
        for (std::size_t i = count; i-- != 0;) free_slots.push_back(memory.data() + i * Size);
    }
    void* allocate() {
        if (free_slots.empty()) return nullptr;
        void* const p = free_slots.back();
        free_slots.pop_back();
        return p;
    }
    void deallocate(void* p) { free_slots.push_back(p); }
};

/// fast-alloc's design as its README describes it: an intrusive list threaded in the constructor.
template <std::size_t Size>
struct fast_alloc_pool : intrusive_list<Size> {
    std::size_t used = 0;
    std::size_t capacity;
    explicit fast_alloc_pool(std::size_t count) : intrusive_list<Size>{count}, capacity{count} {}
    void* allocate() {
        if (used == capacity) return nullptr;
        ++used;
        return intrusive_list<Size>::allocate();
    }
    void deallocate(void* p) {
        if (p == nullptr) return;
        --used;
        intrusive_list<Size>::deallocate(p);
    }
};

// ---- cairn -------------------------------------------------------------------------------------

template <std::size_t Size>
struct cairn_pool {
    cairn::pool slots{Size};
    explicit cairn_pool(std::size_t count) {
        if (!slots.reserve(count)) std::abort();
    }
    void* allocate() { return slots.allocate(); }
    void deallocate(void* p) { slots.deallocate(p); }
};

/// As a user constructs it who does not know how many there will be.
template <std::size_t Size>
struct cairn_pool_as_constructed : cairn_pool<Size> {
    explicit cairn_pool_as_constructed(std::size_t) : cairn_pool<Size>{0} {}
};

// ---- peers that come with C++: others are in lab/peers/ -------------------------------------------------------------------------------------

/// Whatever malloc this process was started with, through new and delete, as users write it.
template <std::size_t Size>
struct new_delete {
    std::vector<void*> company;  // an empty page is given back and taken again by some mallocs
    explicit new_delete(std::size_t) {
        for (int i = 0; i < 100; ++i) company.push_back(::operator new(Size));
    }
    ~new_delete() {
        for (void* p : company) deallocate(p);
    }
    void* allocate() { return ::operator new(Size); }
    void deallocate(void* p) {
#if defined(__cpp_sized_deallocation)
        ::operator delete(p, Size);
#else
        ::operator delete(p);
#endif
    }
};

template <std::size_t Size>
struct pmr_pool {
    std::pmr::unsynchronized_pool_resource slots;
    explicit pmr_pool(std::size_t) {}
    void* allocate() { return slots.allocate(Size, 8); }
    void deallocate(void* p) { slots.deallocate(p, Size, 8); }
};

}  // namespace lab::slots
