// Sentences of cairn/containers/message_queue.hpp. All interleavings are in message_queue_orders_test.
#include <cairn/alloc/concurrent_pool_of.hpp>
#include <cairn/containers/message_queue.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/core/null_allocator.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

TEST(message_queue, gives_messages_in_the_order_in_which_they_came) {
    message_queue<int> q{{.capacity = 4}};
    int got = -1;
    EXPECT_FALSE(q.try_pop(got)) << "an empty queue has no message";
    EXPECT_EQ(got, -1) << "and leaves the variable alone";
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 3; ++i) { EXPECT_TRUE(q.try_push(10 * round + i)); }
        EXPECT_EQ(q.approximate_count(), 3u);
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(q.try_pop(got));
            EXPECT_EQ(got, 10 * round + i);
        }
    }
}

TEST(message_queue, carries_handles_to_the_thread_that_owns_their_objects) {
    slot_map<int> owner;
    message_queue<slot_map<int>::handle_type> q{{.capacity = 4}};
    const auto sent = owner.emplace(7);
    EXPECT_TRUE(q.try_push(sent));
    slot_map<int>::handle_type got;
    EXPECT_TRUE(q.try_pop(got));
    EXPECT_EQ(*owner.find(got), 7);
}

TEST(message_queue, a_message_may_be_aligned_to_more_than_a_cache_line) {
    struct alignas(256) wide {
        int number = 0;
    };
    struct noting {
        alignment asked{1};
        void* allocate(std::size_t size, alignment align) noexcept {
            asked = align;
            return system_memory().allocate(size, align);
        }
        void deallocate(void* p, std::size_t size, alignment align) noexcept {
            EXPECT_EQ(align, asked);
            system_memory().deallocate(p, size, align);
        }
    };
    noting upstream;
    const message_queue<wide> q{upstream, {.capacity = 2}};
    EXPECT_EQ(upstream.asked, alignment{256});
}

TEST(message_queue, a_full_one_refuses_and_is_unchanged) {
    message_queue<int> q{{.capacity = 8}};
    for (int i = 0; i < 8; ++i) { EXPECT_TRUE(q.try_push(i)); }
    EXPECT_FALSE(q.try_push(8));
    EXPECT_EQ(q.approximate_count(), 8u);
    int got = 0;
    for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(q.try_pop(got));
        EXPECT_EQ(got, i);
    }
    EXPECT_FALSE(q.try_pop(got));
}

TEST(message_queue, its_capacity_is_the_next_power_of_two_and_two_at_least) {
    EXPECT_EQ(message_queue<int>{{.capacity = 0}}.capacity(), 2u);
    EXPECT_EQ(message_queue<int>{{.capacity = 1}}.capacity(), 2u);
    EXPECT_EQ(message_queue<int>{{.capacity = 2}}.capacity(), 2u);
    EXPECT_EQ(message_queue<int>{{.capacity = 3}}.capacity(), 4u);
    EXPECT_EQ(message_queue<int>{{.capacity = 1000}}.capacity(), 1024u);
}

TEST(message_queue, takes_one_block_and_gives_it_back) {
    test_upstream upstream;
    {
        message_queue<void*> q{upstream, {.capacity = 100}};
        EXPECT_EQ(q.capacity(), 128u);
        EXPECT_TRUE(q.try_push(nullptr));
        EXPECT_EQ(q.upstream(), allocator_ref{upstream});
    }
}

TEST(message_queue, without_memory_it_has_no_room_and_says_so) {
    for (std::size_t absurd :
         {std::size_t{4}, SIZE_MAX, SIZE_MAX / 2, (std::size_t{1} << 32) + 1}) {
        message_queue<int> q{no_memory(), {.capacity = absurd}};
        int got = 7;
        EXPECT_EQ(q.capacity(), 0u);
        EXPECT_FALSE(q.try_push(1));
        EXPECT_FALSE(q.try_pop(got));
        EXPECT_EQ(q.approximate_count(), 0u);
    }
}

