// cairn/alloc/frame_arena.hpp - N arenas in turn: this frame writes one, the last frames read
// theirs.
//
//      frame_arena<3>        frame 7          frame 8          frame 9
//        arena 0             active           inactive(1)      inactive(2)
//        arena 1             inactive(2)      active           inactive(1)
//        arena 2             inactive(1)      inactive(2)      active
//                                  swap() -->       swap() -->
//
// What was allocated in a frame lives until the arena's next turn: N - 1 swaps later. So a render
// thread or the GPU can read last frame's commands while this frame's are written. (The caller
// orders the two; the arena itself is not thread-safe.)
// Thesis, section 6.1.3 (double-buffered allocator): N = 2.
//
// It is an arena itself, of this frame's memory (any_arena.hpp), and converts to the
// active one: functions that take an `Arena&` take it.
//
//      cairn::frame_arena<2> frames;            // two growing arenas
//      cairn::frame_arena<3> longer{memory};    // three, with memory from an upstream
//      cairn::frame_arena<2, cairn::arena> fixed{1_MiB};    // two blocks of 1 MiB: no growth
//
// Use it for: per-frame data that the next frame, or the next consumer, still reads.
// Look elsewhere for: data of one frame only (one arena and reset()).
//
// Cost: active() is an index into an array; swap() is a reset().
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/alloc/any_arena.hpp>
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/growing_arena.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What swap() does with the arena that becomes active.
enum class on_swap : unsigned char { reset, keep };

template <class Arena>
class arena_scope;

/// `Arena` is growing_arena, arena or virtual_arena; each of the N is built from the same
/// arguments.
template <std::size_t N = 2, class Arena = growing_arena>
class frame_arena : public detail::makes_objects<frame_arena<N, Arena>> {
    static_assert(N >= 2, "one frame's arena is written while another's is read");

public:
    /// A point in this frame, for rewind().
    using marker = typename Arena::marker;

    frame_arena()  // such an arena needs a size: frame_arena<2, arena>{1_MiB}
        requires(!std::is_default_constructible_v<Arena>)
    = delete;

    explicit frame_arena(allocator_ref)  // such an arena needs a size: {1_MiB, upstream}
        requires(!std::is_constructible_v<Arena, allocator_ref>)
    = delete;

    /// Each arena is built by its default constructor.
    frame_arena() noexcept
        requires std::is_default_constructible_v<Arena>
        : frame_arena{indices<N>{}} {}

    /// Builds every arena with `args`: `frame_arena<2, arena> frames{1_MiB, upstream}` takes 2 MiB
    /// in all.
    template <class... Args>
        requires(std::is_constructible_v<Arena, Args...> &&
                 std::is_constructible_v<Arena, Args&...> &&
                 !(std::is_convertible_v<Args &&, byte_slice> || ...))
    explicit frame_arena(Args&&... args) noexcept : frame_arena{indices<N>{}, args...} {}

    /// Over memory of the caller, who keeps it alive: an equal part for each arena.
    explicit frame_arena(byte_slice buffer) noexcept
        requires std::is_constructible_v<Arena, byte_slice>
        : frame_arena{indices<N>{}, buffer_of_all{buffer}} {}

    frame_arena(frame_arena&) = delete;  // a child: frame_arena<2>{allocator_ref{parent}}
    frame_arena(const frame_arena&) = delete;
    frame_arena& operator=(const frame_arena&) = delete;

    /// This frame's arena.
    [[nodiscard]] Arena& active() noexcept { return arenas_[active_]; }
    [[nodiscard]] const Arena& active() const noexcept { return arenas_[active_]; }
    [[nodiscard]] operator Arena&() noexcept { return active(); }

    /// The arena of `frames_ago` frames before this one. Requires: 1 <= frames_ago < N.
    [[nodiscard]] Arena& inactive(std::size_t frames_ago = 1) noexcept {
        CAIRN_ASSERT(frames_ago >= 1 && frames_ago < N, "frames older than N - 1 are gone");
        return arenas_[(active_ + N - frames_ago) % N];
    }

