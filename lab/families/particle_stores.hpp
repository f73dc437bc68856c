// lab/families/particle_stores.hpp - one face for everything that stores the article's particles.
//
// The article "pools, free lists, slot maps" (seed 1) compares five stores of a 24-byte particle.
// They are written here as it shows them, and cairn's, plf::colony and a vector of pointers beside.
//
//      using handle = ...                what the user keeps to name one particle
//      handle insert(unsigned seed)      allocate and write all fields, where it lies
//      void erase(handle)
//      void each(f)                      f(particle&) for all that are alive
//      size()
//      static constexpr bool by_index    the handle is a position and dies when others are erased
//
// insert() and erase() are inlined by force in all of them: a user writes `map.emplace(...)` in the
// loop, and a compiler that calls the larger of these functions and inlines the smaller ones would
// measure its own choice (gcc 12 calls cairn_map's: six stores more of saved registers, 1.5 x the
// time).
#pragma once

#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>

#include "lab/harness/experiment.hpp"
#include "lab/peers/offers.hpp"

namespace lab {

struct particle {
    bool is_active;
    float position[2];
    float velocity[2];
    float lifetime_remaining;

    particle() = default;
    explicit particle(unsigned seed) noexcept { write(seed); }

    void write(unsigned seed) noexcept {
        is_active = true;
        position[0] = static_cast<float>(seed);
        position[1] = 1.0f;
        velocity[0] = 0.5f;
        velocity[1] = 0.25f;
        lifetime_remaining = 100.0f;
    }
    void update() noexcept {
        position[0] += velocity[0] * 0.016f;
        position[1] += velocity[1] * 0.016f;
        lifetime_remaining -= 0.016f;
    }
};
static_assert(sizeof(particle) == 24);

// ---- the article's five ------------------------------------------------------------------------

/// An array with a flag in each; allocation looks for the first that is not active.
struct naive_pool {
    using handle = particle*;
    static constexpr bool by_index = false;
    std::vector<particle> slots;
    std::size_t count = 0;
    explicit naive_pool(std::size_t capacity) : slots(capacity) {}
    [[gnu::always_inline]] handle insert(unsigned seed) {
        for (particle& p : slots) {
            if (!p.is_active) {
                p.write(seed);
                ++count;
                return &p;
            }
        }
        return nullptr;
    }
    [[gnu::always_inline]] void erase(handle p) {
        p->is_active = false;
        --count;
    }
    template <class F>
    void each(F f) {
        for (particle& p : slots) {
            if (p.is_active) { f(p); }
        }
    }
    std::size_t size() const { return count; }
};

/// The same array; a vector beside it holds pointers to the free ones.
struct external_free_list {
    using handle = particle*;
    static constexpr bool by_index = false;
    std::vector<particle> slots;
    std::vector<particle*> free_slots;
    std::size_t used = 0;
    explicit external_free_list(std::size_t capacity) : slots(capacity) {}
    [[gnu::always_inline]] handle insert(unsigned seed) {
        particle* p;
        if (!free_slots.empty()) {
            p = free_slots.back();
            free_slots.pop_back();
        } else {
            p = &slots[used++];
        }
        p->write(seed);
        return p;
    }
    [[gnu::always_inline]] void erase(handle p) {
        p->is_active = false;
        free_slots.push_back(p);
    }
    template <class F>
    void each(F f) {
        for (std::size_t i = 0; i < used; ++i) {
            if (slots[i].is_active) { f(slots[i]); }
        }
    }
    std::size_t size() const { return used - free_slots.size(); }
};

/// The link lies in the dead particle.
struct intrusive_free_list {
    using handle = particle*;
    static constexpr bool by_index = false;
    std::vector<particle> slots;
    particle* head = nullptr;
    std::size_t used = 0;
    std::size_t count = 0;
    explicit intrusive_free_list(std::size_t capacity) : slots(capacity) {}
    // The link is copied in and out, as a union member would be: no aliasing tricks.
    static particle* link(const particle* p) {
        particle* next;
        std::memcpy(&next, &p->velocity, sizeof next);
        return next;
    }
    static void set_link(particle* p, particle* next) {
        std::memcpy(static_cast<void*>(&p->velocity), &next, sizeof next);
    }
    [[gnu::always_inline]] handle insert(unsigned seed) {
        particle* p = head;
        if (p != nullptr) {
            head = link(p);
        } else {
            p = &slots[used++];
        }
        p->write(seed);
        ++count;
        return p;
    }
    [[gnu::always_inline]] void erase(handle p) {
        p->is_active = false;
        set_link(p, head);
        head = p;
        --count;
    }
    template <class F>
    void each(F f) {
        for (std::size_t i = 0; i < used; ++i) {
            if (slots[i].is_active) { f(slots[i]); }
        }
    }
    std::size_t size() const { return count; }
};

/// Swap and pop in a plain array: also the limit, for nothing contiguous is shorter.
struct packed_by_hand {
    using handle = unsigned;
    static constexpr bool by_index = true;
    std::unique_ptr<particle[]> slots;
    std::size_t active_count = 0;
    explicit packed_by_hand(std::size_t capacity) : slots{new particle[capacity]} {}
    [[gnu::always_inline]] handle insert(unsigned seed) {
        slots[active_count].write(seed);
        return static_cast<handle>(active_count++);
    }
    [[gnu::always_inline]] void erase(handle index) { slots[index] = slots[--active_count]; }
    template <class F>
    void each(F f) {
        for (std::size_t i = 0, n = active_count; i < n; ++i) { f(slots[i]); }
    }
    std::size_t size() const { return active_count; }
};

/// Dense array, sparse array with a free list through it, generations.
struct article_slot_map {
    struct handle {
        std::uint32_t sparse_index;
        std::uint32_t generation;
    };
    struct sparse_entry {
        std::uint32_t dense_index;
        std::uint32_t generation;
    };
    static constexpr bool by_index = false;
    std::unique_ptr<particle[]> particles;
    std::unique_ptr<std::uint32_t[]> dense_to_sparse;
    std::unique_ptr<sparse_entry[]> sparse;
    std::uint32_t active_count = 0;
    std::uint32_t first_free_sparse = 0;
    explicit article_slot_map(std::size_t capacity)
        : particles{new particle[capacity]},
          dense_to_sparse{new std::uint32_t[capacity]},
          sparse{new sparse_entry[capacity]} {
        for (std::uint32_t i = 0; i < capacity; ++i) { sparse[i] = {i + 1, 0}; }
    }
    [[gnu::always_inline]] handle insert(unsigned seed) {
        const std::uint32_t sparse_index = first_free_sparse;
        first_free_sparse = sparse[sparse_index].dense_index;
        const std::uint32_t dense_index = active_count++;
        sparse[sparse_index].dense_index = dense_index;
        dense_to_sparse[dense_index] = sparse_index;
        particles[dense_index].write(seed);
        return {sparse_index, sparse[sparse_index].generation};
    }
    [[gnu::always_inline]] void erase(handle h) {
        if (!is_valid(h)) { return; }
        const std::uint32_t dense_index = sparse[h.sparse_index].dense_index;
        const std::uint32_t last_dense = --active_count;
        particles[dense_index] = particles[last_dense];
        const std::uint32_t moved_sparse = dense_to_sparse[last_dense];
        sparse[moved_sparse].dense_index = dense_index;
        dense_to_sparse[dense_index] = moved_sparse;
        sparse[h.sparse_index].generation++;
        sparse[h.sparse_index].dense_index = first_free_sparse;
        first_free_sparse = h.sparse_index;
    }
    bool is_valid(handle h) const { return sparse[h.sparse_index].generation == h.generation; }
    particle* find(handle h) {
        return is_valid(h) ? &particles[sparse[h.sparse_index].dense_index] : nullptr;
    }
    template <class F>
    void each(F f) {
        for (std::uint32_t i = 0, n = active_count; i < n; ++i) { f(particles[i]); }
    }
    std::size_t size() const { return active_count; }
};

// ---- what a user would pick instead ---------------------------------------------------------------

struct vector_of_pointers {
    using handle = unsigned;
    static constexpr bool by_index = true;
    std::vector<std::unique_ptr<particle>> all;
    explicit vector_of_pointers(std::size_t capacity) { all.reserve(capacity); }
    [[gnu::always_inline]] handle insert(unsigned seed) {
        all.push_back(std::make_unique<particle>(seed));
        return static_cast<handle>(all.size() - 1);
    }
    [[gnu::always_inline]] void erase(handle index) {
        all[index] = std::move(all.back());
        all.pop_back();
    }
    template <class F>
    void each(F f) {
        for (auto& p : all) { f(*p); }
    }
    std::size_t size() const { return all.size(); }
};

// ---- cairn ------------------------------------------------------------------------------------------

struct cairn_packed_array {
    using handle = unsigned;
    static constexpr bool by_index = true;
    cairn::packed_array<particle> all;
    explicit cairn_packed_array(std::size_t capacity) { (void)all.reserve(capacity); }
    [[gnu::always_inline]] handle insert(unsigned seed) {
        (void)all.emplace(seed);
        return static_cast<handle>(all.size() - 1);
    }
    [[gnu::always_inline]] void erase(handle index) { all.swap_erase(index); }
    template <class F>
    void each(F f) {
        const auto rows = all.values();
        for (std::size_t i = 0, n = rows.size(); i < n; ++i) { f(rows[i]); }
    }
    std::size_t size() const { return all.size(); }
};

template <class Map>
struct cairn_map {
    using handle = typename Map::handle_type;
    static constexpr bool by_index = false;
    Map all;
    explicit cairn_map(std::size_t capacity) { (void)all.reserve(capacity); }
    [[gnu::always_inline]] handle insert(unsigned seed) { return all.emplace(seed); }
    [[gnu::always_inline]] void erase(handle h) { all.erase(h); }
    particle* find(handle h) { return all.find(h); }
    template <class F>
    void each(F f) {
        if constexpr (requires { all.for_each(f); }) {
            all.for_each(f);
        } else {
            // By index, as in the hand-written ones: clang unrolls this form and not the other.
            const auto rows = all.values();
            for (std::size_t i = 0, n = rows.size(); i < n; ++i) { f(rows[i]); }
        }
    }
    std::size_t size() const { return all.size(); }
};
using cairn_slot_map = cairn_map<cairn::slot_map<particle>>;
using cairn_stable_slot_map = cairn_map<cairn::stable_slot_map<particle>>;

/// The particle in columns, for what it takes in memory: `operations` times a slot_table.
struct cairn_slot_table {
    struct row {
        bool is_active;
        float x, y, velocity_x, velocity_y, lifetime_remaining;
    };
    cairn::slot_table<row, cairn::soa> all;
    explicit cairn_slot_table(std::size_t capacity) { (void)all.reserve(capacity); }
    auto insert(unsigned seed) {
        return all.emplace(true, static_cast<float>(seed), 1.0f, 0.5f, 0.25f, 100.0f);
    }
};

}  // namespace lab
