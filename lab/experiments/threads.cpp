// lab/experiments/threads.cpp - memory for several threads at once: slots of 64 bytes, and any size.
//
// Figures are per operation and thread: a design that scales shows the same number for one thread and
// for many. "1 thread" is one in a program that has others (crew.hpp says why that matters).
//
// Any size: mallocs free by their sized free where they have one, cairn's rows with the size, but for
// those that are called unsized. Live blocks are those of all threads.
#include <algorithm>
#include <bit>
#include <string>

#include "lab/families/crew.hpp"
#include "lab/families/thread_family.hpp"
#include "lab/families/thread_work.hpp"
#include "lab/harness/experiment.hpp"

namespace {

using namespace lab::slots;
using lab::kind;

using malloc_of_slots = shared_by_all<new_delete<slot_size>>;
using malloc_of_any_size = shared_by_all<lab::heaps::sized_malloc>;

std::string named(unsigned threads) {
    return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

// ---- slots of 64 bytes --------------------------------------------------------------------------

/// Adds the row of a memory A. make.operator()<A>() returns its factory.
template <class Make>
auto adder(lab::comparison& c, Make make) {
    return [&c, make]<class A>(kind k, const char* who) {
        c.add(k, who, make.template operator()<A>());
    };
}

template <class Make>
void add_everybody(lab::comparison& c, Make make) {
    const auto add = adder(c, make);
    add.template operator()<cairn_threads>(kind::cairn, "cairn::concurrent_pool");
    add.template operator()<cairn_heap_threads>(kind::cairn, "cairn::concurrent_heap");
    add.template operator()<cairn_limited_threads>(kind::cairn,
                                                   "cairn::concurrent_budget<concurrent_heap>");
    add.template operator()<cairn_views>(kind::cairn, "cairn::concurrent_pool, local()");
    add.template operator()<shared_by_all<cairn_locked>>(kind::cairn, "cairn::locked<pool>");
    add.template operator()<shared_by_all<mutex_pool>>(kind::baseline, "fast-alloc, mutex pool");
    add.template operator()<shared_by_all<pmr_synchronized>>(kind::peer,
                                                             "std::pmr::synchronized_pool");
    lab::offers<lab::kinds::thread_pools<slot_size>>([&]<class P>(const char* name) {
        add.template operator()<shared_by_all<P>>(kind::peer, name);
    });
    c.mallocs(make.template operator()<malloc_of_slots>());
}

template <class Make>
void add_case(lab::experiment& e, const std::string& what, unsigned threads, double weight,
              Make make, std::vector<lab::cause> causes = {}) {
    add_everybody(e.compare(what + ", " + named(threads),
                            {.weight = weight, .unpinned = true, .causes = std::move(causes)}),
                  [=]<class A> { return [=] { return work_in<A>(threads, make); }; });
}

void add_slots(lab::experiment& e, const std::vector<unsigned>& counts) {
    for (const unsigned count : counts) {
        add_case(e, "pair", count, 1, [] { return pairs{}; },
                 {{"A pair that finds its thread's cache by thread-local memory is sixteen loads; "
                   "local() looks it up once (docs/dead-ends.md)."}});
        add_case(e, "churn", count, 1, [] { return churn<one_size>{}; });
        add_case(e, "batches of 1000", count, 1, [] { return batches{}; });
    }
    const unsigned all = counts.back();
    if (all < 2) return;
    lab::comparison& c = e.compare("producer and consumer", {.weight = 1, .unpinned = true});
    c.limit("ring without an allocator",
            [] { return producer_consumer<no_allocator>(one_size{}); });
    add_everybody(c, []<class A> { return [] { return producer_consumer<A>(one_size{}); }; });
    add_case(e, "larson", all, 0.7, [] { return larson<one_size>{}; });
    add_case(e, "xmalloc", all, 0.7, [] { return xmalloc<one_size>{}; });
}

// ---- any size -------------------------------------------------------------------------------------

template <class Make>
void add_any(lab::comparison& c, Make make) {
    const auto add = adder(c, make);
    add.template operator()<cairn_heap_threads>(kind::cairn, "cairn::concurrent_heap");
    add.template operator()<cairn_heap_unsized>(kind::cairn, "cairn::concurrent_heap, unsized");
    add.template operator()<cairn_heap_views>(kind::cairn, "cairn::concurrent_heap, local()");
    add.template operator()<cairn_limited_threads>(kind::cairn,
                                                   "cairn::concurrent_budget<concurrent_heap>");
    add.template operator()<cairn_limit_threads>(kind::cairn,
                                                 "cairn::concurrent_budget<concurrent_heap&>");
    add.template operator()<shared_by_all<locked_heap>>(kind::cairn, "cairn::locked<heap<>>");
    add.template operator()<shared_by_all<pmr_synchronized>>(kind::peer,
                                                             "std::pmr::synchronized_pool");
    c.mallocs(make.template operator()<malloc_of_any_size>());
}

template <class Make>
void add_work(lab::experiment& e, const std::string& name, unsigned threads, Make make) {
    add_any(e.compare(named(threads) + ": " + name, {.weight = 0.6, .unpinned = true}),
            [=]<class A> { return [=] { return work_in<A>(threads, make, 512); }; });
}

const char* range_of(unsigned high) { return high == 256 ? "16..256 b" : "16..4096 b"; }

void add_churn(lab::experiment& e, unsigned threads, unsigned high, std::size_t live) {
    std::string count = std::to_string(live);
    count.insert(count.size() - 3, ",");
    add_work(e, std::string{"churn of "} + range_of(high) + ", " + count + " live", threads, [=] {
        return churn<any_size>{any_size{double(high), 4 * std::bit_ceil(live)}, live / threads};
    });
}

void add_memory(lab::experiment& e, unsigned high) {
    const std::string name = std::string{"memory of "} + range_of(high) + ", ";
    const std::string after = name + "after all is freed";
    const std::string trimmed = name + "released and trimmed";
    std::vector<lab::cause> rounding;
    if (high == 4096) {
        rounding = {
            {"Slots have four sizes to a doubling: rounding adds 9 % to these blocks. glibc "
             "rounds to 16 bytes, which adds 2 % with the size that it keeps in front. "
             "Frees alone give next to nothing back to the system, so the peak stays.",
             "glibc"}};
    }
    lab::comparison& c = e.compare(name + "peak", {.unit = "bytes/live byte",
                                                   .measure = lab::measure::value,
                                                   .weight = 0.1,
                                                   .one_sample = true,
                                                   .unpinned = true,
                                                   .causes = rounding});
    const auto of = [=]<class A> {
        return [=] { return memory_of_four<A>(high, after, trimmed); };
    };
    c.cairn("cairn::concurrent_heap", of.operator()<cairn_heap_threads>());
    c.mallocs(of.operator()<malloc_of_any_size>());
    e.also(c, after, {.unit = "MiB", .causes = rounding});
    e.also(c, trimmed, {.unit = "MiB", .least_difference = 1});
}

void add_any_size(lab::experiment& e, const std::vector<unsigned>& counts) {
    const bool full = e.options().full;
    for (const unsigned threads : counts) {
        for (const unsigned high : {256u, 4096u}) {
            for (const std::size_t live : {1'000, 10'000, 100'000}) {
                if (full || live == 10'000) add_churn(e, threads, high, live);
            }
        }
    }
    const unsigned all = counts.back();
    if (all < 2) return;
    add_work(e, "larson", all, [] { return larson<any_size>{any_size{256}}; });
    add_any(e.compare("2 threads: producer and consumer", {.weight = 0.6, .unpinned = true}),
            []<class A> { return [] { return producer_consumer<A>(any_size{256}, 512); }; });
    if (full) {
        add_work(e, "xmalloc", all, [] { return xmalloc<any_size>{any_size{256}}; });
        add_work(e, "cache-thrash", all, [] { return writes_of_8_bytes<false>{}; });
        add_work(e, "cache-scratch", all, [] { return writes_of_8_bytes<true>{}; });
        add_any(e.compare("2 threads: storm of threads that begin and end",
                          {.unit = "us/thread", .weight = 0.6, .unpinned = true}),
                []<class A> { return [] { return storm_of_threads<A>(); }; });
    }
    for (const unsigned high : {256u, 4096u}) add_memory(e, high);
}

const lab::registration threads{
    "threads", "What does memory cost when several threads take and free at once?",
    [](lab::experiment& e) {
        e.quick_seconds = 28;
        e.full_seconds = 150;
        e.how =
            "Of any size: blocks are log-uniform from 16 bytes, each malloc frees by its sized "
            "free "
            "where it has one, and live blocks are those of all threads together. Memory is that "
            "of "
            "four threads with 100,000 blocks; freed by other threads at random, after that each "
            "thread gives back what it and the malloc keep.";
        const std::vector<unsigned> counts = lab::crew_sizes(e.options().hardware_threads());
        add_slots(e, counts);
        add_any_size(e, counts);
    }};

}  // namespace
