// lab/experiments/game-frame.cpp - a simulated game at 90 Hz: what memory costs in each frame.
//
// Each frame kills and spawns mixed objects with random lifetimes, makes temporary arrays that die
// with the frame, and fires particles; every hundredth frame a level changes: two thousand assets go
// and others come. The calls that take and give memory are timed, phase by phase, with the first touch
// of the first and the last byte of what they gave: a page that was given back and faults again counts.
// Frames run back to back; nothing waits for a display. 90 Hz is what a frame's time is a share of.
//
//   malloc          everything from malloc
//   one heap        everything from one cairn::heap, or from one concurrent_heap
//   the cairn way   frame_arena for temporaries, pool for particles, a virtual_arena for the level,
//                   heap for what lives and dies on its own
#include "lab/families/heap_family.hpp"
#include "lab/harness/counters.hpp"
#include "lab/harness/statistics.hpp"

#include <algorithm>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <numeric>

namespace {

using namespace lab::heaps;
using namespace cairn::literals;

constexpr std::size_t object_count = 6'000;
constexpr std::size_t asset_count = 2'000;
constexpr double budget_us = 1000;
constexpr double frame_us = 1e6 / 90;

/// Everything from one place.
template <class A>
struct all_from {
    A a;
    std::vector<object> temporaries;
    std::vector<object> assets;
    void* object_take(std::size_t size) { return a.allocate(size); }
    void object_give(void* p, std::size_t size) { a.deallocate(p, size); }
    void* particle_take() { return a.allocate(48); }
    void particle_give(void* p) { a.deallocate(p, 48); }
    void* temporary(std::size_t size) {
        temporaries.push_back({a.allocate(size), size});
        return temporaries.back().p;
    }
    void end_frame() {
        for (const object& o : temporaries) a.deallocate(o.p, o.size);
        temporaries.clear();
    }
    void* asset(std::size_t size) {
        assets.push_back({a.allocate(size), size});
        return assets.back().p;
    }
    void end_level() {
        for (const object& o : assets) a.deallocate(o.p, o.size);
        assets.clear();
    }
};

struct one_heap {
    cairn::heap<> heap{std::size_t{256} << 20};
    void* allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(void* p, std::size_t size) { heap.deallocate(p, size); }
};

struct the_cairn_way {
    cairn::heap<> heap{64_MiB};
    cairn::pool particles{48};
    cairn::frame_arena<> frame{1_MiB};
    cairn::virtual_arena level{256_MiB};               // of addresses
    the_cairn_way() { (void)level.prefault(16_MiB); }  // what a level needs, before the first frame
    void* object_take(std::size_t size) { return heap.allocate(size); }
    void object_give(void* p, std::size_t size) { heap.deallocate(p, size); }
    void* particle_take() { return particles.allocate(); }
    void particle_give(void* p) { particles.deallocate(p); }
    void* temporary(std::size_t size) { return frame.active().allocate(size); }
    void end_frame() { frame.swap(); }
    void* asset(std::size_t size) { return level.allocate(size); }
    void end_level() { level.reset(); }
};

/// A game of frames: 200 objects replaced, 300 particles, 60 temporaries, a level every 100 frames.
template <class M>
class game {
public:
    explicit game(M& memory) : memory_{&memory} {}
    ~game() {
        for (const object& o : live_) {
            if (o.p != nullptr) memory_->object_give(o.p, o.size);
        }
        for (void* const p : particles_) {
            if (p != nullptr) memory_->particle_give(p);
        }
    }
    game(game&&) = delete;

