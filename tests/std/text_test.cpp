// Sentences of cairn/std/text.hpp.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <cairn/std/text.hpp>
#include <gtest/gtest.h>

#include <iomanip>
#include <limits>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>

using namespace cairn;

namespace {

template <class T>
std::string printed(const T& what) {
    std::ostringstream out;
    out << what;
    return out.str();
}

struct unit {
    int id;
};
struct red;

/// What the stores of cairn give out.
template <class Handle>
class every_handle : public testing::Test {};
using handles =
    testing::Types<slot_map<unit>::handle_type, slot_map<unit, slot_policy<16>>::handle_type,
                   slot_map<unit, slot_policy<32>::tagged<red>>::handle_type,
                   slot_map<unit, slot_policy<64, 24, reuse::fifo, 64, 9>>::handle_type,
                   stable_slot_map<unit>::handle_type, slot_table<unit, soa>::handle_type,
                   relocatable_heap::handle_type>;
TYPED_TEST_SUITE(every_handle, handles);

/// A handle that its program prints in its own way.
struct door {};
std::ostream& operator<<(std::ostream& out, handle<door> h) { return out << "door " << h.index(); }

}  // namespace

TYPED_TEST(every_handle, is_printed_as_index_and_generation_or_null) {
    const std::string user = TypeParam::user_bits != 0 ? ":0" : "";
    EXPECT_EQ(printed(TypeParam{}), "null");
    EXPECT_EQ(printed(TypeParam::make(7, 9)), "7:9" + user);
    EXPECT_EQ(printed(TypeParam::make(0, 1)), "0:1" + user) << "index 0 is not null";
    EXPECT_EQ(testing::PrintToString(TypeParam::make(7, 9)), "7:9" + user);
    EXPECT_EQ(std::string_view{handle_text(TypeParam{})}, "null");
    EXPECT_STREQ(handle_text(TypeParam::make(7, 9)).c_str(), ("7:9" + user).c_str());
}

TYPED_TEST(every_handle, is_a_key_of_hash_tables) {
    std::unordered_map<TypeParam, int> map;
    for (std::uint32_t i = 0; i < 100; ++i) { map[TypeParam::make(i, 1 + i % 9)] = 1; }
    for (std::uint32_t i = 0; i < 100; ++i) { ++map[TypeParam::make(i, 1 + i % 9)]; }
    EXPECT_EQ(map.size(), 100u);
    for (const auto& [h, count] : map) { EXPECT_EQ(count, 2) << h; }
}

TEST(handle_text, tells_handles_of_one_type_apart_by_their_user_bits_too) {
    using tagged = handle<unit, 64, 24, 9>;
    const auto h = tagged::make(7, 9);
    EXPECT_EQ(printed(h.with_user(511)), "7:9:511");
    EXPECT_EQ(printed(tagged{}.with_user(5)), "0:0:5") << "it is not equal to the null handle";
    EXPECT_NE(handle_text(h), handle_text(h.with_user(1)));
    EXPECT_EQ(handle_text(h), handle_text(h.with_user(0)));
}

TEST(handle_text, has_room_for_the_longest_handle) {
    using wide = handle<unit>;
    EXPECT_EQ(printed(wide::make(wide::index_max, wide::generation_max)), "4294967293:2147483647");
    using one_bit = handle<unit, 64, 31, 32>;
    EXPECT_EQ(printed(one_bit::make(one_bit::index_max, 1).with_user(one_bit::user_max)),
              "2147483647:1:4294967295");
    using most_user_bits = handle<unit, 64, 1, 62>;
    EXPECT_EQ(printed(most_user_bits::make(1, 1).with_user(most_user_bits::user_max)),
              "1:1:4611686018427387903");
}

TEST(handle_text, goes_into_streams_of_any_class_with_their_width) {
    std::ostringstream out;
    out << std::setw(6) << handle<unit>::make(7, 9) << std::left << std::setw(6) << handle<unit>{}
        << '|' << std::setw(7) << size_text(2048) << '|';
    EXPECT_EQ(out.str(), "   7:9null  |2 KiB  |");
    EXPECT_EQ((std::ostringstream{} << handle<unit>::make(1, 2)).str(), "1:2");
}

TEST(handle_text, gives_way_to_the_text_of_the_program) {
    EXPECT_EQ(printed(handle<door>::make(4, 1)), "door 4");
    EXPECT_EQ(printed(handle<unit>::make(4, 1)), "4:1");
}

TEST(size_text, is_exact_for_multiples_of_its_unit_and_says_so) {
    EXPECT_EQ(printed(size_text(0)), "0 B");
    EXPECT_EQ(printed(size_text(1023)), "1023 B");
    EXPECT_EQ(printed(size_text(1024)), "1 KiB");
    EXPECT_EQ(printed(size_text(64 << 10)), "64 KiB");
    EXPECT_EQ(printed(size_text(1023 << 10)), "1023 KiB");
    EXPECT_EQ(printed(size_text(16 << 20)), "16 MiB");
    EXPECT_EQ(printed(size_text(std::size_t{3} << 30)), "3 GiB");
    EXPECT_EQ(printed(size_text(std::size_t{1} << 40)), "1 TiB");
    EXPECT_EQ(printed(size_text(std::size_t{8} << 60)), "8 EiB");
}

TEST(size_text, rounds_everything_else_to_a_tenth) {
    EXPECT_EQ(printed(size_text(1536)), "1.5 KiB");
    EXPECT_EQ(printed(size_text(65636)), "64.1 KiB");
    EXPECT_EQ(printed(size_text(65537)), "64.0 KiB") << "the tenth says that it is rounded";
    EXPECT_EQ(printed(size_text((1 << 20) - 1)), "1.0 MiB") << "not 1024.0 KiB";
    EXPECT_EQ(printed(size_text((std::size_t{1} << 50) - 1)), "1.0 PiB");
    EXPECT_EQ(printed(size_text(std::numeric_limits<std::size_t>::max())), "16.0 EiB");
}

TEST(size_text, rounds_to_the_nearest_tenth_at_every_size) {
    std::uint64_t n = 1025;
    for (int i = 0; i < 2000; ++i) {
        n = n * 6364136223846793005u + 1442695040888963407u;
        const std::size_t bytes = n >> (i % 54);
        if (bytes < 1024) { continue; }
        std::istringstream in{printed(size_text(bytes))};
        double figure = 0;
        std::string unit;
        in >> figure >> unit;
        ASSERT_EQ(unit.size(), 3u);
        const auto power = std::string{"KMGTPE"}.find(unit[0]);
        ASSERT_NE(power, std::string::npos);
        double size = 1024;
        for (std::size_t p = 0; p < power; ++p) { size *= 1024; }
        EXPECT_NEAR(figure, static_cast<double>(bytes) / size, 0.0501) << bytes;
        EXPECT_TRUE(figure >= 1 && figure < 1024) << bytes;
    }
}

TEST(short_text, that_would_say_more_than_it_has_room_for_is_stopped_in_checked_builds) {
    short_text text;
    text.append("0123456789012345678901234567890123456789");
    text.append("1234567");
    EXPECT_EQ(text.view().size(), 47u);
    EXPECT_EQ(text.c_str()[47], 0);
    if (asserts_enabled) { EXPECT_DEATH(text.append("8"), "has room for what it says"); }
}
