// tests/collected/graph_model.hpp - random changes of a collected_heap against a model that knows
// what is reachable: each object has a number, and its references are the numbers of others, in the
// heap and in the model.
#pragma once

#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collected/graph_things.hpp"

namespace graphs {

/// Of 100 operations so many; the rest are steps.
struct habits {
    std::uint32_t makes = 32;
    std::uint32_t stores = 26;
    std::uint32_t root_changes = 8;
    std::uint32_t weak_uses = 8;
    std::uint32_t array_uses = 12;
    // ---- and how
    std::uint32_t root_count_max = 16;
    std::uint32_t root_every = 30;       // of the objects that are made, becomes one
    std::uint32_t small_step_count = 0;  // of 5 more, so that cycles take long
    bool fills = false;                  // makes large garbage, so that cycles begin soon
};

class model {
public:
    model(std::uint32_t seed, std::size_t size, const collected_heap::options& options,
          const habits& how = {})
        : random_{seed}, how_{how}, heap_{size, options} {}
    ~model() {
        roots_.clear();
        heap_.collect();
        heap_.collect();
        heap_.validate();
        EXPECT_EQ(heap_.stats().object_count, 0u) << "without roots nothing is left";
        EXPECT_TRUE(mortals_.empty());
    }

    /// `between` is called after each operation.
    template <class Between>
    void run(int operations, int check_every, Between between) {
        for (int i = 1; i <= operations && !testing::Test::HasFailure(); ++i) {
            operate();
            between(*this);
            if (i % check_every == 0) {
                heap_.validate();
                check(i % (8 * check_every) == 0);
            }
        }
    }
    void run(int operations, int check_every) {
        run(operations, check_every, [](model&) {});
    }
    std::uint32_t any(std::size_t count) { return static_cast<std::uint32_t>(random_() % count); }
    collected_heap& heap() { return heap_; }
    /// For a safe point: no raw pointer is held any more.
    collected_heap& let_go() {
        held_.clear();
        return heap_;
    }
    [[nodiscard]] int refused() const { return refused_; }

private:
    struct rooted {
        root<thing> in_heap;
        std::uint32_t number = 0;
    };
    struct weakened {
        weak_ref<thing> in_heap;
        std::uint32_t number = 0;
    };

    void operate() {
        std::uint32_t what = any(100);
        const auto is = [&what](std::uint32_t share) {
            const bool is_it = what < share;
            what -= is_it ? 0 : share;
            return is_it;
        };
        if (is(how_.makes)) {
            make();
        } else if (is(how_.stores)) {
            store();
        } else if (is(how_.root_changes)) {
            change_roots();
        } else if (is(how_.weak_uses)) {
            use_weak();
        } else if (is(how_.array_uses)) {
            use_array();
        } else {
            held_.clear();
            step();
        }
    }

    void step() {
        switch (any(how_.small_step_count + 5)) {
            case 0:
                heap_.step({.bytes = 1 + any(600)});
                break;
            case 1:
                heap_.step({.microseconds = any(3)});
                break;
            case 2:
                if (how_.small_step_count == 0) { heap_.step(); }
                break;
            case 3:
                if (any(32) == 0) { heap_.collect(); }
                break;
            default:
                heap_.step({.steps = 1 + any(3)});
                break;
        }
    }

    /// Something that is reachable, or was since the last safe point. Nullptr: nothing is.
    thing* pick() {
        if (any(4) == 0 && !held_.empty()) { return held_[any(held_.size())]; }
        if (roots_.empty()) { return nullptr; }
        const rooted& from = roots_[any(roots_.size())];
        thing* at = from.in_heap.get();
        EXPECT_EQ(at->number, from.number);
        for (std::uint32_t steps = any(12); steps != 0; --steps) {
            const numbers& fields = fields_of(at);
            if (fields.empty()) { break; }
            const std::uint32_t i = any(fields.size());
            thing* const next = read(at, i);
            EXPECT_EQ(next == nullptr ? 0 : next->number, fields[i]);
            if (next == nullptr) { break; }
            at = next;
        }
        if (held_.size() < 8) { held_.push_back(at); }
        return at;
    }
    numbers& fields_of(thing* t) {
        const auto found = fields_.find(t->number);
        EXPECT_NE(found, fields_.end()) << "what is referred to was made, and is not gone";
        static numbers none;
        return found == fields_.end() ? none : found->second;
    }
    void make() {
        const std::uint32_t n = ++last_number_;
        if (how_.fills && any(4) == 0) { static_cast<void>(heap_.make<filler>()); }
        thing* const first = any(2) == 0 ? pick() : nullptr;
        numbers fields;
        if (any(40) == 0) {
            throw_in_constructor(n);
            return;
        }
        thing* const made = make_any({heap_, n, first, mortals_}, any(39), fields);
        if (made == nullptr) {
            ++refused_;
            if (!roots_.empty()) { drop_root(any(roots_.size())); }
            return;
        }
        fields_[n] = fields;
        thing* const parent = pick();
        if (parent == nullptr || fields_of(parent).empty() || any(how_.root_every) == 0) {
            if (roots_.size() == how_.root_count_max) { drop_root(any(roots_.size())); }
            roots_.push_back({root<thing>{made}, n});
            return;
        }
        set(parent, made);
    }
    void throw_in_constructor([[maybe_unused]] std::uint32_t n) {
#if defined(__cpp_exceptions)
        EXPECT_THROW(
            {
                if (heap_.make<failing_to_begin>(heap_, n) == nullptr) { throw 1; }
            },
            int);
#endif
    }
    void set(thing* parent, thing* to) {
        numbers& fields = fields_of(parent);
        if (fields.empty()) { return; }
        const std::uint32_t i = any(fields.size());
        // Often enough that the log is full before the next step.
        const bool is_repeated = how_.small_step_count != 0 && any(32) == 0;
        for (int times = is_repeated ? 150 : 1; times != 0; --times) { write(parent, i, to); }
        fields[i] = to == nullptr ? 0 : to->number;
    }
    void store() {
        thing* const parent = pick();
        if (parent != nullptr) { set(parent, any(4) == 0 ? nullptr : pick()); }
    }

