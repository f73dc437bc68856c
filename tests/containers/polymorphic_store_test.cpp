// Objects of several types behind one kind of handle: the same promises for a closed set of types
// and for an open one.
#include <cairn/containers/polymorphic_store.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "containers/map_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

using map_model::quiet;
using map_model::tracked;

struct thing {
    thing() = default;
    thing(const thing&) = default;
    thing& operator=(const thing&) = default;
    virtual std::uint64_t value() const = 0;
    virtual int kind() const = 0;
    int visits = 0;

protected:
    ~thing() = default;
};
template <std::size_t Bytes>
struct padding {
    std::uint8_t bytes[Bytes] = {};
};
/// Each type has another size, and its base lies elsewhere in it.
template <unsigned Kind>
struct a_kind final : padding<std::size_t{16} * Kind + 8>, thing {
    explicit a_kind(std::uint64_t v) : held{v} {}
    std::uint64_t value() const override { return held.value(); }
    int kind() const override { return static_cast<int>(Kind); }
    quiet held;
};
using disc = a_kind<0>;
using box = a_kind<1>;
using ring = a_kind<2>;

template <class Store>
class polymorphic : public testing::Test {};
using sets = testing::Types<polymorphic_store<thing, disc, box, ring>, polymorphic_store<thing>>;
TYPED_TEST_SUITE(polymorphic, sets);

/// A new object of kind 0, 1 or 2.
template <class Store>
auto add(Store& store, int kind, std::uint64_t value) {
    return kind == 0   ? store.template emplace<disc>(value)
           : kind == 1 ? store.template emplace<box>(value)
                       : store.template emplace<ring>(value);
}

}  // namespace

TYPED_TEST(polymorphic, an_object_is_found_by_its_handle_as_its_base_and_as_what_it_is) {
    // The slots of all types begin with the same life, so that only the type tells them apart.
    TypeParam store{system_memory(), {.first_generation = 5}};
    EXPECT_TRUE(store.empty());
    const auto d = store.template emplace<disc>(1u);
    const auto b = store.insert(box{2});
    const auto r = store.template emplace_with<ring>([](auto h) { return ring{h.raw()}; });
    EXPECT_EQ(store.size(), 3u);
    EXPECT_EQ(store.template size<box>(), 1u);
    EXPECT_EQ(store.type_count(), 3u);
    EXPECT_EQ(store[d].value(), 1u);
    EXPECT_EQ(std::as_const(store).at(b).kind(), 1);
    EXPECT_EQ(store.find(r)->value(), r.raw()) << "make() is told the handle that is returned";
    EXPECT_EQ(store.template find<box>(b), store.find(b));
    EXPECT_EQ(std::as_const(store).template find<ring>(b), nullptr) << "it is of another type";
    const auto second = store.insert(box{9});
    EXPECT_EQ(std::as_const(store).template find<box>(second)->value(), 9u);
    EXPECT_TRUE(store.erase(second));
    EXPECT_EQ(store.handle_of(store[b]), b);
    EXPECT_EQ(store.handle_of(store[r]), r);
    EXPECT_NE(d, b) << "handles name the type";
    EXPECT_TRUE(store.erase(b));
    EXPECT_FALSE(store.erase(b));
    EXPECT_EQ(store.find(b), nullptr);
    EXPECT_EQ(store.fault_of(b), handle_fault::stale);
    EXPECT_EQ(store.fault_of(d), handle_fault::none);
    EXPECT_EQ(store.fault_of({}), handle_fault::null);
    EXPECT_EQ(store.fault_of(d.with_user(400)), handle_fault::foreign) << "no such type";
    EXPECT_EQ(store.find(d.with_user(400)), nullptr);
    EXPECT_FALSE(store.template take<box>(d)) << "it is of another type";
    EXPECT_EQ(store.template take<disc>(d)->value(), 1u);
    EXPECT_FALSE(store.contains(d));
    store.validate();
}

