// cairn/core/inside/callback_mark.hpp - a container calls functions of the user, which may come
// back and change it.
//
//      word:   | loops     | holes | building | gap | changes     |      in checked builds only
//               31      16      15       14     13   12          0
//
//      changes   destructors, moves, predicates or orders that run now: nothing else changes, no
//                loop begins
//      building  a constructor runs, and the object is not there yet: nothing else changes
//      holes     rows move (erase_if, growth, sort): no row is read, and no handle is looked up
//      gap       erase_if asks, with erased rows below size(): no row is read by its number
//      loops     visitors of for_each that run now: nothing changes
//
//      [[maybe_unused]] const auto change = mark_.begin(this, "packed_array");
//
// Checked builds stop before the forbidden change happens. A scope ends by an exception, too.
//
// Cost: a load, a compare and two stores a change; two atomic additions a loop, because several
//       threads may read a container at once. Unchecked builds: nothing, not even a byte.
#pragma once

#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/atomic.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class callback_mark {
public:
    constexpr callback_mark() noexcept = default;
    callback_mark(const callback_mark&) = delete;
    callback_mark& operator=(const callback_mark&) = delete;

#if CAIRN_ASSERTS
    /// Of a container that is moved from, which is a change of it.
    callback_mark(callback_mark&& from) noexcept { from.expect_free(&from, "container"); }

    class change {
    public:
        explicit change(callback_mark& mark, std::uint32_t added) noexcept
            : mark_{mark}, before_{mark.word()} {
            mark_.word_.store(before_ + added, memory_order::relaxed);
        }
        change(const change&) = delete;
        ~change() { mark_.word_.store(before_, memory_order::relaxed); }

    private:
        callback_mark& mark_;
        std::uint32_t before_;
    };
    /// The same for an object that a loop does not meet yet, from here on until the scope ends.
    /// Where no function of the user is called (`calls_user`), the mark is read, not set.
    class building {
    public:
        building(callback_mark& mark, const void* container, const char* type,
                 bool calls_user = true) noexcept
            : mark_{mark}, calls_user_{calls_user} {
            mark.expect_free(container, type);
            if (calls_user_) { mark.word_.store(being_built, memory_order::relaxed); }
        }
        building(const building&) = delete;
        ~building() {
            if (calls_user_) { mark_.word_.store(0, memory_order::relaxed); }  // as before
        }

    private:
        callback_mark& mark_;
        bool calls_user_;
    };
    class loop {
    public:
        explicit loop(const callback_mark& mark) noexcept : mark_{mark} {
            mark_.word_.fetch_add(one_loop, memory_order::relaxed);
        }
        loop(const loop&) = delete;
        ~loop() { mark_.word_.fetch_sub(one_loop, memory_order::relaxed); }

    private:
        const callback_mark& mark_;
    };

    /// `container` changes, and calls functions of the user, until the scope ends. Where the user
    /// has none (`CallsUser`), the mark is read, not set.
    template <bool CallsUser = true>
    [[nodiscard, CAIRN_FORCE_INLINE]] auto begin(const void* container, const char* type) noexcept {
        expect_free(container, type);
        if constexpr (CallsUser) {
            return change{*this, one_change};
        } else {
            return nothing{};
        }
    }
    /// `container` ends: nothing changes it and no loop begins any more, also while its members
    /// give their memory back.
    void close(const void* container, const char* type) noexcept {
        expect_free(container, type);
        word_.store(one_change, memory_order::relaxed);
    }
    /// While the container changes: whether it has rows that were erased or moved away.
    [[CAIRN_FORCE_INLINE]] void set_holes(bool has) noexcept { set(holes, has); }
    [[CAIRN_FORCE_INLINE]] void set_gap(bool has) noexcept { set(gap, has); }
    /// A row of `container` is read.
    [[CAIRN_FORCE_INLINE]] void expect_no_holes([[maybe_unused]] const void* container,
                                                [[maybe_unused]] const char* type) const noexcept {
        CAIRN_ASSERT((word() & holes) == 0,
                     "a destructor or move reads no row while rows move: in erase_if, growth, sort",
                     {.object = container, .type = type});
    }
    /// The same, by the number of the row.
    [[CAIRN_FORCE_INLINE]] void expect_no_gap([[maybe_unused]] const void* container,
                                              [[maybe_unused]] const char* type) const noexcept {
        CAIRN_ASSERT((word() & (holes | gap)) == 0,
                     "no other row is read in erase_if, and none while rows move: some have ended",
                     {.object = container, .type = type});
    }
    /// An object of a container that allows changes meanwhile begins or ends.
    [[nodiscard, CAIRN_FORCE_INLINE]] change begin_object() noexcept {
        return change{*this, one_change};
    }
    /// `container` calls a function of the user for each object until the scope ends.
    [[nodiscard]] loop visit(const void* container, const char* type) const noexcept {
        expect_whole(container, type);
        return loop{*this};
    }
    /// A loop over `container` begins: no object begins, moves or ends.
    [[CAIRN_FORCE_INLINE]] void expect_whole([[maybe_unused]] const void* container,
                                             [[maybe_unused]] const char* type) const noexcept {
        CAIRN_ASSERT((word() & (one_loop - 1) & ~being_built) == 0,
                     "no loop begins while a container changes: a destructor, move, predicate or "
                     "order would meet objects that are not whole",
                     {.object = container, .type = type});
    }
    /// `container` takes memory or gives some back, in a visitor too: no other change is under way.
    [[CAIRN_FORCE_INLINE]] void expect_unchanged([[maybe_unused]] const void* container,
                                                 [[maybe_unused]] const char* type) const noexcept {
        CAIRN_ASSERT(
            (word() & (one_loop - 1)) == 0,
            "an allocator or container neither grows nor shrinks while it calls its upstream",
            {.object = container, .type = type});
    }
    /// `container` may change: nothing is under way.
    [[CAIRN_FORCE_INLINE]] void expect_free([[maybe_unused]] const void* container,
                                            [[maybe_unused]] const char* type) const noexcept {
        CAIRN_ASSERT(word() == 0,
                     "a container is not changed by a function that it calls: a constructor, "
                     "destructor, move, predicate, order, visitor or upstream",
                     {.object = container, .type = type});
    }

