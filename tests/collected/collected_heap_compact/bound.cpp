// Sentences of cairn/collected/collected_heap.hpp about compact(): what is free afterwards, what
// stays.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "collected/collected_heap_compact/units.hpp"

namespace {

using namespace units;

struct stays {
    std::uint64_t value = 0;
    ref<stays> next;
    using references = refers_to<&stays::next>;
};
struct plain {
    std::uint64_t value[3];
};

constexpr std::size_t chunk = cairn::detail::chunk_size;

template <class T>
std::vector<root<T>> many(collected_heap& heap, std::size_t count) {
    std::vector<root<T>> all;
    for (std::size_t i = 0; i < count; ++i) { all.emplace_back(heap.make<T>()); }
    return all;
}
/// Keeps each `step`th.
template <class T>
void thin_out(std::vector<root<T>>& all, std::size_t step) {
    std::vector<root<T>> kept;
    for (std::size_t i = 0; i < all.size(); i += step) { kept.push_back(std::move(all[i])); }
    all = std::move(kept);
}

TEST(collected_heap_compact_test, chunks_that_become_empty_are_free_for_other_types) {
    collected_heap heap{1 << 20};
    auto units = many<unit>(heap, 30'000);
    auto plains = many<plain>(heap, 100);
    thin_out(units, 50);
    heap.collect();
    EXPECT_LT(heap.stats().free_chunk_count, 8u) << "each chunk has a unit that lives";
    const cairn::collection_report report = heap.compact();
    EXPECT_GT(report.moved_count, 500u);
    EXPECT_LE(report.moved_count, units.size());
    heap.validate();
    const auto stats = heap.stats();
    EXPECT_EQ(stats.object_count, units.size() + plains.size());
    EXPECT_EQ(stats.capacity - stats.free_chunk_count * chunk, 2 * chunk + chunk)
        << "600 units of 32 bytes in two chunks, 100 others in one";
    std::size_t more = 0;
    while (heap.make<plain>() != nullptr) { ++more; }
    EXPECT_GT(more * 32, (1u << 20) - 5 * chunk);
}

TEST(collected_heap_compact_test, less_than_a_chunk_of_each_type_is_not_live) {
    collected_heap heap{4 << 20};
    dice any;
    auto units = many<unit>(heap, 20'000);
    auto ships = many<ship>(heap, 9'000);
    auto plains = many<plain>(heap, 20'000);
    for (int round = 0; round < 6; ++round) {
        for (auto* const all : {&units}) {
            for (auto& u : *all) {
                if (any.below(3) == 0) { u = nullptr; }
            }
        }
        for (auto& s : ships) {
            if (any.below(2) == 0) { s = nullptr; }
        }
        for (auto& p : plains) {
            if (any.below(4) == 0) { p = nullptr; }
        }
        heap.compact();
        heap.validate();
        const auto stats = heap.stats();
        const std::size_t taken = stats.capacity - stats.free_chunk_count * chunk;
        EXPECT_LE(taken, stats.used_size + 3 * chunk + taken / 128) << "and what slots leave over";
    }
}

TEST(collected_heap_compact_test, a_reference_to_a_base_follows_its_object) {
    collected_heap heap{1 << 20};
    std::vector<root<named>> all;
    for (std::uint32_t i = 0; i < 5'000; ++i) {
        ship* const s = heap.make<ship>();
        ASSERT_NE(s, nullptr);
        s->number = i;
        all.emplace_back(s);
    }
    thin_out(all, 50);
    const root<fleet> f = heap.make<fleet>();
    f->flagship = all.back().get();
    EXPECT_GT(heap.compact().moved_count, 50u);
    for (std::uint32_t i = 0; i < all.size(); ++i) { EXPECT_EQ(all[i]->number, 50 * i); }
    EXPECT_EQ(f->flagship.get(), all.back().get());
    heap.validate();
}

TEST(collected_heap_compact_test, a_weak_reference_finds_what_stays_where_it_is) {
    collected_heap heap{1 << 20};
    auto units = many<unit>(heap, 20'000);
    unit* const where = units[19'950].get();
    const weak_ref<unit> weak{where};
    thin_out(units, 50);
    heap.compact();
    ASSERT_EQ(weak.get(), where) << "its chunk has a weak reference";
    EXPECT_EQ(units[19'950 / 50].get(), where);
    thin_out(units, 10'000);
    heap.compact();
    EXPECT_EQ(weak.get(), nullptr);
    heap.validate();
}

TEST(collected_heap_compact_test, what_is_not_said_to_be_movable_stays) {
    collected_heap heap{1 << 20};
    auto all = many<stays>(heap, 10'000);
    thin_out(all, 100);
    std::vector<const stays*> places;
    for (const auto& s : all) { places.push_back(s.get()); }
    EXPECT_EQ(heap.compact().moved_count, 0u);
    for (std::size_t i = 0; i < all.size(); ++i) { EXPECT_EQ(all[i].get(), places[i]); }
}

TEST(collected_heap_compact_test, an_empty_heap_has_nothing_to_move) {
    collected_heap heap{1 << 20};
    EXPECT_EQ(heap.compact().moved_count, 0u);
    static_cast<void>(heap.make<unit>());
    EXPECT_EQ(heap.compact().moved_count, 0u);
    EXPECT_EQ(heap.stats().free_chunk_count, (1u << 20) / chunk) << "the open chunk is empty, too";
    collected_heap none{1000};
    EXPECT_EQ(none.compact().moved_count, 0u);
}

#if CAIRN_ASSERTS

collected_heap* compacted = nullptr;
struct compacts_at_its_end {
    ~compacts_at_its_end() { compacted->compact(); }
    using references = refers_to<>;
};

TEST(collected_heap_compact_test, in_a_destructor_it_is_named) {
    EXPECT_TRUE(expect_broken_promise([] {
                    collected_heap heap{1 << 20};
                    compacted = &heap;
                    static_cast<void>(heap.make<compacts_at_its_end>());
                    heap.collect();
                }).says("begins no step of its heap"));
}

#endif

}  // namespace
