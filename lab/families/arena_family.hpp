// lab/families/arena_family.hpp - what every arena-like thing is asked to do in `linear` and
// `temporary-objects`.
//
// An adapter makes one arena look alike; offering it puts it into all cases:
//
//      struct my_arena {
//          explicit my_arena(std::span<std::byte> region);   // warm: every byte may be used freely
//          void* allocate(std::size_t size) { ... }          // aligned to 8 at least
//          void reset() { ... }
//          std::uint64_t upstream_calls() const;             // optional: blocks asked for until
//          now
//      };
//      const bool offered = lab::offer_arena<my_arena>("my::arena", lab::kind::peer);
//
// The loops are instantiated in the adapter's own file, so that what inlines for a user inlines
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/harness/experiment.hpp"
#include "lab/system/system.hpp"

namespace lab {

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

inline constexpr std::size_t frame_allocations = 1000;
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

namespace arena_work {

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
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            for (std::uint64_t i = 0; i != frame_allocations; ++i) {
                allocate_and_touch(arena, Size, i);
            }
            clobber();
            arena.reset();
        }
        s.did(s.repetitions() * frame_allocations);
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
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            for (std::uint64_t i = 0; i != Count; ++i) {
                allocate_and_touch(arena, size[i], i);
                if constexpr (Opaque) clobber();
            }
            clobber();
            arena.reset();
        }
        s.did(s.repetitions() * Count);
    }
};

/// 64 frames of changing load, over and over.
template <class A>
struct changing {
    region memory{std::size_t{1} << 20};
    A arena{memory.bytes()};
    std::vector<std::uint16_t> sizes = mixed_sizes();
    std::vector<std::uint16_t> loads = changing_loads();
    void operator()(sample& s) {
        std::uint64_t done = 0;
        std::uint64_t calls = 0;
        if constexpr (requires { arena.upstream_calls(); }) calls = arena.upstream_calls();
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            for (const std::uint16_t load : loads) {
                for (std::uint64_t i = 0; i != load; ++i) {
                    allocate_and_touch(arena, sizes[i % frame_allocations], i);
                }
                clobber();
                arena.reset();
                done += load;
            }
        }
        s.did(done);
        if constexpr (requires { arena.upstream_calls(); }) {
            s.also("changing load, upstream calls",
                   static_cast<double>(arena.upstream_calls() - calls) /
                       static_cast<double>(s.repetitions() * loads.size()));
        }
    }
};

}  // namespace arena_work

/// One arena, ready for every case.
struct arena_entry {
    std::string name;
    lab::kind kind;
    std::string note;
    bool every_malloc;   ///< once per malloc library
    bool only_changing;  ///< a variant that differs only in the cases with a changing load
    bool fixed_region;   ///< cannot grow: the cases with a changing load leave it out
    body_factory fixed_8, fixed_256, fixed_8k, fixed_1m, mixed_near, mixed, mixed_opaque, changing;
};

[[nodiscard]] inline std::vector<arena_entry>& arena_family() {
    static std::vector<arena_entry> all;
    return all;
}

struct arena_options {
    std::string note = {};
    bool every_malloc = false;
    bool fixed_region = false;
    bool only_changing = false;
};

template <class A>
bool offer_arena(std::string name, lab::kind k, arena_options o = {}) {
    const auto factory = []<class W>(std::in_place_type_t<W>) {
        return make_body_factory([] { return W{}; });
    };
    arena_family().push_back(
        {std::move(name), k, std::move(o.note), o.every_malloc, o.only_changing, o.fixed_region,
         factory(std::in_place_type<arena_work::fixed<A, 8>>),
         factory(std::in_place_type<arena_work::fixed<A, 256>>),
         factory(std::in_place_type<arena_work::fixed<A, 8192>>),
         factory(std::in_place_type<arena_work::fixed<A, (1 << 20)>>),
         factory(std::in_place_type<arena_work::mixed<A, near_allocations, false>>),
         factory(std::in_place_type<arena_work::mixed<A, frame_allocations, false>>),
         factory(std::in_place_type<arena_work::mixed<A, frame_allocations, true>>),
         factory(std::in_place_type<arena_work::changing<A>>)});
    return true;
}

/// Puts every arena of the family into a case.
template <class Select>
void add_arena_family(comparison& c, Select select, bool changing = false) {
    for (const arena_entry& a : arena_family()) {
        if (changing ? a.fixed_region : a.only_changing) continue;
        if (a.every_malloc) {
            c.add_mallocs(select(a));
        } else {
            c.add_factory(a.kind, a.name, select(a)).note(a.note);
        }
    }
}

}  // namespace lab