TEST(message_queue, agrees_with_a_deque_over_a_hundred_thousand_operations) {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random{seed};
        message_queue<std::uint64_t> q{{.capacity = 16}};
        std::deque<std::uint64_t> model;
        for (std::uint64_t op = 0; op != 100'000; ++op) {
            if (random() % 2 == 0) {
                ASSERT_EQ(q.try_push(op), model.size() < 16);
                if (model.size() < 16) { model.push_back(op); }
            } else {
                std::uint64_t got = 0;
                ASSERT_EQ(q.try_pop(got), !model.empty());
                if (!model.empty()) {
                    ASSERT_EQ(got, model.front());
                    model.pop_front();
                }
            }
            ASSERT_EQ(q.approximate_count(), model.size());
        }
    }
}

/// Messages carry who sent them and which one it is.
TEST(message_queue, between_threads_none_is_lost_doubled_or_overtaken) {
    constexpr int producers = 3;
    constexpr int consumers = 3;
    const std::uint32_t each = under_tsan ? 5'000 : 50'000;
    struct message {
        std::uint32_t from;
        std::uint32_t number;
    };
    message_queue<message> q{{.capacity = 64}};
    std::atomic<std::uint32_t> left{producers * each};
    std::vector<std::vector<message>> got(consumers);
    std::vector<std::thread> threads;
    for (std::uint32_t p = 0; p != producers; ++p) {
        threads.emplace_back([&, p] {
            for (std::uint32_t i = 0; i != each; ++i) {
                while (!q.try_push({p, i})) { std::this_thread::yield(); }
            }
        });
    }
    for (std::size_t c = 0; c != consumers; ++c) {
        threads.emplace_back([&, c] {
            message m{};
            while (left.load() != 0) {
                if (q.try_pop(m)) {
                    got[c].push_back(m);
                    --left;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }
    for (std::thread& t : threads) { t.join(); }
    std::vector<std::vector<int>> seen(producers, std::vector<int>(each, 0));
    for (const std::vector<message>& mine : got) {
        std::vector<std::int64_t> last(producers, -1);
        for (const message& m : mine) {
            ++seen[m.from][m.number];
            ASSERT_LT(last[m.from], m.number) << "a consumer sees one producer's messages in order";
            last[m.from] = m.number;
        }
    }
    for (const std::vector<int>& of : seen) {
        for (const int count : of) { ASSERT_EQ(count, 1); }
    }
}

TEST(message_queue, carries_objects_of_a_concurrent_pool_to_another_thread_and_back) {
    struct job {
        std::uint64_t value = 0;
    };
    concurrent_pool_of<job> jobs;
    message_queue<job*> todo{{.capacity = 32}};
    message_queue<job*> done{{.capacity = 32}};
    constexpr std::uint64_t count = 2'000;
    std::thread worker{[&] {
        job* j = nullptr;
        for (std::uint64_t finished = 0; finished != count;) {
            if (!todo.try_pop(j)) {
                std::this_thread::yield();
                continue;
            }
            j->value *= 2;
            while (!done.try_push(j)) { std::this_thread::yield(); }
            ++finished;
        }
    }};
    std::uint64_t sum = 0;
    std::uint64_t sent = 0;
    for (std::uint64_t back = 0; back != count;) {
        if (sent != count) {
            if (job* const j = jobs.make(job{sent}); j != nullptr) {
                if (todo.try_push(j)) {
                    ++sent;
                } else {
                    jobs.destroy(j);
                }
            }
        }
        if (job* j = nullptr; done.try_pop(j)) {
            sum += j->value;
            jobs.destroy(j);
            ++back;
        } else {
            std::this_thread::yield();
        }
    }
    worker.join();
    EXPECT_EQ(sum, count * (count - 1));
    EXPECT_EQ(jobs.stats().live_count, 0u);
}

TEST(message_queue, has_room_for_1024_messages_unless_it_is_told_otherwise) {
    message_queue<int> plain;
    EXPECT_EQ(plain.capacity(), 1024u);
    test_upstream upstream;
    message_queue<int> other{upstream};
    EXPECT_EQ(other.capacity(), 1024u);
    EXPECT_EQ(upstream.request_count(), 1u);
}

}  // namespace
