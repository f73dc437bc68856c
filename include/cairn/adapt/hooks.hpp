// cairn/adapt/hooks.hpp - an allocator as the C functions that a library asks for.
//
//      cairn::heap<>& script_memory() noexcept {          // made at its first use, and never ended
//          static auto* const memory = new cairn::heap<>;
//          return *memory;
//      }
//      using hooks = cairn::hooks<script_memory>;         // or hooks<object>, an object's name
//      library_set_memory(hooks::malloc, hooks::realloc, hooks::free);
//
//      a library with a context pointer:    cairn::context_hooks<cairn::heap<>>, context: &memory
//      a library that frees with its size:  cairn::hooks<memory, cairn::hook_sizes::trusted>
//
// Blocks of an allocator that finds their sizes (heap, concurrent_heap) have nothing in front. Any
// other allocator (an arena, tracked, budget) gets the size from 16 bytes in front of each block:
//
//      allocate(lead + size)              lead: 16, or the alignment where it is larger
//      +--------------------+-------------+----------------------------+
//      | alignment above 16 | size | lead | what the library gets      |
//      +--------------------+-------------+----------------------------+
//
// Use it for: Lua, SQLite, stb, yyjson, a physics engine: whatever takes functions for its memory.
// Look elsewhere for: containers of C++ (std/allocator_for.hpp, std/std_allocator.hpp).
//
// Lifetimes: the memory must exist before the library's first call and after its last one. Many
//            libraries free in the destructors of static objects, so the form above never ends its
//            memory. A thread_local object cannot be named: give each thread a context instead.
// Threads:   those of the memory. locked<> or concurrent_heap for a library with several threads.
// Cost:      that of the allocator; 16 bytes a block where the sizes stand in front.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/named_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Are the sizes true that a library passes to free_sized() and realloc_sized()?
///
/// untrusted: they are not read. Many libraries pass a size that they did not ask for.
/// trusted:   the allocator gets them, and nothing stands in front of a block. A size that is wrong
///            is then the same mistake as with the allocator itself.
enum class hook_sizes : bool { untrusted, trusted };

namespace detail {

/// Frees a block without its size, and reports what it may use.
template <class A>
concept finds_sizes = requires(A& a, const A& asked, void* p) {
    { a.deallocate(p) } noexcept;
    { asked.usable_size(p) } noexcept -> std::same_as<std::size_t>;
};

template <class A>
concept allocates_zeroed = requires(A& a, std::size_t size, alignment align) {
    { a.allocate_zeroed(size, align) } noexcept -> std::same_as<void*>;
};

/// What stands in front of a block whose allocator does not find its size.
struct hook_header {
    std::size_t size;  // of the block, in bytes
    std::size_t lead;  // bytes in front of it, and its alignment; 0 after free()
};
static_assert(sizeof(hook_header) == 16);

/// Allocates blocks of A that can be freed and resized without their size.
template <byte_allocator A>
class unsized_blocks {
public:
    [[nodiscard]] static void* allocate(A& a, std::size_t size, alignment align,
                                        bool zeroed) noexcept {
        if constexpr (finds_sizes<A>) {
            return bytes(a, size, align, zeroed);
        } else {
            const std::size_t lead = lead_for(align);
            if (size > SIZE_MAX - lead) { return nullptr; }
            void* const at = bytes(a, lead + size, alignment{lead}, zeroed);
            if (at == nullptr) { return nullptr; }
            void* const p = static_cast<std::byte*>(at) + lead;
            *header(p) = {size, lead};
            return p;
        }
    }

    static void deallocate(A& a, void* p) noexcept {
        if (p == nullptr) { return; }
        if constexpr (finds_sizes<A>) {
            a.deallocate(p);
        } else {
            const hook_header h = checked_header(p);
            header(p)->lead = 0;
            a.deallocate(start(p, h), h.lead + h.size, alignment{h.lead});
        }
    }

