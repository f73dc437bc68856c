// lab/families/graph_family.hpp - graphs of objects that refer to each other in cycles: the same
// changes, one by one, for each memory that can hold such a graph.
//
// A memory has objects with four references and 32 bytes of data, a table of objects that the
// program knows, and registers, its local variables. So pointers, counted pointers and the stack of
// a script language play the same game:
//
//      make(r)             r = a new object            safe_point()      once a frame
//      load(r, slot)       r = table[slot]             store(slot, r)    table[slot] = r
//      link(r, field, q)   r.field = q                 unlink(r, field)  r.field = null
//      end(r)              only of memories whose user says what is not needed any more
//
// Each frame of the random graph replaces objects of the table by new ones with four references to
// others of it, and turns references of others elsewhere. What was replaced lives as long as it is
// referred to: 2.05 objects a slot.
#pragma once

#include "lab/harness/experiment.hpp"
#include "lab/harness/processor.hpp"

namespace lab::graphs {

inline constexpr unsigned field_count = 4;
inline constexpr unsigned register_count = 8;
inline constexpr std::size_t data_size = 32;  ///< of an object, beside its references

/// What a memory is made for.
struct extent {
    std::size_t live;   ///< objects that are reachable at one time
    std::size_t slots;  ///< of the table
};

/// Equal on every machine, and cheap beside what it chooses.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_{seed * 0x9E37'79B9'7F4A'7C15u + 1} {}
    std::uint32_t below(std::size_t n) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::uint32_t>((state_ >> 32) * n >> 32);
    }

private:
    std::uint64_t state_;
};

[[nodiscard]] inline double us_per_tick() {
    static const double value = measured_ns_per_tick(3'000'000) / 1e3;
    return value;
}

/// What one replay of a game saw.
struct outcome {
    std::vector<float> stops_us;   ///< of each frame: its longest change, or its safe point
    std::vector<float> frames_us;  ///< of each frame: all its changes and its safe point
    std::uint64_t made = 0;        ///< objects
};

/// Frames of a game: `Game` makes the changes, this reads the clock.
template <class Game>
class player {
public:
    explicit player(Game& game) : game_{game} {}

    outcome play(unsigned frames) {
        outcome r;
        r.stops_us.reserve(frames);
        r.frames_us.reserve(frames);
        for (unsigned f = 0; f != frames; ++f) {
            longest_ = 0;
            const std::uint64_t begin = ticks_now();
            r.made += game_.change([this](auto work) { this->timed(work); });
            timed([this] { game_.memory.safe_point(); });
            r.frames_us.push_back(us(ticks_now() - begin));
            r.stops_us.push_back(us(longest_));
        }
        return r;
    }

private:
    template <class Work>
    void timed(Work work) {
        const std::uint64_t begin = ticks_now();
        work();
        const std::uint64_t took = ticks_now() - begin;
        longest_ = took > longest_ ? took : longest_;
    }
    static float us(std::uint64_t ticks) {
        return static_cast<float>(static_cast<double>(ticks) * us_per_tick());
    }

    Game& game_;
    std::uint64_t longest_ = 0;
};

// ---- the random graph ---------------------------------------------------------------------------

struct random_plan {
    std::size_t live = 10'000;  ///< objects, on average
    unsigned replaced = 100;    ///< a frame
    unsigned rewired = 100;     ///< references a frame
    unsigned frames = 300;
    [[nodiscard]] extent extent_of() const {
        return {live, static_cast<std::size_t>(static_cast<double>(live) / 2.05)};
    }
    /// Until old objects are as many as they stay.
    [[nodiscard]] unsigned warm_up() const {
        return static_cast<unsigned>(extent_of().slots / replaced) + 1;
    }
    /// Of random_graph::build().
    [[nodiscard]] std::size_t safe_points_before() const {
        return extent_of().slots / 1000 + warm_up();
    }
};

template <class Memory>
struct random_graph {
    Memory& memory;
    random_plan p;
    std::size_t slots = p.extent_of().slots;
    dice random{1};

    void build() {
        for (std::uint32_t i = 0; i != slots; ++i) {
            memory.make(0);
            memory.store(i, 0);
            if (i % 1000 == 999) memory.safe_point();
        }
        for (std::uint32_t i = 0; i != slots; ++i) {
            memory.load(1, i);
            link_anywhere(1);
        }
        for (unsigned f = 0; f != p.warm_up(); ++f) {
            change([](auto work) { work(); });
            memory.safe_point();
        }
    }
    /// One frame; timed(work) for what must not be late. Returns: how many objects it made.
    template <class Timed>
    unsigned change(Timed timed) {
        for (unsigned n = 0; n != p.replaced; ++n) {
            const std::uint32_t slot = random.below(slots);
            timed([&] { replace(slot); });
        }
        for (unsigned n = 0; n != p.rewired; ++n) {
            memory.load(0, random.below(slots));
            memory.load(1, random.below(slots));
            memory.link(0, n % field_count, 1);
        }
        return p.replaced;
    }

private:
    void link_anywhere(unsigned r) {
        for (unsigned f = 0; f != field_count; ++f) {
            memory.load(2, random.below(slots));
            memory.link(r, f, 2);
        }
    }
    void replace(std::uint32_t slot) {
        memory.load(0, slot);
        for (unsigned f = 0; f != field_count; ++f) memory.unlink(0, f);
        memory.make(1);
        link_anywhere(1);
        memory.store(slot, 1);
        if constexpr (requires { memory.end(0); }) memory.end(0);
    }
};

}  // namespace lab::graphs
