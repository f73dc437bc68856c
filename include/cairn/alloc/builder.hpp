// cairn/alloc/builder.hpp - collects an unknown number of elements at the tip of an arena.
//
//      | live ... | e0 e1 e2 e3 . . . . |        free        |
//                   ^begin      ^size   ^capacity: doubles in place while the builder is at the tip
//
//      | live ... | e0 e1 e2 e3 |           free             |    finish(): the slack goes back
//
//      cairn::builder<visible_object> seen{frame};
//      for (const object& o : world) { if (sees(camera, o)) { seen.push_back({&o, depth(o)}); } }
//      std::span<visible_object> list = seen.finish();
//
// std::vector must move its elements each time it grows, because its allocator cannot say "you may
// have more, here". An arena can: nothing is copied while the builder is the last thing in it. When
// something else was allocated behind it, or a growing arena changes block, the elements move once.
//
// Use it for: lists whose length is known at the end: visible objects, child nodes, tokens.
// Look elsewhere for: containers that live on and change (packed_array.hpp).
//
// Cost:    push_back: one compare, one store. The first room is inlined where the arena's type is
//          named: a list of up to eight elements makes no call; one of none is a compare. Growth:
//          O(1) at the tip, otherwise O(size) moves.
// Misuse:  checked builds name a builder that took its room in a scope (arena_scope) of its arena
//          and grows, is finished or ends behind that scope, which took the elements along. They
//          count scopes: behind it, another scope of the same depth passes for it.
// Failure: push_back returns false when the arena is exhausted; the elements so far are intact.
// Requires of T: move construction, because elements may move when the tip is taken. A move that
// throws there ends the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/core/inside/construct.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/storage/inside/growth.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// `builder<T>` collects in any allocator, through an allocator_ref that is called once per
/// doubling and once in finish(). Where thousands of short lists are built, name the arena's type:
/// `builder<T, growing_arena>` inlines these calls too.
template <detail::element T, byte_allocator Arena = allocator_ref>
class builder {
    static_assert(sizeof(detail::concrete_rules<T>) != 0);
    static_assert(!detail::is_concrete<T> || std::is_move_constructible_v<T>,
                  "elements of a builder may have to move");

    static constexpr bool erased = std::is_same_v<Arena, allocator_ref>;
    using reference = std::conditional_t<erased, allocator_ref, Arena&>;

public:
    /// Collects in `arena`; takes room for `capacity_first` elements at the first push_back.
    explicit builder(reference arena, std::size_t capacity_first = 8) noexcept
        : arena_{arena}, capacity_first_{capacity_first != 0 ? capacity_first : 1} {}

    /// Not finished: destroys the elements and gives the room back.
    ~builder() { clear_and_release(); }

    builder(const builder&) = delete;
    builder& operator=(const builder&) = delete;

    /// Appends T(args...).
    /// Requires: no argument refers to an element of this builder (growth may move it first);
    ///           push_back() may be given one.
    /// Returns: false when the arena is exhausted; nothing has changed then.
    template <class... Args>
    [[nodiscard, CAIRN_FORCE_INLINE]] bool emplace_back(Args&&... args) {
        if (end_ == limit_) [[unlikely]] {
            if (!grow()) { return false; }
        }
        detail::construct_at<T>(end_, static_cast<Args&&>(args)...);
        ++end_;
        return true;
    }

    /// `value` may be an element of this builder.
    [[nodiscard, CAIRN_FORCE_INLINE]] bool push_back(const T& value)
        requires std::is_copy_constructible_v<T>
    {
        if (end_ != limit_) [[likely]] {
            ::new (static_cast<void*>(end_)) T(value);
            ++end_;
            return true;
        }
        T copy = value;  // growth may move the element that it refers to
        return emplace_back(static_cast<T&&>(copy));
    }
    /// By moving from it; a refusal leaves it as it was.
    [[nodiscard, CAIRN_FORCE_INLINE]] bool push_back(T&& value) {
        if constexpr (std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T>) {
            return push_back(static_cast<const T&>(value));  // needs no address, as below
        }
        if (end_ != limit_) [[likely]] {
            ::new (static_cast<void*>(end_)) T(static_cast<T&&>(value));
            ++end_;
            return true;
        }
        // Growth may move the element that it refers to; a refusal must leave it with the caller.
        const auto offset = reinterpret_cast<std::uintptr_t>(compiler::address_of(value)) -
                            reinterpret_cast<std::uintptr_t>(begin_);
        const bool is_element = offset < size() * sizeof(T);
        if (!grow()) { return false; }
        T& source = is_element ? begin_[offset / sizeof(T)] : value;
        ::new (static_cast<void*>(end_)) T(static_cast<T&&>(source));
        ++end_;
        return true;
    }