TYPED_TEST(polymorphic, loops_visit_each_object_once_type_by_type) {
    TypeParam store;
    std::vector<typename TypeParam::handle_type> all;
    for (int i = 0; i < 300; ++i) { all.push_back(add(store, i % 3, static_cast<unsigned>(i))); }
    for (int i = 0; i < 300; i += 7) { EXPECT_TRUE(store.erase(all[static_cast<unsigned>(i)])); }
    const std::size_t left = store.size();
    const auto visited = [&](int times, int kind = -1) {
        std::size_t count = 0;
        for (const thing& t : std::as_const(store)) {
            count += t.visits == times && (kind < 0 || t.kind() == kind) ? 1u : 0u;
        }
        return count;
    };
    store.for_each([](thing& t) { ++t.visits; });
    EXPECT_EQ(visited(1), left);
    store.for_each([&](auto h, auto& t) {
        EXPECT_EQ(store.find(h), &t);
        ++t.visits;
    });
    EXPECT_EQ(visited(2), left);
    for (thing& t : store) { ++t.visits; }
    EXPECT_EQ(visited(3), left);
    for (auto [h, t] : store.items()) {
        EXPECT_EQ(&store[h], &t);
        ++t.visits;
    }
    EXPECT_EQ(visited(4), left);
    store.template for_each<box>([](box& b) { ++b.visits; });
    EXPECT_EQ(visited(5, 1), store.template size<box>());
    EXPECT_EQ(visited(4), left - store.template size<box>());
    store.template for_each<box>([&](auto h, box& b) {
        EXPECT_EQ(store.template find<box>(h), &b);
        --b.visits;
    });
    EXPECT_EQ(visited(4), left);
    std::size_t count = 0;
    std::as_const(store).template for_each<disc>([&](const disc&) { ++count; });
    std::as_const(store).for_each(
        [&](auto h, const auto&) { count += store.contains(h) ? 1u : 0u; });
    for (auto [h, t] : std::as_const(store).items()) { count += store.find(h) == &t ? 1u : 0u; }
    EXPECT_EQ(count, store.template size<disc>() + 2 * left);
    int before = 0;
    for (const thing& t : store) {
        EXPECT_LE(before, t.kind()) << "type by type";
        before = t.kind();
    }
    const std::span<disc> discs = store.template values<disc>();
    EXPECT_EQ(discs.size(), store.template size<disc>());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(discs.data()) % cache_line_size, 0u);
}

TYPED_TEST(polymorphic, a_type_that_has_no_objects_is_passed_over) {
    TypeParam store;
    EXPECT_TRUE(store.begin() == store.end());
    for (auto [h, t] : store.items()) { ADD_FAILURE() << h.raw() << t.kind(); }
    EXPECT_EQ(store.template size<ring>(), 0u);
    EXPECT_EQ(store.template capacity<ring>(), 0u);
    EXPECT_EQ(store.template erase_if<ring>([](const ring&) { return true; }), 0u);
    EXPECT_TRUE(store.template sort<ring>([](const ring&, const ring&) { return false; }));
    store.template clear<ring>();
    const auto d = add(store, 0, 1);
    const auto b = add(store, 1, 2);
    add(store, 2, 3);
    EXPECT_TRUE(store.erase(b));
    std::vector<std::uint64_t> values;
    for (const thing& t : store) { values.push_back(t.value()); }
    EXPECT_EQ(values, (std::vector<std::uint64_t>{1, 3}));
    EXPECT_TRUE(store.erase(d));
    EXPECT_EQ(store.begin()->value(), 3u);
    store.clear();
    EXPECT_TRUE(store.begin() == store.end());
}

