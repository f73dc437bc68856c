// lab/experiments/virtual-calls.cpp - thesis 5.1.1: 100,000 objects of 16 types, updated once each.
//
//      random      pointers to a base, types and addresses as they come      [c][a][d][b][a]...
//      sorted      the same objects, visited type by type                    [a][a][b][c][d]...
//      packed      an array for each type, direct calls                      [aaa][bbb][ccc]...
//
// polymorphic_store is the last one as a container, with handles. What they cost is the second case:
// the same objects, each found by its handle or its pointer, in random order.
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/polymorphic_store.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "lab/harness/experiment.hpp"
#include "lab/peers/offers.hpp"

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

std::vector<std::uint8_t> random_types() {
    std::mt19937 random{3};
    std::vector<std::uint8_t> all(objects);
    for (auto& t : all) t = static_cast<std::uint8_t>(random() % types);
    return all;
}

/// The types of a closed store, and of an open store.
template <class Numbers>
struct stores;
template <std::size_t... N>
struct stores<std::index_sequence<N...>> {
    struct no_base {};
    template <std::size_t M>
    struct direct : no_base, plain<M> {};
    using closed = cairn::polymorphic_store<no_base, direct<N>...>;
    using closed_virtual = cairn::polymorphic_store<base, derived<N>...>;
    using open = cairn::polymorphic_store<base>;

    /// Objects of the random types; their handles.
    template <class Store, template <std::size_t> class Type>
    static std::vector<typename Store::handle_type> fill(Store& store) {
        std::vector<typename Store::handle_type> handles;
        for (const std::uint8_t t : random_types()) {
            ((t == N ? void(handles.push_back(store.template emplace<Type<N>>())) : void()), ...);
        }
        return handles;
    }
};
using all_stores = stores<std::make_index_sequence<types>>;

using makers = std::unique_ptr<base> (*)();
template <std::size_t... N>
constexpr std::array<makers, types> make_all(std::index_sequence<N...>) {
    return {{[]() -> std::unique_ptr<base> { return std::make_unique<derived<N>>(); }...}};
}
constexpr auto make_of = make_all(std::make_index_sequence<types>{});

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

template <class Store, template <std::size_t> class Type, class Visit>
auto stored(Visit visit) {
    auto store = std::make_shared<Store>();
    (void)all_stores::fill<Store, Type>(*store);
    return each([store, visit] {
        store->for_each(visit);
        lab::keep(store.get());
    });
}

/// Every object by its handle, in random order.
template <class Store, template <std::size_t> class Type>
auto by_handle() {
    auto store = std::make_shared<Store>();
    auto handles = all_stores::fill<Store, Type>(*store);
    std::shuffle(handles.begin(), handles.end(), std::mt19937{5});
    return each([store, handles = std::move(handles)] {
        for (const auto h : handles) {
            if (auto* const object = store->find(h)) object->update();
        }
    });
}

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

/// A peer's store of the same objects. `named`: the loop knows the types.
template <class Store, std::size_t... N>
std::function<void(lab::sample&)> in_peer_store(std::index_sequence<N...>, bool named) {
    auto store = std::make_shared<Store>();
    for (const std::uint8_t t : random_types()) {
        ((t == N ? store->template emplace<derived<N>>() : void()), ...);
    }
    if (!named) {
        return each([store] { store->each([](base& o) { o.update(); }); });
    }
    return each(
        [store] { store->template each_named<derived<N>...>([](auto& o) { o.update(); }); });
}

auto by_pointers(bool sorted) {
    return [sorted] {
        return each([all = population(sorted)] {
            for (auto& o : *all) o->update();
        });
    };
}
auto by_weak_pointers() {
    auto owners = std::make_shared<std::vector<std::shared_ptr<base>>>();
    const auto all = population(false);
    for (auto& o : *all) owners->push_back(std::move(o));
    std::vector<std::weak_ptr<base>> handles(owners->begin(), owners->end());
    return each([owners, handles = std::move(handles)] {
        for (const auto& h : handles) {
            if (const std::shared_ptr<base> o = h.lock()) o->update();
        }
    });
}

void add_loops(lab::experiment& e) {
    constexpr auto all_types = std::make_index_sequence<types>{};
    lab::comparison& c =
        e.compare("100000 objects, 16 types", {.unit = "ns/object", .many_per_cycle = true});
    c.cairn("cairn::packed_array for each type",
            [=] { return packed<cairn::packed_array>(all_types); });
    c.cairn("cairn::polymorphic_store, types named", [] {
        return stored<all_stores::closed, all_stores::direct>([](auto& o) { o.update(); });
    });
    c.cairn("cairn::polymorphic_store, types named, virtual functions", [] {
        return stored<all_stores::closed_virtual, derived>([](auto& o) { o.update(); });
    });
    c.cairn("cairn::polymorphic_store, any types, virtual calls",
            [] { return stored<all_stores::open, derived>([](base& o) { o.update(); }); });
    c.limit("std::vector for each type", [=] { return packed<std_array>(all_types); });
    c.peer("virtual, random order", by_pointers(false));
    c.peer("virtual, sorted by type", by_pointers(true));
    c.peer("std::variant, one vector", [=] { return variants(all_types); });
    lab::peer_polymorphic_stores<base>([&]<class Store>(const std::string& name) {
        c.peer(name + ", types named", [=] { return in_peer_store<Store>(all_types, true); });
        c.peer(name + ", virtual calls", [=] { return in_peer_store<Store>(all_types, false); });
    });
}

const lab::registration calls{
    "virtual-calls",
    "What do virtual calls cost when types come in any order, and what if they do not?",
    [](lab::experiment& e) {
        e.quick_seconds = 4;
        e.background = true;
        e.how = "The thesis gives no figure for this note (5.1.1).";
        add_loops(e);
        lab::comparison& c =
            e.compare("by handle, random order", {.unit = "ns/object", .many_per_cycle = true});
        c.cairn("cairn::polymorphic_store, types named",
                [] { return by_handle<all_stores::closed_virtual, derived>(); });
        c.cairn("cairn::polymorphic_store, any types",
                [] { return by_handle<all_stores::open, derived>(); });
        c.limit("a pointer, unchecked", by_pointers(false));
        c.peer("weak_ptr and shared_ptr", by_weak_pointers);
    }};

}  // namespace
