// lab/experiments/plan-and-commit.cpp - compaction, a budget a frame, of what a GPU copies.
//
//      each frame    24 ranges leave and others come; plan() proposes moves of at most 128 KiB
//                    the copies are made, as a GPU's queue would make them; commit()
//
//      planning      what plan() and commit() take beyond the copies, over the bytes that moved
//      overshoot     of a frame: bytes or microseconds beyond the budget
//
// In the end every range begins and ends with its name, or the row is a crash.
#include <cairn/movable/offset_heap.hpp>
#include <cairn/movable/relocatable_heap.hpp>

#include <cmath>

#include "lab/harness/experiment.hpp"
#include "lab/harness/statistics.hpp"
#include "lab/system/aligned_memory.hpp"

namespace {

constexpr std::size_t unit = 256;  // bytes: what a GPU's memory is divided in
constexpr std::size_t capacity = std::size_t{16} << 20;
constexpr std::size_t byte_budget = std::size_t{128} << 10;
constexpr std::uint32_t microsecond_budget = 50;
constexpr std::size_t leave_count = 24;
constexpr double live_share = 0.8;

/// The same game for all: who leaves is a place in the list, sizes are 256 bytes to 64 KiB.
struct trace {
    std::mt19937 random{5};
    std::size_t size() {
        const double exponent = static_cast<double>(random() % 1024) / 1024 * 8;
        return static_cast<std::size_t>(unit * std::exp2(exponent)) / unit * unit;
    }
};

/// Bytes at `p` that say whose they are.
void sign(std::byte* p, std::size_t size, std::uint32_t name) {
    std::memcpy(p, &name, sizeof name);
    std::memcpy(p + size - sizeof name, &name, sizeof name);
}
bool is_signed(const std::byte* p, std::size_t size, std::uint32_t name) {
    return std::memcmp(p, &name, sizeof name) == 0 &&
           std::memcmp(p + size - sizeof name, &name, sizeof name) == 0;
}

struct resident {
    lab::aligned_block bytes{4096, capacity};
    resident() { std::memset(bytes.get(), 0, capacity); }
};

struct frame_report {
    std::size_t bytes = 0;   // copied
    double planning_ns = 0;  // beyond the copies
    double whole_ns = 0;     // with them
    double overshoot = 0;    // beyond the budget, in bytes or microseconds
};

// ---- memories -----------------------------------------------------------------------------------

/// Ranges of a memory that is not ours: the heap proposes, the caller copies and commits.
struct planned {
    using id = cairn::offset_allocation;
    resident memory;
    cairn::offset_heap heap{capacity};
    std::vector<cairn::offset_heap::move> moves = std::vector<cairn::offset_heap::move>(64);

    explicit planned(cairn::work_limit) {}

    id allocate(std::size_t size) { return heap.allocate(size, unit); }
    void deallocate(id a) { heap.deallocate(a); }
    std::byte* at(id a) { return memory.bytes.get() + heap.offset(a); }
    frame_report end_frame() {
        frame_report r;
        const std::int64_t begun = lab::now_ns();
        const std::size_t count = heap.plan(
            moves.data(), moves.size(),
            {.move_count_max = moves.size(), .size_max = byte_budget, .step_count_max = 256});
        const std::int64_t planned_at = lab::now_ns();
        for (std::size_t i = 0; i != count; ++i) {
            std::memmove(memory.bytes.get() + moves[i].to, memory.bytes.get() + moves[i].from,
                         moves[i].size);
            r.bytes += moves[i].size;
        }
        const std::int64_t copied_at = lab::now_ns();
        for (std::size_t i = 0; i != count; ++i) { heap.commit(moves[i]); }
        const std::int64_t ended = lab::now_ns();
        r.planning_ns = static_cast<double>((planned_at - begun) + (ended - copied_at));
        r.whole_ns = static_cast<double>(ended - begun);
        r.overshoot = r.bytes > byte_budget ? static_cast<double>(r.bytes - byte_budget) : 0;
        return r;
    }
    double fragmentation() const {
        const auto s = heap.stats();
        return s.free_size == 0 ? 0
                                : 100 - 100 * static_cast<double>(s.largest_free) /
                                            static_cast<double>(s.free_size);
    }
};

/// The heap copies for itself.
struct moved_in_place {
    using id = cairn::relocatable_heap::handle_type;
    cairn::work_limit budget;
    resident memory;
    cairn::relocatable_heap heap{{memory.bytes.get(), capacity}};
    explicit moved_in_place(cairn::work_limit b) : budget{b} {}