    [[nodiscard]] static std::size_t size_of(const A& a, void* p) noexcept {
        if constexpr (finds_sizes<A>) {
            return a.usable_size(p);
        } else {
            return checked_header(p).size;
        }
    }

    [[nodiscard]] static bool try_resize(A& a, void* p, std::size_t old_size,
                                         std::size_t size) noexcept {
        if constexpr (!resizes_in_place<A>) {
            return false;
        } else if constexpr (finds_sizes<A>) {
            return a.try_resize(p, old_size, size, default_alignment);
        } else {
            const hook_header h = checked_header(p);
            if (size > SIZE_MAX - h.lead ||
                !a.try_resize(start(p, h), h.lead + old_size, h.lead + size, alignment{h.lead})) {
                return false;
            }
            header(p)->size = size;
            return true;
        }
    }

    /// `size` bytes of `a`, cleared where `zeroed` says so and the allocator has not done it.
    [[nodiscard]] static void* bytes(A& a, std::size_t size, alignment align,
                                     bool zeroed) noexcept {
        if (!zeroed) { return a.allocate(size, align); }
        if constexpr (allocates_zeroed<A>) {
            return a.allocate_zeroed(size, align);
        } else {
            void* const p = a.allocate(size, align);
            return p == nullptr ? nullptr : std::memset(p, 0, size);
        }
    }

private:
    [[nodiscard]] static std::size_t lead_for(alignment align) noexcept {
        return align.bytes() > sizeof(hook_header) ? align.bytes() : sizeof(hook_header);
    }
    [[nodiscard]] static hook_header* header(void* p) noexcept {
        return static_cast<hook_header*>(p) - 1;
    }
    [[nodiscard]] static hook_header checked_header(void* p) noexcept {
        const hook_header h = *header(p);
        CAIRN_ASSERT(h.lead >= sizeof(hook_header) && (h.lead & (h.lead - 1)) == 0,
                     "a pointer that a library frees or resizes through hooks came from the same "
                     "hooks, is still live, and nothing wrote in front of it",
                     {.object = p, .type = "hooks"});
        return h;
    }
    [[nodiscard]] static void* start(void* p, const hook_header& h) noexcept {
        return static_cast<std::byte*>(p) - h.lead;
    }
};

}  // namespace detail

/// The functions of hooks<>, with the address of the allocator in front: for libraries that pass a
/// context pointer. Each returns nullptr when the allocator refuses; nothing has changed then.
template <byte_allocator A, hook_sizes Sizes = hook_sizes::untrusted>
class context_hooks {
    using blocks = detail::unsized_blocks<A>;
    // Trusted sizes need no header, and then only an allocator that finds sizes does without them.
    static constexpr bool can_omit_sizes = Sizes == hook_sizes::untrusted || detail::finds_sizes<A>;

    [[nodiscard]] static A& at(void* memory) noexcept { return *static_cast<A*>(memory); }
    [[nodiscard]] static bool is_alignment(std::size_t align) noexcept {
        return align != 0 && (align & (align - 1)) == 0;
    }
    [[nodiscard]] static void* get(void* memory, std::size_t size, alignment align,
                                   bool zeroed = false) noexcept {
        if constexpr (Sizes == hook_sizes::trusted) {
            return blocks::bytes(at(memory), size, align, zeroed);
        } else {
            return blocks::allocate(at(memory), size, align, zeroed);
        }
    }
    /// Moves `p` to a new block of `size` bytes.
    [[nodiscard]] static void* move(void* memory, const void* p, std::size_t old_size,
                                    std::size_t size) noexcept {
        void* const moved = get(memory, size, default_alignment);
        if (moved == nullptr) { return nullptr; }
        return std::memcpy(moved, p, old_size < size ? old_size : size);
    }

public:
    // Names in parentheses: some C libraries define malloc and free as macros with arguments.