TYPED_TEST(polymorphic, a_random_history_ends_as_the_model_says) {
    struct known {
        typename TypeParam::handle_type handle;
        int kind;
        std::uint64_t value;
    };
    {
        test_upstream upstream;
        TypeParam store{upstream};
        std::mt19937 random{11};
        std::vector<known> live;
        std::vector<known> dead;
        for (std::uint64_t step = 1; step <= 6000; ++step) {
            const unsigned dice = static_cast<unsigned>(random() % 100);
            if (dice < 55 || live.empty()) {
                const int kind = static_cast<int>(random() % 3);
                live.push_back({add(store, kind, step), kind, step});
            } else if (dice < 97) {
                std::swap(live[random() % live.size()], live.back());
                const known gone = live.back();
                live.pop_back();
                if (dice < 75) {
                    ASSERT_TRUE(store.erase(gone.handle));
                } else if (dice < 85) {
                    ASSERT_TRUE(store.retire(gone.handle, step));
                } else if (gone.kind == 0) {
                    ASSERT_EQ(store.template take<disc>(gone.handle)->value(), gone.value);
                } else {
                    ASSERT_TRUE(store.erase(gone.handle));
                }
                dead.push_back(gone);
            } else if (dice == 97) {
                const auto odd = [](const auto& t) { return t.value() % 16 == 1; };
                std::size_t count = store.erase_if(odd);
                std::erase_if(live, [&](const known& k) {
                    if (k.value % 16 != 1) { return false; }
                    dead.push_back(k);
                    --count;
                    return true;
                });
                ASSERT_EQ(count, 0u);
            } else if (dice == 98) {
                ASSERT_TRUE(store.template sort<box>(
                    [](const box& a, const box& b) { return a.value() > b.value(); }));
                EXPECT_LE(store.collect(step / 2), step);
            } else {
                auto other = std::move(store);
                store = std::move(other);
            }
            ASSERT_EQ(store.size(), live.size());
            if (!live.empty()) {
                const known& k = live[random() % live.size()];
                thing* const found = store.find(k.handle);
                ASSERT_NE(found, nullptr);
                ASSERT_EQ(found->value(), k.value);
                ASSERT_EQ(found->kind(), k.kind);
                ASSERT_EQ(store.handle_of(*found), k.handle);
            }
            if (!dead.empty()) {
                ASSERT_FALSE(store.contains(dead[random() % dead.size()].handle));
            }
            if (step % 500 == 0) { store.validate(); }
        }
        store.collect(6000);
        EXPECT_EQ(tracked::alive_count, static_cast<int>(live.size()));
        auto copy = store.clone();
        ASSERT_TRUE(copy);
        copy->validate();
        for (const known& k : live) {
            ASSERT_TRUE(copy->contains(k.handle));
            ASSERT_EQ((*copy)[k.handle].value(), k.value);
        }
        for (const known& k : dead) { ASSERT_FALSE(copy->contains(k.handle)); }
        store.clear();
        EXPECT_TRUE(store.empty());
        EXPECT_EQ(copy->size(), live.size()) << "a clone lives alone";
        swap(store, *copy);
        EXPECT_TRUE(copy->empty());
        EXPECT_EQ(store.size(), live.size());
    }
    EXPECT_EQ(tracked::alive_count, 0) << "every object ends as what it is";
}

TYPED_TEST(polymorphic, an_exhausted_upstream_is_an_answer_at_every_request) {
    // One request is refused, or each from there on.
    for (const std::size_t count : {std::size_t{1}, test_upstream::never}) {
        bool refused = true;
        for (std::size_t n = 0; refused; ++n) {
            ASSERT_LT(n, 200u);
            test_upstream upstream;
            TypeParam store{upstream};
            upstream.refuse_from(n, count);
            std::size_t size = 0;
            refused = false;
            const auto answer = [&](bool ok) {
                refused = refused || !ok;
                EXPECT_EQ(store.size(), size);
                store.validate();
            };
            answer(store.template reserve<ring>(10));
            for (int i = 0; i < 200; ++i) {
                const auto h = add(store, i % 3, 5);
                size += h ? 1u : 0u;
                answer(static_cast<bool>(h));
            }
            if (size != 0) {
                const bool retired = store.retire(store.handle_of(*store.begin()), 1);
                size -= retired ? 1u : 0u;
                answer(retired);
            }
            answer(store.template sort<box>([](const box& a, const box& b) { return &a < &b; }));
            const auto copy = store.clone();
            answer(copy.has_value());
        }
    }
}

