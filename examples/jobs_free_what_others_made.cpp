// examples/jobs_free_what_others_made.cpp - workers free blocks of any size that another one made.
#include <cstdio>
#include <cstring>
#include <thread>

#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/containers/message_queue.hpp>

namespace {

struct text {
    std::size_t size;
    char letters[1];
};

constexpr std::size_t size_of(std::size_t letters) { return sizeof(text) + letters; }

}  // namespace

int main() {
    cairn::concurrent_heap heap;
    cairn::message_queue<text*> sent{{.capacity = 64}};
    constexpr std::size_t count = 10'000;

    // [jobs]
    std::thread writer{[&] {
        for (std::size_t i = 1; i <= count; ++i) {
            auto* const t = static_cast<text*>(heap.allocate(size_of(i % 500)));
            if (t != nullptr) {  // nullptr when memory is exhausted
                t->size = i % 500;
                std::memset(t->letters, 'a', t->size);
            }
            while (!sent.try_push(t)) { std::this_thread::yield(); }
        }
        heap.release_this_thread();  // before it sleeps: what it holds serves the others
    }};
    std::size_t letters = 0;
    for (std::size_t received = 0; received < count;) {
        text* t = nullptr;
        if (!sent.try_pop(t)) {
            std::this_thread::yield();
            continue;
        }
        ++received;
        if (t == nullptr) { continue; }
        letters += t->size;
        heap.deallocate(t, size_of(t->size));  // the size is known: no look-up
    }
    writer.join();
    heap.trim();  // a loading screen: free memory goes back to the system
    // [/jobs]

    const auto stats = heap.stats();
    std::printf("%zu letters; %zu bytes live, %zu bytes in caches\n", letters, stats.live_size,
                stats.cached_size);
    return letters == 2'495'000 && stats.live_size == 0 ? 0 : 1;
}