    /// `timer` times the frame's memory work. Returns: its microseconds.
    double frame(int number, lab::sample& timer) {
        timer_ = &timer;
        us_ = 0;
        for (auto& v : victims_) v = static_cast<std::uint32_t>(random_() % object_count);
        const std::size_t size_at = random_();
        if (number % 100 == 0) timed([&] { load_level(); });
        timed([&] { replace_objects(size_at); });
        timed([&] { replace_particles(); });
        timed([&] {
            for (std::size_t i = 0; i != 60; ++i) {
                const std::size_t size = temporary_sizes_[(size_at + i) % 512];
                touch(memory_->temporary(size), size);
            }
        });
        timed([&] { memory_->end_frame(); });
        return us_;
    }

private:
    template <class Work>
    void timed(Work work) {
        const std::int64_t before = timer_->manual() ? timer_->elapsed_ns() : 0;
        timer_->start();
        work();
        timer_->stop();
        us_ += static_cast<double>(timer_->elapsed_ns() - before) / 1000;
    }
    void load_level() {
        memory_->end_level();
        for (std::size_t i = 0; i != asset_count; ++i) {
            const std::size_t size = asset_sizes_[next_asset_++ % 4096] / 4;
            touch(memory_->asset(size), size);
        }
    }
    void replace_objects(std::size_t size_at) {
        for (const auto v : victims_) {
            object& o = live_[v];
            if (o.p != nullptr) memory_->object_give(o.p, o.size);
            o.size = object_sizes_[(size_at + v) % 4096];
            o.p = memory_->object_take(o.size);
            touch(o.p, o.size);
        }
    }
    void replace_particles() {
        for (std::size_t i = 0; i != 300; ++i) {
            void*& p = particles_[next_particle_++ % particles_.size()];
            if (p != nullptr) memory_->particle_give(p);
            p = memory_->particle_take();
            touch(p, 48);
        }
    }

    M* memory_;
    lab::sample* timer_ = nullptr;
    std::mt19937 random_{31};
    std::vector<std::uint32_t> object_sizes_ = log_uniform(4096, 32, 32, 2048);
    std::vector<std::uint32_t> temporary_sizes_ = log_uniform(512, 33, 256, 16384);
    std::vector<std::uint32_t> asset_sizes_ = log_uniform(4096, 34, 1024, 65536);
    std::vector<object> live_ = std::vector<object>(object_count);
    std::vector<void*> particles_ = std::vector<void*>(2'000, nullptr);
    std::vector<std::uint32_t> victims_ = std::vector<std::uint32_t>(200);
    std::size_t next_asset_ = 0;
    std::size_t next_particle_ = 0;
    double us_ = 0;
};

/// Plays `frame_count` frames. Of each the microseconds count.
template <class M>
void play(lab::sample& s, int frame_count) {
    const auto memory = std::make_unique<M>();
    game<M> played{*memory};
    lab::sample unseen{1};
    std::vector<double> frames;
    // Two levels are the loading screen: what was never touched before is touched there.
    constexpr int warm_up = 200;
    for (int f = 0; f < frame_count + warm_up; ++f) {
        const double us = played.frame(f, f < warm_up ? unseen : s);
        if (f >= warm_up) frames.push_back(us);
    }
    s.did(frames.size());
    s.value(std::accumulate(frames.begin(), frames.end(), 0.0) / frame_count);
    const double p99 = lab::at_share(frames, 0.99);
    s.also("time in memory, p50", lab::at_share(frames, 0.5));
    s.also("time in memory, p99", p99);
    s.also("time in memory, max", lab::at_share(frames, 1));
    s.also("share of a frame at 90 Hz, p99", 100 * p99 / frame_us);
    s.also("frames over 1 ms",
           static_cast<double>(std::count_if(frames.begin(), frames.end(),
                                             [](double us) { return us > budget_us; })));
}

template <class M>
auto plays(int frame_count) {
    return [frame_count] { return [frame_count](lab::sample& s) { play<M>(s, frame_count); }; };
}

const lab::registration frames{
    "game-frame", "How much of a frame of a game goes into memory?", [](lab::experiment& e) {
        e.quick_seconds = 8;
        e.how =
            "Frames run back to back, without waiting for a display; a frame at 90 Hz has 11.1 ms, "
            "of which the share is given. Caches and pages are warmer than in a game that does "
            "other work in between.";
        const int count = e.options().full && !e.options().cachegrind ? 20'000 : 1'000;
        lab::comparison& c =
            e.compare("time in memory, mean", {.unit = "us/frame", .measure = lab::measure::value});
        c.cairn("the cairn way", plays<the_cairn_way>(count));
        c.cairn("one cairn::heap", plays<all_from<one_heap>>(count));
        c.cairn("one cairn::concurrent_heap", plays<all_from<thread_heap>>(count));
        c.mallocs(plays<all_from<sized_malloc>>(count));
        for (const char* column :
             {"time in memory, p50", "time in memory, p99", "time in memory, max"}) {
            e.also(c, column, {.unit = "us/frame"});
        }
        e.also(c, "share of a frame at 90 Hz, p99", {.unit = "%"});
        e.also(c, "frames over 1 ms", {.unit = "frames"});
        add_counts(e, c);
    }};

}  // namespace
