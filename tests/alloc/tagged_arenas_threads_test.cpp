// Sentences of cairn/alloc/tagged_arenas.hpp about threads: jobs of several stages, views that move
// between threads, tags that end while other tags are filled.
#include <cairn/alloc/tagged_arenas.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "support/rendezvous.hpp"

using namespace cairn;
using namespace cairn::literals;

namespace {

constexpr unsigned worker_count = 3;

struct filled {
    unsigned char* data;
    std::size_t size;
    unsigned char with;
};

bool is_intact(const filled& f) {
    for (std::size_t i = 0; i < f.size; ++i) {
        if (f.data[i] != f.with) { return false; }
    }
    return true;
}

/// A job: up to 40 blocks of random sizes, each filled with a mark of its own.
void run_job(tagged_arenas::view& memory, std::mt19937& random, std::vector<filled>& out) {
    const auto count = random() % 40;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t size = random() % (random() % 16 == 0 ? 5000 : 200);
        auto* const p = static_cast<unsigned char*>(memory.allocate(size));
        ASSERT_NE(p, nullptr);
        const auto with = static_cast<unsigned char>(random());
        std::memset(p, with, size);
        out.push_back({p, size, with});
    }
}

template <class Work>
void on_workers(Work work) {
    cairn::test::rendezvous all{worker_count};
    std::vector<std::thread> workers;
    for (unsigned w = 0; w < worker_count; ++w) {
        workers.emplace_back([&, w] {
            all.arrive_and_wait();
            work(w);
        });
    }
    for (std::thread& t : workers) { t.join(); }
}

}  // namespace

TEST(tagged_arenas_threads, keep_the_data_of_every_job_until_the_tag_ends) {
    tagged_arenas memory{{.block_size = 8_KiB}};
    for (unsigned frame = 0; frame < 12; ++frame) {
        const auto t = memory.begin("frame");
        std::vector<filled> made[worker_count];
        on_workers([&](unsigned w) {
            std::mt19937 random{frame * 100 + w};
            for (int job = 0; job < 60; ++job) {
                auto view = memory.local(t);
                run_job(view, random, made[w]);
            }
        });
        for (const auto& of_worker : made) {
            for (const filled& f : of_worker) { ASSERT_TRUE(is_intact(f)); }
        }
        memory.end(t);
    }
    EXPECT_EQ(memory.stats().block_count, 0u);
    const std::size_t peak = memory.stats().taken_size;
    EXPECT_EQ(memory.trim(), peak);
}

TEST(tagged_arenas_threads, let_a_view_travel_with_its_job) {
    tagged_arenas memory{{.block_size = 2_KiB}};
    const auto t = memory.begin();
    std::mutex lock;
    std::vector<tagged_arenas::view> waiting;
    for (unsigned i = 0; i < 5; ++i) { waiting.push_back(memory.local(t)); }
    std::vector<filled> made[worker_count];
    on_workers([&](unsigned w) {
        std::mt19937 random{w};
        for (int step = 0; step < 200; ++step) {
            tagged_arenas::view mine;
            {
                const std::lock_guard held{lock};
                if (waiting.empty()) { continue; }
                mine = std::move(waiting.back());
                waiting.pop_back();
            }
            run_job(mine, random, made[w]);
            const std::lock_guard held{lock};
            waiting.insert(waiting.begin(), std::move(mine));
        }
    });
    for (const auto& of_worker : made) {
        for (const filled& f : of_worker) { ASSERT_TRUE(is_intact(f)); }
    }
    waiting.clear();
    memory.end(t);
}

TEST(tagged_arenas_threads, end_tags_while_others_are_filled) {
    tagged_arenas memory{{.block_size = 4_KiB}};
    std::atomic<bool> broken{false};
    on_workers([&](unsigned w) {
        std::mt19937 random{w + 7};
        for (int frame = 0; frame < 150; ++frame) {
            const auto t = memory.begin();
            std::vector<filled> made;
            for (int job = 0; job < 3; ++job) {
                auto view = memory.local(t);
                run_job(view, random, made);
            }
            for (const filled& f : made) {
                if (!is_intact(f)) { broken = true; }
            }
            memory.end(t);
            if (frame % 40 == 0) { memory.trim(); }
        }
    });
    EXPECT_FALSE(broken);
    EXPECT_EQ(memory.stats().tag_count, 0u);
}
