// tests/collected/graph_things.hpp - objects with numbers, of each kind that a collected heap has.
//
//      leaf     refers to nothing                  squad    a growing array, told by a trace()
//      triple   three fixed places                 mortal   a before_collect and a destructor
//      large    a reference far behind 8 KiB       filler   garbage, so that a cycle begins soon
#pragma once

#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace graphs {

using namespace cairn;

enum class kind : std::uint32_t { leaf, triple, squad, mortal, large };

struct thing {
    std::uint32_t number;
    kind what;
    using references = refers_to<>;
};
struct leaf : thing {};
struct triple : thing {
    triple(std::uint32_t n, thing* first) noexcept : thing{n, kind::triple}, at{first, {}, {}} {}
    ref<thing> at[3];
    using references = refers_to<&triple::at>::and_base<thing>;
};
struct squad : thing {
    explicit squad(std::uint32_t n) noexcept : thing{n, kind::squad} {}
    ref_array<thing> members;
    void trace(visitor& v) { v(members); }
};
struct mortal : thing {
    mortal(std::uint32_t n, std::unordered_map<std::uint32_t, int>& l, collected_heap& h) noexcept
        : thing{n, kind::mortal}, lives{&l}, heap{&h} {
        (*lives)[n] = 1;
    }
    void before_collect() noexcept {
        EXPECT_EQ((*lives)[number], 1) << "before_collect runs once, first";
        if (at) {
            EXPECT_LE(static_cast<unsigned>(at->what), 4u) << "while its neighbours are whole";
        }
        (*lives)[number] = 2;
        if (number % 4 == 0) {  // finalizers may make objects, which are garbage at once here
            if (leaf* const made = heap->make<leaf>(thing{number, kind::leaf})) {
                at = made;
                EXPECT_EQ(at->number, number);
            }
        }
    }
    ~mortal() {
        EXPECT_EQ((*lives)[number], 2) << "an object ends once, after before_collect";
        EXPECT_EQ(at.get(), nullptr) << "in a destructor the references are null";
        lives->erase(number);
    }
    ref<thing> at;
    std::unordered_map<std::uint32_t, int>* lives;
    collected_heap* heap;
    using references = refers_to<&mortal::at>::and_base<thing>;
};
struct large : thing {
    explicit large(std::uint32_t n) noexcept : thing{n, kind::large} {}
    char filling[9000] = {};
    ref<thing> at;
    using references = refers_to<&large::at>::and_base<thing>;
};
struct filler {
    filler() noexcept {}
    char bytes[4000];
};
#if defined(__cpp_exceptions)
struct failing_to_begin : thing {
    failing_to_begin(collected_heap& heap, std::uint32_t n) : thing{n, kind::leaf} {
        child = heap.make<leaf>(thing{n, kind::leaf});
        throw 1;
    }
    ref<thing> child;
    using references = refers_to<&failing_to_begin::child>::and_base<thing>;
};
#endif

inline thing* read(thing* from, std::uint32_t i) {
    switch (from->what) {
        case kind::leaf:
            return nullptr;
        case kind::triple:
            return static_cast<triple*>(from)->at[i];
        case kind::squad:
            return static_cast<squad*>(from)->members[i];
        case kind::mortal:
            return static_cast<mortal*>(from)->at;
        case kind::large:
            return static_cast<large*>(from)->at;
    }
    return nullptr;
}
inline void write(thing* from, std::uint32_t i, thing* to) {
    switch (from->what) {
        case kind::leaf:
            break;
        case kind::triple:
            static_cast<triple*>(from)->at[i] = to;
            break;
        case kind::squad:
            static_cast<squad*>(from)->members.set(i, to);
            break;
        case kind::mortal:
            static_cast<mortal*>(from)->at = to;
            break;
        case kind::large:
            static_cast<large*>(from)->at = to;
            break;
    }
}

using numbers = std::vector<std::uint32_t>;  // of what an object refers to; 0: null

struct birth {
    collected_heap& heap;
    std::uint32_t number;
    thing* first;  // what a triple refers to
    std::unordered_map<std::uint32_t, int>& mortals;
};
/// Makes a large object of 39, 3 squads, 4 mortals, 3 leaves, 28 triples, by `which`. Returns:
/// nullptr when the heap is exhausted.
inline thing* make_any(const birth& b, std::uint32_t which, numbers& fields) {
    fields = {0};
    if (which == 0) { return b.heap.make<large>(b.number); }
    if (which < 5) { return b.heap.make<mortal>(b.number, b.mortals, b.heap); }
    fields.clear();
    if (which < 8) { return b.heap.make<squad>(b.number); }
    if (which < 11) { return b.heap.make<leaf>(thing{b.number, kind::leaf}); }
    fields = {b.first == nullptr ? 0 : b.first->number, 0, 0};
    return b.heap.make<triple>(b.number, b.first);
}

/// Changes the elements of a squad in one of the ways that there are.
template <class Any>
void change_array(ref_array<thing>& members, numbers& fields, thing* to, Any any) {
    const std::uint32_t what = any(10);
    if (what < 6 && fields.size() < 300) {
        for (std::uint32_t i = any(4) == 0 ? 40 : 1; i != 0; --i) {
            if (!members.push_back(to)) { return; }
            fields.push_back(to == nullptr ? 0 : to->number);
        }
    } else if (fields.empty()) {
        return;
    } else if (what == 6) {
        members.pop_back();
        fields.pop_back();
    } else if (what == 7) {
        const std::uint32_t i = any(fields.size());
        members.erase(i);
        fields.erase(fields.begin() + i);
    } else if (what == 8) {
        const std::uint32_t i = any(fields.size());
        members.swap_erase(i);
        fields[i] = fields.back();
        fields.pop_back();
    } else if (any(5) == 0) {
        members.clear();
        fields.clear();
    }
}

}  // namespace graphs

template <>
inline constexpr bool cairn::enable_trivial_relocation<graphs::triple> = true;
template <>
inline constexpr bool cairn::enable_trivial_relocation<graphs::squad> = true;
template <>
inline constexpr bool cairn::enable_trivial_relocation<graphs::mortal> = true;
