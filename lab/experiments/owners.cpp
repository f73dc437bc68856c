// lab/experiments/owners.cpp - what it costs to own: one owner, many owners, weak references.
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/deferred_store.hpp>
#include <cairn/owners/shared_handle.hpp>
#include <cairn/owners/unique_handle.hpp>
#include <cairn/std/deferred_in.hpp>
#include <cairn/std/unique_in.hpp>
#include <semaphore>
#include <thread>

#include "lab/families/crew.hpp"
#include "lab/families/random_order.hpp"
#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t object_count = 1000;

struct object {
    explicit object(int n) : number{n} {}
    int number;
    char rest[60] = {};
};

using map = cairn::stable_slot_map<object>;

/// std::shared_ptr counts without locked instructions as long as the process has had one thread only
/// (libstdc++). Whoever shares ownership has more.
void have_a_second_thread() {
    struct other_thread {
        std::binary_semaphore end{0};
        std::thread thread{[this] { end.acquire(); }};
        ~other_thread() {
            end.release();
            thread.join();
        }
    };
    static other_thread other;
}

// ---- stores: make(k) gives an owner -------------------------------------------------------------
// Those with weak references have weak_of(owner) and look(weak), too.

struct owned_by_handle {
    map objects;
    auto make(int k) { return cairn::unique_handle<map>{objects, objects.emplace(k)}; }
};
/// Handles in the place of owners: they own nothing.
struct only_handles {
    map objects;
    auto make(int k) { return objects.emplace(k); }
    static auto weak_of(map::handle_type h) { return h; }
    const object* look(map::handle_type h) { return objects.find(h); }
};
struct owned_in_pool {
    cairn::pool slots{sizeof(object)};
    auto make(int k) { return cairn::make_unique_in<object, cairn::pool>(slots, k); }
};
struct owned_by_std {
    auto make(int k) { return std::make_unique<object>(k); }
};
/// What a program that runs for a while has: each object lies between those of others.
struct owned_among_others {
    std::vector<std::unique_ptr<char[]>> others;
    auto make(int k) {
        others.push_back(std::make_unique<char[]>(16 + static_cast<std::size_t>(k) * 7919 % 497));
        return std::make_unique<object>(k);
    }
};
template <class Count>
struct shared_by_handle : cairn::shared_store<map, Count> {
    using owner = typename cairn::shared_store<map, Count>::shared_type;
    static auto weak_of(const owner& o) { return o.handle(); }
    /// As weak_ptr::lock(): an owner for as long as one looks.
    auto look(map::handle_type h) { return this->lock(h); }
};
template <class Memory, std::size_t Size>
struct shared_in {
    shared_in() { have_a_second_thread(); }
    Memory memory{Size};
    auto make(int k) { return cairn::make_shared_in<object>(memory, k); }
};
using shared_in_heap = shared_in<cairn::heap<>, std::size_t{1} << 20>;
// The counts of the C++ library lie in front of the object.
using shared_in_pool = shared_in<cairn::pool, sizeof(object) + 64>;
struct shared_by_std {
    shared_by_std() { have_a_second_thread(); }
    auto make(int k) { return std::make_shared<object>(k); }
    static auto weak_of(const std::shared_ptr<object>& o) { return std::weak_ptr{o}; }
    static auto look(const std::weak_ptr<object>& w) { return w.lock(); }
};
struct shared_in_two_blocks {
    shared_in_two_blocks() { have_a_second_thread(); }
    auto make(int k) { return std::shared_ptr<object>{new object{k}}; }
};

template <class Store>
using owner_of = decltype(std::declval<Store&>().make(0));

// ---- what is done with them ---------------------------------------------------------------------

/// A thousand are made, then all are dropped.
template <class Store>
struct dropping {
    using owner = owner_of<Store>;
    using place =
        std::conditional_t<std::is_default_constructible_v<owner>, owner, std::optional<owner>>;
    Store store;
    std::vector<place> held = std::vector<place>(object_count);
};
template <class Store>
auto made_and_dropped() {
    return lab::repeated_on(object_count, lab::made<dropping<Store>>(), [](auto& d) {
        for (std::size_t k = 0; k != object_count; ++k) {
            d.held[k] = d.store.make(static_cast<int>(k));
        }
        lab::clobber();
        for (auto& p : d.held) { p.reset(); }
        if constexpr (requires { d.store.collect(); }) { d.store.collect(); }
    });
}

template <class Store>
struct one_owner {
    Store store;
    owner_of<Store> first = store.make(1);
};
template <class Store>
auto copied() {
    return lab::repeated_on(1, lab::made<one_owner<Store>>(), [](auto& o) {
        auto copy = o.first;
        lab::keep(&copy);
    });
}

template <class Store>
struct watched {
    Store store;
    std::vector<owner_of<Store>> held;
    std::vector<decltype(store.weak_of(held.front()))> seen;
    watched() {
        while (held.size() != object_count) {
            held.push_back(store.make(1));
            seen.push_back(store.weak_of(held.back()));
        }
    }
    void look(std::size_t k, int& sum) {
        if (const auto o = store.look(seen[k])) { sum += o->number; }
    }
};

