// lab/experiments/owners.cpp - what it costs to own: one owner, many owners, weak references.
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/deferred_store.hpp>
#include <cairn/owners/shared_handle.hpp>
#include <cairn/owners/unique_handle.hpp>
#include <cairn/std/deferred_in.hpp>
#include <cairn/std/unique_in.hpp>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "lab/families/crew.hpp"
#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t object_count = 1000;

struct object {
    explicit object(int n) : number{n} {}
    int number;
    char rest[60] = {};
};

using map = cairn::stable_slot_map<object>;
template <class Count>
using store = cairn::shared_store<map, Count>;

/// make(k) for all, then drop(k) for all, once per repetition.
template <class Make, class Drop>
void make_and_drop(lab::sample& s, Make make, Drop drop) {
    for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
        for (std::size_t k = 0; k < object_count; ++k) { make(k); }
        lab::clobber();
        for (std::size_t k = 0; k < object_count; ++k) { drop(k); }
    }
    s.did(s.repetitions() * object_count);
}

template <class Owner, class Init>
auto copies(Init init) {
    return [=] {
        return [state = init()](lab::sample& s) mutable {
            for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                Owner copy = state.second;
                lab::keep(&copy);
            }
            s.did(s.repetitions());
        };
    };
}

template <class Count>
auto one_owner() {
    auto s = std::make_unique<store<Count>>();
    auto owner = s->make(1);
    return std::pair{std::move(s), std::move(owner)};
}

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

// ---- chains: one object owns the next ---------------------------------------------------------

constexpr std::size_t chain_count = 20'000;  // std::unique_ptr's recursion fits the usual stack

/// make() for the chain, untimed; end() of it, timed.
template <class Make, class End>
void end_chains(lab::sample& s, Make make, End end) {
    for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
        for (std::size_t k = 0; k < chain_count; ++k) { make(static_cast<int>(k)); }
        lab::clobber();
        s.start();
        end();
        s.stop();
    }
    s.did(s.repetitions() * chain_count);
}

struct by_std {
    int number = 0;
    std::unique_ptr<by_std> next{};
    char rest[48] = {};
};
struct by_pool {
    explicit by_pool(cairn::pool& from, int n)
        : number{n}, next{nullptr, cairn::deleter_in<by_pool, cairn::pool>{from}} {}
    int number;
    cairn::unique_in<by_pool, cairn::pool> next;
    char rest[48] = {};
};
struct by_queue {
    explicit by_queue(int n) : number{n} {}
    int number;
    cairn::deferred_in<by_queue, cairn::pool> next{};
    char rest[48] = {};
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
/// No owner: a handle, and the loop knows what it may erase.
struct by_hand {
    int number = 0;
    cairn::handle<by_hand> next{};
    char rest[48] = {};
};

void add_chains(lab::experiment& e) {
    lab::comparison& c =
        e.compare("chain of 20,000: its end",
                  {.unit = "ns/object",
                   .causes = {{"The word before each object says which queue it waits in: the head "
                               "of the list is stored through an address that has just been read, "
                               "and loaded at once. 2.5 ns where the processor foresees that pair, "
                               "6.6 where it does not (Zen 4, one program, both seen)."}}});
    c.cairn("cairn::deferred_in, pool", [] {
        using owner = cairn::deferred_in<by_queue, cairn::pool>;
        using queue = cairn::destruction_queue<by_queue, cairn::pool>;
        struct state {
            cairn::pool memory{queue::block_size()};
            queue ended{memory, cairn::destroys::at_once};
        };
        return [m = std::make_unique<state>(), first = owner{}](lab::sample& s) mutable {
            end_chains(
                s,
                [&](int k) {
                    owner made = cairn::make_deferred_in(m->ended, k);
                    made->next = std::move(first);
                    first = std::move(made);
                },
                [&] { first.reset(); });
        };
    });
    c.cairn("cairn::unique_handle, deferred_store", [] {
        using store_type = cairn::deferred_store<cairn::stable_slot_map<by_handle>>;
        return [m = std::make_unique<store_type>(),
                first = cairn::unique_handle<store_type>{}](lab::sample& s) mutable {
            end_chains(
                s, [&](int k) { first = m->make(by_handle{k, std::move(first)}); },
                [&] { first.reset(); });
        };
    });
    c.cairn("cairn::shared_handle, plain", [] {
        using store_type = cairn::shared_store<cairn::stable_slot_map<by_count>>;
        return [m = std::make_unique<store_type>(),
                first = cairn::shared_handle<store_type>{}](lab::sample& s) mutable {
            end_chains(
                s, [&](int k) { first = m->make(by_count{k, std::move(first)}); },
                [&] { first.reset(); });
        };
    });
    c.baseline("unique_in, pool, a loop by hand", [] {
        using owner = cairn::unique_in<by_pool, cairn::pool>;
        return [m = std::make_unique<cairn::pool>(sizeof(by_pool)),
                first = std::optional<owner>{}](lab::sample& s) mutable {
            if (!first) { first.emplace(nullptr, cairn::deleter_in<by_pool, cairn::pool>{*m}); }
            end_chains(
                s,
                [&](int k) {
                    owner made = cairn::make_unique_in<by_pool, cairn::pool>(*m, *m, k);
                    made->next = std::move(*first);
                    *first = std::move(made);
                },
                [&] {
                    while (*first) {
                        owner next = std::move((*first)->next);  // it dies with its node
                        *first = std::move(next);
                    }
                });
        };
    });
    c.baseline("handles in a map, a loop by hand", [] {
        return [m = std::make_unique<cairn::stable_slot_map<by_hand>>(),
                first = cairn::handle<by_hand>{}](lab::sample& s) mutable {
            end_chains(
                s, [&](int k) { first = m->emplace(by_hand{k, first}); },
                [&] {
                    while (first) {
                        const auto next = m->find(first)->next;
                        m->erase(first);
                        first = next;
                    }
                });
        };
    });
    c.mallocs(
        [] {
            return [first = std::unique_ptr<by_std>{}](lab::sample& s) mutable {
                end_chains(
                    s,
                    [&](int k) {
                        auto made = std::make_unique<by_std>();
                        made->number = k;
                        made->next = std::move(first);
                        first = std::move(made);
                    },
                    [&] { first.reset(); });
            };
        },
        " std::unique_ptr, recursion");
}

// ---- the block of the counts, and where objects lie -------------------------------------------

constexpr std::size_t far_count = 100'000;  // six megabytes of objects: more than the second cache

/// 0, 1, .. in an order that no prefetcher foresees.
std::vector<std::size_t> shuffled(std::size_t count) {
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) { order[i] = i; }
    std::uint64_t x = 88172645463325252ull;
    for (std::size_t i = count; i > 1; --i) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        std::swap(order[i - 1], order[x % i]);
    }
    return order;
}