TYPED_TEST(polymorphic, room_that_was_reserved_asks_for_nothing_and_moves_nothing) {
    test_upstream upstream;
    TypeParam store{upstream};
    ASSERT_TRUE(store.template reserve<box>(100));
    EXPECT_GE(store.template capacity<box>(), 100u);
    ASSERT_TRUE(store.template reserve_address_space<ring>(5000));
    const ring* const r = store.template find<ring>(add(store, 2, 1));
    upstream.refuse_from(0);
    for (int i = 0; i < 100; ++i) { EXPECT_TRUE(add(store, 1, 2)); }
    for (int i = 0; i < 4000; ++i) { EXPECT_TRUE(add(store, 2, 3)); }
    EXPECT_EQ(store.template values<ring>().data(), r);
    EXPECT_FALSE(store.template reserve<box>(1'000'000));
    EXPECT_FALSE(store.template reserve<box>(std::size_t{1} << 24 | 1)) << "more than handles name";
}

TYPED_TEST(polymorphic, a_handle_of_another_store_finds_nothing) {
    TypeParam one;
    TypeParam other;
    const auto h = add(one, 0, 1);
    add(other, 0, 1);
    EXPECT_EQ(other.find(h), nullptr);
    EXPECT_EQ(other.fault_of(h), handle_fault::foreign);
    const TypeParam kept = std::move(one);
    EXPECT_TRUE(kept.contains(h));
    add(one, 0, 2);
    EXPECT_FALSE(one.contains(h)) << "what was moved from begins with other lives";
    TypeParam again{system_memory(), {.first_generation = 5}};
    TypeParam alike{system_memory(), {.first_generation = 5}};
    EXPECT_EQ(add(again, 1, 1), add(alike, 1, 1)) << "lockstep";
    test_upstream upstream;  // which looks whether every block comes back
    TypeParam full{upstream};
    add(full, 0, 1);
    const auto gone = add(full, 1, 2);
    full = std::move(alike);
    EXPECT_EQ(full.size(), 1u);
    EXPECT_FALSE(full.contains(gone));
}

TYPED_TEST(polymorphic, options_go_where_the_objects_go) {
    const auto options = slot_map_options{.first_generation = 5};
    TypeParam alike{system_memory(), options};
    TypeParam moved{system_memory(), options};
    add(alike, 0, 1);
    add(moved, 0, 1);
    auto copy = moved.clone();
    ASSERT_TRUE(copy);
    TypeParam target;
    target = std::move(moved);
    const auto h = add(alike, 1, 2);
    EXPECT_EQ(add(target, 1, 2), h) << "a type that is new in the store: lockstep goes on";
    EXPECT_EQ(add(*copy, 1, 2), h) << "in a clone too";
}

TYPED_TEST(polymorphic, what_is_retired_is_counted_until_its_fence_has_passed) {
    TypeParam store;
    const auto d = add(store, 0, 1);
    const auto r = add(store, 2, 2);
    add(store, 2, 3);
    EXPECT_EQ(store.pending_count(), 0u);
    EXPECT_TRUE(store.retire(d, 10));
    EXPECT_TRUE(store.retire(r, 20));
    EXPECT_FALSE(store.retire(r, 20)) << "once";
    EXPECT_EQ(store.pending_count(), 2u);
    EXPECT_EQ(store.size(), 1u);
    EXPECT_EQ(store.collect(19), 1u);
    EXPECT_EQ(store.pending_count(), 1u);
    EXPECT_EQ(store.collect(20), 1u);
    EXPECT_EQ(store.pending_count(), 0u);
}

