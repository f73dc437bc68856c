// Sentences of cairn/containers/string_pool.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/containers/string_pool.hpp>
#include <cairn/core/null_allocator.hpp>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <string_view>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

TEST(string_pool, equal_strings_are_equal_pointers) {
    string_pool names;
    const std::string_view a = names.intern("player");
    const std::string line = "the player";
    EXPECT_EQ(names.intern(std::string_view{line}.substr(4)).data(), a.data());
    EXPECT_NE(names.intern("players").data(), a.data());
    EXPECT_EQ(names.size(), 2u);
    EXPECT_EQ(names.find("player").data(), a.data());
    EXPECT_EQ(names.find("stranger").data(), nullptr);
    EXPECT_EQ(names.size(), 2u) << "find makes none";
}

TEST(string_pool, a_string_is_ended_by_a_zero_and_may_hold_zeros) {
    std::array<std::byte, 32768> buffer;
    buffer.fill(std::byte{'#'});  // no zero is there by chance
    arena memory{buffer};
    string_pool names{memory};
    const std::string_view inner{"a\0b", 3};
    const std::string_view one = names.intern(inner);
    EXPECT_EQ(one, inner);
    EXPECT_EQ(one.data()[3], '\0');
    EXPECT_NE(names.intern("a").data(), one.data());
    const std::string_view empty = names.intern("");
    EXPECT_NE(empty.data(), nullptr) << "the empty string is a string";
    EXPECT_EQ(empty.size(), 0u);
    EXPECT_EQ(empty.data()[0], '\0');
    EXPECT_EQ(names.intern({}).data(), empty.data());
}

TEST(string_pool, only_the_bytes_that_it_returned_are_contained) {
    string_pool names;
    const std::string_view a = names.intern("door");
    const std::string other = "door";
    EXPECT_TRUE(names.contains(a));
    EXPECT_FALSE(names.contains(std::string_view{other}));
    EXPECT_FALSE(names.contains({}));
    EXPECT_FALSE(names.contains(std::string_view{"window"}));
}

TEST(string_pool, strings_stay_where_they_are_while_it_grows) {
    string_pool names;
    std::map<std::string, const char*> where;
    for (int i = 0; i < 5000; ++i) {
        const std::string text = "name " + std::to_string(i);
        where[text] = names.intern(text).data();
    }
    for (const auto& [text, at] : where) { EXPECT_EQ(names.find(text).data(), at); }
    names.validate();
}

TEST(string_pool, its_own_strings_and_parts_of_them_may_be_interned) {
    string_pool names;
    std::string_view text = names.intern("abcdefghijklmnopqrstuvwxyz");
    while (text.size() > 1) { text = names.intern(text.substr(1)); }
    EXPECT_EQ(text, "z");
    EXPECT_EQ(names.size(), 26u);
    names.validate();
}

TEST(string_pool, after_reserve_the_table_does_not_grow) {
    test_upstream upstream;
    string_pool names{upstream};
    ASSERT_TRUE(names.reserve(1000));
    ASSERT_NE(names.intern("the first one takes a block for text").data(), nullptr);
    upstream.refuse_from(0);
    int interned = 1;
    for (int i = 0; i < 300; ++i) { interned += names.intern(std::to_string(i)).data() != nullptr; }
    EXPECT_EQ(interned, 301);
    EXPECT_FALSE(names.reserve(SIZE_MAX));
    EXPECT_FALSE(names.reserve(std::size_t{1} << 40));
}