template <class Store>
auto looked_at() {
    return lab::repeated_on(object_count, lab::made<watched<Store>>(), [](auto& all) {
        int sum = 0;
        for (std::size_t k = 0; k != object_count; ++k) { all.look(k, sum); }
        lab::keep(&sum);
    });
}

/// Two threads lock the same handles, one of them from the end.
template <class Store>
struct watched_by_two {
    lab::crew people{2};
    watched<Store> all;
    void operator()(lab::sample& s) {
        people.run(s, [&](unsigned t) {
            int sum = 0;
            for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                for (std::size_t k = 0; k != object_count; ++k) {
                    all.look(t == 0 ? k : object_count - 1 - k, sum);
                }
            }
            lab::keep(&sum);
        });
        s.did(s.repetitions() * object_count);
    }
};

constexpr std::size_t far_count = 100'000;  // six megabytes of objects: more than the second cache

template <class Store>
struct far_owners {
    Store store;
    std::vector<owner_of<Store>> held;
    std::vector<std::uint32_t> order = lab::shuffled(far_count);
    far_owners() {
        for (std::size_t k = 0; k != far_count; ++k) {
            held.push_back(store.make(static_cast<int>(k)));
        }
    }
};
/// touch(owner) for each, in any order.
template <class Store, class Touch>
auto touched(Touch touch) {
    return lab::repeated_on(far_count, lab::made<far_owners<Store>>(), [touch](auto& all) {
        int sum = 0;
        for (const std::uint32_t k : all.order) { sum += touch(all.held[k]); }
        lab::keep(&sum);
    });
}
template <class Store>
auto read() {
    return touched<Store>([](const auto& owner) { return owner->number; });
}
template <class Store>
auto copied_and_read() {
    return touched<Store>([](const auto& owner) {
        const auto copy = owner;
        return copy->number;
    });
}

// ---- chains: one object owns the next -----------------------------------------------------------
// make(k) puts an object in front, untimed; end() ends all, timed.

constexpr std::size_t chain_count = 20'000;  // std::unique_ptr's recursion fits the usual stack

struct chain_by_std {
    struct node {
        int number = 0;
        std::unique_ptr<node> next{};
        char rest[48] = {};
    };
    std::unique_ptr<node> first;
    void make(int k) {
        auto made = std::make_unique<node>();
        made->number = k;
        made->next = std::move(first);
        first = std::move(made);
    }
    void end() { first.reset(); }
};
struct chain_by_queue {
    struct node {
        explicit node(int n) : number{n} {}
        int number;
        cairn::deferred_in<node, cairn::pool> next{};
        char rest[48] = {};
    };
    using queue = cairn::destruction_queue<node, cairn::pool>;
    cairn::pool memory{queue::block_size()};
    queue ended{memory, cairn::destroys::at_once};
    cairn::deferred_in<node, cairn::pool> first;
    void make(int k) {
        auto made = cairn::make_deferred_in(ended, k);
        made->next = std::move(first);
        first = std::move(made);
    }
    void end() { first.reset(); }
};
struct by_handle {
    int number = 0;
    cairn::unique_handle<cairn::deferred_store<cairn::stable_slot_map<by_handle>>> next{};
    char rest[40] = {};
};
struct by_count {
    int number = 0;
    cairn::shared_handle<cairn::shared_store<cairn::stable_slot_map<by_count>>> next{};
    char rest[40] = {};
};
template <class Store, class Node>
struct chain_in_store {
    Store store;
    decltype(Node::next) first;
    void make(int k) { first = store.make(Node{k, std::move(first)}); }
    void end() { first.reset(); }
};
struct chain_in_pool {
    struct node {
        explicit node(cairn::pool& from, int n)
            : number{n}, next{nullptr, cairn::deleter_in<node, cairn::pool>{from}} {}
        int number;
        cairn::unique_in<node, cairn::pool> next;
        char rest[48] = {};
    };
    using owner = cairn::unique_in<node, cairn::pool>;
    cairn::pool memory{sizeof(node)};
    owner first{nullptr, cairn::deleter_in<node, cairn::pool>{memory}};
    void make(int k) {
        owner made = cairn::make_unique_in<node, cairn::pool>(memory, memory, k);
        made->next = std::move(first);
        first = std::move(made);
    }
    void end() {
        while (first) {
            owner next = std::move(first->next);  // it dies with its node
            first = std::move(next);
        }
    }
};
/// No owner: a handle, and the loop knows what it may erase.
struct chain_of_handles {
    struct node {
        int number = 0;
        cairn::handle<node> next{};
        char rest[48] = {};
    };
    cairn::stable_slot_map<node> nodes;
    cairn::handle<node> first;
    void make(int k) { first = nodes.emplace(node{k, first}); }
    void end() {
        while (first) {
            const auto next = nodes.find(first)->next;
            nodes.erase(first);
            first = next;
        }
    }
};

template <class Chain>
auto ended_chain() {
    return lab::repeated_on(chain_count, lab::made<Chain>(), [](Chain& chain, lab::sample& s) {
        for (std::size_t k = 0; k < chain_count; ++k) { chain.make(static_cast<int>(k)); }
        lab::clobber();
        s.timed([&] { chain.end(); });
    });
}

