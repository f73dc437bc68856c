// A heap of six objects and its worker, under the explorer: the orders and functions are the
// library's (marking_worker/protocol.hpp).
#pragma once

#include <cairn/collected/marking_worker.hpp>

#include <array>
#include <cstdint>

#include "support/explorer/scripts.hpp"

namespace marking_world {

using cairn::detail::marking_orders;
using cairn::detail::memory_order;
using explorer::require;

constexpr std::uint32_t object_count = 6;  // numbers from 1; each has one reference

/// What the program's thread could forget.
struct flaws {
    bool store_keeps_nothing = false;
    bool weak_get_keeps_nothing = false;
    bool new_is_published_unmarked = false;
    bool ends_with_names_left = false;
    bool ends_without_the_gate = false;
};

/// A heap of one word of marks. The outside refers to object 1: 1 -> 2 -> 3 at the start; 4 is
/// weakly referred to alone; 5 and 6 are made later. The program's script: 'b' begins a cycle, 'm' moves 3,
/// 'n' makes an object, 'k' reads weakly, 'h' hands its log over, 'e' ends marking if it can. The
/// worker's: '1' to '9' units.
template <class Orders>
struct world {
    using gate = cairn::detail::basic_marking_gate<explorer::atoms, Orders>;
    using handover = cairn::detail::basic_handover<explorer::atoms, Orders>;

    explicit world(const flaws& f) : forgets(f) {
        for (std::uint32_t i = 1; i <= 4; ++i) {
            contents[i] = 1;
            chunk_is_described[i] = 1;
        }
        field[1].store(2, memory_order::relaxed);
        field[2].store(3, memory_order::relaxed);
    }
    void step(std::size_t me, char what) {
        if (me == 1) { return piece(what - '0'); }
        switch (what) {
            case 'b':
                return begin();
            case 'm':
                return move();
            case 'n':
                return make(++made);
            case 'k':
                return get_weakly();
            case 'h':
                return hand_over();
            default:
                return end();
        }
    }
    void at_end() {
        for (int i = 0; i < 4 && marking; ++i) {
            piece(9);
            end();
        }
        require(!marking, "marking ends");
    }

    // ---- both sides
    void see(std::uint32_t object) {
        if (object == 0) { return; }
        require(static_cast<int>(chunk_is_described[object]) == 1,
                "a reference leads to an object");
        if (cairn::detail::set_mark<Orders>(marks, std::uint64_t{1} << object)) {
            stack[static_cast<std::uint32_t>(stack_count)] = object;
            stack_count = static_cast<std::uint32_t>(stack_count) + 1;
        }
    }
    /// Returns: false when the stack is empty.
    bool trace_one() {
        if (static_cast<std::uint32_t>(stack_count) == 0) { return false; }
        stack_count = static_cast<std::uint32_t>(stack_count) - 1;
        const std::uint32_t object = stack[static_cast<std::uint32_t>(stack_count)];
        require(static_cast<int>(contents[object]) == 1, "what is traced is whole");
        see(cairn::detail::follow<Orders>(field[object]));
        return true;
    }
    void see_set(std::uint32_t set) {
        const std::uint64_t taken = sets[set];
        sets[set] = 0;
        for (std::uint32_t i = 1; i <= object_count; ++i) {
            if ((taken >> i & 1) != 0) { see(i); }
        }
    }

    // ---- the worker
    void piece(int units) {
        if (!entrance.try_take(gate::of_worker)) { return; }
        while (units-- != 0) {
            if (trace_one()) { continue; }
            const std::uint32_t set = names.received();
            if (set == handover::none) { break; }
            see_set(set);
            names.give_back();
        }
        entrance.give_back();
    }

