// lab/experiments/scale.cpp - from a thousand objects to ten million: what is work, what caches?
//
// Each structure does the same work at every size, at random places. However well it is written, it
// must touch so many cache lines that were not touched lately, and from the second-level cache on these
// are nearly all of its time. A loop that does nothing but touch as many lines, one after the other, in
// as much memory, is the limit's curve; what a structure needs beyond it where all is in the first
// cache is its own.
//
//      ns |                             x   structure, measured        lines an operation
//         |                        x                                   pool         2   index, slot
//         |                   x       .     its limit's curve:         heap         3   index, header, block
//         |              x    .             what it takes at 10^3,     slot_map     6   index, slot, row, handle,
//         |    x    x    .                  and the lines' own growth                   the last row's slot, a free one
//         |    .    .                                                  ...
//         +------------------------------
//          10^3    10^4   10^5  10^6  10^7
//
// The number of a row is the largest of all sizes of: measured / its limit's curve. 1: it costs at ten
// million what it costs at a thousand, and the caches. A search or a walk that grows with the number of
// objects shows as 2 and more.
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/movable/relocatable_heap.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lab/harness/clock.hpp"
#include "lab/harness/experiment.hpp"

namespace {

struct particle {
    explicit particle(float at) : position{at, at}, lifetime_remaining{at} {}
    bool is_active = true;
    float position[2];
    float velocity[2] = {0.5f, 0.25f};
    float lifetime_remaining;
};
static_assert(sizeof(particle) == 24);

constexpr std::size_t batch = 64;  // so many leave, then so many come: none is had again at once

/// Places at random, the same in every structure.
class places {
public:
    explicit places(std::size_t count) : count_{count} {}
    std::size_t next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>((static_cast<unsigned __int128>(state_) * count_) >> 64);
    }

private:
    std::size_t count_;
    std::uint64_t state_ = 7;
};

/// `count` objects that are named by a Name; Store makes and ends them.
template <class Store>
class churned {
public:
    explicit churned(std::size_t count) : store_{count}, names_(count), places_{count} {
        for (auto& name : names_) { name = store_.make(); }
        // In the order of their making they would lie in a row.
        for (std::size_t i = 0; i < 2 * count; i += batch) { run(); }
    }
    /// `batch` operations.
    void run() {
        std::size_t chosen[batch];
        for (std::size_t& at : chosen) {
            at = places_.next();
            store_.end(names_[at]);
            names_[at] = {};
        }
        for (const std::size_t at : chosen) {
            if (names_[at] == typename Store::name{}) { names_[at] = store_.make(); }
        }
    }

private:
    Store store_;
    std::vector<typename Store::name> names_;
    places places_;
};

struct pool_store {
    using name = void*;
    cairn::pool memory;
    explicit pool_store(std::size_t) : memory{64} {}
    name make() {
        name p = memory.allocate();
        *static_cast<std::uint64_t*>(p) = 1;
        return p;
    }
    void end(name p) { memory.deallocate(p); }  // nullptr: chosen twice
};

struct heap_store {
    using name = void*;
    cairn::heap<> memory;
    std::uint32_t turn = 0;
    // The same sizes at every count.
    static constexpr std::size_t sizes[8] = {24, 40, 56, 88, 40, 24, 120, 56};
    explicit heap_store(std::size_t) {}
    name make() {
        const std::size_t size = sizes[turn++ % 8];
        auto* const p = static_cast<std::uint64_t*>(memory.allocate(size));
        *p = size;
        return p;
    }
    void end(name p) {
        if (p != nullptr) { memory.deallocate(p, *static_cast<std::uint64_t*>(p)); }
    }
};

template <class Map>
struct map_store {
    using name = typename Map::handle_type;
    Map map;
    explicit map_store(std::size_t count) { (void)map.reserve(count); }
    name make() { return map.emplace(1.0f); }
    void end(name h) { map.erase(h); }
};

struct relocatable_store {
    using name = cairn::relocatable_heap::handle_type;
    cairn::relocatable_heap heap;
    std::vector<name> names;
    places at;
    explicit relocatable_store(std::size_t count)
        : heap{80 * count + (std::size_t{1} << 20)}, names(count), at{count} {
        for (name& h : names) {
            h = heap.allocate(64);
            *static_cast<std::uint64_t*>(heap.get(h)) = 1;
        }
    }
    void run() {
        for (std::size_t i = 0; i < batch; ++i) {
            ++*static_cast<std::uint64_t*>(heap.get(names[at.next()]));
        }
    }
};

template <class Map>
struct looked_up {
    Map map;
    std::vector<typename Map::handle_type> names;
    places at;
    explicit looked_up(std::size_t count) : names(count), at{count} {
        (void)map.reserve(count);
        for (auto& h : names) { h = map.emplace(1.0f); }
    }
    void run() {
        for (std::size_t i = 0; i < batch; ++i) {
            map.find(names[at.next()])->lifetime_remaining += 1;
        }
    }
};

template <class Row>
struct walked {
    cairn::table<Row> rows;
    explicit walked(std::size_t count) {
        (void)rows.reserve(count);
        for (std::size_t i = 0; i < count; ++i) { (void)rows.push_back({}); }
    }
    void run() {
        rows.for_each([](auto&& row) { row.position += row.velocity * 0.016f; });
    }
};
template <class K = cairn::value>
struct moving {
    cairn::field<K, float> position = 0;
    cairn::field<K, float> velocity = 1;
};

