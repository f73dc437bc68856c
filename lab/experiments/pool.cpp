// lab/experiments/pool.cpp - slots of one size: pairs, bursts, churn, a cold start.
#include <cairn/os/page_allocator.hpp>
#include <memory>
#include <string>
#include <vector>

#include "lab/families/pool_family.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/system/process.hpp"
#include "lab/system/system.hpp"

namespace {

using namespace lab::slots;

void touch(void* p) { *static_cast<volatile std::uint64_t*>(p) = 1; }

struct pairs {
    static constexpr std::size_t slot_count = 200;
    template <class P>
    void run(P& pool, lab::sample& s) {
        for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
            void* const p = pool.allocate();
            touch(p);
            lab::keep(p);
            pool.deallocate(p);
        }
        s.did(s.repetitions());
    }
};

enum class order { in_order, reversed, random };

template <order Order>
struct burst {
    static constexpr std::size_t slot_count = burst_count;
    std::vector<void*> live = std::vector<void*>(burst_count);
    std::vector<std::uint32_t> shuffle = shuffled(burst_count);
    template <class P>
    void run(P& pool, lab::sample& s) {
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            for (void*& p : live) {
                p = pool.allocate();
                touch(p);
            }
            lab::clobber();
            for (std::size_t i = 0; i != burst_count; ++i) {
                if constexpr (Order == order::in_order) pool.deallocate(live[i]);
                if constexpr (Order == order::reversed) pool.deallocate(live[burst_count - 1 - i]);
                if constexpr (Order == order::random) pool.deallocate(live[shuffle[i]]);
            }
        }
        s.did(s.repetitions() * burst_count);
    }
};

struct churn {
    static constexpr std::size_t slot_count = burst_count + 1;
    std::vector<void*> live;
    std::vector<std::uint32_t> victims = random_indices(burst_count, burst_count);
    template <class P>
    void run(P& pool, lab::sample& s) {
        while (live.size() < burst_count) live.push_back(pool.allocate());
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            for (const std::uint32_t v : victims) {
                pool.deallocate(live[v]);
                live[v] = pool.allocate();
                touch(live[v]);
            }
        }
        s.did(s.repetitions() * victims.size());
    }
};

/// Thesis section 6.1.5: 2000 allocations, 1000 random frees, 1000 allocations, 2000 random frees.
struct thesis_6_2 {
    static constexpr std::uint64_t pairs = 3000;
    static constexpr std::size_t slot_count = 2000;
    std::vector<void*> live = std::vector<void*>(2000);
    std::vector<std::uint32_t> shuffle = shuffled(2000);
    template <class P>
    void run(P& pool, lab::sample& s) {
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            for (void*& p : live) {
                p = pool.allocate();
                touch(p);
            }
            for (std::size_t i = 0; i != 1000; ++i) pool.deallocate(live[shuffle[i]]);
            for (std::size_t i = 0; i != 1000; ++i) {
                live[shuffle[i]] = pool.allocate();
                touch(live[shuffle[i]]);
            }
            for (const std::uint32_t i : shuffle) pool.deallocate(live[(i * 7 + 3) % 2000]);
        }
        s.did(s.repetitions() * pairs);
    }
};

template <class Pool, class Work>
auto work_on() {
    struct both {
        Pool pool{Work::slot_count};
        Work work;
    };
    return [b = std::make_unique<both>()](lab::sample& s) { b->work.run(b->pool, s); };
}

template <std::size_t Size, class Work>
lab::comparison& add_case(lab::experiment& e, const std::string& name, double weight,
                          std::vector<lab::cause> causes = {}) {
    lab::comparison& c =
        e.compare(name, {.unit = "ns/pair", .weight = weight, .causes = std::move(causes)});
    c.limit("intrusive list", [] { return work_on<intrusive_list<Size>, Work>(); });
    c.limit("pointer stack", [] { return work_on<pointer_stack<Size>, Work>(); });
    if constexpr (std::is_same_v<Work, burst<order::random>>) {
        c.limit("addresses known beforehand",
                [] { return work_on<known_addresses<Size>, Work>(); });
    }
    c.cairn("cairn::pool", [] { return work_on<cairn_pool<Size>, Work>(); });
    c.cairn("cairn::pool as constructed",
            [] { return work_on<cairn_pool_as_constructed<Size>, Work>(); });
    c.baseline("article, external list",
               [] { return work_on<article_external_list<Size>, Work>(); });
    c.baseline("fast-alloc pool", [] { return work_on<fast_alloc_pool<Size>, Work>(); });
    c.mallocs([] { return work_on<new_delete<Size>, Work>(); });
    c.peer("std::pmr::unsynchronized_pool", [] { return work_on<pmr_pool<Size>, Work>(); });
    constexpr bool is_short = std::is_same_v<Work, pairs> || std::is_same_v<Work, thesis_6_2>;
    lab::peer_pools<Size>([&]<class P>(const char* name) {
        if constexpr (is_short || !requires { P::walks_on_free; }) {
            c.peer(name, [] { return work_on<P, Work>(); });
        }
    });
    return c;
}