    void drop_root(std::uint32_t i) {
        if (any(2) == 0) { roots_[i] = roots_.back(); }  // by copy
        roots_[i] = std::move(roots_.back());
        roots_.pop_back();
    }
    void change_roots() {
        if (roots_.empty()) { return; }
        const std::uint32_t i = any(roots_.size());
        if (any(3) == 0 && roots_.size() > 2) {
            drop_root(i);
        } else if (thing* const other = pick(); other != nullptr) {
            roots_[i] = {root<thing>{other}, other->number};
        }
    }

    void use_weak() {
        if (weak_.size() < 32) {
            if (thing* const t = pick(); t != nullptr) {
                weak_.push_back({weak_ref{t}, t->number});
            }
            return;
        }
        weakened& w = weak_[any(weak_.size())];
        thing* const t = w.in_heap.get();
        if (t != nullptr) {
            EXPECT_EQ(t->number, w.number) << "a weak reference never leads to another object";
            if (held_.size() < 8) { held_.push_back(t); }
        }
        if (t == nullptr || any(4) == 0) {
            w = weak_.back();
            weak_.pop_back();
        }
    }

    void use_array() {
        thing* const t = pick();
        if (t == nullptr || t->what != kind::squad) { return; }
        ref_array<thing>& members = static_cast<squad*>(t)->members;
        numbers& fields = fields_of(t);
        ASSERT_EQ(members.size(), fields.size());
        change_array(members, fields, pick(), [this](std::size_t count) { return any(count); });
    }

    /// Compares all that is reachable; `exactly`: after a collection, that nothing else is there.
    void check(bool exactly) {
        if (exactly) {
            held_.clear();
            heap_.collect();
            heap_.collect();  // what a before_collect of the first one made
        }
        std::unordered_map<std::uint32_t, thing*> reached;
        std::vector<thing*> open;
        const auto reach = [&](thing* t, std::uint32_t number) {
            ASSERT_NE(t, nullptr);
            ASSERT_EQ(t->number, number) << "what is reachable is never freed";
            if (reached.emplace(number, t).second) { open.push_back(t); }
        };
        std::size_t buffers = 0;
        for (const rooted& r : roots_) { reach(r.in_heap, r.number); }
        while (!open.empty() && !testing::Test::HasFatalFailure()) {
            thing* const t = open.back();
            open.pop_back();
            const numbers& fields = fields_of(t);
            for (std::uint32_t i = 0; i < fields.size(); ++i) {
                if (fields[i] != 0) { reach(read(t, i), fields[i]); }
            }
            if (t->what == kind::mortal) { EXPECT_EQ(mortals_[t->number], 1); }
            if (t->what == kind::squad) {
                buffers += static_cast<squad*>(t)->members.capacity() == 0 ? 0u : 1u;
            }
        }
        for (const weakened& w : weak_) {
            if (reached.contains(w.number)) {
                EXPECT_NE(w.in_heap.get(), nullptr) << "what is reachable is found weakly";
            } else if (exactly) {
                EXPECT_EQ(w.in_heap.get(), nullptr) << "what is gone is not";
            }
        }
        if (exactly) {
            EXPECT_EQ(heap_.stats().object_count, reached.size() + buffers)
                << "what is not reachable is gone";
            std::erase_if(fields_, [&](const auto& f) { return !reached.contains(f.first); });
        }
    }

    std::mt19937 random_;
    habits how_;
    std::unordered_map<std::uint32_t, int> mortals_;  // 1: lives, 2: before_collect was called
    std::unordered_map<std::uint32_t, numbers> fields_;
    collected_heap heap_;
    std::vector<rooted> roots_;
    std::vector<weakened> weak_;
    std::vector<thing*> held_;  // raw pointers, since the last safe point
    std::uint32_t last_number_ = 0;
    int refused_ = 0;
};

}  // namespace graphs