/// What the limit touches: `lines` of them an operation, in arrays of `sizes` bytes an object each.
struct touched_lines {
    std::size_t count;
    std::vector<std::vector<std::uint64_t>> arrays;
    std::vector<std::size_t> words;
    places at;
    touched_lines(std::size_t objects, const std::vector<std::size_t>& sizes)
        : count{objects}, at{objects} {
        for (const std::size_t size : sizes) {
            arrays.emplace_back(objects * size / 8 + 8, 1);
            words.push_back(size / 8);
        }
    }
    void run() {
        for (std::size_t i = 0; i < batch; ++i) {
            // One line leads to the next, as a name leads to its slot and the slot to the object.
            std::uint64_t seen = 0;
            for (std::size_t a = 0; a < arrays.size(); ++a) {
                seen = ++arrays[a][(at.next() + (seen >> 63)) * words[a]];
            }
        }
    }
};
/// The same where lines come one behind the other: an array of `size` bytes an object.
struct walked_lines {
    std::vector<float> all;
    walked_lines(std::size_t objects, const std::vector<std::size_t>& sizes)
        : all(objects * sizes[0] / sizeof(float)) {}
    void run() {
        for (float& one : all) { one += 0.016f; }
    }
};

/// The least ns an operation of seven rounds; a run() is `operations` of them.
template <class Work>
double least_ns(Work& work, std::size_t operations) {
    const std::size_t runs = std::max<std::size_t>(1, 200'000 / operations);
    double least = 1e30;
    for (int round = 0; round != 7; ++round) {
        const std::int64_t begun = lab::now_ns();
        for (std::size_t r = 0; r != runs; ++r) {
            work.run();
            lab::clobber();
        }
        const double ns = static_cast<double>(lab::now_ns() - begun) - lab::timer_overhead_ns();
        least = std::min(least, ns / static_cast<double>(runs * operations));
    }
    return least;
}

/// One row: Work at every size beside Limit, which touches arrays of so many bytes an object.
/// Operations of a run(): all objects, or a batch of them.
template <class Work, class Limit>
auto curve(std::string name, std::vector<std::size_t> line_arrays, bool is_walk, int last) {
    return [=] {
        return [=](lab::sample& s) {
            lab::series measured{name, "objects", "ns", {}};
            lab::series limit{name + ", its limit's curve", "objects", "ns", {}};
            double own = 0;
            double most = 0;
            std::size_t count = 1000;
            for (int log10 = 3; log10 <= last; ++log10, count *= 10) {
                const std::size_t operations = is_walk ? count : batch;
                const auto work = std::make_unique<Work>(count);
                const double ns = least_ns(*work, operations);
                const auto lines = std::make_unique<Limit>(count, line_arrays);
                const double lines_ns = least_ns(*lines, operations);
                // Where both are in the first cache: what is the structure's own.
                if (log10 == 3) { own = std::max(0.0, ns - lines_ns); }
                const auto x = static_cast<double>(count);
                measured.points.emplace_back(x, ns);
                limit.points.emplace_back(x, own + lines_ns);
                most = std::max(most, ns / (own + lines_ns));
                s.also(fmt::format("10^{} objects", log10), ns);
            }
            s.plot(measured);
            s.plot(limit);
            s.value(most);
        };
    };
}

const lab::registration scale{
    "scale", "Does anything cost more among ten million objects than the caches make it?",
    [](lab::experiment& e) {
        e.quick_seconds = 20;
        e.how =
            "Each row does its work among 10^3 to 10^6 objects (10^7 with --full), seven rounds at "
            "each size, of "
            "which the least counts. Its limit touches as many cache lines as the work must, in as "
            "much memory, at "
            "random places too, and nothing else; what the row takes beyond that among a thousand "
            "objects is added "
            "at every size.";
        const int last = e.options().full ? 7 : 6;
        lab::comparison& c = e.compare(
            "beyond the curve of its limit, at most",
            {.unit = "x", .measure = lab::measure::value, .quick_samples = 1, .compares = false});
        for (int log10 = 3; log10 <= last; ++log10) {
            e.also(c, fmt::format("10^{} objects", log10), {.unit = "ns", .compares = false});
        }
        using map = cairn::slot_map<particle>;
        using stable_map = cairn::stable_slot_map<particle>;
        const auto add = [&]<class Work, class Limit>(const char* name,
                                                      std::vector<std::size_t> arrays, bool walks) {
            c.cairn(name, curve<Work, Limit>(name, std::move(arrays), walks, last));
        };
        using lines = touched_lines;
        add.operator()<churned<pool_store>, lines>("pool, a free and a request", {8, 64}, false);
        add.operator()<churned<heap_store>, lines>("heap<>, a free and a request", {8, 64, 64},
                                                   false);
        add.operator()<churned<map_store<map>>, lines>("slot_map, an erasure and an insertion",
                                                       {8, 8, 24, 8, 8, 8}, false);
        add.operator()<churned<map_store<stable_map>>, lines>(
            "stable_slot_map, an erasure and an insertion", {8, 4, 24, 24, 4}, false);
        add.operator()<looked_up<map>, lines>("slot_map, a look-up", {8, 8, 24}, false);
        add.operator()<looked_up<stable_map>, lines>("stable_slot_map, a look-up", {8, 4, 24},
                                                     false);
        add.operator()<relocatable_store, lines>("relocatable_heap, a look-up", {8, 8, 64}, false);
        add.operator()<walked<moving<>>, walked_lines>("table, for_each, a row", {8}, true);
    }};

}  // namespace