template <std::size_t Size>
void add_size(lab::experiment& e, double weight) {
    const std::string size = std::to_string(Size) + " b";
    add_case<Size, pairs>(e, "pair " + size, weight);
    // Pairs and churn are faster for it (decision 0020).
    const std::vector<lab::cause> in_batches{
        {"Each slot of a batch passes through the member for the slot freed last: a load, a store "
         "and "
         "a branch more than a stack alone."}};
    add_case<Size, burst<order::in_order>>(e, "in order " + size, weight, in_batches);
    add_case<Size, burst<order::reversed>>(e, "reversed " + size, weight, in_batches);
    add_case<Size, burst<order::random>>(e, "random " + size, weight);
    std::vector<lab::cause> causes;
    if (Size == 256) {
        causes.push_back(
            {"Its blocks start 16 bytes past a cache line here, so that the last word of one, "
             "which "
             "is written, shares its line with the first of the next; a list shifted like that is "
             "as fast.",
             "boost::pool"});
    }
    add_case<Size, churn>(e, "churn " + size, weight, causes);
}

// ---- a cold start ------------------------------------------------------------------------------

constexpr std::size_t many = 1'000'000;

/// A million slots of 64 bytes, from nothing, each written once; giving back is not timed. Each fill is
/// in a process of its own: a malloc that keeps what was freed would find its pages from the second on.
template <class Make>
auto cold_fill(Make make) {
    return [make](lab::sample& s) {
        const lab::shared_memory answer{sizeof(std::int64_t)};
        auto& spent = *static_cast<std::int64_t*>(answer.get());
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            const bool ended = lab::in_copy([&] {
                const std::int64_t begin = lab::now_ns();
                auto pool = make();
                for (std::size_t i = 0; i != many; ++i) {
                    void* const p = pool->allocate();
                    touch(p);
                }
                spent = lab::now_ns() - begin;
                if (lab::has_copies) static_cast<void>(pool.release());  // it ends with its process
            });
            if (!ended) std::abort();
            s.took(spent);
        }
        s.did(s.repetitions() * many);
    };
}

struct huge_bump {
    static constexpr std::size_t size = many * 64 + (std::size_t{2} << 20);
    lab::page_range pages{size};
    std::byte* next;
    huge_bump() {
        constexpr std::uintptr_t mask = (std::uintptr_t{2} << 20) - 1;
        next = reinterpret_cast<std::byte*>(
            (reinterpret_cast<std::uintptr_t>(pages.begin()) + mask) & ~mask);
        lab::wish_for_huge_pages(next, many * 64);
    }
    void* allocate() {
        void* const p = next;
        next += 64;
        return p;
    }
};

struct cairn_huge {
    cairn::page_allocator pages{{.huge_pages = true}};
    cairn::pool slots{64, cairn::alignment{16}, pages};
    cairn_huge() {
        if (!slots.reserve(many)) std::abort();
    }
    void* allocate() { return slots.allocate(); }
};

struct cairn_growing {
    cairn::pool slots{64};
    void* allocate() { return slots.allocate(); }
};

struct new_until_the_end {  // of the process; where all fills are in one, they are given back
    std::vector<void*> taken;
    new_until_the_end() {
        if (!lab::has_copies) taken.reserve(many);
    }
    ~new_until_the_end() {
        for (void* const p : taken) ::operator delete(p);
    }
    void* allocate() {
        void* const p = ::operator new(64);
        if constexpr (!lab::has_copies) taken.push_back(p);
        return p;
    }
};

template <class P>
struct counted : P {  // peers that get the number of slots
    counted() : P{many} {}
};

