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
#include <utility>
#include <vector>

#include "lab/parser/article_arena.hpp"
#include "lab/parser/small_vector.hpp"
#include "lab/parser/tree.hpp"

namespace lab::parser {

/// std::vector, whatever malloc there is.
struct vector_lists {
    using children = std::vector<node_index>;
    children start() { return {}; }
    children finish(children&& c) { return std::move(c); }
    void reset() {}
};

struct small_vector_lists {
    using children = small_vector<node_index, 8>;
    children start() { return {}; }
    children finish(children&& c) { return std::move(c); }
    void reset() {}
};

/// std::pmr::vector over a monotonic resource that gives everything back after each parse.
struct pmr_lists {
    using children = std::pmr::vector<node_index>;
    std::pmr::monotonic_buffer_resource resource;
    pmr_lists() = default;
    explicit pmr_lists(std::pmr::memory_resource* upstream) : resource{upstream} {}
    children start() { return children{&resource}; }
    children finish(children&& c) { return std::move(c); }
    void reset() { resource.release(); }
};

/// The same over a buffer that is large enough and stays.
struct pmr_buffer_lists {
    using children = std::pmr::vector<node_index>;
    std::vector<std::byte> buffer = std::vector<std::byte>(std::size_t{64} << 20);
    std::pmr::monotonic_buffer_resource resource{buffer.data(), buffer.size()};
    children start() { return children{&resource}; }
    children finish(children&& c) { return std::move(c); }
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
    children finish(children&& c) { return std::move(c); }
    void reset() { *next = buffer.data(); }
};

struct article_lists {
    using children = std::vector<node_index, article_allocator<node_index>>;
    article_arena arena;
    children start() { return children{article_allocator<node_index>{&arena}}; }
    children finish(children&& c) { return std::move(c); }
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
    children finish(children&& c) { return std::move(c); }
    void reset() { arena.reset(); }
};

/// cairn as one would write it from the start: lists are collected at the tip of the arena, nodes
/// keep a pointer and a size, and nobody destroys anything.
template <class Arena = coalescing_arena>
struct cairn_builder_lists {
    using children = cairn::slice<node_index>;
    Arena arena;
    cairn::builder<node_index, Arena> start() { return cairn::builder<node_index, Arena>{arena}; }
    children finish(cairn::builder<node_index, Arena>&& c) { return c.finish(); }
    void reset() { arena.reset(); }
};

}  // namespace lab::parser
