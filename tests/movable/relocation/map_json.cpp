// Sentences of cairn/movable/inside/map_json.hpp. The maps of heaps are in their own tests.
#include <cairn/movable/inside/map_json.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

TEST(map_json, writes_what_its_first_screen_shows) {
    std::string text;
    const auto sink = [&](const char* s, std::size_t n) { text.append(s, n); };
    cairn::detail::map_json json{sink, 256};
    json.begin_range(0, 64);
    json.user(7);
    json.end_range();
    json.begin_range(64, 192);
    json.end_range();
    json.end();
    EXPECT_EQ(text,
              "{\"capacity\":256,\"ranges\":[{\"offset\":0,\"size\":64,\"user\":7},"
              "{\"offset\":64,\"size\":192}]}");
}

TEST(map_json, a_map_without_ranges_the_largest_number_and_flags) {
    std::string text;
    const auto sink = [&](const char* s, std::size_t n) { text.append(s, n); };
    cairn::detail::map_json{sink, UINT64_MAX}.end();
    EXPECT_EQ(text, "{\"capacity\":18446744073709551615,\"ranges\":[]}");
    text.clear();
    cairn::detail::map_json json{sink, 0};
    json.begin_range(10, 0);
    json.flag("pinned");
    json.flag("fixed");
    json.end_range();
    json.end();
    EXPECT_EQ(text,
              "{\"capacity\":0,\"ranges\":[{\"offset\":10,\"size\":0,\"pinned\":true,"
              "\"fixed\":true}]}");
}