void add_thesis(lab::experiment& e) {
    lab::comparison& c = add_case<256, thesis_6_2>(e, "thesis 6.2", 1);
    constexpr double ours = 187642;
    constexpr double malloc = 942902;
    for (lab::contender& who : c.contenders) {
        if (who.name == "cairn::pool") {
            who.published(ours / thesis_6_2::pairs, "cycles/pair",
                          "thesis table 6.2, pool allocator");
        } else if (who.name == lab::name_of_system_malloc()) {
            who.published(malloc / thesis_6_2::pairs, "cycles/pair", "thesis table 6.2, malloc");
        }
    }
    e.relative(c, "thesis 6.2, speed-up", lab::name_of_system_malloc())
        .publish("cairn::pool", malloc / ours, "x", "thesis table 6.2");
}

/// A million slots, filled for the first time.
void add_cold(lab::experiment& e) {
    lab::comparison& c = e.compare("cold fill 1m", {.unit = "ns/slot", .weight = 2});
    c.limit("huge-page bump",
            [] { return cold_fill([] { return std::make_unique<huge_bump>(); }); });
    c.cairn("cairn::pool, huge pages",
            [] { return cold_fill([] { return std::make_unique<cairn_huge>(); }); });
    c.cairn("cairn::pool",
            [] { return cold_fill([] { return std::make_unique<cairn_growing>(); }); });
    c.mallocs([] { return cold_fill([] { return std::make_unique<new_until_the_end>(); }); });
    c.peer("std::pmr::unsynchronized_pool",
           [] { return cold_fill([] { return std::make_unique<counted<pmr_pool<64>>>(); }); });
    lab::peer_pools<64>([&]<class P>(const char* name) {
        if constexpr (requires { P::is_told_the_count; }) {
            c.peer(name, [] { return cold_fill([] { return std::make_unique<counted<P>>(); }); });
        }
    });
    c.baseline("fast-alloc pool", [] {
        return cold_fill([] { return std::make_unique<counted<fast_alloc_pool<64>>>(); });
    });
}

auto pool_of_pages() {
    return [] {
        return cairn::pool{
            64, cairn::alignment{16}, cairn::system_pages(), {.slots_per_chunk = many}};
    };
}
auto pool_of_malloc() {
    return [] {
        return cairn::pool{
            64, cairn::alignment{16}, cairn::system_memory(), {.slots_per_chunk = many}};
    };
}

/// A pool for a million slots, and the first of them; giving back is not timed.
void add_creation(lab::experiment& e) {
    lab::comparison& c =
        e.compare("create for 1m and take one", {.unit = "us/pool", .weight = 0.5});
    const auto creation = [](auto make) {
        return [make] {
            return [make](lab::sample& s) {
                for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                    s.start();
                    auto pool = make();
                    touch(pool.allocate());
                    s.stop();
                }
                s.did(s.repetitions());
            };
        };
    };
    c.cairn("cairn::pool, pages", creation(pool_of_pages()));
    c.cairn("cairn::pool", creation(pool_of_malloc()));
    lab::peer_pools<64>([&]<class P>(const char* name) {
        if constexpr (requires { P::is_told_the_count; }) {
            c.peer(name, creation([] { return P{many}; }));
        }
    });
    c.baseline("fast-alloc pool", creation([] { return fast_alloc_pool<64>{many}; }));
}

void add_touched_pages(lab::experiment& e) {
    lab::comparison& c =
        e.compare("create for 1m and take one, pages touched",
                  {.unit = "faults", .measure = lab::measure::value, .weight = 0.2});
    const auto touched = [](auto make) {
        return [make] {
            return [make](lab::sample& s) {
                long count = 0;
                for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                    const long before = lab::page_faults();
                    auto pool = make();
                    touch(pool.allocate());
                    count = lab::page_faults() - before;
                }
                s.value(static_cast<double>(count));
            };
        };
    };
    c.cairn("cairn::pool, pages", touched(pool_of_pages()));
    c.cairn("cairn::pool", touched(pool_of_malloc()));
    c.baseline("fast-alloc pool", touched([] { return fast_alloc_pool<64>{many}; }));
}

const lab::registration pool{
    "pool",
    "What does a slot of fixed size cost, alone, in bursts, in steady use and at the start?",
    [](lab::experiment& e) {
        e.quick_seconds = 15;
        add_size<64>(e, 1);
        add_size<16>(e, 0.7);
        add_size<256>(e, 0.7);
        add_thesis(e);
        add_cold(e);
        add_creation(e);
        add_touched_pages(e);
    }};

}  // namespace