/// Owners that make(k) gives; touch(owner) for each, in `order`.
template <class State, class Make, class Touch>
auto touching(std::vector<std::size_t> order, Make make, Touch touch) {
    using owner = decltype(make(std::declval<State&>(), 0));
    return [m = std::make_unique<State>(), held = std::vector<owner>{}, order = std::move(order),
            make, touch](lab::sample& s) mutable {
        while (held.size() < order.size()) {
            held.push_back(make(*m, static_cast<int>(held.size())));
        }
        int sum = 0;
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            for (const std::size_t k : order) { sum += touch(held[k]); }
        }
        lab::keep(&sum);
        s.did(s.repetitions() * order.size());
    };
}

struct nothing {};

void add_places(lab::experiment& e) {
    const auto read = [](const auto& owner) { return owner->number; };
    const auto copy_and_read = [](const auto& owner) {
        const auto copy = owner;
        return copy->number;
    };
    lab::comparison& places = e.compare("place: read 100,000, in any order", {.unit = "ns/object"});
    places.cairn("cairn::unique_handle", [=] {
        return touching<map>(
            shuffled(far_count),
            [](map& m, int k) { return cairn::unique_handle<map>{m, m.emplace(k)}; }, read);
    });
    places.cairn("cairn::unique_in, pool", [=] {
        using pool = cairn::pool_of<object>;
        return touching<pool>(
            shuffled(far_count),
            [](pool& m, int k) { return cairn::make_unique_in<object, cairn::pool>(m, k); }, read);
    });
    places.peer("std::unique_ptr", [=] {
        return touching<nothing>(
            shuffled(far_count), [](nothing&, int k) { return std::make_unique<object>(k); }, read);
    });
    places.peer("std::unique_ptr, made among others", [=] {
        // What a program that runs for a while has: each object lies between those of others.
        return touching<std::vector<std::unique_ptr<char[]>>>(
            shuffled(far_count),
            [](std::vector<std::unique_ptr<char[]>>& others, int k) {
                others.push_back(
                    std::make_unique<char[]>(16 + static_cast<std::size_t>(k) * 7919 % 497));
                return std::make_unique<object>(k);
            },
            read);
    });
    lab::comparison& together =
        e.compare("counts: copy and read 100,000, in any order",
                  {.unit = "ns/object",
                   .causes = {{"The count lies in a table of the store, so that it outlives the "
                               "object without a block of its own: one line more than where a "
                               "block has both."}}});
    together.cairn("cairn::shared_handle, plain", [=] {
        return touching<store<cairn::plain_count>>(
            shuffled(far_count), [](store<cairn::plain_count>& m, int k) { return m.make(k); },
            copy_and_read);
    });
    together.cairn("cairn::shared_handle, atomic", [=] {
        return touching<store<cairn::atomic_count>>(
            shuffled(far_count), [](store<cairn::atomic_count>& m, int k) { return m.make(k); },
            copy_and_read);
    });
    together.peer("std::shared_ptr, one block", [=] {
        have_a_second_thread();
        return touching<nothing>(
            shuffled(far_count), [](nothing&, int k) { return std::make_shared<object>(k); },
            copy_and_read);
    });
    together.peer("std::shared_ptr, two blocks", [=] {
        have_a_second_thread();
        return touching<nothing>(
            shuffled(far_count),
            [](nothing&, int k) { return std::shared_ptr<object>{new object{k}}; }, copy_and_read);
    });
}

