// lab/experiments/attached.cpp - a value for each row of a table that another system owns.
//
//      physics    rows:  | x, speed | x, speed | x, speed |   rows come and go: the last one fills
//      renderer   heat:  |    20    |    20    |   500    |   the hole, and its heat goes with it
//
// A frame: 200 of 10,000 rows go and 200 come, then a loop reads the heat and the speed of each.
// The table informs attached_column; by hand, the erasing code knows both. The others keep the
// heat under a number that the row remembers.
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/table.hpp>

#include <unordered_map>

#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t row_count = 10'000;
constexpr std::size_t change_count = 200;

template <class K = cairn::value>
struct body {
    cairn::field<K, float> x = 0;
    cairn::field<K, float> speed = 1;
    cairn::field<K, std::uint32_t> number = 0;
};
using B = body<>;
using bodies = cairn::table<B, cairn::soa>;

/// Of values that stand in the order of the rows.
template <class Values>
float sum_in_step(const Values& values, bodies& rows) {
    const auto speed = rows.column<&B::speed>();
    float all = 0;
    for (std::size_t i = 0; i != speed.size(); ++i) { all += values[i] * speed[i]; }
    return all;
}

/// Told of each change by the table.
struct attached {
    explicit attached(bodies& rows) : heat{rows, 20.0f} {}
    void added(bodies&) {}
    void erased(bodies&, std::size_t, std::uint32_t) {}
    float sum(bodies& rows) { return sum_in_step(heat, rows); }
    cairn::attached_column<float> heat;
};

/// A second array, corrected where rows are erased and appended.
struct by_hand {
    explicit by_hand(bodies&) {}
    void added(bodies&) { heat.push_back(20.0f); }
    void erased(bodies&, std::size_t row, std::uint32_t) {
        heat[row] = heat.back();
        heat.pop_back();
    }
    float sum(bodies& rows) { return sum_in_step(heat, rows); }
    std::vector<float> heat;
};

struct by_number {
    explicit by_number(bodies&) {}
    void added(bodies& rows) { heat.emplace(cairn::get<&B::number>(rows.back()), 20.0f); }
    void erased(bodies&, std::size_t, std::uint32_t number) { heat.erase(number); }
    float sum(bodies& rows) {
        const auto speed = rows.column<&B::speed>();
        const auto number = rows.column<&B::number>();
        float all = 0;
        for (std::size_t i = 0; i != speed.size(); ++i) {
            all += heat.find(number[i])->second * speed[i];
        }
        return all;
    }
    std::unordered_map<std::uint32_t, float> heat;
};

template <class Heat>
struct game {
    bodies rows;
    Heat heat{rows};
    std::uint32_t next_number = 0;
    std::mt19937 random{7};

    game() {
        for (std::size_t i = 0; i != row_count; ++i) { come(); }
    }
    game(const game&) = delete;
    game& operator=(const game&) = delete;

    void come() {
        if (!rows.push_back({0, 1, next_number++})) { std::abort(); }
        heat.added(rows);
    }
    void play() {
        for (std::size_t i = 0; i != change_count; ++i) {
            const std::size_t row = random() % rows.size();
            const std::uint32_t number = cairn::get<&B::number>(rows[row]);
            rows.swap_erase(row);
            heat.erased(rows, row, number);
        }
        for (std::size_t i = 0; i != change_count; ++i) { come(); }
        lab::keep(heat.sum(rows));
    }
};

template <class Heat>
auto played() {
    return lab::repeated_on(1, lab::made<game<Heat>>(), [](auto& g) { g.play(); });
}

const lab::registration columns{
    "attached", "What does a value cost that another system keeps for each row?",
    [](lab::experiment& e) {
        e.quick_seconds = 2;
        lab::comparison& c = e.compare("10000 rows, 200 go and come", {.unit = "ns/frame"});
        c.cairn("cairn::attached_column", played<attached>());
        c.limit("an array, kept in step by hand", played<by_hand>());
        c.peer("std::unordered_map, by number", played<by_number>());
    }};

}  // namespace
