// lab/experiments/plan-and-commit.cpp - compaction, a budget a frame, of what a GPU copies.
//
//      each frame    24 ranges leave and others come; plan() proposes moves of at most 128 KiB
//                    the copies are made, as a GPU's queue would make them; commit()
//
//      planning      what plan() and commit() take beyond the copies, over the bytes that moved
//      overshoot     of a frame: bytes or microseconds beyond the budget
//
// The load is that of lab/families/soak.hpp, without level changes. In the end every range begins with
// its name, or the row is a crash.
#include <cairn/movable/offset_heap.hpp>
#include <cairn/movable/relocatable_heap.hpp>

#include "lab/families/soak_memories.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/statistics.hpp"

namespace {

using namespace lab::soak;

constexpr std::size_t unit = 256;  // bytes: what a GPU's memory is divided in
constexpr std::size_t capacity = std::size_t{16} << 20;
constexpr std::size_t byte_budget = std::size_t{128} << 10;
constexpr std::uint32_t microsecond_budget = 50;

// ---- memories -----------------------------------------------------------------------------------

/// What all have: a region, and what their frames took.
struct of_frames {
    resident_region region{capacity};
    double whole_ns = 0;     // with the copies
    double planning_ns = 0;  // beyond them
    double bytes = 0;        // copied
    std::vector<float> frames_ns, overshoots;

    /// A frame that began at `begun`. Returns: what it took.
    double end(std::int64_t begun, std::size_t copied) {
        const auto ns = static_cast<double>(lab::now_ns() - begun);
        whole_ns += ns;
        bytes += static_cast<double>(copied);
        frames_ns.push_back(static_cast<float>(ns));
        overshoots.push_back(copied > byte_budget ? static_cast<float>(copied - byte_budget) : 0);
        return ns;
    }
    void hold(auto) {}
    void let_go() {}
};

/// Ranges of a memory that is not ours: the heap proposes, the caller copies and commits.
struct planned : of_frames {
    using id = cairn::offset_allocation;
    cairn::offset_heap heap{capacity};
    std::vector<cairn::offset_heap::move> moves = std::vector<cairn::offset_heap::move>(64);
    explicit planned(cairn::work_limit) {}

    id allocate(std::size_t size) { return heap.allocate((size + unit - 1) / unit * unit, unit); }
    void deallocate(id a, std::size_t) { heap.deallocate(a); }
    std::byte* at(id a) { return region.memory.get() + heap.offset(a); }
    double end_frame() {
        std::size_t copied = 0;
        const std::int64_t begun = lab::now_ns();
        const std::size_t count = heap.plan(
            moves.data(), moves.size(),
            {.move_count_max = moves.size(), .size_max = byte_budget, .step_count_max = 256});
        const std::int64_t planned_at = lab::now_ns();
        std::byte* const memory = region.memory.get();
        for (std::size_t i = 0; i != count; ++i) {
            std::memmove(memory + moves[i].to, memory + moves[i].from, moves[i].size);
            copied += moves[i].size;
        }
        const std::int64_t copied_at = lab::now_ns();
        for (std::size_t i = 0; i != count; ++i) { heap.commit(moves[i]); }
        const double ns = end(begun, copied);
        planning_ns += ns - static_cast<double>(copied_at - planned_at);
        return ns;
    }
    double fragmentation() const {
        const auto s = heap.stats();
        return s.free_size == 0 ? 0
                                : 100 - 100 * static_cast<double>(s.largest_free) /
                                            static_cast<double>(s.free_size);
    }
};

/// The heap copies for itself.
struct moved_in_place : of_frames {
    using id = cairn::relocatable_heap::handle_type;
    cairn::work_limit budget;
    cairn::relocatable_heap heap{region.slice()};
    explicit moved_in_place(cairn::work_limit b) : budget{b} {}

    id allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(id h, std::size_t) { heap.deallocate(h); }
    void* at(id h) { return heap.get(h); }
    double end_frame() {
        const std::int64_t begun = lab::now_ns();
        const double ns = end(begun, heap.compact(budget).bytes);
        if (budget.microseconds != cairn::work_limit::no_end) {
            overshoots.back() = std::max(0.0f, static_cast<float>(ns / 1e3) - microsecond_budget);
        }
        return ns;
    }
    double fragmentation() const { return heap.stats().fragmentation() * 100; }
};

/// Written by hand without a plan: a table in address order, all of it slid down, now and then. No
/// frame of its has a budget.
struct slid_by_hand : of_frames {
    struct range {
        std::size_t offset, size;
    };
    struct id {
        std::uint32_t index = 0xFFFF'FFFF;
        explicit operator bool() const { return index != 0xFFFF'FFFF; }
    };
    std::vector<range> ranges;
    std::vector<std::uint32_t> order, free_indices;  // order: by address
    std::size_t top = 0;
    std::size_t moved = 0;
    std::size_t live = 0;

