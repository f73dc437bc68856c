// lab/experiments/lookup.cpp - what a handle costs when it is used.
//
//      hot       10,000 objects, handles in random order: everything is in cache
//      random    10^7 objects, all their handles in random order: a repetition asks for the next
//                100,000 of them, so none is asked for again before all others have been
//      stale     half of the handles are of objects that are gone; they must find nothing
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lab/families/particle_stores.hpp"
#include "lab/harness/experiment.hpp"

namespace {

using lab::particle;

/// A pointer without any check: the floor of what a reference can cost.
struct plain_pointers {
    using handle = particle*;
    std::vector<particle> all;
    explicit plain_pointers(std::size_t capacity) { all.reserve(capacity); }
    handle insert(unsigned seed) { return &all.emplace_back(seed); }
    particle* find(handle p) { return p; }
    void erase(handle) {}
};

/// A repetition asks for `asked` of `count` handles; asked divides count.
template <class Store>
auto look_up(std::size_t count, std::size_t asked, bool with_stale) {
    return [=] {
        struct state {
            Store store;
            std::vector<typename Store::handle> handles;
            std::size_t next = 0;
        };
        auto now = std::make_unique<state>(state{Store{count + 64}, {}, 0});
        std::mt19937_64 random{3};
        std::vector<typename Store::handle>& all = now->handles;
        all.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            all[i] = now->store.insert(static_cast<unsigned>(i));
        }
        if (with_stale) {
            for (std::size_t i = 0; i < count; i += 2) { now->store.erase(all[i]); }
        }
        for (std::size_t i = count; i > 1; --i) { std::swap(all[i - 1], all[random() % i]); }
        return [now = std::move(now), count, asked](lab::sample& s) {
            for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                float sum = 0;
                const auto* const handles = now->handles.data() + now->next;
                for (std::size_t i = 0; i < asked; ++i) {
                    if (const particle* p = now->store.find(handles[i])) {
                        sum += p->lifetime_remaining;
                    }
                }
                lab::keep(&sum);
                now->next = (now->next + asked) % count;
            }
            s.did(s.repetitions() * asked);
        };
    };
}

void add_case(lab::experiment& e, const char* name, std::size_t count, std::size_t asked,
              bool with_stale, double weight) {
    lab::comparison& c = e.compare(name, {.weight = weight, .many_per_cycle = true});
    if (!with_stale) {
        c.limit("pointer, unchecked", look_up<plain_pointers>(count, asked, false));
    }
    c.baseline("article slot map", look_up<lab::article_slot_map>(count, asked, with_stale));
    c.cairn("cairn::slot_map", look_up<lab::cairn_slot_map>(count, asked, with_stale));
    c.cairn("cairn::slot_map, 32 bit",
            look_up<lab::cairn_map<cairn::slot_map<particle, cairn::slot_policy<32, 24>>>>(
                count, asked, with_stale));
    c.cairn("cairn::stable_slot_map",
            look_up<lab::cairn_stable_slot_map>(count, asked, with_stale));
}

const lab::registration lookup{
    "lookup", "What does it cost to go through a handle instead of a pointer?",
    [](lab::experiment& e) {
        e.quick_seconds = 8;
        add_case(e, "hot", 10000, 10000, false, 1);
        add_case(e, "hot, half stale", 10000, 10000, true, 1);
        add_case(e, "random over 10^7", 10000000, 100000, false, 2);
        add_case(e, "random over 10^7, half stale", 10000000, 100000, true, 2);
    }};

}  // namespace