    id allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(id h) { heap.deallocate(h); }
    std::byte* at(id h) { return static_cast<std::byte*>(heap.get(h)); }
    frame_report end_frame() {
        const std::int64_t begun = lab::now_ns();
        const cairn::compaction_report done = heap.compact(budget);
        frame_report r;
        r.whole_ns = static_cast<double>(lab::now_ns() - begun);
        r.bytes = done.bytes;
        if (budget.microseconds != cairn::work_limit::no_end) {
            r.overshoot = std::max(0.0, r.whole_ns / 1e3 - budget.microseconds);
        } else {
            r.overshoot = r.bytes > byte_budget ? static_cast<double>(r.bytes - byte_budget) : 0;
        }
        return r;
    }
    double fragmentation() const { return heap.stats().fragmentation() * 100; }
};

/// Written by hand without a plan: a table in address order, all of it slid down, now and then. No
/// frame of its has a budget.
struct slid_by_hand {
    struct range {
        std::size_t offset, size;
    };
    struct id {
        std::uint32_t index = 0xFFFF'FFFF;
        explicit operator bool() const { return index != 0xFFFF'FFFF; }
    };
    resident memory;
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
    void deallocate(id a) {
        live -= ranges[a.index].size;
        ranges[a.index].size = 0;  // its place in the order goes with the next slide
    }
    std::byte* at(id a) { return memory.bytes.get() + ranges[a.index].offset; }
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
                std::memmove(memory.bytes.get() + to, memory.bytes.get() + r.offset, r.size);
                moved += r.size;
            }
            r.offset = to;
            to += r.size;
            order[kept++] = i;
        }
        order.resize(kept);
        top = to;
    }
    frame_report end_frame() {
        const std::size_t before = moved;
        const std::int64_t begun = lab::now_ns();
        if (top - live > capacity / 10) { slide(); }
        frame_report r;
        r.whole_ns = static_cast<double>(lab::now_ns() - begun);
        r.bytes = moved - before;
        r.overshoot = r.bytes > byte_budget ? static_cast<double>(r.bytes - byte_budget) : 0;
        return r;
    }
    double fragmentation() const {
        return 100 -
               100 * static_cast<double>(capacity - top) / static_cast<double>(capacity - live);
    }
};

// ---- the game -----------------------------------------------------------------------------------

struct figures {
    double whole_ns = 0;
    double planning_ns = 0;
    double bytes = 0;
    double worst_overshoot = 0;
    std::vector<float> overshoots, frames_ns;
    double fragmentation = 0;
    std::uint64_t failures = 0;
    std::uint64_t requests = 0;
};

template <class Memory>
figures play(Memory& m, unsigned frames) {
    struct object {
        typename Memory::id where;
        std::size_t size;
        std::uint32_t name;
    };
    trace t;
    std::vector<object> live;
    std::size_t live_size = 0;
    std::uint32_t name = 0;
    figures f;
    const auto come = [&](std::size_t size) {
        const auto where = m.allocate(size);
        ++f.requests;
        live.push_back({where, size, ++name});
        live_size += size;  // also without bytes: the trace is the same for all
        if (!where) {
            ++f.failures;
            return;
        }
        sign(m.at(where), size, name);
    };
    const auto target = static_cast<std::size_t>(live_share * capacity);
    for (std::size_t size = t.size(); live_size + size <= target; size = t.size()) { come(size); }
    for (unsigned frame = 0; frame != frames; ++frame) {
        for (std::size_t i = 0; i != leave_count; ++i) {
            std::swap(live[t.random() % live.size()], live.back());
            if (live.back().where) { m.deallocate(live.back().where); }
            live_size -= live.back().size;
            live.pop_back();
        }
        for (std::size_t size = t.size(); live_size + size <= target; size = t.size()) {
            come(size);
        }
        const frame_report r = m.end_frame();
        f.whole_ns += r.whole_ns;
        f.planning_ns += r.planning_ns;
        f.bytes += static_cast<double>(r.bytes);
        f.worst_overshoot = std::max(f.worst_overshoot, r.overshoot);
        f.overshoots.push_back(static_cast<float>(r.overshoot));
        f.frames_ns.push_back(static_cast<float>(r.whole_ns));
        f.fragmentation += m.fragmentation() / frames;
    }
    for (const object& o : live) {
        if (o.where && !is_signed(m.at(o.where), o.size, o.name)) { std::abort(); }
        if (o.where) { m.deallocate(o.where); }
    }
    return f;
}

constexpr const char* planning_case = "plan and commit, beyond the copies";
constexpr const char* copies_case = "the copies alone";
constexpr const char* long_case = "frame, p99";
constexpr const char* over_bytes = "beyond the budget of 128 KiB, most";
constexpr const char* over_time = "beyond the budget of 50 us, p99";
constexpr const char* fragments = "fragmentation, mean";
constexpr const char* refused = "requests refused";

template <class Memory>
auto runs(unsigned frames, cairn::work_limit budget = {}) {
    const bool is_timed = budget.microseconds != cairn::work_limit::no_end;
    return [=] {
        return [=](lab::sample& s) {
            const auto memory = std::make_unique<Memory>(budget);
            const figures f = play(*memory, frames);
            if (f.bytes == 0) { return; }  // it moves nothing: reported as such
            s.value(f.whole_ns / (f.bytes / 1024));
            if (f.planning_ns != 0) {
                s.also(planning_case, f.planning_ns / (f.bytes / 1024));
                s.also(copies_case, (f.whole_ns - f.planning_ns) / (f.bytes / 1024));
            }
            s.also("moved", f.bytes / 1024 / frames);
            s.also(long_case, lab::at_share(f.frames_ns, 0.99) / 1e3);
            is_timed ? s.also(over_time, lab::at_share(f.overshoots, 0.99))
                     : s.also(over_bytes, f.worst_overshoot);
            s.also(fragments, f.fragmentation);
            s.also(refused,
                   1000 * static_cast<double>(f.failures) / static_cast<double>(f.requests));
        };
    };
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