    /// `size` bytes at a multiple of 16; size 0 gives a pointer that may be freed.
    [[nodiscard]] static void*(malloc)(void* memory, std::size_t size) noexcept {
        return get(memory, size, default_alignment);
    }
    /// `count` times `size` bytes, all zero. Returns: nullptr, too, when there is no such size.
    /// Cost: clears the bytes, unless the allocator has allocate_zeroed() and knows them as fresh.
    [[nodiscard]] static void*(calloc)(void* memory, std::size_t count, std::size_t size) noexcept {
        if (size != 0 && count > SIZE_MAX / size) { return nullptr; }
        return get(memory, count * size, default_alignment, true);
    }
    /// Gives a live block back; nullptr is allowed.
    static void(free)(void* memory, void* p) noexcept
        requires can_omit_sizes
    {
        blocks::deallocate(at(memory), p);
    }
    /// Changes the size of a live block, which moves where it cannot grow. As the C library's
    /// does: a `p` of nullptr allocates, a `size` of 0 frees and returns nullptr. The alignment is
    /// kept only up to 16. A smaller `size` is never refused: the block then stays as it is.
    [[nodiscard]] static void*(realloc)(void* memory, void* p, std::size_t size) noexcept
        requires can_omit_sizes
    {
        if (p == nullptr) { return get(memory, size, default_alignment); }
        if (size == 0) { return blocks::deallocate(at(memory), p), nullptr; }
        const std::size_t old_size = blocks::size_of(at(memory), p);
        if (blocks::try_resize(at(memory), p, old_size, size)) { return p; }
        void* const moved = move(memory, p, old_size, size);
        if (moved == nullptr) { return size <= old_size ? p : nullptr; }
        blocks::deallocate(at(memory), p);
        return moved;
    }
    /// Bytes that the live block `p` may use, at least what was asked for; 0 for nullptr.
    [[nodiscard]] static std::size_t malloc_usable_size(void* memory, void* p) noexcept
        requires can_omit_sizes
    {
        return p == nullptr ? 0 : blocks::size_of(at(memory), p);
    }

    /// `size` bytes at a multiple of `align`; free() takes them back. Returns: nullptr, too, when
    /// `align` is not a power of two.
    [[nodiscard]] static void* aligned_alloc(void* memory, std::size_t align,
                                             std::size_t size) noexcept {
        return is_alignment(align) ? get(memory, size, alignment{align}) : nullptr;
    }
    /// The same with the size first, as _aligned_malloc().
    [[nodiscard]] static void* aligned_malloc(void* memory, std::size_t size,
                                              std::size_t align) noexcept {
        return aligned_alloc(memory, align, size);
    }

    /// As free(), for libraries that pass the size.
    static void free_sized(void* memory, void* p, std::size_t size) noexcept {
        free_aligned_sized(memory, p, default_alignment.bytes(), size);
    }
    /// As free_sized(), for blocks of aligned_alloc(). Requires, with trusted sizes: the alignment
    /// and size that were asked for.
    static void free_aligned_sized(void* memory, void* p, std::size_t align,
                                   std::size_t size) noexcept {
        if constexpr (Sizes == hook_sizes::trusted) {
            at(memory).deallocate(p, size, alignment{align});
        } else {
            blocks::deallocate(at(memory), p);
        }
    }
    /// As realloc(), for libraries that pass the old size, which is not read where `p` is nullptr.
    /// With trusted sizes a smaller `size` may be refused: the block's size would be wrong else.
    [[nodiscard]] static void* realloc_sized(void* memory, void* p, std::size_t old_size,
                                             std::size_t size) noexcept {
        if constexpr (Sizes == hook_sizes::untrusted) {
            return (realloc)(memory, p, size);
        } else {
            if (p == nullptr) { return get(memory, size, default_alignment); }
            if (size == 0) {
                free_sized(memory, p, old_size);
                return nullptr;
            }
            if constexpr (resizes_in_place<A>) {
                if (at(memory).try_resize(p, old_size, size, default_alignment)) { return p; }
            }
            void* const moved = move(memory, p, old_size, size);
            if (moved != nullptr) { free_sized(memory, p, old_size); }
            return moved;
        }
    }
};

