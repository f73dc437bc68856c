// cairn/std/node_pool.hpp - std::list, std::map, std::unordered_map from pools of their nodes.
//
//      cairn::node_pool nodes;
//      using allocator = cairn::node_allocator<std::pair<const int, int>>;
//      std::map<int, int, std::less<>, allocator> ages{nodes};
//
//     pools_:  8   16   24   32   40   48  ...  512 bytes      n > 1: the upstream
//                       ^         ^                            (hash tables, deque blocks, vectors)
//               std::list<int>   std::map<int, int>
//
// A node-based container rebinds its allocator to a node type of its own, whose size depends on the
// library, the platform and the build: configuring a pool by hand is guessing. Here the rebound
// type picks the pool, at compile time: right everywhere, at no cost.
//
// Use it for: node-based standard containers, one or many of them on one node_pool.
// Look elsewhere for: vector, string (pmr_resource.hpp, std_allocator.hpp); containers that are
//   fast without nodes (containers/).
//
// Cost:      one node: pool::allocate(), inlined, at a constant offset. Several at once, or a node
//            above 512 bytes: the upstream. (A heap as upstream keeps the tables of hash maps,
//            which malloc maps and unmaps at each rehash: 15 % of inserts and erases.) The object
//            itself has 12 KiB, 51 KiB in a checked build; memory is taken only for the sizes in
//            use.
// Threads:   none; one node_pool for each thread, or a concurrent resource.
// Lifetimes: the node_pool must outlive every container that uses it. release() forgets all nodes
//            at once, for containers that are never looked at again.
// Trap:      std::list, map, set and unordered_map of Microsoft's library take a node when they are
//            made and keep it while they are empty: making one may throw, and is not noexcept to
//            move; a pool of 10 slots holds 9 elements; release() needs them gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/alloc/pool.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/std/inside/bad_alloc.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class node_pool {
public:
    /// Nodes of up to this many bytes come from pools.
    static constexpr std::size_t node_size_max = 512;

    using options = pool::options;  // of each pool: slot_count_max bounds the nodes of one size

    node_pool() noexcept : node_pool{system_memory()} {}
    explicit node_pool(allocator_ref upstream, options how = {}) noexcept
        : node_pool{upstream, how, std::make_index_sequence<class_count>{}} {}

    node_pool(const node_pool&) = delete;
    node_pool& operator=(const node_pool&) = delete;

    /// The pool for one object of `Size` bytes, at a compile-time place.
    template <std::size_t Size>
    [[nodiscard]] pool& pool_for() noexcept {
        static_assert(Size != 0 && Size <= node_size_max);
        return pools_[(Size - 1) / granularity];
    }

    /// True when one T comes from a pool. A type's size is a multiple of its alignment, so the pool
    /// of its size has slots at multiples of it.
    template <class T>
    static constexpr bool has_pool_for = sizeof(T) <= node_size_max;

    /// Frees every node at once and keeps the memory. Blocks from the upstream are not touched.
    void release() noexcept {
        for (pool& p : pools_) { p.reset(); }
    }

    /// Gives chunks without a live node back. Returns: bytes given back.
    std::size_t trim() noexcept {
        std::size_t bytes = 0;
        for (pool& p : pools_) { bytes += p.trim(); }
        return bytes;
    }

    /// Of all pools together.
    [[nodiscard]] pool::stats_type stats() const noexcept {
        pool::stats_type sum;
        for (const pool& p : pools_) {
            const pool::stats_type s = p.stats();
            sum.live_count += s.live_count;
            sum.slot_count += s.slot_count;
            sum.chunk_count += s.chunk_count;
            sum.upstream_size += s.upstream_size;
        }
        return sum;
    }

    [[nodiscard]] allocator_ref upstream() const noexcept { return upstream_; }

private:
    static constexpr std::size_t granularity = 8;
    static constexpr std::size_t class_count = node_size_max / granularity;

    /// Slots of 8 * (index + 1) bytes at multiples of the largest power of two in that.
    static pool make_pool(std::size_t index, allocator_ref upstream, options how) noexcept {
        const std::size_t size = granularity * (index + 1);
        return pool{size, alignment{std::size_t{1} << detail::lowest_bit(size)}, upstream, how};
    }
    template <std::size_t... Index>
    node_pool(allocator_ref upstream, options how, std::index_sequence<Index...>) noexcept
        : upstream_{upstream}, pools_{make_pool(Index, upstream, how)...} {}

    allocator_ref upstream_;
    std::array<pool, class_count> pools_;
};

/// The standard allocator on a node_pool. Containers on the same node_pool may exchange nodes
/// (splice, merge, swap, move).
template <class T>
class node_allocator {
public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    node_allocator(node_pool& nodes) noexcept : nodes_{&nodes} {}  // implicit: containers take it
    template <class Other>
    node_allocator(const node_allocator<Other>& other) noexcept
        : nodes_{compiler::address_of(other.nodes())} {}

    /// Throws: std::bad_alloc when exhausted, std::bad_array_new_length when count * sizeof(T)
    /// overflows.
    [[nodiscard]] T* allocate(std::size_t count) {
        if constexpr (node_pool::has_pool_for<T>) {
            if (count == 1) [[likely]] {
                return or_throw(nodes_->template pool_for<sizeof(T)>().allocate(), sizeof(T));
            }
        }
        if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) {
            detail::refuse_length(count, alignment::of<T>());
        }
        return or_throw(nodes_->upstream().allocate(count * sizeof(T), alignment::of<T>()),
                        count * sizeof(T));
    }

    void deallocate(T* p, std::size_t count) noexcept {
        if constexpr (node_pool::has_pool_for<T>) {
            if (count == 1) [[likely]] {
                nodes_->pool_for<sizeof(T)>().deallocate(p);
                return;
            }
        }
        nodes_->upstream().deallocate(p, count * sizeof(T), alignment::of<T>());
    }

    /// Where its nodes come from.
    [[nodiscard]] node_pool& nodes() const noexcept { return *nodes_; }

    template <class Other>
    friend bool operator==(const node_allocator& a, const node_allocator<Other>& b) noexcept {
        return compiler::address_of(a.nodes()) == compiler::address_of(b.nodes());
    }

private:
    static T* or_throw(void* p, std::size_t size) {
        if (p == nullptr) [[unlikely]] { detail::refuse(size, alignment::of<T>()); }
        return static_cast<T*>(p);
    }

    node_pool* nodes_;
};

}}  // namespace cairn::CAIRN_FLAVOUR
