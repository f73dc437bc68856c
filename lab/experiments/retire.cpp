// lab/experiments/retire.cpp - objects that a GPU still reads when the game has no use for them.
//
//      frame n      200 of 4,000 objects are given up with the fence n; 200 others come
//      fence n - 3  is over: what was given up with it, or before, is destroyed
//
// Each object adds its name to the sum of the frame that destroys it. The sums of all frames
// are compared: an object that ends early or late is a wrong result.
//
//      cairn       retire(handle, fence) and collect(completed) of the maps
//      ring        a list for each frame in flight: the floor, where fences are frames
//      deferred    one list of {fence, owner}; taken from its front, or looked through
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/stable_slot_map.hpp>

#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t live_count = 4000;
constexpr std::size_t leave_count = 200;
constexpr std::uint64_t frames_in_flight = 3;

/// What a renderer keeps about a mesh: 64 bytes, and a destructor that says when it ran.
struct resource {
    std::uint64_t* ended = nullptr;
    std::uint64_t name = 0;
    std::array<float, 12> bounds{};

    resource(std::uint64_t* e, std::uint64_t n) noexcept : ended{e}, name{n} {}
    resource(resource&& other) noexcept
        : ended{std::exchange(other.ended, nullptr)}, name{other.name}, bounds{other.bounds} {}
    resource& operator=(resource&& other) noexcept {
        std::swap(ended, other.ended);
        std::swap(name, other.name);
        std::swap(bounds, other.bounds);
        return *this;
    }
    ~resource() {
        if (ended != nullptr) { *ended += name * 0x9E37'79B9'7F4A'7C15u; }
    }
};

// ---- contenders: insert, retire, collect --------------------------------------------------------

template <class Map>
struct map_that_retires {
    using id = typename Map::handle_type;
    Map all;
    map_that_retires() { (void)all.reserve(live_count + leave_count); }
    id insert(std::uint64_t* ended, std::uint64_t name) { return all.emplace(ended, name); }
    void retire(id h, std::uint64_t fence) { (void)all.retire(h, fence); }
    void collect(std::uint64_t completed) { (void)all.collect(completed); }
};

/// Objects of their own, and a list of those that were given up.
template <class List, class Owner = std::unique_ptr<resource>>
struct owners {
    using id = std::uint32_t;
    std::vector<Owner> all;
    std::vector<id> free_places;
    List limbo;
    owners() {
        all.reserve(live_count + leave_count);
        free_places.reserve(live_count);
    }
    id insert(std::uint64_t* ended, std::uint64_t name) {
        if (free_places.empty()) {
            free_places.push_back(static_cast<id>(all.size()));
            all.emplace_back();
        }
        const id place = free_places.back();
        free_places.pop_back();
        if constexpr (std::is_same_v<Owner, std::shared_ptr<resource>>) {
            all[place] = std::make_shared<resource>(ended, name);
        } else {
            all[place] = std::make_unique<resource>(ended, name);
        }
        return place;
    }
    void retire(id place, std::uint64_t fence) {
        if constexpr (std::is_copy_constructible_v<Owner>) {  // both own it for a moment
            limbo.add(all[place], fence);
            all[place].reset();
        } else {
            limbo.add(std::move(all[place]), fence);
        }
        free_places.push_back(place);
    }
    void collect(std::uint64_t completed) { limbo.collect(completed); }
};

/// A list for each frame that may be in flight. Fences are frames.
template <class Owner>
struct ring_of_lists {
    std::array<std::vector<Owner>, frames_in_flight + 1> lists;
    void add(Owner r, std::uint64_t fence) { lists[fence % lists.size()].push_back(std::move(r)); }
    void collect(std::uint64_t completed) { lists[completed % lists.size()].clear(); }
};

struct waiting {
    std::uint64_t fence;
    std::unique_ptr<resource> object;
};

/// Fences that never decrease: passed ones stand in front.
struct queue_from_the_front {
    std::deque<waiting> all;
    void add(std::unique_ptr<resource> r, std::uint64_t fence) {
        all.push_back({fence, std::move(r)});
    }
    void collect(std::uint64_t completed) {
        while (!all.empty() && all.front().fence <= completed) { all.pop_front(); }
    }
};

/// Fences in any order, as those of several queues are: all are looked at, as in the maps.
struct list_looked_through {
    std::vector<waiting> all;
    void add(std::unique_ptr<resource> r, std::uint64_t fence) {
        all.push_back({fence, std::move(r)});
    }
    void collect(std::uint64_t completed) {
        for (std::size_t i = 0; i != all.size();) {
            if (all[i].fence > completed) {
                ++i;
                continue;
            }
            all[i] = std::move(all.back());
            all.pop_back();
        }
    }
};

/// shared_ptr: the game lets go at once, and the frames in flight hold what they use.
using held_by_frames = owners<ring_of_lists<std::shared_ptr<resource>>, std::shared_ptr<resource>>;

// ---- the game -----------------------------------------------------------------------------------

constexpr std::uint64_t checked_frames = 64;

template <class Memory>
struct game {
    std::uint64_t ended = 0;  // outlives the memory, whose objects write it
    Memory memory;
    std::vector<typename Memory::id> live;
    std::mt19937 random{11};
    std::uint64_t next_name = 1;
    std::uint64_t frame = frames_in_flight;

