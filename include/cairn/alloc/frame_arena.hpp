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
// Use it for: per-frame data that the next frame, or the next consumer, still reads.
// Look elsewhere for: data that dies in its frame (one arena and reset()).
//
// Cost: active() is an index into an array; swap() is a reset().
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/alloc/arena.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// What swap() does with the arena that becomes active.
enum class on_swap : unsigned char { reset, keep };

/// `Arena` is arena, growing_arena or virtual_arena; each of the N is built from the same
/// arguments.
template <std::size_t N = 2, class Arena = arena>
class frame_arena {
    static_assert(N >= 2, "one frame's arena is written while another's is read");

public:
    /// Builds every arena with `args`: `frame_arena<2> frames{1_MiB}` takes 2 MiB in all.
    template <class... Args>
        requires std::is_constructible_v<Arena, const Args&...>
    explicit frame_arena(const Args&... args) noexcept : frame_arena{indices<N>{}, args...} {}

    frame_arena(const frame_arena&) = delete;
    frame_arena& operator=(const frame_arena&) = delete;

    /// This frame's arena.
    [[nodiscard]] Arena& active() noexcept { return arenas_[active_]; }

    /// The arena of `frames_ago` frames before this one. Requires: 1 <= frames_ago < N.
    [[nodiscard]] Arena& inactive(std::size_t frames_ago = 1) noexcept {
        CAIRN_ASSERT(frames_ago >= 1 && frames_ago < N, "frames older than N - 1 are gone");
        return arenas_[(active_ + N - frames_ago) % N];
    }

    /// Ends the frame: the oldest arena becomes the active one and forgets its content, unless told
    /// to keep it. Invalidates: everything allocated N - 1 swaps ago.
    void swap(on_swap what = on_swap::reset) noexcept {
        active_ = active_ + 1 == N ? 0 : active_ + 1;
        if (what == on_swap::reset) { arenas_[active_].reset(); }
    }

    /// As active().allocate: a frame_arena is an allocator of this frame's memory.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        return active().allocate(size, align);
    }
    /// Requires: `p` was allocated in this frame.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment) noexcept {
        active().deallocate(p, size, align);
    }

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

    template <std::size_t... I, class... Args>
    explicit frame_arena(index_list<I...>, const Args&... args) noexcept
        : arenas_{((void)I, Arena(args...))...} {}

    Arena arenas_[N];
    std::size_t active_ = 0;  // index of this frame's arena
};

}  // namespace cairn::inline CAIRN_FLAVOUR