/// The functions without a context, for the one allocator that `Memory` names: an object with
/// static storage, or a function that returns a reference to it. What each does: context_hooks<>.
template <auto& Memory, hook_sizes Sizes = hook_sizes::untrusted>
class hooks {
    using in = context_hooks<detail::named_memory_type<Memory>, Sizes>;
    static constexpr bool can_omit_sizes =
        Sizes == hook_sizes::untrusted || detail::finds_sizes<detail::named_memory_type<Memory>>;
    [[nodiscard]] static void* memory() noexcept {
        return compiler::address_of(detail::named_memory<Memory>());
    }

public:
    /// As context_hooks::malloc().
    [[nodiscard]] static void*(malloc)(std::size_t size) noexcept {
        return (in::malloc)(memory(), size);
    }
    /// As context_hooks::calloc().
    [[nodiscard]] static void*(calloc)(std::size_t count, std::size_t size) noexcept {
        return (in::calloc)(memory(), count, size);
    }
    /// As context_hooks::realloc().
    [[nodiscard]] static void*(realloc)(void* p, std::size_t size) noexcept
        requires can_omit_sizes
    {
        return (in::realloc)(memory(), p, size);
    }
    /// As context_hooks::free().
    static void(free)(void* p) noexcept
        requires can_omit_sizes
    {
        (in::free)(memory(), p);
    }
    /// As context_hooks::malloc_usable_size().
    [[nodiscard]] static std::size_t malloc_usable_size(void* p) noexcept
        requires can_omit_sizes
    {
        return in::malloc_usable_size(memory(), p);
    }
    /// As context_hooks::aligned_alloc().
    [[nodiscard]] static void* aligned_alloc(std::size_t align, std::size_t size) noexcept {
        return in::aligned_alloc(memory(), align, size);
    }
    /// As context_hooks::aligned_malloc().
    [[nodiscard]] static void* aligned_malloc(std::size_t size, std::size_t align) noexcept {
        return in::aligned_malloc(memory(), size, align);
    }
    /// As context_hooks::free_sized().
    static void free_sized(void* p, std::size_t size) noexcept {
        in::free_sized(memory(), p, size);
    }
    /// As context_hooks::free_aligned_sized().
    static void free_aligned_sized(void* p, std::size_t align, std::size_t size) noexcept {
        in::free_aligned_sized(memory(), p, align, size);
    }
    /// As context_hooks::realloc_sized().
    [[nodiscard]] static void* realloc_sized(void* p, std::size_t old_size,
                                             std::size_t size) noexcept {
        return in::realloc_sized(memory(), p, old_size, size);
    }

    /// An allocator of RapidJSON, whose names these are:
    /// rapidjson::GenericDocument<rapidjson::UTF8<>,
    /// hooks<memory>::rapidjson, hooks<memory>::rapidjson>. It asks for 0 bytes and wants nullptr.
    struct rapidjson {
        /// RapidJSON frees each block.
        static constexpr bool kNeedFree = true;
        /// nullptr for 0 bytes.
        [[nodiscard]] void* Malloc(std::size_t size) noexcept {
            return size == 0 ? nullptr : (hooks::malloc)(size);
        }
        /// Frees and returns nullptr for 0 bytes.
        [[nodiscard]] void* Realloc(void* p, std::size_t, std::size_t size) noexcept {
            return size != 0 ? (hooks::realloc)(p, size) : (Free(p), static_cast<void*>(nullptr));
        }
        /// As hooks::free().
        static void Free(void* p) noexcept { (hooks::free)(p); }
        friend bool operator==(const rapidjson&, const rapidjson&) noexcept = default;
    };
};

}}  // namespace cairn::CAIRN_FLAVOUR
