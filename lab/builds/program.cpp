// lab/builds/program.cpp - the small program that the experiment `builds` compiles in every way
// that people build in, and runs. Its includes are few: it is compiled while you wait.
//
//      $ program pool                 the operation; its data are made before the first answer
//      ready
//      1000                           so many repetitions, of thousand_operations each
//      1834211 3                      nanoseconds that they took, and what they computed
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr unsigned thousand_operations = 1000;

/// As lab::keep(), without the lab's headers.
template <class T>
void keep(T* p) {
    asm volatile("" : : "r"(p) : "memory");
}

/// Sizes of 16 to 256 bytes, and orders: the same in every build.
unsigned next_random() {
    static std::uint32_t state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

struct requested_sizes {
    std::size_t sizes[thousand_operations];
    requested_sizes() {
        for (std::size_t& size : sizes) size = 16 + next_random() % 241;
    }
};

struct particle {
    float x = 0, y = 0, z = 0;
    float dx = 1, dy = 2, dz = 3;
    float age = 0;
    std::uint32_t color = 0;
};

/// Positions in random order: of what a look-up asks for.
struct random_order {
    std::uint32_t positions[thousand_operations];
    random_order() {
        for (std::uint32_t i = 0; i != thousand_operations; ++i) positions[i] = i;
        for (std::uint32_t i = thousand_operations; i > 1; --i) {
            const std::uint32_t other = next_random() % i;
            const std::uint32_t swapped = positions[i - 1];
            positions[i - 1] = positions[other];
            positions[other] = swapped;
        }
    }
};

// ---- one struct for each operation: its set-up, and one repetition -------------------------------

struct system_malloc {
    void* allocate(std::size_t size) { return std::malloc(size); }
    void deallocate(void* block, std::size_t) { std::free(block); }
};

struct pool_of_64 {
    cairn::pool pool{64};
    void* allocate(std::size_t) { return pool.allocate(); }
    void deallocate(void* block, std::size_t) { pool.deallocate(block); }
};

template <class Memory>
struct pairs_of_64 {
    Memory memory;
    std::uint64_t operator()() {
        for (unsigned i = 0; i != thousand_operations; ++i) {
            void* const block = memory.allocate(64);
            *static_cast<unsigned*>(block) = i;
            keep(block);
            memory.deallocate(block, 64);
        }
        return 0;
    }
};

struct heap_of_1_mib {
    cairn::heap<> heap{std::size_t{1} << 20};
    void* allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(void* block, std::size_t size) { heap.deallocate(block, size); }
};

template <class Memory>
struct pairs_of_all_sizes : requested_sizes {
    Memory memory;
    std::uint64_t operator()() {
        for (const std::size_t size : sizes) {
            void* const block = memory.allocate(size);
            *static_cast<std::size_t*>(block) = size;
            keep(block);
            memory.deallocate(block, size);
        }
        return 0;
    }
};

struct arena_allocation : requested_sizes {
    cairn::arena arena{std::size_t{1} << 19};
    std::uint64_t operator()() {
        for (const std::size_t size : sizes) {
            void* const block = arena.allocate(size);
            *static_cast<std::size_t*>(block) = size;
            keep(block);
        }
        arena.reset();
        return 0;
    }
};

struct arena_malloc : requested_sizes {
    void* blocks[thousand_operations];
    std::uint64_t operator()() {
        for (unsigned i = 0; i != thousand_operations; ++i) {
            blocks[i] = std::malloc(sizes[i]);
            *static_cast<std::size_t*>(blocks[i]) = sizes[i];
            keep(blocks[i]);
        }
        for (void* const block : blocks) std::free(block);
        return 0;
    }
};

struct look_up : random_order {
    cairn::slot_map<particle> map;
    std::vector<cairn::handle<particle>> handles;
    look_up() {
        std::vector<cairn::handle<particle>> inserted;
        for (std::uint32_t i = 0; i != thousand_operations; ++i) {
            inserted.push_back(map.insert(particle{.color = i}));
        }
        for (const std::uint32_t position : positions) handles.push_back(inserted[position]);
    }
    std::uint64_t operator()() {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i != thousand_operations; ++i) { sum += map.find(handles[i])->color; }
        return sum;
    }
};

struct look_up_vector : random_order {
    std::vector<particle> rows;
    std::vector<std::uint32_t> indices{positions, positions + thousand_operations};
    look_up_vector() {
        for (std::uint32_t i = 0; i != thousand_operations; ++i) rows.push_back({.color = i});
    }
    std::uint64_t operator()() {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i != thousand_operations; ++i) { sum += rows[indices[i]].color; }
        return sum;
    }
};

template <class Row>
void move_row(Row&& p) {
    p.x += p.dx * 0.016f;
    p.y += p.dy * 0.016f;
    p.z += p.dz * 0.016f;
}

template <class K = cairn::value>
struct particle_row {
    cairn::field<K, float> x = 0, y = 0, z = 0;
    cairn::field<K, float> dx = 1, dy = 2, dz = 3;
    cairn::field<K, float> age = 0;
    cairn::field<K, std::uint32_t> color = 0;
};

struct rows_soa {
    cairn::table<particle_row<>, cairn::soa> rows;
    rows_soa() {
        for (unsigned i = 0; i != thousand_operations; ++i) {
            if (!rows.push_back(particle_row<>{})) std::abort();
        }
    }
    std::uint64_t operator()() {
        rows.for_each([](auto&& p) { move_row(p); });
        keep(&rows);
        return 0;
    }
};

struct rows_aos {
    std::vector<particle> rows{thousand_operations};
    std::uint64_t operator()() {
        for (particle& p : rows) { move_row(p); }
        keep(&rows);
        return 0;
    }
};

// ---- the conversation ----------------------------------------------------------------------------

std::int64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

template <class Operation>
int serve() {
    static Operation repetition;
    std::puts("ready");
    std::fflush(stdout);
    unsigned long repetitions = 0;
    while (std::scanf("%lu", &repetitions) == 1) {
        std::uint64_t computed = 0;
        const std::int64_t begun = now_ns();
        for (unsigned long i = 0; i != repetitions; ++i) computed = repetition();
        const std::int64_t taken = now_ns() - begun;
        std::printf("%lld %llu\n", static_cast<long long>(taken),
                    static_cast<unsigned long long>(computed));
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const char* const operation = argc == 2 ? argv[1] : "";
    const auto is = [&](const char* name) { return std::strcmp(operation, name) == 0; };
    if (is("pool")) return serve<pairs_of_64<pool_of_64>>();
    if (is("pool-malloc")) return serve<pairs_of_64<system_malloc>>();
    if (is("heap")) return serve<pairs_of_all_sizes<heap_of_1_mib>>();
    if (is("heap-malloc")) return serve<pairs_of_all_sizes<system_malloc>>();
    if (is("arena")) return serve<arena_allocation>();
    if (is("arena-malloc")) return serve<arena_malloc>();
    if (is("look-up")) return serve<look_up>();
    if (is("look-up-vector")) return serve<look_up_vector>();
    if (is("rows")) return serve<rows_soa>();
    if (is("rows-vector")) return serve<rows_aos>();
    return 2;
}
