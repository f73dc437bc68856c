// Behaviours of cairn/os/page_memory.hpp: what each of the calls promises about the range it is
// given.
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>
#if defined(__linux__)
#    include <sys/mman.h>
#endif

using namespace cairn;

namespace {

/// A reservation that goes back at the end of the test.
struct reservation {
    std::byte* data;
    std::size_t bytes;
    explicit reservation(std::size_t wanted, alignment align = alignment{1})
        : data{static_cast<std::byte*>(page_memory::reserve(wanted, align))}, bytes{wanted} {}
    ~reservation() {
        if (data != nullptr) { page_memory::release(data, bytes); }
    }
    reservation(const reservation&) = delete;
    reservation& operator=(const reservation&) = delete;
};

void write_byte(std::byte* where) { *static_cast<volatile std::byte*>(where) = std::byte{1}; }

bool all_zero(const std::byte* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        if (data[i] != std::byte{0}) { return false; }
    }
    return true;
}

const std::size_t page = page_memory::size();

}  // namespace

TEST(page_memory, sizes_are_powers_of_two_and_rounding_never_wraps) {
    EXPECT_TRUE(std::has_single_bit(page));
    EXPECT_TRUE(std::has_single_bit(page_memory::huge_size()));
    EXPECT_GE(page_memory::huge_size(), page);
    EXPECT_EQ(page_memory::round_up_to_pages(0), 0u);
    EXPECT_EQ(page_memory::round_up_to_pages(1), page);
    EXPECT_EQ(page_memory::round_up_to_pages(page), page);
    EXPECT_EQ(page_memory::round_up_to_pages(page + 1), 2 * page);
    EXPECT_EQ(page_memory::round_up_to_pages(SIZE_MAX), SIZE_MAX - page + 1);
}

TEST(page_memory, reserving_gigabytes_costs_no_memory) {
    reservation r{8_GiB};
    ASSERT_NE(r.data, nullptr);
    EXPECT_EQ(page_memory::resident_bytes(r.data, 64_MiB), 0u);
}

TEST(page_memory, the_absurd_cannot_be_reserved) {
    EXPECT_EQ(page_memory::reserve(0), nullptr);
    EXPECT_EQ(page_memory::reserve(SIZE_MAX), nullptr);
    EXPECT_EQ(page_memory::reserve(PTRDIFF_MAX, alignment{2_MiB}), nullptr);
    EXPECT_EQ(page_memory::reserve(page, alignment{std::size_t{1} << 63}), nullptr);
}

TEST(page_memory, alignments_above_a_page_are_honoured) {
    for (std::size_t align = 1; align <= 64_MiB; align *= 2) {
        reservation r{3 * page, alignment{align}};
        ASSERT_NE(r.data, nullptr);
        EXPECT_TRUE(detail::is_aligned(r.data, alignment{align})) << align;
        EXPECT_TRUE(page_memory::commit(r.data, 3 * page));
        write_byte(r.data);
        write_byte(r.data + 3 * page - 1);
    }
}

TEST(page_memory,
     what_is_reserved_and_committed_at_once_reads_zero_and_works_as_if_committed_later) {
    for (const std::size_t align : {std::size_t{1}, 64 * page, 2_MiB}) {
        auto* const first =
            static_cast<std::byte*>(page_memory::reserve_committed(3 * page - 1, alignment{align}));
        ASSERT_NE(first, nullptr);
        EXPECT_TRUE(detail::is_aligned(first, alignment{align}));
        for (std::size_t i = 0; i != 3 * page; ++i) { ASSERT_EQ(first[i], std::byte{0}); }
        first[3 * page - 1] = std::byte{7};
        ASSERT_TRUE(page_memory::commit(first, 3 * page));
        EXPECT_EQ(first[3 * page - 1], std::byte{7}) << "committing again keeps the content";
        page_memory::decommit(first + 2 * page, page);
        ASSERT_TRUE(page_memory::commit(first + 2 * page, page));
        EXPECT_EQ(first[3 * page - 1], std::byte{0});
        page_memory::release(first, 3 * page - 1);
    }
    EXPECT_EQ(page_memory::reserve_committed(0), nullptr);
    EXPECT_EQ(page_memory::reserve_committed(SIZE_MAX), nullptr);
    EXPECT_EQ(page_memory::reserve_committed(PTRDIFF_MAX, alignment{2_MiB}), nullptr);
}

