// Sentences of cairn/containers/polymorphic_store.hpp about any history of calls: a random one
// against a model, and one with every request refused in turn.
#include <cairn/containers/polymorphic_store.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "containers/map_model.hpp"
#include "containers/polymorphic_store/things.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using map_model::tracked;
using namespace polymorphic_tests;

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
