// Sentences of cairn/core/inside/compiler.hpp.
#include <cairn/core/inside/compiler.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include <cairn/collected/trace.hpp>

namespace compiler = cairn::compiler;

TEST(compiler, any_address_may_be_prefetched_and_nothing_changes) {
    int value = 7;
    const auto prefetch_all = [](const void* p) {
        compiler::prefetch(p);
        compiler::prefetch_for_writing(p);
        compiler::prefetch_from_other_core(p);
    };
    prefetch_all(&value);
    prefetch_all(nullptr);
    for (unsigned bit = 0; bit < 64; ++bit) {
        prefetch_all(
            reinterpret_cast<const void*>(static_cast<std::uintptr_t>(std::uint64_t{1} << bit)));
    }
    compiler::pause();
    compiler::hide(value);
    EXPECT_EQ(value, 7);
}

namespace {
struct without_address {
    int value = 1;
    int* operator&() = delete;
};
constexpr without_address object;
static_assert(compiler::address_of(object)->value == 1);
static_assert(compiler::bit_cast<std::uint32_t>(1.0f) == 0x3F80'0000);
}  // namespace

TEST(compiler, bytes_are_copied_and_moved) {
    unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    std::uint32_t word = 0;
    compiler::copy_bytes<sizeof word>(&word, bytes);
    EXPECT_EQ(word, 0x0403'0201u);
    compiler::move_bytes(bytes + 1, bytes, 7);
    EXPECT_EQ(bytes[1], 1);
    EXPECT_EQ(bytes[7], 7);
}

TEST(compiler, the_product_of_two_words_has_both_halves) {
    const compiler::product p{0xFFFF'FFFF'FFFF'FFFF, 0xFFFF'FFFF'FFFF'FFFE};
    EXPECT_EQ(p.high, 0xFFFF'FFFF'FFFF'FFFD);
    EXPECT_EQ(p.low, 2u);
    EXPECT_EQ(compiler::trailing_zeros(std::uint64_t{1} << 63), 63u);
    EXPECT_EQ(compiler::trailing_zeros(0b1010), 1u);
}

TEST(compiler, sixteen_bytes_are_equal_only_where_each_byte_is) {
    const auto pattern = compiler::two_words(0x0102'0304'0506'0708, 0x1112'1314'1516'1718);
    unsigned char stored[16];
    compiler::copy_bytes<sizeof stored>(stored, &pattern);
    EXPECT_EQ(stored[0], 0x08);
    EXPECT_EQ(stored[15], 0x11);
    EXPECT_TRUE(compiler::all_equal(compiler::equal_bytes(pattern, pattern)));
    for (auto& byte : stored) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            byte = static_cast<unsigned char>(byte ^ 1u << bit);
            compiler::bytes16 seen;
            compiler::copy_bytes<sizeof seen>(&seen, stored);
            const auto same = compiler::equal_bytes(seen, pattern);
            EXPECT_FALSE(compiler::all_equal(same));
            EXPECT_FALSE(compiler::all_equal(same & compiler::equal_bytes(pattern, pattern)));
            byte = static_cast<unsigned char>(byte ^ 1u << bit);
        }
    }
}

TEST(compiler, orders_have_the_numbers_of_the_standard_library) {
    using compiler::memory_order;
    EXPECT_EQ(static_cast<int>(memory_order::relaxed), static_cast<int>(std::memory_order_relaxed));
    EXPECT_EQ(static_cast<int>(memory_order::acquire), static_cast<int>(std::memory_order_acquire));
    EXPECT_EQ(static_cast<int>(memory_order::release), static_cast<int>(std::memory_order_release));
    EXPECT_EQ(static_cast<int>(memory_order::acq_rel), static_cast<int>(std::memory_order_acq_rel));
    EXPECT_EQ(static_cast<int>(memory_order::seq_cst), static_cast<int>(std::memory_order_seq_cst));
}

// The type in a signature, as each compiler writes it; MSVC's forms are those of its documentation.
TEST(compiler, the_name_of_a_type_is_found_in_each_form_of_a_signature) {
    const auto name_in = [](const char* signature) {
        const auto found = cairn::detail::first_argument_in(signature);
        return std::string(found.begin, found.length);
    };
    EXPECT_EQ(name_in("constexpr text_part name_of_type() [with T = {anonymous}::node]"),
              "{anonymous}::node");
    EXPECT_EQ(name_in("constexpr text_part name_of_type() [with T = node; X = int]"), "node");
    EXPECT_EQ(name_in("text_part name_of_type() [T = node]"), "node");
    EXPECT_EQ(name_in("struct cairn::detail::text_part __cdecl "
                      "cairn::detail::name_of_type<struct game::node>(void)"),
              "game::node");
    EXPECT_EQ(name_in("struct text_part __cdecl name_of_type<class list<int>>(void) noexcept"),
              "list<int>");
    EXPECT_EQ(name_in("struct text_part __cdecl name_of_type<unsigned int>(void)"), "unsigned int");
}
