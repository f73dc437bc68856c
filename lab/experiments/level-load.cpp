// lab/experiments/level-load.cpp - thesis 6.1.2: what memory looks like when a level is loaded.
//
//      for each file     read it, unpack it, parse it: temporaries, which end with the file
//                        its assets: stay until the level ends
//                        now and then something that the game keeps for three levels
//
//      malloc            all of it in one place
//      one heap          the same, in a heap of the game's own
//      arena per level   assets in one arena, temporaries in another: as large as they ever need
//      double-ended      assets from the upper end, temporaries from the lower: one limit for both
//
// What lives longer than a level is in a small heap of its own where there are arenas. Of 100
// levels some unpack much and keep little, others the reverse. Each asset is read again when its
// level ends.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/os/page_allocator.hpp>

#include "lab/families/heap_family.hpp"
#include "lab/harness/experiment.hpp"

namespace {

constexpr unsigned level_count = 100;
constexpr unsigned file_count = 12;
constexpr unsigned kept_by_the_game = 3;  // levels

struct block {
    std::byte* p = nullptr;
    std::size_t size = 0;
};

// ---- the trace ----------------------------------------------------------------------------------

struct file {
    std::size_t packed, unpacked;
    std::array<std::uint16_t, 24> nodes;  // of the parser
    std::vector<std::uint32_t> assets;
    std::uint32_t game;  // bytes for the game, or 0
};
struct trace {
    std::vector<std::array<file, file_count>> levels{level_count};
    std::size_t most_kept = 0;       // of a level
    std::size_t most_temporary = 0;  // of a file
    std::size_t most_of_both = 0;    // what stays so far and a file's temporaries