    explicit slid_by_hand(cairn::work_limit) {}
    id allocate(std::size_t size) {
        if (capacity - top < size) {
            if (capacity - live < size) { return {}; }
            slide();
        }
        std::uint32_t index;
        if (free_indices.empty()) {
            index = static_cast<std::uint32_t>(ranges.size());
            ranges.emplace_back();
        } else {
            index = free_indices.back();
            free_indices.pop_back();
        }
        ranges[index] = {top, size};
        order.push_back(index);
        top += size;
        live += size;
        return {index};
    }
    void deallocate(id a, std::size_t) {
        live -= ranges[a.index].size;
        ranges[a.index].size = 0;  // its place in the order goes with the next slide
    }
    std::byte* at(id a) { return region.memory.get() + ranges[a.index].offset; }
    void slide() {
        std::size_t to = 0;
        std::size_t kept = 0;
        for (const std::uint32_t i : order) {
            range& r = ranges[i];
            if (r.size == 0) {
                free_indices.push_back(i);
                continue;
            }
            if (r.offset != to) {
                std::memmove(region.memory.get() + to, region.memory.get() + r.offset, r.size);
                moved += r.size;
            }
            r.offset = to;
            to += r.size;
            order[kept++] = i;
        }
        order.resize(kept);
        top = to;
    }
    double end_frame() {
        const std::size_t before = moved;
        const std::int64_t begun = lab::now_ns();
        if (top - live > capacity / 10) { slide(); }
        return end(begun, moved - before);
    }
    double fragmentation() const {
        return 100 -
               100 * static_cast<double>(capacity - top) / static_cast<double>(capacity - live);
    }
};

// ---- the game -----------------------------------------------------------------------------------

constexpr const char* planning_case = "plan and commit, beyond the copies";
constexpr const char* copies_case = "the copies alone";
constexpr const char* long_case = "frame, p99";
constexpr const char* over_bytes = "beyond the budget of 128 KiB, most";
constexpr const char* over_time = "beyond the budget of 50 us, p99";
constexpr const char* fragments = "fragmentation, mean";
constexpr const char* refused = "requests refused";

template <class Memory>
auto runs(unsigned frames, cairn::work_limit budget = {}) {
    const auto make = [=] { return budget; };
    return lab::repeated_on(1, make, [=](cairn::work_limit limit, lab::sample& s) {
        const plan p{.region = capacity,
                     .live_share = 0.8,
                     .frames = frames,
                     .level_frames = frames,
                     .smallest = {unit, unit},
                     .largest = 65536,
                     .victims = 24,
                     .arrivals = UINT_MAX,
                     .with_pins = false};
        const auto m = std::make_unique<Memory>(limit);
        player game{*m, p};
        double fragmentation = 0;
        const outcome r =
            game.play(0, [&](unsigned) { fragmentation += m->fragmentation() / frames; });
        if (!game.is_intact()) { std::abort(); }
        if (m->bytes == 0) { return; }  // it moves nothing: reported as such
        s.value(m->whole_ns / (m->bytes / 1024));
        if (m->planning_ns != 0) {
            s.also(planning_case, m->planning_ns / (m->bytes / 1024));
            s.also(copies_case, (m->whole_ns - m->planning_ns) / (m->bytes / 1024));
        }
        s.also("moved", m->bytes / 1024 / frames);
        s.also(long_case, lab::at_share(m->frames_ns, 0.99) / 1e3);
        limit.microseconds != cairn::work_limit::no_end
            ? s.also(over_time, lab::at_share(m->overshoots, 0.99))
            : s.also(over_bytes, lab::at_share(m->overshoots, 1));
        s.also(fragments, fragmentation);
        s.also(refused, 1000 * static_cast<double>(r.failures) / static_cast<double>(r.requests));
        game.remove_all();
    });
}

const lab::registration plan_and_commit{
    "plan-and-commit", "What does a byte cost that moves under a budget, and is the budget kept?",
    [](lab::experiment& e) {
        e.quick_seconds = 2;
        e.full_seconds = 15;
        e.how =
            "16 MiB in ranges of 256 bytes to 64 KiB, 80 % of them live; 24 leave each frame and "
            "others come. The bytes are in memory here; on a GPU the copies are a queue's, and "
            "only the planning is the processor's. By hand: everything slides down when a tenth of "
            "the memory is holes, which is one long frame.";
        const unsigned frames = e.options().full ? 2000 : 100;
        const auto value = [](const char* u) {
            return lab::case_options{.unit = u, .measure = lab::measure::value, .quick_samples = 3};
        };
        lab::comparison& c = e.compare("a KiB that moves, copy included", value("ns/KiB"));
        c.cairn("cairn::offset_heap, 128 KiB a frame", runs<planned>(frames));
        c.cairn("cairn::relocatable_heap, 128 KiB a frame",
                runs<moved_in_place>(frames, {.bytes = byte_budget}));
        c.cairn("cairn::relocatable_heap, 50 us a frame",
                runs<moved_in_place>(frames, {.microseconds = microsecond_budget}));
        c.baseline("everything slides, by hand", runs<slid_by_hand>(frames));
        e.also(c, planning_case, {.unit = "ns/KiB"});
        e.also(c, copies_case, {.unit = "ns/KiB", .compares = false});
        e.also(c, "moved", {.unit = "KiB/frame", .compares = false});
        e.also(c, long_case, {.unit = "us"});
        e.also(c, over_bytes, {.unit = "bytes"});
        e.also(c, over_time, {.unit = "us"});
        e.also(c, fragments, {.unit = "%"});
        e.also(c, refused, {.unit = "per 1000"});
    }};

}  // namespace
