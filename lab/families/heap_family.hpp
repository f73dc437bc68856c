// lab/families/heap_family.hpp - any size, any order, offered alike by everybody, for `heap`, `tail`
// and `game-frame`.
//
// An adapter:   void* allocate(std::size_t size);   void deallocate(void* p, std::size_t size);
//
// The loops are templates of the adapter, so that what inlines for a user inlines here.
#pragma once

#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cmath>
#include <memory_resource>

#include "lab/harness/experiment.hpp"
#include "lab/peers/offers.hpp"
#include "lab/system/aligned_memory.hpp"
#include "lab/system/system.hpp"

namespace lab::heaps {

inline constexpr std::size_t region_size = std::size_t{64} << 20;

// ---- contenders --------------------------------------------------------------------------------

template <class Fit>
struct cairn_heap : cairn::heap<Fit> {
    cairn_heap() : cairn::heap<Fit>{region_size} {}
};
using default_heap = cairn::heap<>;  ///< as a user constructs it who does not think of a size
using thread_heap = cairn::concurrent_heap;  ///< any number of threads; here it is used by one
/// The same for callers that do not tell the size when they free.
struct unsized_thread_heap : cairn::concurrent_heap {
    void deallocate(void* p, std::size_t) { concurrent_heap::deallocate(p); }
};

struct general_malloc {
    void* allocate(std::size_t size) { return std::malloc(size); }
    void deallocate(void* p, std::size_t) { std::free(p); }
};

/// malloc with the sized free that the preloaded one has: mimalloc's, tcmalloc's or jemalloc's.
struct sized_malloc {
    using with_size = void (*)(void*, std::size_t);
    using with_flags = void (*)(void*, std::size_t, int);
    template <class Function>
    static Function found(const char* name) {
        return reinterpret_cast<Function>(find_function(name));
    }
    with_size of_mimalloc = found<with_size>("mi_free_size");
    with_size give = of_mimalloc ? of_mimalloc : found<with_size>("tc_free_sized");
    with_flags of_jemalloc = found<with_flags>("sdallocx");
    void* allocate(std::size_t size) { return std::malloc(size); }
    void deallocate(void* p, std::size_t size) {
        if (give != nullptr) {
            give(p, size);
        } else if (of_jemalloc != nullptr) {
            of_jemalloc(p, size, 0);
        } else {
            std::free(p);
        }
    }
};

/// mimalloc's first-class heap; runs with mimalloc preloaded.
struct mimalloc_heap {
    using new_function = void* (*)();
    using malloc_function = void* (*)(void*, std::size_t);
    using free_function = void (*)(void*);
    malloc_function take = reinterpret_cast<malloc_function>(find_function("mi_heap_malloc"));
    free_function give = reinterpret_cast<free_function>(find_function("mi_free"));
    void* heap = reinterpret_cast<new_function>(find_function("mi_heap_new"))();
    void* allocate(std::size_t size) { return take(heap, size); }
    void deallocate(void* p, std::size_t) { give(p); }
};

/// Sizes are rounded up: libstdc++ 12 serves 24 bytes at a multiple of 16 from slots of 24 bytes,
/// whose every second one is no multiple of 16 (seen by UBSan).
struct std_pmr_pool {
    std::pmr::unsynchronized_pool_resource pool;
    static std::size_t rounded(std::size_t size) { return (size + 15) & ~std::size_t{15}; }
    void* allocate(std::size_t size) { return pool.allocate(rounded(size), 16); }
    void deallocate(void* p, std::size_t size) { pool.deallocate(p, rounded(size), 16); }
};

/// The limit: classes, a list each, nothing ever merges or moves to another class.
struct size_class_lifo {
    struct link {
        link* next;
    };
    link* heads[256] = {};
    aligned_block memory{64, region_size};
    std::byte* top = memory.get();
    static std::uint32_t class_of(std::size_t size) {
        return cairn::detail::size_class<4>::ceil(static_cast<std::uint32_t>((size + 15) / 16));
    }
    void* allocate(std::size_t size) {
        const std::uint32_t c = class_of(size);
        if (link* const l = heads[c]; l != nullptr) {
            heads[c] = l->next;
            return l;
        }
        std::byte* const p = top;
        top += std::size_t{cairn::detail::size_class<4>::size_of(c)} * 16;
        return p;
    }
    void deallocate(void* p, std::size_t size) {
        const std::uint32_t c = class_of(size);
        auto* const l = static_cast<link*>(p);
        l->next = heads[c];
        heads[c] = l;
    }
};

/// The seeds' free list: one address-ordered list of holes, walked for each request and each free
/// (fast-alloc's FreeListAllocator, thesis 6.1.4).
template <bool Best>
struct linked_list {
    struct hole {
        std::size_t size;
        hole* next;
    };
    aligned_block memory{64, region_size};
    hole* first = ::new (memory.get()) hole{region_size, nullptr};

