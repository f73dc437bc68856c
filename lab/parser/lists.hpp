// lab/parser/lists.hpp - what the lists of children can be made of: one struct for each contender.
#pragma once

#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/monotonic.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/std/std_allocator.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <vector>

#include "lab/parser/article_arena.hpp"
#include "lab/parser/tree.hpp"

namespace lab::parser {

/// A vector that finds its memory itself.
template <class Vector>
struct lists_of {
    using children = Vector;
    children start() { return {}; }
    void reset() {}
};
using vector_lists = lists_of<std::vector<node_index>>;

/// std::pmr::vector over a monotonic resource that gives everything back after each parse.
struct pmr_lists {
    using children = std::pmr::vector<node_index>;
    std::pmr::monotonic_buffer_resource resource;
    children start() { return children{&resource}; }
    void reset() { resource.release(); }
};

/// The same over a buffer that is large enough and stays.
struct pmr_buffer_lists {
    using children = std::pmr::vector<node_index>;
    std::vector<std::byte> buffer = std::vector<std::byte>(std::size_t{64} << 20);
    std::pmr::monotonic_buffer_resource resource{buffer.data(), buffer.size()};
    children start() { return children{&resource}; }
    void reset() { resource.release(); }
};

/// std::vector over a pointer that moves through a buffer that stays: what lists cost without malloc.
struct bump_lists {
    template <class T>
    struct allocator {
        using value_type = T;
        std::byte** next;
        T* allocate(std::size_t n) {
            constexpr std::size_t align = 8;
            std::byte* const p = *next;
            *next = p + (n * sizeof(T) + align - 1) / align * align;
            return reinterpret_cast<T*>(p);
        }
        void deallocate(T*, std::size_t) noexcept {}
        bool operator==(const allocator&) const = default;
    };
    using children = std::vector<node_index, allocator<node_index>>;
    std::vector<std::byte> buffer = std::vector<std::byte>(std::size_t{64} << 20);
    std::unique_ptr<std::byte*> next = std::make_unique<std::byte*>(buffer.data());
    children start() { return children{allocator<node_index>{next.get()}}; }
    void reset() { *next = buffer.data(); }
};

struct article_lists {
    using children = std::vector<node_index, article_allocator<node_index>>;
    article_arena arena;
    children start() { return children{article_allocator<node_index>{&arena}}; }
    void reset() { arena.release(); }
};

/// Blocks of a first parse become one; from then on a parse lies in one piece.
struct coalescing_arena : cairn::growing_arena {
    coalescing_arena()
        : growing_arena{std::size_t{1} << 20,
                        cairn::system_memory(),
                        {.on_reset = cairn::reset_policy::coalesce()}} {}
};

/// std::vector with cairn behind it: one type in its declaration changes.
template <class Arena = coalescing_arena>
struct cairn_vector_lists {
    using allocator = cairn::std_allocator<node_index, Arena>;
    using children = std::vector<node_index, allocator>;
    Arena arena;
    children start() { return children{allocator{arena}}; }
    void reset() { arena.reset(); }
};

/// cairn as one would write it from the start: lists are collected at the tip of the arena, nodes
/// keep a pointer and a size, and nobody destroys anything.
struct cairn_builder_lists {
    using children = cairn::slice<node_index>;
    coalescing_arena arena;
    auto start() { return cairn::builder<node_index, coalescing_arena>{arena}; }
    void reset() { arena.reset(); }
};

}  // namespace lab::parser