    /// Ends the frame: the oldest arena becomes the active one and is reset, unless
    /// on_swap::keep is given. Invalidates: everything allocated N - 1 swaps ago.
    void swap(on_swap what = on_swap::reset) noexcept {
        active_ = active_ + 1 == N ? 0 : active_ + 1;
        if (what == on_swap::reset) { arenas_[active_].reset(); }
    }

    /// As trim() of each of the arenas: what no frame uses goes back. O(spare blocks).
    /// Returns: bytes given back.
    std::size_t trim() noexcept
        requires requires(Arena& a) { a.trim(); }
    {
        std::size_t bytes = 0;
        for (Arena& a : arenas_) { bytes += a.trim(); }
        return bytes;
    }

    void next_frame(...) const = delete;  // swap()
    void flip(...) const = delete;        // swap()

    // ---- as active() has them -----------------------------------------------------------------

    /// As active().allocate: a frame_arena is an allocator of this frame's memory.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        return active().allocate(size, align);
    }
    /// Requires: `p` was allocated in this frame.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    call_site from = call_site::current()) noexcept {
        active().deallocate(p, size, align, from);
    }
    /// Requires: `p` was allocated in this frame. Returns: false when it cannot grow in place.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept {
        return active().try_resize(p, old_size, new_size, align);
    }
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment align) const noexcept {
        return active().good_size(size, align);
    }
    /// True when `p` points into this frame's arena; inactive(n).owns(p) answers for earlier ones.
    [[nodiscard]] bool owns(const void* p) const noexcept { return active().owns(p); }
    [[nodiscard]] bool is_last(const void* p, std::size_t size) const noexcept {
        return active().is_last(p, size);
    }
    /// A marker in this frame; invalid after the frame's end.
    [[nodiscard]] marker mark() noexcept { return active().mark(); }
    /// Requires: `to` was taken in this frame.
    void rewind(marker to, call_site from = call_site::current()) noexcept {
        active().rewind(to, from);
    }
    /// Forgets what was allocated in this frame; earlier frames keep theirs.
    void reset() noexcept { active().reset(); }
    [[nodiscard]] std::size_t used_size() const noexcept { return active().used_size(); }
    [[nodiscard]] std::size_t high_water_size() const noexcept {
        return active().high_water_size();
    }
    void reset_high_water() noexcept { active().reset_high_water(); }
    /// Scopes that are open in this frame's arena. Unchecked builds do not count them: 0.
    [[nodiscard]] std::size_t open_scope_count() const noexcept {
        return active().open_scope_count();
    }

    /// Checks each of its arenas; a broken invariant stops a checked build.
    void validate() const noexcept {
        for (const Arena& a : arenas_) { a.validate(); }
    }

private:
    template <std::size_t... I>
    struct index_list {};
    template <std::size_t Count, std::size_t... I>
    struct make_indices : make_indices<Count - 1, Count - 1, I...> {};
    template <std::size_t... I>
    struct make_indices<0, I...> {
        using type = index_list<I...>;
    };
    template <std::size_t Count>
    using indices = typename make_indices<Count>::type;

    struct buffer_of_all {
        byte_slice bytes;
        [[nodiscard]] byte_slice part(std::size_t i) const noexcept {
            const std::size_t size = detail::round_down(bytes.size() / N, detail::bump_granule);
            return {bytes.data() + i * size, size};
        }
    };

    template <std::size_t... I, class... Args>
    explicit frame_arena(index_list<I...>, Args&... args) noexcept
        : arenas_{((void)I, Arena(args...))...} {}
    template <std::size_t... I>
    explicit frame_arena(index_list<I...>, const buffer_of_all& buffer) noexcept
        : arenas_{Arena(buffer.part(I))...} {}

    Arena arenas_[N];
    std::size_t active_ = 0;  // index of this frame's arena
};

/// `frame_arena frames{buffer}`: two arenas that share the memory of the caller.
frame_arena(byte_slice) -> frame_arena<2, arena>;

static_assert(any_arena<frame_arena<2>>);

/// A scope in this frame's arena: `arena_scope temporary{frames};`
template <std::size_t N, class Arena>
arena_scope(frame_arena<N, Arena>&) -> arena_scope<Arena>;

}}  // namespace cairn::CAIRN_FLAVOUR
