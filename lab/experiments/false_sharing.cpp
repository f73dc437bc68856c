// lab/experiments/false_sharing.cpp - thesis listings 7.1 and 7.2: counting odd numbers with P workers.
//
// 7.1 lets every worker count in its own element of one array: neighbours on one cache line. 7.2
// counts in a local variable. per_thread<T> gives each its own line, without a local variable.
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/os/per_thread.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lab/families/crew.hpp"
#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t dimension = 1000;

struct matrix {
    std::vector<int> cells = std::vector<int>(dimension * dimension);
    matrix() {
        std::mt19937 random{1};
        for (int& c : cells) c = static_cast<int>(random() >> 1);
    }
    /// Rows [begin, end) of worker t of p.
    static std::size_t begin(unsigned t, unsigned p) { return dimension * t / p; }
};

/// A counter in memory: written for every element, as it must be when others could look. Without a
/// branch, which random numbers would make the slowest part.
void count(int& counter, int element) {
    volatile int& seen = counter;
    seen = seen + static_cast<int>(element % 2 != 0);
}

struct neighbours {  // listing 7.1
    std::vector<int> result = std::vector<int>(64);
    template <class Rows>
    void run(unsigned t, const Rows& each) {
        result[t] = 0;
        each([&](int v) { count(result[t], v); });
    }
};
struct local_variable {  // listing 7.2
    std::vector<int> result = std::vector<int>(64);
    template <class Rows>
    void run(unsigned t, const Rows& each) {
        int sum = 0;
        each([&](int v) { sum += static_cast<int>(v % 2 != 0); });
        result[t] = sum;
    }
};
struct padded {  // per_thread
    cairn::per_thread<int> result{64};
    template <class Rows>
    void run(unsigned t, const Rows& each) {
        int& mine = result.at(t);
        mine = 0;
        each([&](int v) { count(mine, v); });
    }
};
struct pool_slots {  // counters of four bytes from a concurrent_pool, each worker takes its own
    cairn::concurrent_pool pool{sizeof(int), cairn::alignment{4}};
    template <class Rows>
    void run(unsigned, const Rows& each) {
        int& mine = *static_cast<int*>(pool.allocate());
        mine = 0;
        each([&](int v) { count(mine, v); });
        pool.deallocate(&mine);
    }
};

template <class Way>
auto count_odd(unsigned workers) {
    struct state {
        lab::crew people;
        matrix m;
        Way way;
        explicit state(unsigned count) : people{count} {}
    };
    return [s = std::make_unique<state>(workers), workers](lab::sample& sample) {
        s->people.run(sample, [&](unsigned t) {
            for (std::uint64_t r = 0; r != sample.repetitions(); ++r) {
                s->way.run(t, [&](auto&& visit) {
                    const std::size_t end = matrix::begin(t + 1, workers) * dimension;
                    for (std::size_t i = matrix::begin(t, workers) * dimension; i != end; ++i) {
                        visit(s->m.cells[i]);
                    }
                });
            }
        });
        sample.did(sample.repetitions());
    };
}

const lab::registration false_sharing{
    "false-sharing", "What does it cost when threads write to one cache line?",
    [](lab::experiment& e) {
        e.quick_seconds = 5;
        for (unsigned workers = 1; workers <= e.options().hardware_threads(); workers *= 2) {
            lab::comparison& c = e.compare("count odd numbers, " + std::to_string(workers) +
                                               (workers == 1 ? " worker" : " workers"),
                                           {.unit = "us/matrix", .unpinned = true});
            c.limit("local variable, listing 7.2",
                    [workers] { return count_odd<local_variable>(workers); });
            c.baseline("neighbours, listing 7.1",
                       [workers] { return count_odd<neighbours>(workers); });
            c.cairn("cairn::per_thread", [workers] { return count_odd<padded>(workers); });
            c.cairn("cairn::concurrent_pool slots",
                    [workers] { return count_odd<pool_slots>(workers); });
        }
    }};

}  // namespace
