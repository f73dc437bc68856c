// lab/experiments/code-size.cpp - thesis 8.1.1: a template for each allocator, or one for all.
//
// A loader reads records into a vector, an index of them, and a text for each: user code over
// standard containers. The same source, in four ways of saying where the memory comes from, for 1,
// 2, 4 and 8 types of allocators:
//
//      template        read<A>(A&) and std_allocator<T, A>: compiled once for each A
//      allocator_ref   read(allocator_ref): compiled once; three words are handed over
//      pmr             read(std::pmr::memory_resource*): compiled once, a virtual call
//      virtual base    read(memory&): compiled once, the interface that games write by hand
//
// Bytes of code are looked up in this very program: its symbols whose names hold the loader's type,
// with all that was instantiated for it. What was inlined is counted where it ended up.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/std/pmr_resource.hpp>
#include <cairn/std/std_allocator.hpp>

#include <map>
#include <memory_resource>
#include <tuple>

#include "lab/harness/experiment.hpp"
#include "lab/system/code_bytes.hpp"

// Types that the mangled names of what is instantiated for them hold. They are in no anonymous
// namespace: no two files can have the same.
namespace code_size {

using word = std::uint32_t;
constexpr std::size_t record_count = 200;

/// The loader. `Way` is who asks, so that no two ways share an instantiation.
template <class Way, class Alloc>
struct program {
    template <class T>
    using with = typename std::allocator_traits<Alloc>::template rebind_alloc<T>;
    using text = std::basic_string<char, std::char_traits<char>, with<char>>;
    struct record {
        word name;
        word size;
        text words;
    };
    using index =
        std::map<word, std::size_t, std::less<word>, with<std::pair<const word, std::size_t>>>;

    [[gnu::noinline]] static word read(Alloc allocator, word seed) {
        std::vector<record, with<record>> records{with<record>{allocator}};
        index by_name{with<std::pair<const word, std::size_t>>{allocator}};
        for (word i = 0; i != record_count; ++i) {
            const word name = (i * 7919 + seed) % 1009;
            text words{with<char>{allocator}};
            words.append(16 + name % 32, static_cast<char>('a' + name % 26));
            by_name.emplace(name, records.size());
            records.push_back({name, i, std::move(words)});
        }
        word sum = 0;
        for (const auto& [name, place] : by_name) {
            const record& r = records[place];
            sum = sum * 31 + r.name + r.size + static_cast<word>(r.words[5]);
        }
        return sum;
    }
};

// ---- eight types of allocators ------------------------------------------------------------------

constexpr std::size_t memory_size = std::size_t{1} << 18;
using allocators =
    std::tuple<cairn::growing_arena, cairn::heap<cairn::good_fit>, cairn::arena,
               cairn::heap<cairn::best_fit>, cairn::virtual_arena, cairn::heap<cairn::first_fit>,
               cairn::heap<cairn::half_fit>, cairn::heap<cairn::strict_good_fit>>;
template <std::size_t I>
using allocator_at = std::tuple_element_t<I, allocators>;

// ---- four ways: read<Count>() uses `Count` of them ----------------------------------------------

template <std::size_t Count>
struct by_template {
    template <class A>
    static word run(A& a, word seed) {
        return program<by_template, cairn::std_allocator<char, A>>::read(
            cairn::std_allocator<char, A>{a}, seed);
    }
};
template <std::size_t Count>
struct by_allocator_ref {
    template <class A>
    static word run(A& a, word seed) {
        return program<by_allocator_ref, cairn::std_allocator<char>>::read(
            cairn::std_allocator<char>{cairn::allocator_ref{a}}, seed);
    }
};
template <std::size_t Count>
struct by_pmr {
    template <class A>
    static word run(A& a, word seed) {
        cairn::pmr_resource<A&> resource{a};
        return program<by_pmr, std::pmr::polymorphic_allocator<char>>::read(&resource, seed);
    }
};

/// The interface that games write by hand.
struct memory {
    virtual void* take(std::size_t size, std::size_t align) noexcept = 0;
    virtual void give(void* p, std::size_t size, std::size_t align) noexcept = 0;

protected:
    ~memory() = default;
};
template <class T>
struct memory_allocator {
    using value_type = T;
    memory* from;
    explicit memory_allocator(memory* m) noexcept : from{m} {}
    template <class U>
    memory_allocator(const memory_allocator<U>& other) noexcept : from{other.from} {}
    T* allocate(std::size_t count) {
        void* const p = from->take(count * sizeof(T), alignof(T));
        if (p == nullptr) { throw std::bad_alloc{}; }
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t count) noexcept {
        from->give(p, count * sizeof(T), alignof(T));
    }
    template <class U>
    bool operator==(const memory_allocator<U>& other) const noexcept {
        return from == other.from;
    }
};
template <std::size_t Count>
struct by_virtual_base {
    template <class A>
    struct memory_in final : memory {
        A& a;
        explicit memory_in(A& in) : a{in} {}
        void* take(std::size_t size, std::size_t align) noexcept override {
            return a.allocate(size, cairn::alignment{align});
        }
        void give(void* p, std::size_t size, std::size_t align) noexcept override {
            a.deallocate(p, size, cairn::alignment{align});
        }
    };
    template <class A>
    static word run(A& a, word seed) {
        memory_in<A> m{a};
        return program<by_virtual_base, memory_allocator<char>>::read(memory_allocator<char>{&m},
                                                                      seed);
    }
};

}  // namespace code_size

