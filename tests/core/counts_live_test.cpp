// Sentences of cairn/core/inside/counts_live.hpp. What budget and failing make of them is in their tests.
#include <cairn/alloc/arena.hpp>
#include <cairn/core/inside/counts_live.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <vector>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

/// Refuses while it is closed, and remembers what it was asked.
template <byte_allocator A>
class doorman : public detail::counts_live<doorman<A>, A> {
    using base = detail::counts_live<doorman<A>, A>;

public:
    using base::base;
    bool is_open = true;
    std::vector<std::size_t> asked;

private:
    friend base;
    bool admits(std::size_t size) noexcept {
        asked.push_back(size);
        return is_open;
    }
};
template <class A>
doorman(A&) -> doorman<A&>;

using sizes = std::vector<std::size_t>;

}  // namespace

TEST(counts_live, keeps_the_shared_contract) {
    test_upstream heap;
    doorman memory{heap};
    check_allocator_contract(memory, 3);
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(counts_live, counts_what_is_live_and_the_most_that_was) {
    test_upstream heap;
    doorman memory{heap};
    void* const a = memory.allocate(100);
    void* const b = memory.allocate(50);
    EXPECT_EQ(memory.live_size(), 150u);
    memory.deallocate(a, 100);
    memory.deallocate(nullptr, 100);
    EXPECT_EQ(memory.live_size(), 50u);
    void* const c = memory.allocate(20);
    EXPECT_EQ(memory.live_size(), 70u);
    EXPECT_EQ(memory.peak_size(), 150u);
    memory.deallocate(b, 50);
    memory.deallocate(c, 20);
}

TEST(counts_live, asks_once_for_each_request_before_the_allocator_is_asked) {
    test_upstream heap;
    doorman memory{heap};
    memory.is_open = false;
    EXPECT_EQ(memory.allocate(100), nullptr);
    EXPECT_EQ(heap.request_count(), 0u);
    EXPECT_EQ(memory.live_size(), 0u);
    EXPECT_EQ(memory.asked, (sizes{100}));
    memory.is_open = true;
    heap.refuse_from(0, 1);
    EXPECT_EQ(memory.allocate(200), nullptr);
    EXPECT_EQ(memory.live_size(), 0u) << "what the allocator refuses counts for nothing";
    EXPECT_EQ(memory.asked, (sizes{100, 200}));
}

TEST(counts_live, asks_for_what_a_block_grows_by_and_never_for_shrinking) {
    page_allocator pages;
    doorman memory{pages};
    void* const p = memory.allocate(100);
    EXPECT_TRUE(memory.try_resize(p, 100, 3000));
    EXPECT_EQ(memory.asked, (sizes{100, 2900}));
    EXPECT_EQ(memory.live_size(), 3000u);
    EXPECT_EQ(memory.peak_size(), 3000u);
    memory.is_open = false;
    EXPECT_FALSE(memory.try_resize(p, 3000, 3001));
    EXPECT_EQ(memory.live_size(), 3000u);
    EXPECT_TRUE(memory.try_resize(p, 3000, 10));
    EXPECT_EQ(memory.live_size(), 10u);
    EXPECT_EQ(memory.asked, (sizes{100, 2900, 1}));
    EXPECT_FALSE(memory.try_resize(p, 10, std::size_t{1} << 40));
    EXPECT_EQ(memory.live_size(), 10u);
    memory.deallocate(p, 10);
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(counts_live, a_rewind_and_a_reset_forget_what_the_arena_forgets) {
    doorman<arena> memory{4_KiB};
    void* const first = memory.allocate(100);
    const auto here = memory.mark();
    (void)memory.allocate(200);
    EXPECT_EQ(memory.live_size(), 300u);
    memory.rewind(here);
    EXPECT_EQ(memory.live_size(), 100u);
    memory.reset();
    EXPECT_EQ(memory.live_size(), 0u);
    EXPECT_EQ(memory.peak_size(), 300u);
    EXPECT_EQ(memory.allocate(100), first) << "the arena begins anew";
}

TEST(counts_live, charges_for_bytes_from_elsewhere_what_the_wrapper_admits) {
    test_upstream heap;
    doorman memory{heap};
    EXPECT_TRUE(memory.try_charge(100));
    memory.is_open = false;
    EXPECT_FALSE(memory.try_charge(7));
    EXPECT_EQ(memory.asked, (sizes{100, 7}));
    EXPECT_EQ(memory.live_size(), 100u);
    memory.refund(100);
    EXPECT_EQ(memory.live_size(), 0u);
    EXPECT_EQ(heap.request_count(), 0u);
}
