// cairn/alloc/arena_scope.hpp - a marker that rewinds itself, and runs destructors.
//
//      before the scope   |  inside the scope
//      +------+------+----+--------+------+---------+--------+------+---------+
//      | live | live |      node 1 | obj1 |  bytes  | node 2 | obj2 |  ...    |
//      +------+------+----+--------+------+---------+--------+------+---------+
//                         ^           ^                 |
//                   mark taken         `----------------'  newest_ -> node 2 -> node 1
//
//      {
//          cairn::arena_scope temporary{frame};
//          auto* path = temporary.make<std::vector<node>>();   // destroyed at the closing brace
//          auto  keys = temporary.make_array<float>(count);    // forgotten at the closing brace
//      }                                                       // frame is where it was
//
// Works on every arena: arena, growing_arena, virtual_arena, both ends of a double_ended_arena, the
// active arena of a frame_arena. It is an allocator itself, so containers can grow in it.
//
// Cost:    a mark and a rewind. Objects with a destructor cost one node of three words in front of
//          them; trivially destructible ones cost nothing.
// Order:   destructors run newest first, before the memory is rewound; the scope is open while they
//          run, so they may allocate from it.
// Misuse:  checked builds name a scope that ends before an inner one, memory taken from an outer
//          scope while an inner one is open (it would die with the inner one), and a scope whose
//          arena was reset, or rewound to a marker in front of it, before its end. A scope and an
//          allocation are 39 instructions there, 16 without asserts (gcc 12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/alloc/inside/arena_checks.hpp>
#include <cairn/alloc/inside/makes_objects.hpp>
#include <cairn/core/byte_allocator.hpp>
#include <cairn/core/inside/element.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class Arena>
class arena_scope {
public:
    explicit arena_scope(Arena& arena) noexcept
        : arena_{arena}, start_{detail::arena_access::open_scope(arena)} {}

    /// Runs the destructors, newest first, and rewinds.
    ~arena_scope() {
        detail::arena_access::marks(arena_).expect_last(start_.stamp);
        run_destructors();
        detail::arena_access::close_scope(arena_, start_);
    }

    arena_scope(const arena_scope&) = delete;
    arena_scope& operator=(const arena_scope&) = delete;

    /// As Arena::allocate. Requires: no inner scope of the same arena is open.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        detail::arena_access::marks(arena_).expect_innermost(start_.stamp);
        return arena_.allocate(size, align);
    }
    void deallocate(void* p, std::size_t size, alignment align = default_alignment) noexcept {
        arena_.deallocate(p, size, align);
    }
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept {
        return arena_.try_resize(p, old_size, new_size, align);
    }
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment align) const noexcept {
        return arena_.good_size(size, align);
    }
    [[nodiscard]] bool owns(const void* p) const noexcept { return arena_.owns(p); }
    [[nodiscard]] bool is_last(const void* p, std::size_t size) const noexcept {
        return arena_.is_last(p, size);
    }
    /// Scopes of the arena that are open, this one included. Unchecked builds do not count: 0.
    [[nodiscard]] std::size_t open_scope_count() const noexcept {
        return arena_.open_scope_count();
    }

    /// A new T, destroyed when the scope ends.
    /// Returns: nullptr when it does not fit; nothing is constructed then.
    template <detail::maybe_const_element T, class... Args>
    [[nodiscard]] std::add_pointer_t<T> make(Args&&... args) {
        static_assert(sizeof(detail::concrete_rules<T>) != 0);
        if constexpr (std::is_trivially_destructible_v<T>) {
            return cairn::make<T>(*this, static_cast<Args&&>(args)...);
        } else {
            node* const n = allocate_node<T>(1);
            if (n == nullptr) [[unlikely]] { return nullptr; }
            T* const object =
                detail::construct_at<T>(objects_of<T>(n), static_cast<Args&&>(args)...);
            register_node(n, 1, &destroy_objects<T>);
            return object;
        }
    }

    /// `count` value-initialized objects, destroyed when the scope ends, last one first.
    /// Returns: an empty span when they do not fit.
    template <detail::element T>
    [[nodiscard]] slice<T> make_array(std::size_t count) {
        static_assert(sizeof(detail::concrete_rules<T>) != 0);
        if (detail::is_absurd_count<T>(count)) { return {}; }
        if constexpr (std::is_trivially_destructible_v<T>) {
            void* const memory = allocate(sizeof(T) * count, alignment::of<T>());
            return memory != nullptr ? detail::construct_array<T>(memory, count) : slice<T>{};
        } else {
            node* const n = allocate_node<T>(count);
            if (n == nullptr) [[unlikely]] { return {}; }
            const slice<T> objects = detail::construct_array<T>(objects_of<T>(n), count);
            register_node(n, count, &destroy_objects<T>);
            return objects;
        }
    }

    /// As arena.copy(): a copy of a view of characters, ended by a 0. Forgotten when the scope
    /// ends.
    template <detail::character_view View>
    [[nodiscard]] View copy(View text) noexcept {
        return detail::copy_text(*this, text);
    }

    [[nodiscard]] Arena& arena() noexcept { return arena_; }
    [[nodiscard]] const Arena& arena() const noexcept { return arena_; }

private:
    struct node {
        node* older;
        std::size_t count;
        void (*destroy)(node*) noexcept;
    };

    // node, then the objects at their alignment
    template <class T>
    static constexpr std::size_t objects_offset =
        detail::round_up(sizeof(node), alignment::of<T>());
    template <class T>
    static constexpr alignment node_align{alignof(T) > alignof(node) ? alignof(T) : alignof(node)};

    template <class T>
    static T* objects_of(node* n) noexcept {
        return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(n) + objects_offset<T>);
    }

    template <class T>
    node* allocate_node(std::size_t count) noexcept {
        return static_cast<node*>(allocate(objects_offset<T> + sizeof(T) * count, node_align<T>));
    }

    void register_node(node* n, std::size_t count, void (*destroy)(node*) noexcept) noexcept {
        newest_ = ::new (static_cast<void*>(n)) node{newest_, count, destroy};
    }

    template <class T>
    static void destroy_objects(node* n) noexcept {
        T* const first = objects_of<T>(n);
        for (std::size_t i = n->count; i != 0; --i) { first[i - 1].~T(); }
    }

    void run_destructors() noexcept {
        while (newest_ != nullptr) {
            node* const n = newest_;
            newest_ = n->older;  // read before: a destructor may look at the arena
            n->destroy(n);
        }
    }

    Arena& arena_;
    decltype(detail::arena_access::open_scope(*static_cast<Arena*>(nullptr))) start_;
    node* newest_ = nullptr;  // objects to destroy, newest first
};

}}  // namespace cairn::CAIRN_FLAVOUR