    /// Removes the last element. Requires: there is one.
    void pop_back() noexcept {
        mark_.expect_free(this, "builder");
        CAIRN_ASSERT(begin_ != end_, "only an element that is there can be removed");
        (--end_)->~T();
    }

    /// Hands the elements over: they live in the arena from now on, as long as it keeps them. Gives
    /// the unused room back when the builder is still the last thing in the arena.
    /// The builder is empty afterwards and can collect again.
    [[nodiscard]] slice<T> finish() noexcept {
        mark_.expect_free(this, "builder");
        expect_room();
        const slice<T> elements{begin_, end_};
        if (elements.empty()) {
            release_room();
            return elements;
        }
        const std::size_t size = capacity() * sizeof(T);
        begin_ = end_ = limit_ = nullptr;
        if (size != elements.size_bytes()) {
            (void)arena_.try_resize(elements.data(), size, elements.size_bytes(),
                                    alignment::of<T>());
        }
        return elements;
    }

    [[nodiscard]] T* begin() noexcept { return begin_; }
    [[nodiscard]] T* end() noexcept { return end_; }
    [[nodiscard]] T& operator[](std::size_t index) noexcept {
        CAIRN_ASSERT(index < size(), "the index is below size()",
                     detail::beyond_end(this, "builder", index, size()));
        return begin_[index];
    }
    [[nodiscard]] T& back() noexcept { return end_[-1]; }
    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
    [[nodiscard]] std::size_t size() const noexcept {
        return static_cast<std::size_t>(end_ - begin_);
    }
    [[nodiscard]] std::size_t capacity() const noexcept {
        return static_cast<std::size_t>(limit_ - begin_);
    }

    /// How many elements had to be moved by growth so far: 0 while the builder kept the tip.
    [[nodiscard]] std::size_t moved_count() const noexcept { return moved_count_; }

private:
    /// The upstream of the arena may come back meanwhile: the builder has no room any more then.
    void release_room() noexcept {
        T* const ended = begin_;
        const std::size_t size = capacity() * sizeof(T);
        begin_ = end_ = limit_ = nullptr;
        if (ended != nullptr) { arena_.deallocate(ended, size, alignment::of<T>()); }
    }

    /// A scope of the arena that ends takes back a room that was taken in it.
    void expect_room() const noexcept {
        if constexpr (asserts_enabled && detail::counts_scopes<Arena>) {
            CAIRN_ASSERT(begin_ == nullptr || room_scopes_ <= arena_.open_scope_count(),
                         "a builder grows, is finished and ends while the scope of its arena in "
                         "which it took its room is open: the elements ended with that scope",
                         {.kind = misuse_kind::outlived, .object = this, .type = "builder"});
        }
    }
    void note_room() noexcept {
        if constexpr (asserts_enabled && detail::counts_scopes<Arena>) {
            room_scopes_ = static_cast<std::uint32_t>(arena_.open_scope_count());
        }
    }

    void clear_and_release() noexcept {
        [[maybe_unused]] const auto ends = mark_.begin(this, "builder");
        expect_room();
        if constexpr (!std::is_trivially_destructible_v<T>) {
            while (end_ != begin_) { (--end_)->~T(); }
        }
        release_room();
    }

    struct room {
        T* begin;
        T* limit;  // one past the room
    };

