// lab/experiments/scale.cpp - from a thousand objects to ten million: how much is work, how much caches?
//
// Each structure does the same work at every size, at random places. However well it is written, it
// must touch so many cache lines that were not touched lately, and from the second-level cache on
// these are nearly all of its time. A loop that does nothing but touch as many lines, in the order
// in which the work must touch them, in as much memory, is the limit's curve; what a structure
// needs beyond it where all is in the first cache is its own.
//
// The order is what one line says of the next. A name says where its slot is, the slot where the
// object is: two misses one after the other. What the next operation touches is known before they
// have come, so misses of several operations are under way at one time, in the limit too.
//
//      free     name ----> block                      heap
//      erase    name ----> slot ----> row, its name   slot_map   (the last row's slot: known)
//                                                     and so on: the lines of each row below
//
//      ns |                             x   structure, measured     lines an operation
//         |                        x                                pool       2   name, slot
//         |                   x       .     its limit's curve:      heap       2   name, block
//         |              x    .             what it takes at 10^3,  slot_map   6   name, slot, row,
//         |    x    x    .                  and the lines' growth                its name, the last
//         |    .    .                                                            row's slot, a free
//         +------------------------------
//          10^3    10^4   10^5  10^6  10^7
//
// The number of a row is the largest of all sizes of: measured / its limit's curve. 1: it costs at
// ten million what it costs at a thousand, and the caches. A search or a walk that grows with the
// number of objects shows as 2 and more.
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/movable/relocatable_heap.hpp>

#include <fmt/format.h>

#include "lab/families/touched_lines.hpp"
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

using lab::batch, lab::line, lab::places, lab::touched_lines, lab::walked_lines;

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

/// One row: Work at every size beside Limit, which touches such lines.
/// Operations of a run(): all objects, or a batch of them.
template <class Work, class Limit>
auto curve(std::string name, bool is_walk, int last) {
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
                const auto lines = std::make_unique<Limit>(count);
                const double lines_ns = least_ns(*lines, operations);
                // Where both are in the first cache: the structure's own cost.
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
            "each size, of which the least counts. Its limit touches the cache lines that the work "
            "must touch, in as much memory, at random places too, each when the line has come that "
            "says where it is, and does nothing else; what the row takes beyond that among a "
            "thousand objects is added at every size.";
        const int last = e.options().full ? 7 : 6;
        lab::comparison& c = e.compare(
            "beyond the curve of its limit, at most",
            {.unit = "x", .measure = lab::measure::value, .quick_samples = 1, .compares = false});
        for (int log10 = 3; log10 <= last; ++log10) {
            e.also(c, fmt::format("10^{} objects", log10), {.unit = "ns", .compares = false});
        }
        using map = cairn::slot_map<particle>;
        using stable_map = cairn::stable_slot_map<particle>;
        const auto add = [&]<class Work, class Limit>(const char* name, bool walks) {
            c.cairn(name, curve<Work, Limit>(name, walks, last));
        };
        // The name of what goes; and what comes is written to. Where it lies, the stack knows.
        add.operator()<churned<pool_store>, touched_lines<line{8}, line{64}>>(
            "pool, a free and a request", false);
        // The name leads to the block, where the size stands, and the link when it waits. What is
        // requested waited, and is warm.
        add.operator()<churned<heap_store>, touched_lines<line{8}, line{64, 0}>>(
            "heap<>, a free and a request", false);
        // The name, its slot, the row there and the row's own name; the last row's slot; and the
        // slot that is used again, which was freed long ago. The last row and its name lie in
        // lines that the operations before have touched.
        add.
        operator()<churned<map_store<map>>,
                   touched_lines<line{8}, line{8, 0}, line{24, 1}, line{8, 1}, line{8}, line{8}>>(
            "slot_map, an erasure and an insertion", false);
        // The name, and at once the slot's generation and its object; the same of the slot that is
        // used again, which is known.
        add.operator()<churned<map_store<stable_map>>,
                       touched_lines<line{8}, line{4, 0}, line{24, 0}, line{24}, line{4}>>(
            "stable_slot_map, an erasure and an insertion", false);
        add.operator()<looked_up<map>, touched_lines<line{8}, line{8, 0}, line{24, 1}>>(
            "slot_map, a look-up", false);
        add.operator()<looked_up<stable_map>, touched_lines<line{8}, line{4, 0}, line{24, 0}>>(
            "stable_slot_map, a look-up", false);
        add.operator()<relocatable_store, touched_lines<line{8}, line{8, 0}, line{64, 1}>>(
            "relocatable_heap, a look-up", false);
        add.operator()<walked<moving<>>, walked_lines<8>>("table, for_each, a row", true);
    }};

}  // namespace
