// Threads that begin, fork and end, for as many seconds as the argument says: tools/prove-malloc.
//
// Four threads at a time each live for some milliseconds. They allocate, pass blocks to each other
// through a table, and free what they find there. Each block holds its size in its first word and
// its last byte. The main thread forks now and then; a child does the same for a while.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "malloc/expect.hpp"

namespace {

struct block {
    size_t size;
};
std::atomic<block*> table[2000];
std::atomic<size_t> block_count{0};

block* make(std::mt19937& random) {
    const unsigned kind = random() % 1000;
    const size_t size = sizeof(block) + 1 +
                        random() % (kind == 0   ? 6'000'000
                                    : kind < 20 ? 200'000
                                                : 2000);
    void* p = nullptr;
    if (kind % 7 == 0) {
        EXPECT(posix_memalign(&p, size_t{16} << random() % 9, size) == 0);
    } else {
        p = kind % 5 == 0 ? calloc(size, 1) : malloc(size);
    }
    EXPECT(p != nullptr && malloc_usable_size(p) >= size);
    auto* const b = static_cast<block*>(p);
    b->size = size;
    reinterpret_cast<unsigned char*>(b)[size - 1] = static_cast<unsigned char>(size);
    ++block_count;
    return b;
}

void end(block* b, std::mt19937& random) {
    if (b == nullptr) { return; }
    const size_t size = b->size;
    EXPECT(reinterpret_cast<unsigned char*>(b)[size - 1] == static_cast<unsigned char>(size));
    if (random() % 20 == 0) {
        b = static_cast<block*>(realloc(b, size * 2));
        EXPECT(b != nullptr && b->size == size);
        EXPECT(reinterpret_cast<unsigned char*>(b)[size - 1] == static_cast<unsigned char>(size));
    }
    free(b);
}

struct last_words {
    void* p = malloc(50);
    ~last_words() { free(realloc(p, 5000)); }
};

void live(unsigned seed, unsigned steps) {
    std::mt19937 random{seed};
    thread_local last_words mine;
    EXPECT(mine.p != nullptr);
    for (unsigned i = 0; i < steps; ++i) {
        end(table[random() % 2000].exchange(make(random)), random);
        if (random() % 50'000 == 0) { malloc_trim(0); }
    }
}

void generation(unsigned seed, unsigned steps) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) { threads.emplace_back(live, seed * 4 + i, steps * (i + 1)); }
    for (auto& t : threads) { t.join(); }
}

void fork_once(unsigned seed) {
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        alarm(120);
        generation(seed, 300);
        _exit(0);
    }
    int status = 1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

}  // namespace

int main(int argc, char** argv) {
    const time_t until = time(nullptr) + (argc > 1 ? atoi(argv[1]) : 1);
    unsigned rounds = 0;
    while (time(nullptr) < until) {
        std::thread others{generation, rounds, 500};
        for (unsigned i = 0; i < 3; ++i) { fork_once(rounds * 3 + i + 1'000'000); }
        others.join();
        ++rounds;
    }
    std::mt19937 random{1};
    for (auto& b : table) { end(b.exchange(nullptr), random); }
    printf("%u rounds, %u threads, %u forks, %zu blocks\n", rounds, rounds * 4, rounds * 3,
           block_count.load());
}