// ---- two threads that lock the same handles ----------------------------------------------------

void add_threads(lab::experiment& e) {
    if (e.options().hardware_threads() < 2) { return; }
    lab::comparison& c = e.compare("weak: locked by two threads, 1,000 each",
                                   {.unit = "ns/look-up", .unpinned = true});
    c.cairn("cairn handle, locked, atomic", [] {
        return [people = std::make_unique<lab::crew>(2u),
                m = std::make_unique<store<cairn::atomic_count>>(),
                held = std::vector<store<cairn::atomic_count>::shared_type>{}](
                   lab::sample& s) mutable {
            while (held.size() < object_count) { held.push_back(m->make(1)); }
            people->run(s, [&](unsigned t) {
                int sum = 0;
                for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                    for (std::size_t k = 0; k < object_count; ++k) {
                        const std::size_t at = t == 0 ? k : object_count - 1 - k;
                        if (const auto o = m->lock(held[at].handle())) { sum += o->number; }
                    }
                }
                lab::keep(&sum);
            });
            s.did(s.repetitions() * object_count);
        };
    });
    c.peer("std::weak_ptr", [] {
        return [people = std::make_unique<lab::crew>(2u),
                held = std::vector<std::shared_ptr<object>>{},
                weak_ones = std::vector<std::weak_ptr<object>>{}](lab::sample& s) mutable {
            while (held.size() < object_count) {
                held.push_back(std::make_shared<object>(1));
                weak_ones.push_back(held.back());
            }
            people->run(s, [&](unsigned t) {
                int sum = 0;
                for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                    for (std::size_t k = 0; k < object_count; ++k) {
                        const std::size_t at = t == 0 ? k : object_count - 1 - k;
                        if (const auto o = weak_ones[at].lock()) { sum += o->number; }
                    }
                }
                lab::keep(&sum);
            });
            s.did(s.repetitions() * object_count);
        };
    });
}