    // ---- the program
    void begin() {
        if (marking) { return; }
        marking = true;
        marks.store(0, memory_order::relaxed);
        see(1);
        entrance.let_in();
    }
    void keep(std::uint32_t old) {
        if (!marking || old == 0) { return; }
        // Marked: the worker goes on with it. Not marked, as far as this thread sees: once more.
        if ((marks.load(memory_order::relaxed) >> old & 1) != 0) { return; }
        log |= std::uint64_t{1} << old;
    }
    std::uint32_t read(std::uint32_t object) const {
        return field[object].load(memory_order::relaxed);  // it alone writes
    }
    void write(std::uint32_t object, std::uint32_t to) {
        if (!forgets.store_keeps_nothing) { keep(read(object)); }
        if (marking) {
            cairn::detail::publish<Orders>(field[object], to);
        } else {
            field[object].store(to, memory_order::relaxed);
        }
    }
    /// Between what 1 refers to and 1. Its constructor goes on when 1 knows it already.
    void make(std::uint32_t object) {
        const std::uint64_t mark = std::uint64_t{1} << object;
        chunk_is_described[object] = 1;
        if (marking && !forgets.new_is_published_unmarked) {
            static_cast<void>(marks.fetch_or(mark, memory_order::relaxed));
        }
        field[object].store(read(1), memory_order::relaxed);
        write(1, object);
        contents[object] = 1;
        if (marking && forgets.new_is_published_unmarked) {
            static_cast<void>(marks.fetch_or(mark, memory_order::relaxed));
        }
    }
    /// 3 is referred to by 1 alone, which the worker may be through with.
    void move() {
        const std::uint32_t third = read(2);
        write(1, third);
        write(2, 0);
    }
    /// What no reference leads to comes back.
    void get_weakly() {
        if (static_cast<int>(contents[4]) != 1) { return; }
        if (!forgets.weak_get_keeps_nothing) { keep(4); }
        write(1, 4);
    }
    void hand_over() {
        if (!marking) { return; }
        sets[names.filled()] = static_cast<std::uint64_t>(sets[names.filled()]) | log;
        log = 0;
        if (static_cast<std::uint64_t>(sets[names.filled()]) != 0) { names.try_hand_over(); }
    }
    /// The safe point: ends marking, if nothing is left.
    void end() {
        if (!marking) { return; }
        hand_over();
        if (!forgets.ends_without_the_gate && !entrance.try_take(gate::of_program)) { return; }
        if (!forgets.ends_with_names_left && static_cast<std::uint32_t>(stack_count) == 0) {
            const std::uint32_t set = names.received();
            if (set != handover::none) {
                see_set(set);
                names.give_back();
            }
            see_set(names.filled());
        }
        if (static_cast<std::uint32_t>(stack_count) != 0) {
            entrance.give_back();
            return;
        }
        entrance.close();
        marking = false;
        for (std::uint32_t i = 1; i != 0; i = read(i)) {
            require((marks.load(memory_order::relaxed) >> i & 1) != 0,
                    "what is reachable when marking ends is marked");
        }
        for (std::uint32_t i = 1; i <= object_count; ++i) {
            if ((marks.load(memory_order::relaxed) >> i & 1) == 0) { contents[i] = -1; }
        }
    }

    flaws forgets;
    std::uint32_t made = 4;  // the newest object
    bool marking = false;
    std::uint64_t log = 0;
    gate entrance;
    handover names;
    explorer::atomic<std::uint64_t> marks;
    std::array<explorer::atomic<std::uint32_t>, object_count + 1> field;
    std::array<explorer::plain<int>, object_count + 1> contents;
    std::array<explorer::plain<int>, object_count + 1> chunk_is_described;
    std::array<explorer::plain<std::uint64_t>, 2> sets;
    std::array<explorer::plain<std::uint32_t>, object_count> stack;
    explorer::plain<std::uint32_t> stack_count;
};

template <class Orders>
explorer::result run_scripts(const char* of_program, const char* of_worker, int preemptions,
                             const flaws& forgets = {}) {
    return explorer::run_scripts<world<Orders>>({of_program, of_worker}, preemptions, forgets);
}

}  // namespace marking_world