    /// Once per doubling. The first room is taken here, where the constants are known: in a list of
    /// one to three elements a call costs more than all that they need.
    [[nodiscard, CAIRN_FORCE_INLINE]] bool grow() noexcept {
        [[maybe_unused]] const auto grows = mark_.begin(this, "builder");
        if (begin_ == nullptr) {
            const std::size_t fit = fitting(arena_, capacity_first_);
            void* const first = arena_.allocate(fit * sizeof(T), alignment::of<T>());
            if (first != nullptr) [[likely]] {
                begin_ = end_ = static_cast<T*>(first);
                limit_ = begin_ + fit;
                note_room();
                return true;
            }
        }
        expect_room();
        const room now = grown(arena_, begin_, end_, limit_, capacity_first_);
        const std::size_t count = size();
        if (now.begin + count == now.limit) { return false; }
        const room left{begin_, limit_};
        begin_ = now.begin;
        end_ = limit_ = now.begin + count;
        note_room();
        if (now.begin != left.begin) {
            moved_count_ += count;
            give_back(arena_, left);  // its upstream may look at the elements, and adds none
        }
        limit_ = now.limit;
        return true;
    }

    [[CAIRN_NOINLINE]] static void give_back(reference arena, room r) noexcept {
        if (r.begin == nullptr) { return; }
        const auto size = static_cast<std::size_t>(r.limit - r.begin) * sizeof(T);
        arena.deallocate(r.begin, size, alignment::of<T>());
    }

    /// Elements in the room that the arena would give for `wanted` of them: what it rounds up to
    /// costs nothing.
    [[nodiscard]] static std::size_t fitting(reference arena, std::size_t wanted) noexcept {
        return arena.good_size(detail::saturating_multiply(wanted, sizeof(T)), alignment::of<T>()) /
               sizeof(T);
    }

    /// Cold. Takes and returns values, in registers, and not `this`: so a builder that is a local
    /// variable may live in registers while it collects.
    /// Returns: the old room when the arena is exhausted.
    [[nodiscard, CAIRN_NOINLINE]] static room grown(reference arena, T* begin, T* end, T* limit,
                                                    std::size_t capacity_first) noexcept {
        const auto capacity = static_cast<std::size_t>(limit - begin);
        // Twice the room; near the end of the arena what can be had of that, and the last elements
        // one by one only where they need no copy.
        room larger{begin, limit};
        const auto attempt = [&](std::size_t wanted) {
            larger = grown_to(arena, begin, end, limit, wanted, true);
            return larger.limit != limit;
        };
        const std::size_t wish = begin == nullptr ? capacity_first : capacity * 2;
        if (detail::grow_by_halves(capacity, capacity + 1, wish, attempt) != 0) { return larger; }
        return grown_to(arena, begin, end, limit, capacity + 1, false);
    }

    /// Returns: the old room when the arena refuses.
    [[nodiscard]] static room grown_to(reference arena, T* begin, T* end, T* limit,
                                       std::size_t wanted, bool may_move) noexcept {
        const auto count = static_cast<std::size_t>(end - begin);
        const auto capacity = static_cast<std::size_t>(limit - begin);
        const std::size_t fit = fitting(arena, wanted);
        if (begin != nullptr &&
            arena.try_resize(begin, capacity * sizeof(T), fit * sizeof(T), alignment::of<T>())) {
            return {begin, begin + fit};
        }
        if (!may_move) { return {begin, limit}; }
        auto* const first = static_cast<T*>(arena.allocate(fit * sizeof(T), alignment::of<T>()));
        if (first == nullptr) { return {begin, limit}; }
        if constexpr (std::is_trivially_copyable_v<T>) {
            if (count != 0) { std::memcpy(first, begin, count * sizeof(T)); }
        } else {
            for (std::size_t i = 0; i < count; ++i) {
                ::new (static_cast<void*>(first + i)) T(static_cast<T&&>(begin[i]));
                begin[i].~T();
            }
        }
        return {first, first + fit};
    }

    T* begin_ = nullptr;
    T* end_ = nullptr;    // one past the last element
    T* limit_ = nullptr;  // one past the room
    reference arena_;
    std::size_t capacity_first_;  // elements to take room for at first
    std::size_t moved_count_ = 0;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::callback_mark mark_;  // while it grows or ends
    struct not_counted {};
    [[CAIRN_NO_UNIQUE_ADDRESS]] std::conditional_t<asserts_enabled, std::uint32_t, not_counted>
        room_scopes_{};  // that were open when the room was taken
};

}}  // namespace cairn::CAIRN_FLAVOUR
