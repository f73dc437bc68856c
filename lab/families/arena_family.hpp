// lab/families/arena_family.hpp - what every arena-like thing is asked to do in `linear` and
// `temporary-objects`.
//
//      struct my_arena {
//          explicit my_arena(std::span<std::byte> region);   // warm: every byte may be used freely
//          void* allocate(std::size_t size) { ... }          // aligned to 8 at least
//          void reset() { ... }
//          std::uint64_t upstream_calls() const;             // optional: blocks asked for until now
//          static constexpr bool has_fixed_region = true;    // optional: it cannot grow, and is not
//      };                                                    // asked for a load that changes
//
// The loops are templates of the arena, so that what inlines for a user inlines here.
#pragma once

#include "lab/families/arena_contenders.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/peers/offers.hpp"
#include "lab/system/system.hpp"

namespace lab::arenas {

/// Address space that costs memory only where it is touched.
class region {
public:
    explicit region(std::size_t size) : pages_{size} {}
    [[nodiscard]] std::span<std::byte> bytes() const noexcept {
        return {static_cast<std::byte*>(pages_.begin()), pages_.size()};
    }

private:
    page_range pages_;
};

/// So many of the mixed sizes lie in every processor's first cache: 26 KB.
inline constexpr std::size_t near_allocations = 200;

/// 1000 sizes between 8 and 256 bytes, the same on every machine.
[[nodiscard]] inline std::vector<std::uint16_t> mixed_sizes() {
    std::mt19937 random{1};
    std::vector<std::uint16_t> sizes(frame_allocations);
    for (auto& s : sizes) s = static_cast<std::uint16_t>(8 + random() % 249);
    return sizes;
}

/// How many of 64 frames' objects there are: a load that swings by a factor of ten, with a peak.
[[nodiscard]] inline std::vector<std::uint16_t> changing_loads() {
    std::mt19937 random{2};
    std::vector<std::uint16_t> loads(64);
    for (std::size_t i = 0; i != loads.size(); ++i) {
        loads[i] = static_cast<std::uint16_t>(200 + random() % 800 + (i % 16 == 7 ? 1000 : 0));
    }
    return loads;
}

// ---- work ---------------------------------------------------------------------------------------

/// Allocates, writes the first bytes; the arena may keep its cursor in a register meanwhile.
template <class A>
inline void allocate_and_touch(A& arena, std::size_t size, std::uint64_t value) {
    void* const p = arena.allocate(size);
    observe(p);
    *static_cast<std::uint64_t*>(p) = value;
}

/// 1000 allocations of one size that the compiler knows, then reset.
template <class A, std::size_t Size>
struct fixed {
    region memory{(Size + 128) * frame_allocations + (std::size_t{1} << 16)};
    A arena{memory.bytes()};
    void operator()(sample& s) {
        s.repeat(frame_allocations, [&] {
            for (std::uint64_t i = 0; i != frame_allocations; ++i) {
                allocate_and_touch(arena, Size, i);
            }
            clobber();
            arena.reset();
        });
    }
};

/// `Count` allocations of mixed sizes that are known only at run time, then reset. `Opaque`: between
/// any two something happens that the compiler cannot see into (a call), so the cursor is in
/// memory.
template <class A, std::size_t Count, bool Opaque>
struct mixed {
    region memory{std::size_t{1} << 20};
    A arena{memory.bytes()};
    std::vector<std::uint16_t> sizes = mixed_sizes();
    void operator()(sample& s) {
        const std::uint16_t* const size = sizes.data();
        s.repeat(Count, [&] {
            for (std::uint64_t i = 0; i != Count; ++i) {
                allocate_and_touch(arena, size[i], i);
                if constexpr (Opaque) clobber();
            }
            clobber();
            arena.reset();
        });
    }
};

/// 64 frames of changing load, over and over.
template <class A>
struct changing {
    region memory{std::size_t{1} << 20};
    A arena{memory.bytes()};
    std::vector<std::uint16_t> sizes = mixed_sizes();
    std::vector<std::uint16_t> loads = changing_loads();
    std::uint64_t objects = std::accumulate(loads.begin(), loads.end(), std::uint64_t{0});
    void operator()(sample& s) {
        std::uint64_t calls = 0;
        if constexpr (requires { arena.upstream_calls(); }) calls = arena.upstream_calls();
        s.repeat(objects, [&] {
            for (const std::uint16_t load : loads) {
                for (std::uint64_t i = 0; i != load; ++i) {
                    allocate_and_touch(arena, sizes[i % frame_allocations], i);
                }
                clobber();
                arena.reset();
            }
        });
        if constexpr (requires { arena.upstream_calls(); }) {
            s.also("changing load, upstream calls",
                   static_cast<double>(arena.upstream_calls() - calls) /
                       static_cast<double>(s.repetitions() * loads.size()));
        }
    }
};

// ---- who ----------------------------------------------------------------------------------------

/// Puts everybody into a case: make<A>() is a factory. `Changes`: its load does.
template <bool Changes = false, class Make>
void add_arenas(comparison& c, Make make) {
    const auto add = [&]<class A>(kind k, const char* name) {
        if constexpr (!Changes || !requires { A::has_fixed_region; }) {
            c.add(k, name, make.template operator()<A>());
        }
    };
    using cairn::reset_policy;
    add.template operator()<plain>(kind::cairn, "cairn::arena");
    add.template operator()<growing<reset_policy::coalesce>>(kind::cairn, "cairn::growing_arena");
    add.template operator()<growing_as_constructed>(kind::cairn,
                                                    "cairn::growing_arena as constructed");
    add.template operator()<frames_as_constructed>(kind::cairn,
                                                   "cairn::frame_arena as constructed");
    if constexpr (Changes) {
        add.template operator()<growing<reset_policy::keep_all>>(kind::cairn,
                                                                 "cairn::growing_arena, keep_all");
        add.template operator()<growing<reset_policy::adaptive>>(kind::cairn,
                                                                 "cairn::growing_arena, adaptive");
    }
    add.template operator()<reserved>(kind::cairn, "cairn::virtual_arena");
    add.template operator()<low_end>(kind::cairn, "cairn::double_ended_arena");
    add.template operator()<both_ends>(kind::cairn, "cairn::double_ended_arena, both ends");
    add.template operator()<through_pmr>(kind::cairn, "cairn::arena through std::pmr");
    add.template operator()<touch_only>(kind::limit, "no allocator, touches only");
    add.template operator()<bump_up>(kind::limit, "bump up");
    c.mallocs(make.template operator()<malloc_and_free>());
    offers<kinds::arenas>(
        [&]<class A>(const char* name) { add.template operator()<A>(kind::peer, name); });
}

}  // namespace lab::arenas
