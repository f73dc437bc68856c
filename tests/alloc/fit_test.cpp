// A fit that the library does not know, written after docs/adding-a-fit.md: heap<toy_fit> is a heap
// like the others.
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/required_size.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/heap_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::literals;

namespace {

/// The lowest free block that fits, found by asking granule by granule: a word a granule says where
/// a free block begins.
struct toy_fit {
    static constexpr const char* name = "toy_fit";
    static constexpr std::uint32_t deferred_max = 0;

    static constexpr std::uint32_t block_size(std::uint32_t granules) noexcept { return granules; }

    class alignas(8) index {
        using blocks = detail::block_map;

    public:
        static constexpr std::size_t array_size(std::uint32_t granules) noexcept {
            return granules * sizeof(std::uint32_t);
        }

        void clear(std::uint32_t granules, std::uint32_t /*key: it keeps no links*/) noexcept {
            granules_ = granules;
            for (std::uint32_t g = 0; g < granules; ++g) { begins()[g] = 0; }
        }
        detail::hole find(blocks b, std::uint32_t size) const noexcept {
            for (std::uint32_t g = 0; g < granules_; ++g) {
                CAIRN_DETAIL_STEP();
                if (begins()[g] != 0 && b.header(g).size() >= size) { return {g}; }
            }
            return {};
        }
        void take(blocks, detail::hole h) noexcept { begins()[h.block] = 0; }
        void keep_rest(blocks, detail::hole h, std::uint32_t used) noexcept {
            begins()[h.block] = 0;
            begins()[h.block + used] = 1;
        }
        void give(blocks, std::uint32_t left_size, std::uint32_t at, std::uint32_t size,
                  std::uint32_t right_size) noexcept {
            if (right_size != 0) { begins()[at + size] = 0; }
            begins()[at - left_size] = 1;
        }
        std::uint32_t largest(blocks b) const noexcept {
            std::uint32_t best = 0;
            validate(b, [&](std::uint32_t g) {
                if (b.header(g).size() > best) { best = b.header(g).size(); }
            });
            return best;
        }
        template <class Visit>
        void validate(blocks, Visit visit) const noexcept {
            for (std::uint32_t g = 0; g < granules_; ++g) {
                if (begins()[g] != 0) { visit(g); }
            }
        }

    private:
        std::uint32_t* begins() noexcept { return reinterpret_cast<std::uint32_t*>(this + 1); }
        const std::uint32_t* begins() const noexcept {
            return reinterpret_cast<const std::uint32_t*>(this + 1);
        }

