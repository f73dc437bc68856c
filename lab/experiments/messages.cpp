// lab/experiments/messages.cpp - a pointer from one thread to another: what a bounded queue costs.
//
//      alone            push and pop in turn, in one thread: the instructions
//      one to one       a producer and a consumer, as between a game and its audio thread
//      all to all       every thread pushes a batch and pops as many as it finds, as job queues do
//
// What counts is messages through the queue; a thread that finds it full or empty looks again.
#include <cairn/containers/message_queue.hpp>

#include <atomic>
#include <mutex>

#include "lab/families/crew.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/peers/offers.hpp"

namespace {

constexpr std::size_t capacity = 1024;

struct cairn_queue {
    cairn::message_queue<void*> q{{.capacity = capacity}};
    bool push(void* m) { return q.try_push(m); }
    bool pop(void*& m) { return q.try_pop(m); }
};

/// What one writes first.
struct mutex_and_deque {
    std::mutex mutex;
    std::deque<void*> messages;
    bool push(void* m) {
        const std::lock_guard held{mutex};
        if (messages.size() == capacity) return false;
        messages.push_back(m);
        return true;
    }
    bool pop(void*& m) {
        const std::lock_guard held{mutex};
        if (messages.empty()) return false;
        m = messages.front();
        messages.pop_front();
        return true;
    }
};

/// The floor for one producer and one consumer: two positions, each written by one thread, each
/// cached by the other (Rigtorp's form of Lamport's ring).
struct two_thread_ring {
    std::vector<void*> cells = std::vector<void*>(capacity);
    alignas(128) std::atomic<std::size_t> tail{0};
    std::size_t head_seen = 0;
    alignas(128) std::atomic<std::size_t> head{0};
    std::size_t tail_seen = 0;
    bool push(void* m) {
        const std::size_t at = tail.load(std::memory_order_relaxed);
        if (at - head_seen == capacity) {
            head_seen = head.load(std::memory_order_acquire);
            if (at - head_seen == capacity) return false;
        }
        cells[at % capacity] = m;
        tail.store(at + 1, std::memory_order_release);
        return true;
    }
    bool pop(void*& m) {
        const std::size_t at = head.load(std::memory_order_relaxed);
        if (at == tail_seen) {
            tail_seen = tail.load(std::memory_order_acquire);
            if (at == tail_seen) return false;
        }
        m = cells[at % capacity];
        head.store(at + 1, std::memory_order_release);
        return true;
    }
};

/// A queue and a crew. One thread is in a program that has others, too: with one a std::mutex is no
/// lock (crew.hpp).
template <class Queue>
struct crew_and_queue {
    lab::crew people;
    Queue q;
    explicit crew_and_queue(unsigned threads) : people{threads} {}
};

template <class Queue>
struct alone : crew_and_queue<Queue> {
    alone() : crew_and_queue<Queue>{1} {}
    void operator()(lab::sample& s) {
        this->people.run(s, [&](unsigned) {
            for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                void* m = &s;
                lab::observe(m);
                if (!this->q.push(m) || !this->q.pop(m)) std::abort();
                lab::observe(m);
            }
        });
        s.did(s.repetitions());
    }
};

template <class Queue>
struct one_to_one : crew_and_queue<Queue> {
    one_to_one() : crew_and_queue<Queue>{2} {}
    void operator()(lab::sample& s) {
        const std::uint64_t count = s.repetitions();
        this->people.run(s, [&](unsigned t) {
            for (std::uint64_t i = 0; i != count; ++i) {
                void* m = &s;
                lab::wait_until([&] { return t == 0 ? this->q.push(m) : this->q.pop(m); });
                lab::observe(m);
            }
        });
        s.did(count);
    }
};

/// Batches of 16: all threads together never have more in the queue than fits.
template <class Queue>
struct all_to_all : crew_and_queue<Queue> {
    unsigned threads;
    explicit all_to_all(unsigned count) : crew_and_queue<Queue>{count}, threads{count} {}
    void operator()(lab::sample& s) {
        const std::uint64_t batches = s.repetitions() / 16 + 1;
        this->people.run(s, [&](unsigned) {
            for (std::uint64_t b = 0; b != batches; ++b) {
                void* m = &s;
                for (int i = 0; i != 16; ++i) lab::wait_until([&] { return this->q.push(m); });
                for (int i = 0; i != 16; ++i) lab::wait_until([&] { return this->q.pop(m); });
                lab::observe(m);
            }
        });
        s.did(batches * 16 * threads);
    }
};

template <template <class> class Work, class... Args>
void add_queues(lab::comparison& c, Args... args) {
    c.cairn("cairn::message_queue", lab::made<Work<cairn_queue>>(args...));
    c.peer("std::mutex and std::deque", lab::made<Work<mutex_and_deque>>(args...));
    lab::offers<lab::kinds::queues<capacity>>(
        [&]<class Q>(const char* name) { c.peer(name, lab::made<Work<Q>>(args...)); });
}

const lab::registration messages{
    "messages", "What does it cost to send a pointer to another thread?", [](lab::experiment& e) {
        e.quick_seconds = 4;
        lab::comparison& one = e.compare("alone", {.weight = 0.5});
        one.limit("ring for two threads", lab::made<alone<two_thread_ring>>());
        add_queues<alone>(one);
        const unsigned threads = std::min(e.options().hardware_threads(), lab::crew_max);
        if (threads < 2) { return; }
        lab::comparison& two = e.compare("one to one", {.unpinned = true});
        two.limit("ring for two threads", lab::made<one_to_one<two_thread_ring>>());
        add_queues<one_to_one>(two);
        const unsigned most = std::min(threads, 16u);
        add_queues<all_to_all>(
            e.compare("all to all, " + std::to_string(most) + " threads", {.unpinned = true}),
            most);
    }};

}  // namespace
