// lab/experiments/virtual-calls.cpp - thesis 5.1.1: 100,000 objects of 16 types, updated once each.
//
//      random      pointers to a base, types and addresses as they come      [c][a][d][b][a]...
//      sorted      the same objects, visited type by type                    [a][a][b][c][d]...
//      packed      an array for each type, direct calls                      [aaa][bbb][ccc]...
#include <cairn/containers/packed_array.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <variant>

#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t objects = 100'000;
constexpr std::size_t types = 16;

template <std::size_t N>
inline void step(std::uint64_t& value,
                 std::uint64_t& other) {  // each type does a little something else
    value = value * (2 * N + 3) + other;
    other ^= value >> (N + 1);
}

struct base {
    virtual ~base() = default;
    virtual void update() = 0;
    virtual std::size_t type() const = 0;
    std::uint64_t value = 1;
    std::uint64_t other = 2;
};
template <std::size_t N>
struct derived final : base {
    void update() override { step<N>(value, other); }
    std::size_t type() const override { return N; }
};
template <std::size_t N>
struct plain {
    std::uint64_t value = 1;
    std::uint64_t other = 2;
    std::uint64_t spare = 0;  // as large as one with a pointer to its virtual table
    void update() { step<N>(value, other); }
};

using makers = std::unique_ptr<base> (*)();
template <std::size_t... N>
constexpr std::array<makers, types> make_all(std::index_sequence<N...>) {
    return {{[]() -> std::unique_ptr<base> { return std::make_unique<derived<N>>(); }...}};
}
constexpr auto make_of = make_all(std::make_index_sequence<types>{});

std::vector<std::uint8_t> random_types() {
    std::mt19937 random{3};
    std::vector<std::uint8_t> all(objects);
    for (auto& t : all) t = static_cast<std::uint8_t>(random() % types);
    return all;
}

template <class Work>
auto each(Work work) {
    return [work = std::move(work)](lab::sample& s) mutable {
        for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
            work();
            lab::clobber();
        }
        s.did(s.repetitions() * objects);
    };
}

std::shared_ptr<std::vector<std::unique_ptr<base>>> population(bool sorted) {
    auto all = std::make_shared<std::vector<std::unique_ptr<base>>>();
    for (const std::uint8_t t : random_types()) all->push_back(make_of[t]());
    std::mt19937 random{5};
    std::shuffle(all->begin(), all->end(),
                 random);  // addresses out of order, as after an hour of play
    if (sorted) {
        std::stable_sort(all->begin(), all->end(),
                         [](auto& a, auto& b) { return a->type() < b->type(); });
    }
    return all;
}

template <template <class> class Array, std::size_t... N>
auto packed(std::index_sequence<N...>) {
    auto arrays = std::make_shared<std::tuple<Array<plain<N>>...>>();
    for (const std::uint8_t t : random_types()) {
        ((t == N ? void(std::get<N>(*arrays).emplace()) : void()), ...);
    }
    return each([arrays] {
        (..., [](auto& array) {
            for (auto& object : array) object.update();
            lab::keep(&*array.begin());
        }(std::get<N>(*arrays)));
    });
}

template <class T>
struct std_array : std::vector<T> {
    void emplace() { this->emplace_back(); }
};

template <std::size_t... N>
auto variants(std::index_sequence<N...>) {
    using any = std::variant<plain<N>...>;
    auto all = std::make_shared<std::vector<any>>();
    for (const std::uint8_t t : random_types())
        ((t == N ? void(all->emplace_back(plain<N>{})) : void()), ...);
    return each([all] {
        for (any& object : *all) std::visit([](auto& o) { o.update(); }, object);
        lab::keep(all->data());
    });
}

const lab::registration calls{
    "virtual-calls",
    "What do virtual calls cost when types come in any order, and what if they do not?",
    [](lab::experiment& e) {
        e.quick_seconds = 4;
        lab::comparison& c =
            e.compare("100000 objects, 16 types", {.unit = "ns/object", .many_per_cycle = true});
        c.cairn("cairn::packed_array for each type",
                [] { return packed<cairn::packed_array>(std::make_index_sequence<types>{}); });
        c.limit("std::vector for each type",
                [] { return packed<std_array>(std::make_index_sequence<types>{}); });
        c.peer("virtual, random order", [] {
            return each([all = population(false)] {
                for (auto& o : *all) o->update();
            });
        });
        c.peer("virtual, sorted by type", [] {
            return each([all = population(true)] {
                for (auto& o : *all) o->update();
            });
        });
        c.peer("std::variant, one vector",
               [] { return variants(std::make_index_sequence<types>{}); });
        e.how = "The thesis gives no figure for this note (5.1.1).";
    }};

}  // namespace
