// lab/families/particle_scene.hpp - what the article does to a store of particles, step by step.
//
//      fill   choose_survivors   free_most      then in each frame   choose_victims
//                                                                    replace_victims   timed
//                                                                    remember_new
#pragma once

#include "lab/harness/experiment.hpp"

namespace lab {

struct set {
    std::size_t allocated;
    std::size_t freed;
    [[nodiscard]] std::size_t live() const { return allocated - freed; }
};

constexpr std::size_t replaced = 500;  // in each frame

template <class Store>
struct scene {
    Store store;
    std::vector<typename Store::handle> live;
    std::vector<typename Store::handle> victims;
    std::mt19937 random{7};
    set s;

    explicit scene(set which)
        : store{which.allocated + 64}, live(which.allocated), victims(replaced), s{which} {}

    void fill() {
        live.resize(s.allocated);
        for (std::size_t i = 0; i < s.allocated; ++i) {
            live[i] = store.insert(static_cast<unsigned>(i));
        }
    }
    void choose_survivors() {
        if constexpr (!Store::by_index) {
            for (std::size_t i = s.allocated; i > 1; --i) {
                std::swap(live[i - 1], live[random() % i]);
            }
        } else {
            for (std::size_t i = 0; i < s.freed; ++i) {
                live[s.live() + i] = static_cast<unsigned>(random() % (s.allocated - i));
            }
        }
    }
    void free_most() {
        for (std::size_t i = 0; i < s.freed; ++i) { store.erase(live[s.live() + i]); }
        live.resize(s.live());
    }
    void choose_victims() {
        for (std::size_t i = 0; i < replaced; ++i) {
            if constexpr (Store::by_index) {
                victims[i] = static_cast<unsigned>(random() % (s.live() - i));
            } else {
                std::swap(live[i], live[i + random() % (s.live() - i)]);
                victims[i] = live[i];
            }
        }
    }
    void replace_victims() {
        for (std::size_t i = 0; i < replaced; ++i) { store.erase(victims[i]); }
        for (std::size_t i = 0; i < replaced; ++i) {
            victims[i] = store.insert(static_cast<unsigned>(i));
        }
    }
    void remember_new() {
        if constexpr (!Store::by_index) {
            for (std::size_t i = 0; i < replaced; ++i) { live[i] = victims[i]; }
        }
    }
    void churn(std::size_t frames) {
        for (std::size_t f = 0; f < frames; ++f) {
            choose_victims();
            replace_victims();
            remember_new();
        }
    }
    void empty() {
        if constexpr (Store::by_index) {
            while (store.size() != 0) { store.erase(static_cast<unsigned>(store.size() - 1)); }
        } else {
            for (auto h : live) { store.erase(h); }
        }
        live.clear();
    }
};

}  // namespace lab
