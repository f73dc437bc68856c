// lab/experiments/owners.cpp - what it costs to own: one owner, many owners, weak references.
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/containers/shared_handle.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/unique_handle.hpp>
#include <cairn/std/unique_in.hpp>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

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

const lab::registration owners{
    "owners", "What do unique, shared and weak ownership cost?", [](lab::experiment& e) {
        e.quick_seconds = 5;
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
        shared.cairn("cairn::make_shared_in, heap", [] {
            have_a_second_thread();
            return [m = std::make_unique<cairn::heap<>>(std::size_t{1} << 20),
                    held = std::vector<std::shared_ptr<object>>(object_count)](
                       lab::sample& s) mutable {
                make_and_drop(
                    s,
                    [&](std::size_t k) {
                        held[k] = cairn::make_shared_in<object>(*m, static_cast<int>(k));
                    },
                    [&](std::size_t k) { held[k].reset(); });
            };
        });
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