    trace() {
        std::mt19937 random{21};
        const auto between = [&](std::size_t low, std::size_t high) {
            return low + random() % (high - low);
        };
        for (auto& level : levels) {
            const bool unpacks_much = random() % 2 == 0;
            std::size_t kept = 0;
            for (file& f : level) {
                f.packed = between(1'000, unpacks_much ? 50'000 : 5'000);
                f.unpacked = 2 * f.packed;
                std::size_t temporary = rounded(f.packed) + rounded(f.unpacked);
                for (auto& n : f.nodes) {
                    n = static_cast<std::uint16_t>(between(48, 512));
                    temporary += rounded(n);
                }
                f.assets.resize(between(8, 40));
                most_of_both = std::max(most_of_both, kept + temporary);
                for (auto& a : f.assets) {
                    a = static_cast<std::uint32_t>(between(64, unpacks_much ? 750 : 6'000));
                    kept += rounded(a);
                    most_of_both = std::max(most_of_both, kept + temporary);
                }
                f.game = random() % 3 == 0 ? static_cast<std::uint32_t>(between(64, 1'000)) : 0;
                most_temporary = std::max(most_temporary, temporary);
            }
            most_kept = std::max(most_kept, kept);
        }
    }
    static std::size_t rounded(std::size_t size) { return (size + 15) / 16 * 16; }
};

const trace& the_trace() {
    static const trace t;
    return t;
}

// ---- four designs -------------------------------------------------------------------------------

/// One allocator for everything: what ends is given back, block by block.
template <class A>
struct in_one_place {
    A a;
    std::byte* take(std::size_t size) { return static_cast<std::byte*>(a.allocate(size)); }
    void give(std::vector<block>& blocks) {
        for (const block& b : blocks) { a.deallocate(b.p, b.size); }
        blocks.clear();
    }
    std::byte* keep(std::size_t size) { return take(size); }
    std::byte* temporary(std::size_t size) { return take(size); }
    std::byte* for_the_game(std::size_t size) { return take(size); }
    void end_file(std::vector<block>& blocks) { give(blocks); }
    void end_level(std::vector<block>& blocks) { give(blocks); }
    void end_in_the_game(std::vector<block>& blocks) { give(blocks); }
};

struct growing_heap : cairn::heap<> {
    growing_heap() : heap{cairn::grow_by{std::size_t{1} << 18}, cairn::system_pages()} {}
    /// Of the memory up to the highest block in use: the share that is free.
    double holes() const {
        std::size_t used = 0;
        std::size_t free = 0;
        std::size_t pending = 0;
        for_each_block([&](const cairn::heap_block& b) {
            if (b.state != cairn::block_state::used) {
                pending += b.size;
                return;
            }
            used += b.size;
            free += pending;
            pending = 0;
        });
        return 100 * static_cast<double>(free) / static_cast<double>(free + used);
    }
};

/// What lives for three levels, where levels are in arenas.
struct game_heap {
    growing_heap game;
    std::byte* for_the_game(std::size_t size) {
        return static_cast<std::byte*>(game.allocate(size));
    }
    void end_in_the_game(std::vector<block>& blocks) {
        for (const block& b : blocks) { game.deallocate(b.p, b.size); }
        blocks.clear();
    }
};

struct arena_per_level : game_heap {
    cairn::arena kept{the_trace().most_kept, cairn::system_pages()};
    cairn::arena temporaries{the_trace().most_temporary, cairn::system_pages()};
    std::byte* keep(std::size_t size) { return static_cast<std::byte*>(kept.allocate(size)); }
    std::byte* temporary(std::size_t size) {
        return static_cast<std::byte*>(temporaries.allocate(size));
    }
    void end_file(std::vector<block>& blocks) {
        temporaries.reset();
        blocks.clear();
    }
    void end_level(std::vector<block>& blocks) {
        kept.reset();
        blocks.clear();
    }
};

struct double_ended : game_heap {
    cairn::double_ended_arena both{the_trace().most_of_both, cairn::system_pages()};
    std::byte* keep(std::size_t size) {
        return static_cast<std::byte*>(both.high().allocate(size));
    }
    std::byte* temporary(std::size_t size) {
        return static_cast<std::byte*>(both.low().allocate(size));
    }
    void end_file(std::vector<block>& blocks) {
        both.low().reset();
        blocks.clear();
    }
    void end_level(std::vector<block>& blocks) {
        both.high().reset();
        blocks.clear();
    }
};

// ---- loading ------------------------------------------------------------------------------------

/// Loads levels; what it has to give back stands in lists that are as long as they will ever be.
template <class Memory>
struct loader {
    Memory memory;
    std::vector<block> kept, temporaries;
    std::array<std::vector<block>, kept_by_the_game> game;
    std::size_t live = 0;
    std::array<std::size_t, kept_by_the_game> live_in_game{};
    std::uint64_t sum = 0;

    loader() {
        kept.reserve(file_count * 40);
        temporaries.reserve(64);
        for (auto& g : game) { g.reserve(file_count); }
    }

    static std::byte* expect(std::byte* p) {
        if (p == nullptr) { std::abort(); }  // a row that loads less would be faster
        return p;
    }
    std::byte* take_temporary(std::size_t size) {
        temporaries.push_back({expect(memory.temporary(size)), size});
        return temporaries.back().p;
    }

    void load(const std::array<file, file_count>& level, unsigned number) {
        std::vector<block>& ours = game[number % kept_by_the_game];
        memory.end_in_the_game(ours);
        live -= std::exchange(live_in_game[number % kept_by_the_game], 0);
        for (const file& f : level) {
            std::byte* const packed = take_temporary(f.packed);
            std::memset(packed, static_cast<int>(f.packed), f.packed);  // the disk
            std::byte* const unpacked = take_temporary(f.unpacked);
            std::memcpy(unpacked, packed, f.packed);
            std::memcpy(unpacked + f.packed, packed, f.packed);
            for (const std::uint16_t size : f.nodes) {
                lab::heaps::touch(take_temporary(size), size);
            }
            for (std::size_t i = 0; i != f.assets.size(); ++i) {
                const std::size_t size = f.assets[i];
                kept.push_back({expect(memory.keep(size)), size});
                std::memcpy(kept.back().p, unpacked, std::min(size, f.unpacked));
                kept.back().p[size - 1] = std::byte(i);
                live += size;
            }
            if (f.game != 0) {
                ours.push_back({expect(memory.for_the_game(f.game)), f.game});
                std::memset(ours.back().p, 7, f.game);
                live_in_game[number % kept_by_the_game] += f.game;
                live += f.game;
            }
            memory.end_file(temporaries);
        }
    }
    void unload() {
        for (const block& b : kept) {
            sum = sum * 31 + std::to_integer<std::uint64_t>(b.p[0]) +
                  std::to_integer<std::uint64_t>(b.p[b.size - 1]);
            live -= b.size;
        }
        memory.end_level(kept);
    }
    void quit() {
        for (auto& g : game) { memory.end_in_the_game(g); }
    }
};

/// All levels, one after the other: watch(loader, level) is called while each is there.
template <class Memory, class Watch>
std::uint64_t play(loader<Memory>& l, Watch watch) {
    const trace& t = the_trace();
    l.sum = 0;
    for (unsigned level = 0; level != level_count; ++level) {
        l.load(t.levels[level], level);
        watch(level);
        l.unload();
    }
    l.quit();
    return l.sum;
}

template <class Memory>
auto loading() {
    // The same memory in each repetition: the first, which is not counted, touches it.
    return lab::repeated_on(level_count, lab::made<loader<Memory>>(),
                            [](auto& now) { return play(now, [](unsigned) {}); });
}

constexpr const char* most_case = "resident memory, most";
constexpr const char* holes_case = "free below the last block, mean";

/// What it has of memory while it plays, in a process that did nothing else.
template <class Memory>
auto footprint(const char* name) {
    return [name] {
        (void)the_trace();
        return [name](lab::sample& s) {
            auto now = std::make_unique<loader<Memory>>();
            const lab::resident_since_here taken;
            double sum = 0;
            double most = 0;
            double holes = -1;
            lab::series curve{name, "levels loaded", "resident bytes over live bytes", {}};
            curve.points.reserve(level_count);
            s.checksum(play(*now, [&](unsigned level) {
                const auto bytes = static_cast<double>(taken.bytes());
                sum += bytes / static_cast<double>(now->live);
                most = std::max(most, bytes);
                curve.points.emplace_back(level + 1, bytes / static_cast<double>(now->live));
                if constexpr (requires { now->memory.a.holes(); }) {
                    holes = std::max(holes, 0.0) + now->memory.a.holes() / level_count;
                }
            }));
            s.value(sum / level_count);
            s.also(most_case, most / (1 << 20));
            if (holes >= 0) { s.also(holes_case, holes); }
            s.plot(std::move(curve));
        };
    };
}

const lab::registration level_load{
    "level-load", "Where should a level be loaded to: one heap, arenas, or both ends of one?",
    [](lab::experiment& e) {
        e.quick_seconds = 3;
        e.how =
            "100 levels of up to 1 MiB. The time holds the reading (a memset), the unpacking and "
            "the copies of the assets, for all alike; the memory is what the process has more than "
            "before, its own lists left out, while a level is there. The arenas are as large as "
            "the largest level needs: two limits for an arena per level, one for both ends.";
        lab::comparison& time = e.compare("a level", {.unit = "us/level",
                                                      .equal_checksums = true,
                                                      .one_repetition = true,
                                                      .quick_samples = 3});
        lab::comparison& memory =
            e.compare("resident memory over live bytes, mean", {.unit = "x",
                                                                .measure = lab::measure::value,
                                                                .weight = 0.2,
                                                                .equal_checksums = true,
                                                                .one_sample = true});
        const auto add = [&]<class Memory>(const char* name, const char* curve) {
            time.cairn(name, loading<Memory>());
            memory.cairn(name, footprint<Memory>(curve));
        };
        using glibc_and_others = in_one_place<lab::heaps::general_malloc>;
        add.operator()<double_ended>("cairn::double_ended_arena", "double-ended");
        add.operator()<arena_per_level>("cairn::arena, one for each lifetime", "arena per level");
        add.operator()<in_one_place<growing_heap>>("cairn::heap<good_fit>", "one heap");
        time.mallocs(loading<glibc_and_others>());
        memory.mallocs(footprint<glibc_and_others>("malloc"));
        e.also(memory, most_case, {.unit = "MiB"});
        e.also(memory, holes_case, {.unit = "%", .compares = false});

        const auto limit = [](auto bytes) {
            return lab::repeated_on(
                1, [=] { return bytes; },
                [](auto of, lab::sample& s) {
                    s.value(static_cast<double>(of(the_trace())) / (1 << 20));
                });
        };
        lab::comparison& limits = e.compare(
            "limits that no level breaks",
            {.unit = "MiB", .measure = lab::measure::value, .weight = 0.05, .one_sample = true});
        limits.cairn("cairn::double_ended_arena",
                     limit([](const trace& t) { return t.most_of_both; }));
        limits.cairn("cairn::arena, one for each lifetime",
                     limit([](const trace& t) { return t.most_kept + t.most_temporary; }));
    }};

}  // namespace