private:
    static constexpr std::uint32_t one_change = 1;
    static constexpr std::uint32_t gap = 0x2000;
    static constexpr std::uint32_t being_built = 0x4000;
    static constexpr std::uint32_t holes = 0x8000;
    static constexpr std::uint32_t one_loop = 0x1'0000;

    [[CAIRN_FORCE_INLINE]] void set(std::uint32_t bit, bool is) noexcept {
        word_.store((word() & ~bit) | (is ? bit : 0), memory_order::relaxed);
    }
    [[nodiscard]] std::uint32_t word() const noexcept { return word_.load(memory_order::relaxed); }

    struct nothing {};

    mutable atomic<std::uint32_t> word_{0};
#else
    constexpr callback_mark(callback_mark&&) noexcept {}

    struct change {};
    struct loop {};
    /// Without a constructor: not even a build without optimization calls one.
    struct building {
        const callback_mark& mark;
        const void* container;
        const char* type;
        bool calls_user = true;
    };
    template <bool CallsUser = true>
    [[nodiscard, CAIRN_FORCE_INLINE]] static constexpr change begin(const void*,
                                                                    const char*) noexcept {
        return {};
    }
    [[nodiscard, CAIRN_FORCE_INLINE]] static constexpr change begin_object() noexcept { return {}; }
    [[CAIRN_FORCE_INLINE]] static constexpr void close(const void*, const char*) noexcept {}
    [[nodiscard, CAIRN_FORCE_INLINE]] static constexpr loop visit(const void*,
                                                                  const char*) noexcept {
        return {};
    }
    [[CAIRN_FORCE_INLINE]] static constexpr void set_holes(bool) noexcept {}
    [[CAIRN_FORCE_INLINE]] static constexpr void set_gap(bool) noexcept {}
    [[CAIRN_FORCE_INLINE]] static constexpr void expect_no_gap(const void*, const char*) noexcept {}
    [[CAIRN_FORCE_INLINE]] static constexpr void expect_no_holes(const void*,
                                                                 const char*) noexcept {}
    [[CAIRN_FORCE_INLINE]] static constexpr void expect_whole(const void*, const char*) noexcept {}
    [[CAIRN_FORCE_INLINE]] static constexpr void expect_unchanged(const void*,
                                                                  const char*) noexcept {}
    [[CAIRN_FORCE_INLINE]] static constexpr void expect_free(const void*, const char*) noexcept {}
#endif
};

/// A second mark in one object: in unchecked builds a type of its own, because two empty members of
/// one type would need a byte.
#if CAIRN_ASSERTS
using memory_mark = callback_mark;
#else
class memory_mark {
public:
    constexpr memory_mark() noexcept = default;
    constexpr memory_mark(memory_mark&&) noexcept {}
    [[nodiscard]] static constexpr callback_mark::change begin(const void*, const char*) noexcept {
        return {};
    }
    static constexpr void expect_free(const void*, const char*) noexcept {}
};
#endif

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