const lab::registration owners{
    "owners", "What do unique, shared and weak ownership cost?", [](lab::experiment& e) {
        e.quick_seconds = 8;
        add_chains(e);
        add_places(e);
        add_threads(e);
        lab::comparison& unique = e.compare("unique: make and drop", {.unit = "ns/object"});
        unique.cairn("cairn::unique_handle", [] {
            return [m = std::make_unique<map>(), held = std::vector<cairn::unique_handle<map>>(
                                                     object_count)](lab::sample& s) mutable {
                make_and_drop(
                    s,
                    [&](std::size_t k) {
                        held[k] = cairn::unique_handle{*m, m->emplace(static_cast<int>(k))};
                    },
                    [&](std::size_t k) { held[k].reset(); });
            };
        });
        unique.cairn("cairn::unique_in, pool", [] {
            using owner = cairn::unique_in<object, cairn::pool>;
            return
                [m = std::make_unique<cairn::pool>(sizeof(object)),
                 held = std::vector<std::optional<owner>>(object_count)](lab::sample& s) mutable {
                    make_and_drop(
                        s,
                        [&](std::size_t k) {
                            held[k].emplace(cairn::make_unique_in<object, cairn::pool>(
                                *m, static_cast<int>(k)));
                        },
                        [&](std::size_t k) { held[k].reset(); });
                };
        });
        unique.mallocs(
            [] {
                return [held = std::vector<std::unique_ptr<object>>(object_count)](
                           lab::sample& s) mutable {
                    make_and_drop(
                        s,
                        [&](std::size_t k) {
                            held[k] = std::make_unique<object>(static_cast<int>(k));
                        },
                        [&](std::size_t k) { held[k].reset(); });
                };
            },
            " std::unique_ptr");

        lab::comparison& shared = e.compare("shared: make and drop", {.unit = "ns/object"});
        const auto shared_cairn = [&]<class Count>(const char* name) {
            shared.cairn(name, [] {
                using owner = typename store<Count>::shared_type;
                return [m = std::make_unique<store<Count>>(),
                        held = std::vector<owner>(object_count)](lab::sample& s) mutable {
                    make_and_drop(
                        s, [&](std::size_t k) { held[k] = m->make(static_cast<int>(k)); },
                        [&](std::size_t k) {
                            held[k].reset();
                            if (k + 1 == object_count) { m->collect(); }
                        });
                };
            });
        };
        shared_cairn.operator()<cairn::plain_count>("cairn::shared_handle, plain");
        shared_cairn.operator()<cairn::atomic_count>("cairn::shared_handle, atomic");
        const auto make_shared_in = [](auto make_memory) {
            return [=] {
                have_a_second_thread();
                return [m = make_memory(), held = std::vector<std::shared_ptr<object>>(
                                               object_count)](lab::sample& s) mutable {
                    make_and_drop(
                        s,
                        [&](std::size_t k) {
                            held[k] = cairn::make_shared_in<object>(*m, static_cast<int>(k));
                        },
                        [&](std::size_t k) { held[k].reset(); });
                };
            };
        };
        shared.cairn("cairn::make_shared_in, heap", make_shared_in([] {
                         return std::make_unique<cairn::heap<>>(std::size_t{1} << 20);
                     }));
        shared.cairn("cairn::make_shared_in, pool", make_shared_in([] {
                         // The counts of the C++ library lie in front of the object.
                         return std::make_unique<cairn::pool>(sizeof(object) + 64);
                     }));
        shared.mallocs(
            [] {
                have_a_second_thread();
                return [held = std::vector<std::shared_ptr<object>>(object_count)](
                           lab::sample& s) mutable {
                    make_and_drop(
                        s,
                        [&](std::size_t k) {
                            held[k] = std::make_shared<object>(static_cast<int>(k));
                        },
                        [&](std::size_t k) { held[k].reset(); });
                };
            },
            " std::shared_ptr");
        shared.peer("std::shared_ptr, two blocks", [] {
            have_a_second_thread();
            return [held = std::vector<std::shared_ptr<object>>(object_count)](
                       lab::sample& s) mutable {
                make_and_drop(
                    s, [&](std::size_t k) { held[k].reset(new object{static_cast<int>(k)}); },
                    [&](std::size_t k) { held[k].reset(); });
            };
        });

        lab::comparison& copy = e.compare("shared: copy and drop", {.unit = "ns/copy"});
        copy.cairn("cairn::shared_handle, plain",
                   copies<store<cairn::plain_count>::shared_type>(one_owner<cairn::plain_count>));
        copy.cairn("cairn::shared_handle, atomic",
                   copies<store<cairn::atomic_count>::shared_type>(one_owner<cairn::atomic_count>));
        copy.peer("std::shared_ptr", copies<std::shared_ptr<object>>([] {
                      have_a_second_thread();
                      return std::pair{0, std::make_shared<object>(1)};
                  }));

        lab::comparison& weak = e.compare("weak: is it alive, read it", {.unit = "ns/look-up"});
        weak.cairn("cairn handle", [] {
            return [m = std::make_unique<map>(),
                    handles = std::vector<map::handle_type>{}](lab::sample& s) mutable {
                while (handles.size() < object_count) { handles.push_back(m->emplace(1)); }
                int sum = 0;
                for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                    for (const auto h : handles) {
                        if (const object* o = m->find(h)) { sum += o->number; }
                    }
                }
                lab::keep(&sum);
                s.did(s.repetitions() * object_count);
            };
        });
        // What weak_ptr::lock() does: an owner for as long as one looks.
        const auto locked = [&]<class Count>(const char* name) {
            weak.cairn(name, [] {
                using owner = typename store<Count>::shared_type;
                return [m = std::make_unique<store<Count>>(), held = std::vector<owner>{},
                        handles = std::vector<map::handle_type>{}](lab::sample& s) mutable {
                    while (held.size() < object_count) {
                        held.push_back(m->make(1));
                        handles.push_back(held.back().handle());
                    }
                    int sum = 0;
                    for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                        for (const auto h : handles) {
                            if (const auto o = m->lock(h)) { sum += o->number; }
                        }
                    }
                    lab::keep(&sum);
                    s.did(s.repetitions() * object_count);
                };
            });
        };
        locked.operator()<cairn::plain_count>("cairn handle, locked, plain");
        locked.operator()<cairn::atomic_count>("cairn handle, locked, atomic");
        weak.peer("std::weak_ptr", [] {
            have_a_second_thread();
            return [held = std::vector<std::shared_ptr<object>>{},
                    weak_ones = std::vector<std::weak_ptr<object>>{}](lab::sample& s) mutable {
                while (held.size() < object_count) {
                    held.push_back(std::make_shared<object>(1));
                    weak_ones.push_back(held.back());
                }
                int sum = 0;
                for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                    for (const auto& w : weak_ones) {
                        if (const auto o = w.lock()) { sum += o->number; }
                    }
                }
                lab::keep(&sum);
                s.did(s.repetitions() * object_count);
            };
        });
    }};

}  // namespace