TEST(string_pool, refused_memory_changes_nothing) {
    for (std::size_t n = 0; n < 12; ++n) {
        SCOPED_TRACE(n);
        test_upstream upstream;
        string_pool names{upstream};
        upstream.refuse_from(n);
        std::map<std::string, const char*> where;
        std::size_t refused = 0;
        for (int i = 0; i < 3000; ++i) {
            const std::string text = std::to_string(i * i);
            const std::string_view got = names.intern(text);
            if (got.data() == nullptr) {
                ++refused;
                EXPECT_EQ(names.find(text).data(), nullptr);
            } else {
                where[text] = got.data();
            }
            ASSERT_EQ(names.size(), where.size());
        }
        names.validate();
        for (const auto& [text, at] : where) { ASSERT_EQ(names.intern(text).data(), at); }
        EXPECT_EQ(refused != 0, where.size() < 3000);
    }
    string_pool none{no_memory()};
    EXPECT_EQ(none.intern("x").data(), nullptr);
    EXPECT_EQ(none.find("x").data(), nullptr);
}

TEST(string_pool, agrees_with_a_map_over_a_hundred_thousand_operations) {
    std::mt19937 random{7};
    test_upstream upstream;
    string_pool names{upstream};
    std::map<std::string, const char*> model;
    for (int op = 0; op < 100'000; ++op) {
        std::string text(random() % 20, ' ');
        for (char& c : text) { c = static_cast<char>('a' + random() % 3); }
        const auto known = model.find(text);
        if (random() % 2 == 0) {
            const char* const at = names.intern(text).data();
            ASSERT_NE(at, nullptr);
            if (known == model.end()) {
                model[text] = at;
            } else {
                ASSERT_EQ(known->second, at);
            }
        } else {
            ASSERT_EQ(names.find(text).data(), known == model.end() ? nullptr : known->second);
        }
        if (random() % 50'000 == 0) {
            names.clear();
            model.clear();
        }
        ASSERT_EQ(names.size(), model.size());
    }
    names.validate();
    std::size_t seen = 0;
    names.for_each([&](std::string_view s) { seen += model.count(std::string{s}); });
    EXPECT_EQ(seen, model.size());
}

TEST(string_pool, moves_with_its_strings_and_leaves_an_empty_one) {
    test_upstream upstream;
    string_pool from{upstream};
    const std::string_view a = from.intern("stays");
    string_pool to{std::move(from)};
    EXPECT_EQ(to.find("stays").data(), a.data());
    EXPECT_EQ(from.size(), 0u);
    EXPECT_NE(from.intern("again").data(), nullptr);
    to = std::move(from);
    EXPECT_EQ(to.find("stays").data(), nullptr);
    EXPECT_NE(to.find("again").data(), nullptr);
}

TEST(string_pool, shrink_to_fit_gives_back_what_a_peak_took) {
    test_upstream upstream;
    string_pool names{upstream};
    ASSERT_TRUE(names.shrink_to_fit()) << "there is nothing to give back";
    for (int i = 0; i < 20000; ++i) { ASSERT_TRUE(names.intern(std::to_string(i)).data()); }
    const std::size_t peak = upstream.live_size();
    ASSERT_TRUE(names.shrink_to_fit());
    EXPECT_EQ(upstream.live_size(), peak) << "all of it is in use";
    names.clear();
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(names.intern(std::to_string(i)).data()); }
    const std::string_view kept = names.find("7");
    upstream.refuse_from(upstream.request_count());
    EXPECT_FALSE(names.shrink_to_fit()) << "there is no smaller table";
    names.validate();
    upstream.refuse_nothing();
    ASSERT_TRUE(names.shrink_to_fit());
    names.validate();
    EXPECT_LT(upstream.live_size(), peak / 4);
    EXPECT_EQ(names.size(), 10u);
    EXPECT_EQ(names.find("7").data(), kept.data());
    names.clear();
    ASSERT_TRUE(names.shrink_to_fit());
    EXPECT_EQ(upstream.live_size(), 0u);
    EXPECT_EQ(names.find("7").data(), nullptr);
    EXPECT_EQ(names.intern("7"), "7");
}

