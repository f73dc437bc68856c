// How do threads hand objects to each other without a lock around the allocator?
#include <array>
#include <atomic>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/core/make.hpp>
#include <cstdio>
#include <thread>

struct message {
    int number;
};

int main() {
    // [messages]
    cairn::concurrent_pool messages{sizeof(message)};
    std::array<std::atomic<message*>, 64> mailbox{};

    std::thread producer{[&] {
        for (int i = 0; i < 10'000; ++i) {
            message* const m = cairn::make<message>(messages, i);  // from this thread's magazine
            auto& place = mailbox[static_cast<std::size_t>(i) % mailbox.size()];
            while (place.load(std::memory_order_relaxed) != nullptr) { std::this_thread::yield(); }
            place.store(m, std::memory_order_release);
        }
    }};

    long sum = 0;
    for (std::size_t i = 0; i < 10'000; ++i) {
        auto& place = mailbox[i % mailbox.size()];
        message* m = nullptr;
        while ((m = place.load(std::memory_order_acquire)) == nullptr) {
            std::this_thread::yield();
        }
        sum += m->number;
        cairn::destroy(messages, m);  // into this one's: no way back is needed
        place.store(nullptr, std::memory_order_release);
    }
    producer.join();
    // [/messages]
    std::printf("%ld\n", sum);
    return sum == 49'995'000 && messages.stats().live_count == 0 ? 0 : 1;
}