void add_chains(lab::experiment& e) {
    lab::comparison& c =
        e.compare("chain of 20,000: its end",
                  {.unit = "ns/object",
                   .causes = {{"The word before each object says which queue it waits in: the head "
                               "of the list is stored through an address that has just been read, "
                               "and loaded at once. 2.5 ns where the processor foresees that pair, "
                               "6.6 where it does not (Zen 4, one program, both seen)."}}});
    c.cairn("cairn::deferred_in, pool", ended_chain<chain_by_queue>());
    using cairn::deferred_store, cairn::shared_store, cairn::stable_slot_map;
    c.cairn("cairn::unique_handle, deferred_store",
            ended_chain<chain_in_store<deferred_store<stable_slot_map<by_handle>>, by_handle>>());
    c.cairn("cairn::shared_handle, plain",
            ended_chain<chain_in_store<shared_store<stable_slot_map<by_count>>, by_count>>());
    c.baseline("unique_in, pool, a loop by hand", ended_chain<chain_in_pool>());
    c.baseline("handles in a map, a loop by hand", ended_chain<chain_of_handles>());
    c.mallocs(ended_chain<chain_by_std>(), " std::unique_ptr, recursion");
}

using shared_plain = shared_by_handle<cairn::plain_count>;
using shared_atomic = shared_by_handle<cairn::atomic_count>;

void add_places(lab::experiment& e) {
    lab::comparison& places = e.compare("place: read 100,000, in any order", {.unit = "ns/object"});
    places.cairn("cairn::unique_handle", read<owned_by_handle>());
    places.cairn("cairn::unique_in, pool", read<owned_in_pool>());
    places.peer("std::unique_ptr", read<owned_by_std>());
    places.peer("std::unique_ptr, made among others", read<owned_among_others>());
    lab::comparison& together = e.compare(
        "counts: copy and read 100,000, in any order",
        {.unit = "ns/object",
         .causes = {{"The count lies in a table of the store, so that it outlives the object "
                     "without a block of its own: one line more than where a block has both."}}});
    together.cairn("cairn::shared_handle, plain", copied_and_read<shared_plain>());
    together.cairn("cairn::shared_handle, atomic", copied_and_read<shared_atomic>());
    together.peer("std::shared_ptr, one block", copied_and_read<shared_by_std>());
    together.peer("std::shared_ptr, two blocks", copied_and_read<shared_in_two_blocks>());
}

void add_ends(lab::experiment& e) {
    lab::comparison& unique = e.compare("unique: make and drop", {.unit = "ns/object"});
    unique.cairn("cairn::unique_handle", made_and_dropped<owned_by_handle>());
    unique.cairn("cairn::unique_in, pool", made_and_dropped<owned_in_pool>());
    unique.mallocs(made_and_dropped<owned_by_std>(), " std::unique_ptr");
    lab::comparison& shared = e.compare("shared: make and drop", {.unit = "ns/object"});
    shared.cairn("cairn::shared_handle, plain", made_and_dropped<shared_plain>());
    shared.cairn("cairn::shared_handle, atomic", made_and_dropped<shared_atomic>());
    shared.cairn("cairn::make_shared_in, heap", made_and_dropped<shared_in_heap>());
    shared.cairn("cairn::make_shared_in, pool", made_and_dropped<shared_in_pool>());
    shared.mallocs(made_and_dropped<shared_by_std>(), " std::shared_ptr");
    shared.peer("std::shared_ptr, two blocks", made_and_dropped<shared_in_two_blocks>());
    lab::comparison& copy = e.compare("shared: copy and drop", {.unit = "ns/copy"});
    copy.cairn("cairn::shared_handle, plain", copied<shared_plain>());
    copy.cairn("cairn::shared_handle, atomic", copied<shared_atomic>());
    copy.peer("std::shared_ptr", copied<shared_by_std>());
}

void add_looks(lab::experiment& e) {
    lab::comparison& weak = e.compare("weak: is it alive, read it", {.unit = "ns/look-up"});
    weak.cairn("cairn handle", looked_at<only_handles>());
    weak.cairn("cairn handle, locked, plain", looked_at<shared_plain>());
    weak.cairn("cairn handle, locked, atomic", looked_at<shared_atomic>());
    weak.peer("std::weak_ptr", looked_at<shared_by_std>());
    if (e.options().hardware_threads() < 2) { return; }
    lab::comparison& c = e.compare("weak: locked by two threads, 1,000 each",
                                   {.unit = "ns/look-up", .unpinned = true});
    c.cairn("cairn handle, locked, atomic", lab::made<watched_by_two<shared_atomic>>());
    c.peer("std::weak_ptr", lab::made<watched_by_two<shared_by_std>>());
}

const lab::registration owners{"owners", "What do unique, shared and weak ownership cost?",
                               [](lab::experiment& e) {
                                   e.quick_seconds = 8;
                                   add_chains(e);
                                   add_places(e);
                                   add_ends(e);
                                   add_looks(e);
                               }};

}  // namespace
