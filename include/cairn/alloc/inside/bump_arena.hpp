// cairn/alloc/inside/bump_arena.hpp - what is the same in every arena: for those who write one.
//
//      class arena : public bump_arena<arena>
//
//                   mark()                          rewind(marker)
//      bump_arena:  position() + a stamp (checked)  the stamp is checked, then retreat(position)
//      the arena:   where is the tip?               forgets what lies beyond
//
// An arena derives from it and has, for it alone:
//   type_name                 in reports of checked builds
//   position()                what a marker remembers: at least `top`, the address of the tip
//   retreat(position, call)   forgets what was allocated since
//   retreat_alone(position)   the same on the hot path of checked builds; false: it is shut
//   region_                   the bump_region of the functions below that it does not write itself
//   allocate_elsewhere(size, align)   where region_ has no room: what is found otherwise, or null
//   region()                  only where it has no region_: the one that it shares
//
// Cost: none of its own: inlined. One empty base where asserts are off.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/bump_region.hpp>
#include <cairn/alloc/inside/makes_objects.hpp>
#include <cairn/alloc/inside/mark_check.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// What the marker of an arena with one region remembers.
struct bump_position {
    std::uintptr_t top = 0;
};

template <class Arena, class Position = bump_position>
class bump_arena : public makes_objects<Arena> {
public:
    /// A point in the arena's life to rewind to; dies with a rewind to an older one, or a reset.
    class marker {
        friend class bump_arena;
        Position at_;
        [[no_unique_address]] mark_stamp stamp_;
    };

    /// `size` bytes at a multiple of `align`, uninitialized.
    ///
    /// Returns: nullptr when they do not fit and no room is found elsewhere; nothing has changed.
    /// Size 0:  a non-null pointer that may be freed and not read through.
    /// Cost:    the arena's header says it; an alignment above 16 costs two more instructions and a
    ///          compare.
    [[nodiscard]] [[gnu::always_inline]] void* allocate(
        std::size_t size, alignment align = default_alignment) noexcept {
#if CAIRN_ASSERTS
#    ifdef __OPTIMIZE__  // otherwise one call: the library is optimized in Debug builds, too
        void* p;
        if (self().region_.allocate_alone(size, align, p)) [[likely]] { return p; }
#    endif
        return allocate_checked(size, align);
#else
        return self().region_.allocate_or(size, align, [this](std::size_t s, alignment a) noexcept {
            return self().allocate_elsewhere(s, a);
        });
#endif
    }

    /// Gives the bytes back at once when `p` is the last block; otherwise at the next rewind.
    /// nullptr does nothing.
    /// Requires: `p` came from allocate(size, ...) of this arena and was not freed or rewound.
    void deallocate(void* p, std::size_t size, alignment = default_alignment,
                    call_site from = call_site::current()) noexcept {
#if CAIRN_ASSERTS
#    ifdef __OPTIMIZE__
        if (self().region_.deallocate_alone(p, size)) [[likely]] { return; }
#    endif
        deallocate_checked(p, size, from);
#else
        self().region_.deallocate(p, size, call_of(from));
#endif
    }

    /// `size` rounded to the granule of 16 bytes: that much costs no more than `size`.
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment) const noexcept {
        return size > SIZE_MAX - 15 ? size : round_up(size, bump_granule);
    }

    /// True when `p` is the newest block: only then freeing and growing help. O(1).
    [[nodiscard]] bool is_last(const void* p, std::size_t size) const noexcept {
        return self().region_.is_last(p, size);
    }

    [[nodiscard]] marker mark() noexcept {
        marker here;
        here.at_ = self().position();
        here.stamp_ = marks_.mark(here.at_.top);
        return here;
    }

    /// Forgets everything allocated since `to` was taken; memory stays with the arena. O(1), in a
    /// growing_arena O(blocks dropped).
    /// Requires: `to` came from this arena and is not dead (see marker).
    void rewind(marker to, call_site from = call_site::current()) noexcept {
        [[maybe_unused]] const auto inside = enter(from);
        marks_.rewind(to.stamp_, to.at_.top, call_of(from));
        self().retreat(to.at_, call_of(from));
    }

    [[nodiscard]] std::size_t used_size() const noexcept { return self().region_.used_size(); }

    /// Most bytes ever in use at once, padding included.
    [[nodiscard]] std::size_t high_water_size() const noexcept {
        return self().region_.high_water_size();
    }
    void reset_high_water() noexcept { self().region_.reset_high_water(); }