TEST(page_memory, committed_pages_read_zero_and_hold_what_is_written) {
    reservation r{16 * page};
    ASSERT_NE(r.data, nullptr);
    ASSERT_TRUE(page_memory::commit(r.data + page, 2 * page));
    EXPECT_TRUE(all_zero(r.data + page, 2 * page));
    std::memset(r.data + page, 0x5A, 2 * page);
    ASSERT_TRUE(page_memory::commit(r.data, 4 * page));  // again, around it: keeps the content
    EXPECT_EQ(r.data[page], std::byte{0x5A});
    EXPECT_EQ(r.data[3 * page - 1], std::byte{0x5A});
    EXPECT_TRUE(all_zero(r.data + 3 * page, page));
}

TEST(page_memory, decommit_gives_the_memory_back_and_commit_brings_zeros) {
    reservation r{8 * page};
    ASSERT_NE(r.data, nullptr);
    ASSERT_TRUE(page_memory::commit(r.data, 8 * page));
    std::memset(r.data, 0x5A, 8 * page);
    EXPECT_EQ(page_memory::resident_bytes(r.data, 8 * page), 8 * page);
    page_memory::decommit(r.data + 4 * page, 4 * page);
    EXPECT_EQ(page_memory::resident_bytes(r.data, 8 * page), 4 * page);
    ASSERT_TRUE(page_memory::commit(r.data + 4 * page, 4 * page));
    EXPECT_TRUE(all_zero(r.data + 4 * page, 4 * page));
    EXPECT_EQ(r.data[4 * page - 1], std::byte{0x5A});
}

TEST(page_memory, discarded_pages_stay_usable_and_read_zero) {
    reservation r{8 * page};
    ASSERT_NE(r.data, nullptr);
    ASSERT_TRUE(page_memory::commit(r.data, 8 * page));
    std::memset(r.data, 0x5A, 8 * page);
    page_memory::discard(r.data + page, 2 * page);
    EXPECT_EQ(page_memory::resident_bytes(r.data, 8 * page), 6 * page);
    EXPECT_TRUE(all_zero(r.data + page, 2 * page));
    EXPECT_EQ(r.data[0], std::byte{0x5A});
    write_byte(r.data + page);
}

#if defined(__linux__)
TEST(page_memory, discard_and_decommit_work_on_locked_memory) {
    reservation r{4 * page};
    ASSERT_NE(r.data, nullptr);
    ASSERT_TRUE(page_memory::commit(r.data, 4 * page));
    if (::mlock(r.data, 4 * page) != 0) { GTEST_SKIP() << "may not lock memory here"; }
    std::memset(r.data, 0x5A, 4 * page);
    page_memory::discard(r.data, 2 * page);
    EXPECT_TRUE(all_zero(r.data, 2 * page));
    page_memory::decommit(r.data + 2 * page, 2 * page);
    ASSERT_TRUE(page_memory::commit(r.data + 2 * page, 2 * page));
    EXPECT_TRUE(all_zero(r.data + 2 * page, 2 * page));
    ::munlock(r.data, 4 * page);
}

TEST(page_memory, names_show_in_the_maps_of_the_process) {
    reservation r{4 * page};
    ASSERT_NE(r.data, nullptr);
    ASSERT_TRUE(page_memory::commit(r.data, 4 * page));
    write_byte(r.data);
    page_memory::set_name(r.data, 4 * page, "cairn polite test");
    std::ifstream maps{"/proc/self/maps"};
    std::string line;
    while (std::getline(maps, line)) {
        if (line.find("[anon:cairn polite test]") != std::string::npos) { return; }
    }
    GTEST_SKIP() << "this kernel does not name anonymous memory";
}
#endif

TEST(page_memory, touching_what_may_not_be_touched_faults) {
    reservation r{8 * page};
    ASSERT_NE(r.data, nullptr);
    EXPECT_DEATH(write_byte(r.data), "") << "reserved only";
    ASSERT_TRUE(page_memory::commit(r.data, 4 * page));
    write_byte(r.data + 4 * page - 1);
    EXPECT_DEATH(write_byte(r.data + 4 * page), "") << "the byte behind what is committed";
    ASSERT_TRUE(page_memory::protect(r.data + 2 * page, page, page_memory::access::none));
    write_byte(r.data + 2 * page - 1);
    EXPECT_DEATH(write_byte(r.data + 2 * page), "") << "guard page";
    ASSERT_TRUE(page_memory::protect(r.data + 2 * page, page, page_memory::access::read_only));
    EXPECT_EQ(r.data[2 * page], std::byte{0});
    EXPECT_DEATH(write_byte(r.data + 2 * page), "") << "read only";
    ASSERT_TRUE(page_memory::protect(r.data + 2 * page, page, page_memory::access::read_write));
    write_byte(r.data + 2 * page);
    page_memory::decommit(r.data, page);
    EXPECT_DEATH(write_byte(r.data), "") << "decommitted";
}