namespace {

using namespace code_size;

/// Runs the loader in each of the first `Count` allocators.
template <template <std::size_t> class Way, std::size_t Count>
word run_all(word seed) {
    const auto one = [&]<std::size_t I>() {
        auto a = std::make_unique<allocator_at<I>>(memory_size);
        return Way<Count>::run(*a, seed);
    };
    const auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
        word sum = 0;
        ((sum = sum * 131 + one.template operator()<I>()), ...);
        return sum;
    };
    return all(std::make_index_sequence<Count>{});
}

// ---- bytes of code, from the symbols of this program --------------------------------------------

/// As names are mangled: "by_template<4>" is "11by_templateILm4E".
template <template <std::size_t> class Way, std::size_t Count>
std::size_t code_of(std::string_view way) {
    return lab::code_bytes(std::to_string(way.size()) + std::string{way} + "ILm" +
                           std::to_string(Count) + "E");
}

constexpr word seed = 5;

template <template <std::size_t> class Way>
auto sizes(const char* way) {
    return [way] {
        return [way](lab::sample& s) {
            // Each is run, so that only working code is counted.
            const word sum = run_all<Way, 8>(seed) ^ run_all<Way, 4>(seed) ^ run_all<Way, 2>(seed) ^
                             run_all<Way, 1>(seed);
            s.checksum(sum);
            const auto kib = [](std::size_t bytes) { return static_cast<double>(bytes) / 1024; };
            const double one = kib(code_of<Way, 1>(way));
            const double eight = kib(code_of<Way, 8>(way));
            s.plot({way,
                    "types of allocators",
                    "KiB of code",
                    {{1, one},
                     {2, kib(code_of<Way, 2>(way))},
                     {4, kib(code_of<Way, 4>(way))},
                     {8, eight}}});
            s.value(eight);
            s.also("code of one loader, 1 type of allocator", one);
            s.also("code that each further type adds", (eight - one) / 7);
        };
    };
}

template <template <std::size_t> class Way>
auto times() {
    return lab::repeated_on(record_count, lab::made<cairn::growing_arena>(memory_size),
                            [](auto& a) {
                                const word sum = Way<1>::run(a, seed);
                                a.reset();
                                return sum;
                            });
}

const lab::registration code_size_experiment{
    "code-size",
    "What does a template for each allocator cost in code, and what does it save in time?",
    [](lab::experiment& e) {
        e.quick_seconds = 1.5;
        e.background = true;
        e.how =
            "A loader of 200 records (a vector, a map, strings), compiled once for each type of "
            "allocator or once for all. KiB: functions of this very program, by its symbols, as "
            "they were compiled with the flags of the lab. Time: each way with a growing_arena.";
        if (!lab::has_code_bytes) {
            e.how += " KiB are left out: symbols of this system's programs have no sizes.";
        }
        lab::comparison& size =
            e.compare("code of one loader, 8 types of allocators", {.unit = "KiB",
                                                                    .measure = lab::measure::value,
                                                                    .weight = 0.1,
                                                                    .equal_checksums = true,
                                                                    .one_sample = true});
        lab::comparison& time =
            e.compare("a record", {.unit = "ns/record", .equal_checksums = true});
        const auto add = [&]<template <std::size_t> class Way>(lab::kind kind, const char* name,
                                                               const char* way) {
            if constexpr (lab::has_code_bytes) { size.add(kind, name, sizes<Way>(way)); }
            time.add(kind, name, times<Way>());
        };
        add.operator()<by_allocator_ref>(lab::kind::cairn, "cairn::allocator_ref",
                                         "by_allocator_ref");
        add.operator()<by_template>(lab::kind::cairn, "template, std_allocator<T, A>",
                                    "by_template");
        add.operator()<by_pmr>(lab::kind::peer, "std::pmr::memory_resource", "by_pmr");
        add.operator()<by_virtual_base>(lab::kind::baseline, "virtual base, by hand",
                                        "by_virtual_base");
        e.also(size, "code of one loader, 1 type of allocator", {.unit = "KiB"});
        e.also(size, "code that each further type adds", {.unit = "KiB"});
    }};

}  // namespace