protected:
    friend struct mark_access;

    [[nodiscard]] bump_position position() const noexcept { return {self().region_.top()}; }
    void retreat(bump_position to, const watched_call& call) noexcept {
        self().region_.rewind(to.top, call);
    }
#if CAIRN_ASSERTS
    [[nodiscard]] bool retreat_alone(bump_position to) noexcept {
        return self().region_.rewind_alone(to.top);
    }
#endif

    /// What an arena_scope keeps: its marker, which needs no place among the others.
    struct scope_mark {
        Position at;
        [[no_unique_address]] scope_stamp stamp;
    };
    [[nodiscard]] scope_mark open_scope() noexcept {
        return {self().position(), marks_.open_scope()};
    }
    void close_scope(const scope_mark& from) noexcept {
#if CAIRN_ASSERTS
        if (marks_.is_unmarked(from.stamp) && self().retreat_alone(from.at)) [[likely]] {
            return marks_.close_scope(from.stamp);
        }
        close_scope_checked(from);
#else
        self().retreat(from.at, call_of());
#endif
    }
    /// Where the calling thread is noted, and what reports name.
    [[nodiscard]] allocator_watch& watch() noexcept { return watch_; }

    [[nodiscard]] bump_region& region() noexcept { return self().region_; }

#if CAIRN_ASSERTS
    /// From its birth to its end the calling thread is inside, and the gate is shut.
    struct use : allocator_watch::use {
        use(bump_arena& arena, call_site from) noexcept
            : allocator_watch::use{arena.self().watch(), &arena, Arena::type_name, from},
              region_{arena.self().region()} {
            if (!region_.shut()) [[unlikely]] { two_threads(watch_, object_, type_, from_); }
        }
        ~use() {
            if (!is_nested_) [[likely]] { region_.open(); }
        }
        bump_region& region_;
    };
#else
    struct use {
        use(bump_arena&, call_site) noexcept {}
    };
#endif
    [[nodiscard]] use enter(call_site from = {}) noexcept { return {*this, from}; }
    [[nodiscard]] watched_call call_of(call_site from = {}) noexcept {
        return {this, Arena::type_name, self().watch().name(), from};
    }

    [[no_unique_address]] mark_check marks_;
    [[no_unique_address]] allocator_watch watch_;

private:
#if CAIRN_ASSERTS
    [[gnu::noinline]] void close_scope_checked(scope_mark from) noexcept {
        const auto inside = enter({});
        marks_.check_scope(from.stamp, from.at.top, call_of({}));
        marks_.close_scope(from.stamp);
        self().retreat(from.at, call_of({}));
    }
    void* allocate_checked(std::size_t size, alignment align) noexcept;  // src/alloc/bump_arena
    [[gnu::noinline]] void deallocate_checked(void* p, std::size_t size, call_site from) noexcept {
        if (self().region_.deallocate_alone(p, size)) [[likely]] { return; }
        const auto inside = enter(from);
        self().region_.deallocate(p, size, call_of(from));
    }
#endif
    [[gnu::always_inline]] Arena& self() noexcept { return static_cast<Arena&>(*this); }
    [[nodiscard]] const Arena& self() const noexcept { return static_cast<const Arena&>(*this); }
};

/// Lets arena_scope reach the checks of an arena without making them public.
struct mark_access {
    template <class Arena>
    using scope_mark = typename Arena::scope_mark;
    template <class Arena>
    [[nodiscard]] static mark_check& of(Arena& arena) noexcept {
        return arena.marks_;
    }
    template <class Arena>
    [[nodiscard]] static scope_mark<Arena> open_scope(Arena& arena) noexcept {
        return arena.open_scope();
    }
    template <class Arena>
    static void close_scope(Arena& arena, const scope_mark<Arena>& from) noexcept {
        arena.close_scope(from);
    }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