TEST(page_memory, prefault_makes_every_page_resident_and_keeps_its_content) {
    reservation r{64 * page};
    ASSERT_NE(r.data, nullptr);
    ASSERT_TRUE(page_memory::commit(r.data, 64 * page));
    page_memory::advise_huge(r.data, 64 * page, false);
    r.data[5 * page + 3] = std::byte{7};
    EXPECT_EQ(page_memory::resident_bytes(r.data, 64 * page), page);
    page_memory::prefault(r.data, 64 * page);
    EXPECT_EQ(page_memory::resident_bytes(r.data, 64 * page), 64 * page);
    EXPECT_EQ(r.data[5 * page + 3], std::byte{7});
}

TEST(page_memory, huge_pages_are_a_wish_that_changes_no_byte) {
    const std::size_t huge = page_memory::huge_size();
    reservation r{2 * huge, alignment{huge}};
    ASSERT_NE(r.data, nullptr);
    ASSERT_TRUE(page_memory::commit(r.data, 2 * huge));
    r.data[0] = std::byte{9};
    page_memory::advise_huge(r.data, 2 * huge);
    page_memory::prefault(r.data, 2 * huge);
    EXPECT_EQ(page_memory::resident_bytes(r.data, 2 * huge), 2 * huge);
    EXPECT_EQ(r.data[0], std::byte{9});
    page_memory::advise_huge(r.data, 2 * huge, false);
}

TEST(page_memory, a_block_shrinks_in_place_and_grows_where_the_addresses_are_free) {
    reservation r{16 * page};
    ASSERT_NE(r.data, nullptr);
    ASSERT_TRUE(page_memory::commit(r.data, 16 * page));
    std::memset(r.data, 0x5A, 16 * page);
    ASSERT_TRUE(page_memory::try_resize(r.data, 16 * page, 4 * page));
    r.bytes = 4 * page;
    EXPECT_EQ(r.data[4 * page - 1], std::byte{0x5A});
    // Nobody has taken the addresses since (this test has one thread), so growing is possible.
    const bool grown = page_memory::try_resize(r.data, 4 * page, 8 * page);
#if defined(__linux__)
    EXPECT_TRUE(grown);
#endif
    if (grown) {
        r.bytes = 8 * page;
        EXPECT_EQ(r.data[4 * page - 1], std::byte{0x5A});
        EXPECT_TRUE(all_zero(r.data + 4 * page, 4 * page));
        write_byte(r.data + 8 * page - 1);
    }
    EXPECT_FALSE(page_memory::try_resize(r.data, r.bytes, std::size_t{1} << 62));
    EXPECT_EQ(r.data[0], std::byte{0x5A});
}

TEST(page_memory, any_order_of_commit_decommit_discard_and_protect_reads_as_a_model_says) {
    const unsigned seed = 20240601;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    constexpr std::size_t count = 32;
    enum class state { reserved, committed, locked };
    struct model {
        state s = state::reserved;
        std::byte fill{0};
    };
    std::vector<model> pages(count);
    reservation r{count * page};
    ASSERT_NE(r.data, nullptr);
    std::mt19937 random{seed};
    for (int step = 0; step < 4000; ++step) {
        const std::size_t i = random() % count;
        std::byte* const at = r.data + i * page;
        model& m = pages[i];
        switch (random() % 5) {
            case 0:
                if (m.s != state::locked) {
                    ASSERT_TRUE(page_memory::commit(at, page));
                    m.s = state::committed;
                }
                break;
            case 1:
                page_memory::decommit(at, page);
                m = {};
                break;
            case 2:
                if (m.s == state::committed) {
                    page_memory::discard(at, page);
                    m.fill = std::byte{0};
                }
                break;
            case 3:
                if (m.s == state::committed) {
                    m.fill = static_cast<std::byte>(random());
                    std::memset(at, static_cast<int>(m.fill), page);
                }
                break;
            default:
                if (m.s != state::reserved) {
                    const bool lock = m.s == state::committed;
                    ASSERT_TRUE(page_memory::protect(
                        at, page,
                        lock ? page_memory::access::none : page_memory::access::read_write));
                    m.s = lock ? state::locked : state::committed;
                }
        }
        if (m.s == state::committed) {
            ASSERT_EQ(at[0], m.fill) << "step " << step;
            ASSERT_EQ(at[page - 1], m.fill) << "step " << step;
        }
    }
}
