// Sentences of cairn/debug/memory_page.hpp.
#include <cairn/debug/memory_page.hpp>
#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace cairn;

namespace {

void append(const char* text, std::size_t size, void* to) {
    static_cast<std::string*>(to)->append(text, size);
}
/// The page that `fill` makes.
template <class Fill>
std::string page_of(Fill fill) {
    std::string text;
    {
        memory_page page{&append, &text};
        fill(page);
    }
    return text;
}
std::size_t count_of(const std::string& text, const std::string& words) {
    std::size_t count = 0;
    for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1)) { ++count; }
    return count;
}

template <class K = value>
struct spark {
    field<K, float> x, y;
    field<K, double> heat;
};

}  // namespace

TEST(memory_page, is_a_whole_document) {
    const std::string text = page_of([](memory_page&) {});
    EXPECT_EQ(text.find("<!doctype html>"), 0u);
    EXPECT_NE(text.find("</body></html>"), text.npos);
    EXPECT_EQ(count_of(text, "<script"), 0u);
}

TEST(memory_page, shows_each_memory_of_a_snapshot_and_escapes_its_name) {
    heap<> meshes;
    const registry::entry listed{"a<b&c", meshes};
    registry::publish();
    memory_snapshot now;
    ASSERT_TRUE(registry::read(now));
    const std::string text = page_of([&](memory_page& p) { p.add(now); });
    EXPECT_EQ(count_of(text, "<td>a&lt;b&amp;c<td>0<td>"), 1u) << text;
}

TEST(memory_page, maps_every_byte_of_a_heap_once) {
    heap<> meshes{std::size_t{1} << 20};
    void* const p = meshes.allocate(500'000);
    const std::string text = page_of([&](memory_page& page) { page.add("meshes", meshes); });
    const std::size_t capacity = meshes.stats().capacity;
    const std::size_t cell = capacity / 1536 + 1;
    EXPECT_EQ(count_of(text, "<rect"), (capacity + cell - 1) / cell);
    EXPECT_NEAR(static_cast<double>(count_of(text, "fill=\"#288cf0\"")),
                static_cast<double>(meshes.good_size(500'000)) / static_cast<double>(cell), 2)
        << "the live half is blue";
    EXPECT_EQ(count_of(text, "<svg"), count_of(text, "</svg>"));
    meshes.deallocate(p, 500'000);
}

TEST(memory_page, draws_a_last_cell_of_two_equal_halves) {
    for (std::size_t size = 256 << 10; size < 512 << 10; size += 16) {
        heap<> blocks{size};
        const std::size_t capacity = blocks.stats().capacity;
        const std::size_t cell = capacity / 1536 + 1;
        const std::size_t last = capacity % cell;
        const std::size_t half = last / 2;
        if (last < 128 || last % 32 != 0 || (capacity - half) % 32 != 0) { continue; }
        std::vector<void*> small((capacity - half) / 32);
        for (void*& p : small) { p = blocks.allocate(32 - heap<>::header_size); }
        const auto count = [&] {
            return count_of(page_of([&](memory_page& p) { p.add("blocks", blocks); }), "<rect");
        };
        EXPECT_EQ(count(), capacity / cell + 1) << "the second half is free";
        blocks.deallocate(blocks.allocate(half - heap<>::header_size));
        EXPECT_EQ(blocks.stats().deferred_size, half);
        EXPECT_EQ(count(), capacity / cell + 1) << "the second half waits unmerged";
        for (void* const p : small) { blocks.deallocate(p); }
        return;
    }
    FAIL() << "no such size";
}

TEST(memory_page, shows_how_full_the_pages_of_a_pool_are) {
    pool sparks{1024, alignment{1024}};
    std::vector<void*> slots;
    for (int i = 0; i < 8; ++i) { slots.push_back(sparks.allocate()); }
    const std::string text = page_of([&](memory_page& page) { page.add("sparks", sparks); });
    EXPECT_NE(text.find("8192 bytes live in"), text.npos) << text;
    EXPECT_EQ(count_of(text, "<rect"), text.find("3 pages have") != text.npos ? 3u : 2u);
    for (void* s : slots) { sparks.deallocate(s); }
}

TEST(memory_page, shows_the_columns_of_a_table_and_the_generations_of_a_slot_map) {
    table<spark<>, soa> sparks;
    ASSERT_TRUE(sparks.emplace_back(1.0F, 2.0F, 3.0));
    slot_map<int, slot_policy<32>> enemies;
    auto h = enemies.emplace(1);
    for (int i = 0; i < 100; ++i) {
        enemies.erase(h);
        h = enemies.emplace(i);
    }
    const std::string text = page_of([&](memory_page& page) {
        page.add("sparks", sparks);
        page.add("enemies", enemies);
    });
    EXPECT_EQ(count_of(text, "<td>4 of "), 2u) << text;
    EXPECT_EQ(count_of(text, "<td>8 of "), 1u) << text;
    EXPECT_NE(text.find("1 objects; at least "), text.npos) << text;
    EXPECT_EQ(count_of(text, "<td>1 of 1"), 1u) << text;
    EXPECT_EQ(count_of(text, "<h2>sparks</h2>") + count_of(text, "<h2>enemies</h2>"), 2u);
    EXPECT_EQ(count_of(text, "<meter"), 3u + 10u) << "three columns, ten parts of generations";
    EXPECT_EQ(count_of(text, "<table>"), 2u);
    EXPECT_EQ(count_of(text, "</table>"), 2u);
}

TEST(memory_page, has_an_object_in_the_tenth_of_the_generations_that_it_has_left) {
    slot_map<int, slot_policy<32>> enemies;
    auto h = enemies.emplace(1);
    while (enemies.generations_left(h) != 2048) {  // half of 4,096: the first one of the sixth part
        enemies.erase(h);
        h = enemies.emplace(1);
        ASSERT_TRUE(h);
    }
    const std::string text = page_of([&](memory_page& page) { page.add("enemies", enemies); });
    EXPECT_EQ(count_of(text, "<tr><td>5<td><meter max=\"1\" value=\"1\">"), 1u) << text;
}

TEST(memory_page, is_high_enough_for_all_pages_of_a_pool) {
    pool sparks{4096, alignment{4096}};
    std::vector<void*> slots;
    for (int i = 0; i < 96 * 20 + 1; ++i) { slots.push_back(sparks.allocate()); }
    const std::string text = page_of([&](memory_page& page) { page.add("sparks", sparks); });
    EXPECT_EQ(count_of(text, "<rect"), slots.size());
    EXPECT_EQ(count_of(text, "y=\"200\""), 1u);
    EXPECT_EQ(count_of(text, "<svg width=\"960\" height=\"210\">"), 1u);
    const pool::stats_type s = sparks.stats();
    EXPECT_NE(text.find(std::to_string(s.chunk_count) + " chunks, " +
                        std::to_string(s.upstream_size) + " bytes in all"),
              text.npos);
    for (void* p : slots) { sparks.deallocate(p); }
}

TEST(memory_page, counts_the_generations_left_from_the_first_one_of_the_map) {
    using map = slot_map<int, slot_policy<32>>;
    map enemies{{.first_generation = 4'000}};
    const auto first = enemies.emplace(1);
    EXPECT_EQ(map::handle_type::generation_max, 4'095u);
    EXPECT_EQ(enemies.generations_left(first), 4'094u);
    const std::string text = page_of([&](memory_page& page) { page.add("enemies", enemies); });
    EXPECT_NE(text.find("1 objects; at least 4094 of 4095 generations are left"), text.npos)
        << text;
}
