// lab/peers/moodycamel.hpp - moodycamel::ConcurrentQueue: a queue for each producer, and blocks.
#pragma once

#include <concurrentqueue.h>

#include "lab/peers/kinds.hpp"

namespace lab::peers {

struct moodycamel {
    template <std::size_t Capacity>
    struct queue {
        ::moodycamel::ConcurrentQueue<void*> q{Capacity};
        bool push(void* m) { return q.enqueue(m); }
        bool pop(void*& m) { return q.try_dequeue(m); }
    };

    template <std::size_t Capacity>
    static void offer(kinds::queues<Capacity>, auto visit) {
        visit.template operator()<queue<Capacity>>("moodycamel::ConcurrentQueue");
    }
};

}  // namespace lab::peers
