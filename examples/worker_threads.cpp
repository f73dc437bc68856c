// How do workers share a loop, have memory of their own, and hand their results back?
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/concurrent_pool_of.hpp>
#include <cairn/containers/batches.hpp>
#include <cairn/containers/message_queue.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/per_thread.hpp>

#include <cstdio>
#include <thread>

using namespace cairn::literals;

struct result {
    long sum;
};

int main() {
    cairn::packed_array<int> numbers;
    for (int i = 1; i <= 10'000; ++i) {
        if (!numbers.push_back(i)) { return 1; }
    }
    // [workers]
    const auto batches = numbers.batches(1000);  // no two of them share a cache line
    cairn::concurrent_pool_of<result> results;   // made in one thread, destroyed in another
    cairn::message_queue<result*> done{{.capacity = 16}};  // the way between them
    cairn::per_thread<cairn::arena> temporary{2, cairn::system_memory(),
                                              [](std::size_t) { return cairn::arena{64_KiB}; }};

    const auto work = [&](std::size_t worker) {
        for (std::size_t k = worker; k < batches.size(); k += 2) {
            cairn::arena_scope scope{temporary.at(worker)};  // this worker's arena, no other's
            const auto doubled = scope.make_array<long>(batches[k].size());
            for (std::size_t i = 0; i < doubled.size(); ++i) { doubled[i] = 2L * batches[k][i]; }
            long sum = 0;
            for (const long n : doubled) { sum += n; }

            result* const r = results.make(sum);  // nullptr when memory is exhausted
            while (!done.try_push(r)) { std::this_thread::yield(); }  // full: the reader is behind
        }
    };
    std::thread first{work, 0};
    std::thread second{work, 1};

    long total = 0;
    for (std::size_t received = 0; received < batches.size();) {
        result* r = nullptr;
        if (!done.try_pop(r)) {  // empty: something else could be done meanwhile
            std::this_thread::yield();
            continue;
        }
        if (r != nullptr) { total += r->sum; }
        results.destroy(r);  // in this thread's magazine from now on
        ++received;
    }
    first.join();
    second.join();
    // [/workers]
    std::printf("%ld, %zu still live\n", total, results.stats().live_count);
    return total == 2 * 50'005'000L && results.stats().live_count == 0 ? 0 : 1;
}