        std::uint32_t granules_ = 0;
        [[maybe_unused]] std::uint32_t padding_ = 0;
    };
};

static_assert(fit<toy_fit> && !detail::has_size_classes<toy_fit> && !detail::defers<toy_fit>);
static_assert(!fit<int>);

/// Its blocks have a multiple of four granules: up to four times what is asked for.
struct rounding_fit : toy_fit {
    static constexpr const char* name = "rounding_fit";
    static constexpr std::uint32_t block_size(std::uint32_t granules) noexcept {
        return (granules + 3) & ~3u;
    }
};

TEST(heap_fit_from_outside, keeps_the_contract_of_allocators) {
    test_upstream upstream;
    for (unsigned seed = 1; seed <= 3; ++seed) {
        heap<toy_fit> fixed{256_KiB, upstream};
        check_allocator_contract(fixed, seed);
        fixed.validate();
        heap<toy_fit> growing{grow_by{4_KiB}, upstream};
        check_allocator_contract(growing, seed, {.size_max = 3000});
        growing.validate();
    }
}

TEST(heap_fit_from_outside, may_make_blocks_more_than_twice_as_large_as_their_requests) {
    test_upstream upstream;
    heap<rounding_fit> h{256_KiB, upstream};
    for (const std::size_t size : {0u, 8u, 24u, 25u, 56u, 100u}) {
        h.deallocate(h.allocate(size), size);
        h.deallocate(h.allocate(size));
    }
    check_allocator_contract(h, 1);
    h.validate();
    for (const std::size_t freed : {std::size_t{8}, std::size_t{200}, SIZE_MAX}) {
        const caught_promise told =
            expect_broken_promise([&] { h.deallocate(h.allocate(100), freed); });
        EXPECT_STREQ(told.sentence(), "a block is freed with the size that it was asked with")
            << "100 bytes freed with " << freed;
    }
}

TEST(heap_fit_from_outside, is_asked_how_large_its_blocks_are_for_a_region_that_suffices) {
    // 1,000 blocks of 4 granules for requests of 1, and of 8 for requests of 5.
    const auto granules_for = [](std::size_t block) {
        return heap<rounding_fit>::region_size_for_granules(1000 * block + 1000 * (block - 1));
    };
    EXPECT_GE(required_size<rounding_fit>(8000, 8, 8), granules_for(4));
    EXPECT_GE(required_size<rounding_fit>(72'000, 72, 72), granules_for(8));
    EXPECT_LE(required_size<rounding_fit>(72'000, 72, 72), granules_for(12));
    for (const std::uint32_t granules : {4095u, 4096u, 4097u, 5000u, 70'000u, 1'000'000u}) {
        const std::size_t more = detail::rounding_of<good_fit>(1, granules);
        EXPECT_LE(good_fit::block_size(granules), granules + granules * more / 1024);
        EXPECT_LE(more, 1024u / 16 + 8);
        EXPECT_LE(detail::rounding_of<toy_fit>(1, granules), 5u) << "no more than a step is wide";
    }
    EXPECT_LE(detail::rounding_of<good_fit>(1, 4095), 1024u / 16);
    EXPECT_EQ(detail::rounding_of<toy_fit>(1, 4095), 0u);
    EXPECT_EQ(required_size<toy_fit>(std::size_t{1} << 40, std::size_t{1} << 38), SIZE_MAX);
}

TEST(heap_fit_from_outside, gives_the_addresses_that_the_oracle_of_its_rule_gives) {
    test_region memory{16_KiB};
    heap<toy_fit> h{memory.span()};
    const auto granules = static_cast<std::uint32_t>(h.stats().capacity / 16);
    heap_oracle oracle{granules, oracle_rule::first};
    std::byte* begin = nullptr;
    struct piece {
        void* p;
        std::uint32_t at, size;
    };
    std::vector<piece> live;
    std::mt19937 random{1};
    for (int i = 0; i < 3000; ++i) {
        if (live.empty() || random() % 5 < 3) {
            const auto size = static_cast<std::uint32_t>(1 + random() % 20);
            void* const p = h.allocate(size * 16 - 8);
            const std::uint32_t at = oracle.allocate(size);
            ASSERT_EQ(p == nullptr, at == heap_oracle::none);
            if (p == nullptr) { continue; }
            if (begin == nullptr) { begin = static_cast<std::byte*>(p); }
            ASSERT_EQ(static_cast<std::byte*>(p), begin + at * 16u);
            live.push_back({p, at, size});
        } else {
            const std::size_t which = random() % live.size();
            h.deallocate(live[which].p, live[which].size * 16 - 8);
            oracle.free(live[which].at, live[which].size);
            live[which] = live.back();
            live.pop_back();
        }
        if (i % 64 == 0) { h.validate(); }
    }
}

TEST(heap_fit_from_outside, a_saved_region_is_adopted_and_that_of_another_fit_is_not) {
    test_region memory{8_KiB};
    void* p = nullptr;
    {
        heap<toy_fit> h{memory.span()};
        p = h.allocate(100);
    }
    EXPECT_FALSE(heap<first_fit>::adopt(memory.span()).owns(p));
    heap<toy_fit> again = heap<toy_fit>::adopt(memory.span());
    EXPECT_TRUE(again.owns(p));
    again.validate();
    again.deallocate(p, 100);
    EXPECT_EQ(again.stats().free_size, again.stats().capacity);
}

}  // namespace
