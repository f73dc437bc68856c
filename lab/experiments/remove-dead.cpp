// lab/experiments/remove-dead.cpp - particles: move all, remove the dead, refill.
//
//      frame     x += vx; y += vy; life -= 1        then         the rows with life <= 0 go
//
// 20,000 rows of six floats. Each frame moves all rows, removes those whose life has ended, and adds
// as many. Lives are drawn so that a stated part of the rows ends in each frame.
#include <cairn/containers/table.hpp>

#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t row_count = 20'000;

template <class K = cairn::value>
struct spark {
    cairn::field<K, float> x = 0;
    cairn::field<K, float> y = 0;
    cairn::field<K, float> vx = 1;
    cairn::field<K, float> vy = 1;
    cairn::field<K, float> life = 1;
    cairn::field<K, float> heat = 0;
};
using S = spark<>;

void step(auto&& s) {
    s.x += s.vx * 0.01f;
    s.y += s.vy * 0.01f;
    s.life -= 1;
}
constexpr auto is_dead = [](const auto& s) { return s.life <= 0; };

struct structs {
    std::vector<S> rows;
    void add(const S& s) { rows.push_back(s); }
    void move_all() {
        for (S& s : rows) { step(s); }
    }
};
/// The order stays.
struct erased_structs : structs {
    void remove_dead() { std::erase_if(rows, is_dead); }
};
/// The last row fills the hole.
struct popped_structs : structs {
    void remove_dead() {
        for (std::size_t i = 0; i != rows.size();) {
            if (is_dead(rows[i])) {
                rows[i] = rows.back();
                rows.pop_back();
            } else {
                ++i;
            }
        }
    }
};
template <class Layout, bool KeepsOrder>
struct in_table {
    cairn::table<S, Layout> rows;
    void add(const S& s) {
        if (!rows.push_back(s)) { std::abort(); }
    }
    void move_all() {
        rows.for_each([](auto&& s) { step(s); });
    }
    void remove_dead() { KeepsOrder ? rows.erase_if(is_dead) : rows.swap_erase_if(is_dead); }
};

template <class Rows>
struct game {
    Rows particles;
    std::mt19937 random{7};
    unsigned lifetime;

    explicit game(unsigned frames) : lifetime{frames} { refill(); }
    void refill() {
        while (particles.rows.size() < row_count) {
            particles.add({.life = static_cast<float>(1 + random() % (2 * lifetime - 1))});
        }
    }
    void play() {
        particles.move_all();
        particles.remove_dead();
        refill();
        lab::clobber();
    }
};

/// About one row in `lifetime` ends in each frame.
template <class Rows>
auto played(unsigned lifetime) {
    return lab::repeated_on(row_count, lab::made<game<Rows>>(lifetime), [](auto& g) { g.play(); });
}

const lab::registration removal{
    "remove-dead", "What does a frame cost that moves particles and removes the dead?",
    [](lab::experiment& e) {
        e.quick_seconds = 4;
        for (const unsigned lifetime : {100u, 10u, 2u}) {
            lab::comparison& c = e.compare(
                "20000 rows of six floats, 1 of " + std::to_string(lifetime) + " ends in a frame",
                {.unit = "ns/row"});
            c.cairn("table, soa, erase_if", played<in_table<cairn::soa, true>>(lifetime));
            c.cairn("table, soa, swap_erase_if", played<in_table<cairn::soa, false>>(lifetime));
            c.cairn("table, aos, erase_if", played<in_table<cairn::aos, true>>(lifetime));
            c.peer("std::vector, std::erase_if", played<erased_structs>(lifetime));
            c.peer("std::vector, the last fills the hole", played<popped_structs>(lifetime));
        }
    }};

}  // namespace