    static std::size_t block_size(std::size_t size) { return (size + 16 + 15) / 16 * 16; }
    void* allocate(std::size_t size) {
        const std::size_t need = block_size(size);
        hole** found = nullptr;
        for (hole** at = &first; *at != nullptr; at = &(*at)->next) {
            if ((*at)->size < need) continue;
            if (found == nullptr || (*at)->size < (*found)->size) found = at;
            if (!Best) break;
        }
        if (found == nullptr) return nullptr;
        hole* const h = *found;
        if (h->size - need >= 32) {
            *found = ::new (reinterpret_cast<std::byte*>(h) + need) hole{h->size - need, h->next};
            h->size = need;
        } else {
            *found = h->next;
        }
        return reinterpret_cast<std::byte*>(h) + 16;
    }
    void deallocate(void* p, std::size_t) {
        auto* const h = reinterpret_cast<hole*>(static_cast<std::byte*>(p) - 16);
        hole* before = nullptr;
        hole* after = first;
        while (after != nullptr && after < h) {
            before = after;
            after = after->next;
        }
        const auto end = [](hole* x) { return reinterpret_cast<std::byte*>(x) + x->size; };
        h->next = after;
        (before != nullptr ? before->next : first) = h;
        if (after != nullptr && end(h) == reinterpret_cast<std::byte*>(after)) {
            h->size += after->size;
            h->next = after->next;
        }
        if (before != nullptr && end(before) == reinterpret_cast<std::byte*>(h)) {
            before->size += h->size;
            before->next = h->next;
        }
    }
};

/// Everybody, in the order of the reports. make(adapter_tag<A>) returns a factory.
template <class A>
struct adapter_tag {
    using type = A;
};

struct who {
    bool fits = true;   // the other fits of cairn, not only the default
    bool lists = true;  // the linked lists: 1000 times slower on churn
    bool slow_peers = true;
};

template <class Make>
void add_heaps(comparison& c, Make make, who w = {}) {
    c.limit("size-class lifo, no merging", make(adapter_tag<size_class_lifo>{}));
    c.cairn("cairn::heap<good_fit>", make(adapter_tag<cairn_heap<cairn::good_fit>>{}));
    c.cairn("cairn::heap<> as constructed", make(adapter_tag<default_heap>{}));
    c.cairn("cairn::concurrent_heap", make(adapter_tag<thread_heap>{}));
    c.cairn("cairn::concurrent_heap, unsized", make(adapter_tag<unsized_thread_heap>{}));
    c.cairn("cairn::heap<quick_fit>", make(adapter_tag<cairn_heap<cairn::quick_fit>>{}));
    if (w.fits) {
        c.cairn("cairn::heap<strict_good_fit>",
                make(adapter_tag<cairn_heap<cairn::strict_good_fit>>{}));
        c.cairn("cairn::heap<best_fit>", make(adapter_tag<cairn_heap<cairn::best_fit>>{}));
        c.cairn("cairn::heap<first_fit>", make(adapter_tag<cairn_heap<cairn::first_fit>>{}));
        c.cairn("cairn::heap<half_fit>", make(adapter_tag<cairn_heap<cairn::half_fit>>{}));
    }
    c.mallocs(make(adapter_tag<sized_malloc>{}));
    c.with_malloc("mimalloc", "mimalloc heap", make(adapter_tag<mimalloc_heap>{}));
    if (w.slow_peers) {
        c.peer("std::pmr::unsynchronized_pool", make(adapter_tag<std_pmr_pool>{}));
        offers<kinds::heaps<region_size>>(
            [&]<class A>(const char* name) { c.peer(name, make(adapter_tag<A>{})); });
    }
    if (w.lists) {
        c.baseline("linked list, first fit", make(adapter_tag<linked_list<false>>{}));
        c.baseline("linked list, best fit", make(adapter_tag<linked_list<true>>{}));
    }
}

// ---- work --------------------------------------------------------------------------------------

/// Log-uniform sizes: as many between 16 and 32 bytes as between 2048 and 4096.
inline std::vector<std::uint32_t> log_uniform(std::size_t count, unsigned seed, double low = 16,
                                              double high = 4096) {
    std::mt19937 random{seed};
    std::uniform_real_distribution<double> log{std::log(low), std::log(high)};
    std::vector<std::uint32_t> sizes(count);
    for (auto& s : sizes) s = static_cast<std::uint32_t>(std::exp(log(random)));
    return sizes;
}

/// First and last word: an object that is used.
inline void touch(void* p, std::size_t size) {
    auto* const bytes = static_cast<volatile std::byte*>(p);
    bytes[0] = std::byte{1};
    bytes[size - 1] = std::byte{2};
}

struct object {
    void* p = nullptr;
    std::size_t size = 0;
};

}  // namespace lab::heaps