TYPED_TEST(polymorphic, a_store_that_is_moved_to_itself_keeps_its_objects) {
    TypeParam store;
    const auto h = add(store, 1, 7);
    TypeParam& itself = store;
    store = std::move(itself);
    EXPECT_EQ(store.size(), 1u);
    ASSERT_TRUE(store.contains(h));
    EXPECT_EQ(store[h].value(), 7u);
}

TYPED_TEST(polymorphic, iterators_step_after_they_are_read) {
    TypeParam store;
    for (int i = 0; i < 6; ++i) { add(store, i / 3, static_cast<unsigned>(i)); }
    std::uint64_t sum = 0;
    for (auto it = store.begin(); it != store.end();) { sum = 10 * sum + (it++)->value(); }
    EXPECT_EQ(sum, 12345u);
    const auto items = store.items();
    auto item = items.begin();
    const auto first = item++;
    EXPECT_EQ((*first).handle, store.begin().handle());
    EXPECT_FALSE(item == first);
    EXPECT_EQ((*item).handle, (++store.begin()).handle());
}

TYPED_TEST(polymorphic, a_handle_that_finds_nothing_stops_the_program_and_says_why) {
    TypeParam store;
    TypeParam other;
    const auto stale = add(store, 1, 1);
    store.erase(stale);
    const auto foreign = add(other, 2, 1);
    EXPECT_DEATH((void)store.at({}), "the handle is not null");
    EXPECT_DEATH((void)store.at(foreign), "the handle is of this map");
    EXPECT_DEATH((void)std::as_const(store).at(stale), "the handle is not stale");
    if (asserts_enabled) {
        EXPECT_DEATH((void)store[stale], "the handle is not stale");
        EXPECT_DEATH((void)std::as_const(store)[{}], "the handle is not null");
        const disc elsewhere{1};
        EXPECT_DEATH((void)store.handle_of(elsewhere), "the object lives in this store");
    }
}

namespace {

/// No virtual function at all: the base of a closed set that is visited directly.
struct plain {
    int x = 0;
};
struct left : plain {};
struct right : plain {
    double y = 0;
};
struct only_moves : plain {
    explicit only_moves(int v) { x = v; }
    only_moves(only_moves&&) noexcept = default;
    only_moves& operator=(only_moves&&) noexcept = default;
};
struct through_virtual : virtual plain {};

template <class Store>
concept clones = requires(const Store& s) { s.clone(); };

}  // namespace

TEST(polymorphic_store, needs_no_virtual_function_in_its_base) {
    polymorphic_store<plain, left, right> store;
    const auto l = store.emplace<left>();
    const auto r = store.emplace<right>();
    store.for_each([](auto& object) {
        using type = std::remove_reference_t<decltype(object)>;
        object.x = std::is_same_v<type, left> ? 1 : 2;
    });
    EXPECT_EQ(store[l].x, 1);
    EXPECT_EQ(store[r].x, 2);
    EXPECT_EQ(l.user(), 0u) << "a closed set numbers its types as it names them";
    EXPECT_EQ(r.user(), 1u);
}

TEST(polymorphic_store, finds_a_base_that_is_virtual) {
    polymorphic_store<plain> store;
    for (int i = 0; i < 100; ++i) { (void)store.emplace<through_virtual>(); }
    store.for_each([](plain& p) { p.x = 7; });
    int sum = 0;
    for (auto [h, p] : store.items()) { sum += store[h].x + p.x; }
    EXPECT_EQ(sum, 1400);
}

TEST(polymorphic_store, is_cloned_where_its_types_can_be_copied) {
    static_assert(clones<polymorphic_store<plain, left, right>>);
    static_assert(!clones<polymorphic_store<plain, left, only_moves>>);
    polymorphic_store<plain> open;
    (void)open.emplace<left>();
    const auto h = open.emplace<only_moves>(3);
    EXPECT_FALSE(open.clone()) << "an open set learns of its types as it runs";
    EXPECT_TRUE(open.erase(h));
    EXPECT_TRUE(open.clone()) << "no object that cannot be copied is left";
}