    game() {
        live.reserve(live_count);
        for (std::size_t i = 0; i != live_count; ++i) { live.push_back(come()); }
    }
    game(const game&) = delete;
    game& operator=(const game&) = delete;

    typename Memory::id come() { return memory.insert(&ended, next_name++); }
    void choose() {
        for (std::size_t i = 0; i != leave_count; ++i) {
            std::swap(live[i], live[i + random() % (live_count - i)]);
        }
    }
    void play() {
        ++frame;
        memory.collect(frame - frames_in_flight);
        for (std::size_t i = 0; i != leave_count; ++i) { memory.retire(live[i], frame); }
        for (std::size_t i = 0; i != leave_count; ++i) { live[i] = come(); }
    }
    /// What had ended by the end of each of the first frames.
    std::uint64_t history() {
        std::uint64_t sum = 0;
        for (std::uint64_t f = 0; f != checked_frames; ++f) {
            choose();
            play();
            sum = sum * 31 + ended;
        }
        return sum;
    }
};

template <class Memory>
struct checked_game {
    game<Memory> now;
    std::uint64_t history = now.history();
    void operator()(lab::sample& s) {
        s.repeat(leave_count, [&] {
            now.choose();
            s.timed([&] { now.play(); });
        });
        s.checksum(history);
    }
};
template <class Memory>
auto playing() {
    return lab::made<checked_game<Memory>>();
}

/// Nothing waits: what the objects themselves cost, who come and go.
template <class Memory>
struct at_once : Memory {
    void retire(typename Memory::id h, std::uint64_t) { (void)this->all.erase(h); }
    void collect(std::uint64_t) {}
};

const lab::registration retire{
    "retire", "What does it cost to destroy objects only when the GPU is done with them?",
    [](lab::experiment& e) {
        e.quick_seconds = 2;
        e.how =
            "One object leaves and another comes, 200 times a frame; what left is destroyed three "
            "frames later. The choice of those who leave is not timed. That each object ends in "
            "its frame is compared over 64 frames.";
        lab::comparison& c = e.compare("200 of 4000 leave, three frames in flight",
                                       {.unit = "ns/object", .equal_checksums = true});
        c.limit("ring of lists, unique_ptr",
                playing<owners<ring_of_lists<std::unique_ptr<resource>>>>());
        c.cairn("cairn::slot_map", playing<map_that_retires<cairn::slot_map<resource>>>());
        c.cairn("cairn::stable_slot_map",
                playing<map_that_retires<cairn::stable_slot_map<resource>>>());
        c.peer("deferred deletes, from the front", playing<owners<queue_from_the_front>>());
        c.peer("deferred deletes, looked through", playing<owners<list_looked_through>>());
        c.peer("std::shared_ptr, held by the frames", playing<held_by_frames>());

        lab::comparison& now = e.compare("erased at once", {.unit = "ns/object"});
        now.cairn("cairn::slot_map",
                  playing<at_once<map_that_retires<cairn::slot_map<resource>>>>());
        now.cairn("cairn::stable_slot_map",
                  playing<at_once<map_that_retires<cairn::stable_slot_map<resource>>>>());
    }};

}  // namespace
