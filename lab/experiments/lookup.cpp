// lab/experiments/lookup.cpp - what a handle costs when it is used.
//
//      hot       10,000 objects, handles in random order: everything is in cache
//      random    10^7 objects, all their handles in random order: a repetition asks for the next
//                100,000 of them, so none is asked for again before all others have been
//      stale     half of the handles are of objects that are gone; they must find nothing

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
struct looked_up {
    std::size_t asked;
    Store store;
    std::vector<typename Store::handle> handles;
    std::size_t next = 0;
    looked_up(std::size_t count, std::size_t a, bool with_stale) : asked{a}, store{count + 64} {
        for (std::size_t i = 0; i < count; ++i) {
            handles.push_back(store.insert(static_cast<unsigned>(i)));
        }
        if (with_stale) {
            for (std::size_t i = 0; i < count; i += 2) { store.erase(handles[i]); }
        }
        std::mt19937_64 random{3};
        for (std::size_t i = count; i > 1; --i) {
            std::swap(handles[i - 1], handles[random() % i]);
        }
    }
    void operator()(lab::sample& s) {
        s.repeat(asked, [&] {
            float sum = 0;
            const auto* const first = handles.data() + next;
            for (std::size_t i = 0; i < asked; ++i) {
                if (const particle* p = store.find(first[i])) { sum += p->lifetime_remaining; }
            }
            lab::keep(&sum);
            next = (next + asked) % handles.size();
        });
    }
};

void add_case(lab::experiment& e, const char* name, std::size_t count, std::size_t asked,
              bool with_stale, double weight) {
    lab::comparison& c = e.compare(name, {.weight = weight, .many_per_cycle = true});
    const auto in = [=]<class Store>(std::type_identity<Store>) {
        return lab::made<looked_up<Store>>(count, asked, with_stale);
    };
    using small_map = lab::cairn_map<cairn::slot_map<particle, cairn::slot_policy<32, 24>>>;
    if (!with_stale) { c.limit("pointer, unchecked", in(std::type_identity<plain_pointers>{})); }
    c.baseline("article slot map", in(std::type_identity<lab::article_slot_map>{}));
    c.cairn("cairn::slot_map", in(std::type_identity<lab::cairn_slot_map>{}));
    c.cairn("cairn::slot_map, 32 bit", in(std::type_identity<small_map>{}));
    c.cairn("cairn::stable_slot_map", in(std::type_identity<lab::cairn_stable_slot_map>{}));
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