TEST(string_pool, after_clear_the_texts_are_one_block_that_the_next_string_keeps) {
    test_upstream upstream;
    string_pool names{upstream};
    const auto make_peak = [&] {
        for (char c = 'a'; c <= 'z'; ++c) {
            ASSERT_TRUE(names.intern(std::string(5000, c)).data());
        }
        names.clear();
    };
    constexpr std::size_t texts = 26 * 5000;
    make_peak();
    ASSERT_TRUE(names.intern("next").data());
    ASSERT_TRUE(names.shrink_to_fit());
    EXPECT_GT(upstream.live_size(), texts) << "the block holds a string";
    make_peak();
    ASSERT_TRUE(names.shrink_to_fit());
    ASSERT_TRUE(names.intern("next").data());
    EXPECT_LT(upstream.live_size(), texts / 10) << "it has gone back before";
    make_peak();
    const std::string text(2 * texts, 'x');
    ASSERT_TRUE(names.intern(text).data()) << "in a block of its own";
    EXPECT_GT(upstream.live_size(), 3 * texts);
    ASSERT_TRUE(names.shrink_to_fit());
    EXPECT_LT(upstream.live_size(), 2 * texts + texts / 10) << "the block without a string went";
    EXPECT_EQ(names.find(text), text);
}

TEST(string_pool, takes_its_memory_from_any_allocator) {
    std::array<std::byte, 16384> buffer;
    arena memory{buffer};
    string_pool names{memory};
    const std::string_view a = names.intern("in the arena");
    EXPECT_TRUE(memory.owns(a.data()));
}

TEST(string_pool, is_empty_until_it_has_a_string) {
    string_pool names;
    EXPECT_TRUE(names.empty());
    (void)names.intern("one");
    EXPECT_FALSE(names.empty());
    names.clear();
    EXPECT_TRUE(names.empty());
}

TEST(string_pool, a_string_of_four_gibibytes_is_refused_unread) {
    const std::string_view huge{"x", std::size_t{1} << 32};
    string_pool names;
    (void)names.intern("y");
    EXPECT_EQ(names.intern(huge).data(), nullptr);
    EXPECT_EQ(names.find(huge).data(), nullptr);
    EXPECT_EQ(names.size(), 1u);
}

TEST(string_pool, strings_of_one_hash_are_told_apart) {
    constexpr std::string_view pairs[][2] = {
        {"vaqaaaaa", "qzkgaaaa"},
        {"prvaaaaa", "ugsgaaaa"},
        {"daicaaaa", "lfkhaaaa"},
        {"itjhaaaa", "aclhaaaa"},
    };
    string_pool names;
    for (const auto& pair : pairs) {
        EXPECT_EQ(names.intern(pair[0]), pair[0]);
        EXPECT_EQ(names.intern(pair[1]), pair[1]);
    }
    EXPECT_EQ(names.size(), 8u);
}

TEST(string_pool, a_long_string_leaves_the_short_ones_their_piece) {
    string_pool names;
    const char* const first = names.intern("short").data();
    const std::string text(3000, 'x');
    EXPECT_EQ(names.intern(text), text);
    EXPECT_EQ(names.intern("next").data(), first + 6);
}

TEST(string_pool, after_clear_the_empty_string_has_memory_again) {
    test_upstream upstream;
    string_pool names{upstream};
    (void)names.intern("one");
    names.clear();
    const char* const first = names.intern("").data();
    EXPECT_EQ(names.intern("next").data(), first + 1) << "both in a new piece";
}

TEST(string_pool, texts_of_each_short_size_that_differ_in_one_byte_are_kept_apart) {
    string_pool names;
    for (std::size_t size = 1; size <= 24; ++size) {
        const std::string text(size, 'a');
        const std::string_view kept = names.intern(text);
        for (std::size_t i = 0; i < size; ++i) {
            std::string other = text;
            other[i] = 'b';
            const std::string_view kept_other = names.intern(other);
            EXPECT_NE(kept.data(), kept_other.data());
            EXPECT_EQ(names.find(other).data(), kept_other.data());
        }
        EXPECT_EQ(names.intern(text).data(), kept.data());
    }
}

}  // namespace
