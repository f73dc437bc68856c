// What cairn/alloc/array_recycler.hpp promises; its use by containers is in tests/std.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <gtest/gtest.h>

#include <cstring>

#include "support/allocator_contract.hpp"
#include "support/arena_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

TEST(array_recycler, a_freed_array_serves_the_next_request_of_its_size) {
    arena memory{4_KiB};
    array_recycler again{memory};
    void* const x = again.allocate(100);
    (void)again.allocate(16);
    again.deallocate(x, 100);
    EXPECT_EQ(again.allocate(65), x) << "both are of the power of two 128";
    EXPECT_NE(again.allocate(65), x);
}

TEST(array_recycler, a_mark_forgets_the_lists_as_a_rewind_does) {
    arena memory{4_KiB};
    array_recycler again{memory};
    void* const x = again.allocate(64);
    void* const y = again.allocate(64);
    again.deallocate(x, 64);  // to its list
    again.deallocate(y, 64);  // back to the arena: x is the last block now
    const auto here = again.mark();
    void* const z = again.allocate(64);
    again.deallocate(z, 64);  // were z x, the arena would shrink below the mark
    EXPECT_NE(z, x);
    again.rewind(here);
    EXPECT_EQ(memory.used_size(), 64u);
    memory.validate();
}

TEST(array_recycler, keeps_the_common_contract) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        test_upstream upstream;
        growing_arena memory{1_KiB, upstream};
        array_recycler again{memory};
        check_allocator_contract(again, seed);
    }
}

/// The model's arena: a recycling one, with what it asks of arenas.
template <class Arena>
class recycling_arena {
public:
    using marker = typename Arena::marker;
    template <class... Args>
    explicit recycling_arena(Args&&... args)
        : inner_{std::forward<Args>(args)...}, again_{inner_} {}

    void* allocate(std::size_t size, alignment align) noexcept {
        return again_.allocate(size, align);
    }
    void deallocate(void* p, std::size_t size, alignment align) noexcept {
        again_.deallocate(p, size, align);
    }
    bool try_resize(void* p, std::size_t from, std::size_t to, alignment align) noexcept {
        // A size of its own for each block: the wrapper shrinks only within a power of two, and the
        // model wants every shrinking to succeed.
        return to > from ? again_.try_resize(p, from, to, align)
                         : again_.good_size(to, align) == again_.good_size(from, align) &&
                               again_.try_resize(p, from, to, align);
    }
    marker mark() noexcept { return again_.mark(); }
    void rewind(const marker& to) noexcept { again_.rewind(to); }
    void reset() noexcept { again_.reset(); }
    void validate() const noexcept { inner_.validate(); }

private:
    Arena inner_;
    array_recycler<Arena&> again_;
};

void check_against_model(unsigned seed, arena_model_options o) {
    o.shrinking_fails = true;
    test_upstream upstream;
    recycling_arena<growing_arena> a{std::size_t{1_KiB}, upstream};
    check_arena_against_model(a, seed, o);
    recycling_arena<virtual_arena> v{std::size_t{16_MiB}};
    check_arena_against_model(v, seed, o);
}

TEST(array_recycler, agrees_with_the_model_over_marks) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        check_against_model(seed, {.operation_count = 5000});
    }
}

TEST(array_recycler, agrees_with_the_model_over_marks_where_all_blocks_share_a_list) {
    for (const unsigned seed : {100u, 1u, 2u, 3u, 4u, 5u}) {
        check_against_model(seed, {.operation_count = 20'000,
                                   .size_min = 17,
                                   .size_max = 32,
                                   .align_log2_max = 4,
                                   .large_every = 1'000'000,
                                   .reset_every = 20,
                                   .older_percent = 10,
                                   .resize_percent = 0});
    }
}

}  // namespace
