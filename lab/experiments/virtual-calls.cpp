// lab/experiments/virtual-calls.cpp - thesis 5.1.1: 100,000 objects of 16 types, updated once each.
//
//      random      pointers to a base, types and addresses as they come      [c][a][d][b][a]...
//      sorted      the same objects, visited type by type                    [a][a][b][c][d]...
//      packed      an array for each type, direct calls                      [aaa][bbb][ccc]...
//
// polymorphic_store is the last one as a container, with handles.
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/polymorphic_store.hpp>

#include <tuple>
#include <variant>

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

/// A closed store of all types, and an open store.
template <class Numbers>
struct stores;
template <std::size_t... N>
struct stores<std::index_sequence<N...>> {
    struct no_base {};
    template <std::size_t M>
    struct direct : no_base, plain<M> {};
    using closed = cairn::polymorphic_store<no_base, direct<N>...>;
    using open = cairn::polymorphic_store<base>;
};
using all_stores = stores<std::make_index_sequence<types>>;

using makers = std::unique_ptr<base> (*)();
template <std::size_t... N>
constexpr std::array<makers, types> make_all(std::index_sequence<N...>) {
    return {{[]() -> std::unique_ptr<base> { return std::make_unique<derived<N>>(); }...}};
}
constexpr auto make_of = make_all(std::make_index_sequence<types>{});

/// work(state) goes through all objects of what `make` made.
template <class Make, class Work>
auto each(Make make, Work work) {
    return lab::repeated_on(objects, make, [work](auto& state) {
        work(state);
        lab::clobber();
    });
}

using pointers = std::vector<std::unique_ptr<base>>;
pointers population(bool sorted) {
    pointers all;
    for (const std::uint8_t t : random_types()) all.push_back(make_of[t]());
    // Addresses out of order, as after an hour of play.
    std::shuffle(all.begin(), all.end(), std::mt19937{5});
    if (sorted) {
        std::stable_sort(all.begin(), all.end(),
                         [](auto& a, auto& b) { return a->type() < b->type(); });
    }
    return all;
}

/// Calls add(std::integral_constant<N>) for an object of each of the random types.
template <class Add, std::size_t... N>
void for_each_object(std::index_sequence<N...>, Add add) {
    for (const std::uint8_t t : random_types()) {
        ((t == N ? void(add(std::integral_constant<std::size_t, N>{})) : void()), ...);
    }
}
constexpr auto all_types = std::make_index_sequence<types>{};

template <template <class> class Array, std::size_t... N>
auto packed(std::index_sequence<N...>) {
    using arrays = std::tuple<Array<plain<N>>...>;
    const auto make = [] {
        auto all = std::make_unique<arrays>();
        for_each_object(all_types, [&](auto n) { (void)std::get<n>(*all).emplace(); });
        return all;
    };
    return each(make, [](auto& all) {
        (..., [](auto& array) {
            for (auto& object : array) object.update();
            lab::keep(&*array.begin());
        }(std::get<N>(*all)));
    });
}
template <class T>
struct std_array : std::vector<T> {
    void emplace() { this->emplace_back(); }
};

template <class Store, template <std::size_t> class Type>
struct filled {
    Store store;
    filled() {
        for_each_object(all_types, [&](auto n) { (void)store.template emplace<Type<n>>(); });
    }
};
template <class Store, template <std::size_t> class Type, class Visit>
auto stored(Visit visit) {
    return each(lab::made<filled<Store, Type>>(), [=](auto& all) {
        all.store.for_each(visit);
        lab::keep(&all.store);
    });
}

template <std::size_t... N>
auto variants(std::index_sequence<N...>) {
    using any = std::variant<plain<N>...>;
    const auto make = [] {
        std::vector<any> all;
        for_each_object(all_types, [&](auto n) { all.emplace_back(plain<n>{}); });
        return all;
    };
    return each(make, [](std::vector<any>& all) {
        for (any& object : all) std::visit([](auto& o) { o.update(); }, object);
        lab::keep(all.data());
    });
}

/// A peer's store of the same objects. Named: the loop knows the types.
template <class Store, bool Named, std::size_t... N>
auto in_peer_store(std::index_sequence<N...>) {
    const auto make = [] {
        auto store = std::make_unique<Store>();
        for_each_object(all_types, [&](auto n) { store->template emplace<derived<n>>(); });
        return store;
    };
    return each(make, [](auto& store) {
        if constexpr (Named) {
            store->template each_named<derived<N>...>([](auto& o) { o.update(); });
        } else {
            store->each([](base& o) { o.update(); });
        }
    });
}

auto by_pointers(bool sorted) {
    return each([=] { return population(sorted); },
                [](pointers& all) {
                    for (auto& o : all) o->update();
                });
}

void add_loops(lab::experiment& e) {
    constexpr auto update = [](auto& o) { o.update(); };
    lab::comparison& c =
        e.compare("100000 objects, 16 types", {.unit = "ns/object", .many_per_cycle = true});
    c.cairn("cairn::packed_array for each type", packed<cairn::packed_array>(all_types));
    c.cairn("cairn::polymorphic_store, types named",
            stored<all_stores::closed, all_stores::direct>(update));
    c.cairn("cairn::polymorphic_store, any types, virtual calls",
            stored<all_stores::open, derived>([](base& o) { o.update(); }));
    c.limit("std::vector for each type", packed<std_array>(all_types));
    c.peer("virtual, random order", by_pointers(false));
    c.peer("virtual, sorted by type", by_pointers(true));
    c.peer("std::variant, one vector", variants(all_types));
    lab::offers<lab::kinds::polymorphic_stores<base>>([&]<class Store>(const std::string& name) {
        c.peer(name + ", types named", in_peer_store<Store, true>(all_types));
        c.peer(name + ", virtual calls", in_peer_store<Store, false>(all_types));
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
    }};

}  // namespace
