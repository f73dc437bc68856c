// lab/experiments/pool.cpp - slots of one size: pairs, bursts, churn, a cold start.
#include <cairn/os/page_allocator.hpp>

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
        s.repeat(1, [&] {
            void* const p = pool.allocate();
            touch(p);
            lab::keep(p);
            pool.deallocate(p);
        });
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
        s.repeat(burst_count, [&] {
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
        });
    }
};

struct churn {
    static constexpr std::size_t slot_count = burst_count + 1;
    std::vector<void*> live;
    std::vector<std::uint32_t> victims = random_indices(burst_count, burst_count);
    template <class P>
    void run(P& pool, lab::sample& s) {
        while (live.size() < burst_count) live.push_back(pool.allocate());
        s.repeat(victims.size(), [&] {
            for (const std::uint32_t v : victims) {
                pool.deallocate(live[v]);
                live[v] = pool.allocate();
                touch(live[v]);
            }
        });
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
        s.repeat(pairs, [&] {
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
        });
    }
};

template <class Pool, class Work>
struct at_work {
    Pool pool{Work::slot_count};
    Work work;
    void operator()(lab::sample& s) { work.run(pool, s); }
};

template <std::size_t Size, class Work>
lab::comparison& add_case(lab::experiment& e, const std::string& name, double weight,
                          std::vector<lab::cause> causes = {}) {
    lab::comparison& c =
        e.compare(name, {.unit = "ns/pair", .weight = weight, .causes = std::move(causes)});
    const auto add = [&]<class P>(lab::kind kind, const char* who) {
        c.add(kind, who, lab::made<at_work<P, Work>>());
    };
    using enum lab::kind;
    add.template operator()<intrusive_list<Size>>(limit, "intrusive list");
    add.template operator()<pointer_stack<Size>>(limit, "pointer stack");
    if constexpr (std::is_same_v<Work, burst<order::random>>) {
        add.template operator()<known_addresses<Size>>(limit, "addresses known beforehand");
    }
    add.template operator()<cairn_pool<Size>>(cairn, "cairn::pool");
    add.template operator()<cairn_pool_as_constructed<Size>>(cairn, "cairn::pool as constructed");
    add.template operator()<article_external_list<Size>>(baseline, "article, external list");
    add.template operator()<fast_alloc_pool<Size>>(baseline, "fast-alloc pool");
    c.mallocs(lab::made<at_work<new_delete<Size>, Work>>());
    add.template operator()<pmr_pool<Size>>(peer, "std::pmr::unsynchronized_pool");
    constexpr bool is_short = std::is_same_v<Work, pairs> || std::is_same_v<Work, thesis_6_2>;
    lab::offers<lab::kinds::pools<Size>>([&]<class P>(const char* who) {
        if constexpr (is_short || !requires { P::walks_on_free; }) {
            add.template operator()<P>(peer, who);
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
         "and a branch more than a stack alone."}};
    add_case<Size, burst<order::in_order>>(e, "in order " + size, weight, in_batches);
    add_case<Size, burst<order::reversed>>(e, "reversed " + size, weight, in_batches);
    add_case<Size, burst<order::random>>(e, "random " + size, weight);
    std::vector<lab::cause> causes;
    if (Size == 256) {
        causes.push_back(
            {"Its blocks start 16 bytes past a cache line here, so that the last word of one, "
             "which is written, shares its line with the first of the next; a list shifted like "
             "that is as fast.",
             "boost::pool"});
    }
    add_case<Size, churn>(e, "churn " + size, weight, causes);
}

// ---- a cold start ------------------------------------------------------------------------------

constexpr std::size_t many = 1'000'000;

/// Of another process.
struct answer {
    lab::shared_memory memory{sizeof(std::int64_t)};
    std::int64_t& ns() { return *static_cast<std::int64_t*>(memory.get()); }
};

/// A million slots of 64 bytes, from nothing, each written once; giving back is not timed. Each fill is
/// in a process of its own: a malloc that keeps what was freed would find its pages from the second on.
template <class Pool>
auto cold_fill() {
    return lab::repeated_on(many, lab::made<answer>(), [](answer& a, lab::sample& s) {
        const bool ended = lab::in_copy([&] {
            const std::int64_t begin = lab::now_ns();
            auto pool = std::make_unique<Pool>();
            for (std::size_t i = 0; i != many; ++i) touch(pool->allocate());
            a.ns() = lab::now_ns() - begin;
            if (lab::has_copies) static_cast<void>(pool.release());  // it ends with its process
        });
        if (!ended) std::abort();
        s.took(a.ns());
    });
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
    c.row("cairn::pool")
        ->published(ours / thesis_6_2::pairs, "cycles/pair", "thesis table 6.2, pool allocator");
    c.row(lab::name_of_system_malloc())
        ->published(malloc / thesis_6_2::pairs, "cycles/pair", "thesis table 6.2, malloc");
    e.relative(c, "thesis 6.2, speed-up", lab::name_of_system_malloc())
        .publish("cairn::pool", malloc / ours, "x", "thesis table 6.2");
}

/// A million slots, filled for the first time.
void add_cold(lab::experiment& e) {
    lab::comparison& c = e.compare("cold fill 1m", {.unit = "ns/slot", .weight = 2});
    c.limit("huge-page bump", cold_fill<huge_bump>());
    c.cairn("cairn::pool, huge pages", cold_fill<cairn_huge>());
    c.cairn("cairn::pool", cold_fill<cairn_growing>());
    c.mallocs(cold_fill<new_until_the_end>());
    c.peer("std::pmr::unsynchronized_pool", cold_fill<counted<pmr_pool<64>>>());
    lab::offers<lab::kinds::pools<64>>([&]<class P>(const char* name) {
        if constexpr (requires { P::is_told_the_count; }) { c.peer(name, cold_fill<counted<P>>()); }
    });
    c.baseline("fast-alloc pool", cold_fill<counted<fast_alloc_pool<64>>>());
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
    }};

}  // namespace
