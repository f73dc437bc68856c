// Sentences of cairn/adapt/hooks.hpp.
#include <cairn/adapt/hooks.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/os/system_allocator.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

using namespace cairn;

namespace {

// One named memory of each kind: with sizes in the blocks, and with sizes in front of them.
heap<> heap_object;
heap<>& heap_function() noexcept {
    static heap<> memory;
    return memory;
}
locked<heap<>> locked_heap;
concurrent_heap concurrent_object;
growing_arena arena_object;
system_allocator system_object;
budget<heap<>> budget_object{64_MiB};
tracked<heap<>> tracked_heap{tracked<heap<>>::options{.name = "hooks", .list = true}};

template <class Hooks>
class every_memory : public testing::Test {};
using memories = testing::Types<hooks<heap_object>, hooks<heap_function>, hooks<locked_heap>,
                                hooks<concurrent_object>, hooks<arena_object>, hooks<system_object>,
                                hooks<budget_object>, hooks<tracked_heap>,
                                hooks<heap_object, hook_sizes::trusted>>;
TYPED_TEST_SUITE(every_memory, memories);

struct block {
    unsigned char* data;
    std::size_t size;
    unsigned char fill;
};

/// Each way to get a block: what a library may call, and what it may expect of the pointer.
struct way_in {
    const char* name;
    void* (*get)(std::size_t size);
    std::size_t align;
    bool zeroed;
};
template <class H>
constexpr way_in ways_in[] = {
    {"malloc", [](std::size_t n) { return (H::malloc)(n); }, 16, false},
    {"calloc", [](std::size_t n) { return (H::calloc)(n, 1); }, 16, true},
    {"calloc of pairs", [](std::size_t n) { return (H::calloc)((n + 1) / 2, 2); }, 16, true},
    {"realloc", [](std::size_t n) { return (H::realloc)(nullptr, n); }, 16, false},
    {"realloc_sized", [](std::size_t n) { return H::realloc_sized(nullptr, 7, n); }, 16, false},
    {"aligned_alloc 8", [](std::size_t n) { return H::aligned_alloc(8, n); }, 8, false},
    {"aligned_alloc 64", [](std::size_t n) { return H::aligned_alloc(64, n); }, 64, false},
    {"aligned_malloc 256", [](std::size_t n) { return H::aligned_malloc(n, 256); }, 256, false},
};

/// Each way out. The ones with a size get a wrong one: untrusted sizes are not read.
template <class H>
constexpr void (*ways_out[])(void*) = {
    [](void* p) { (H::free)(p); },
    [](void* p) { H::free_sized(p, 12345); },
    [](void* p) { H::free_aligned_sized(p, 1, 0); },
    [](void* p) { EXPECT_EQ((H::realloc)(p, 0), nullptr); },
    [](void* p) { EXPECT_EQ(H::realloc_sized(p, 99999, 0), nullptr); },
};
// Sizes that the allocator trusts are right, so only the ways without one are left.
template <auto& M>
constexpr void (*ways_out<hooks<M, hook_sizes::trusted>>[])(void*) = {
    [](void* p) { (hooks<M, hook_sizes::trusted>::free)(p); },
    [](void* p) { EXPECT_EQ((hooks<M, hook_sizes::trusted>::realloc)(p, 0), nullptr); },
};

void expect_filled(const block& b) {
    const auto* const end = b.data + b.size;
    EXPECT_EQ(std::find_if(b.data, b.data + b.size, [&](unsigned char c) { return c != b.fill; }),
              end)
        << "a block of " << b.size << " bytes changed";
}
void fill(block& b, unsigned char with) {
    b.fill = with;
    if (b.size != 0) { std::memset(b.data, with, b.size); }
}

/// Random calls of every shape beside a model that keeps what each block holds. A request may be
/// refused: then nothing has changed.
template <class H>
std::size_t run_random_calls(unsigned seed, int count) {
    std::mt19937 random{seed};
    std::vector<block> blocks;
    std::size_t refused = 0;
    for (int i = 0; i < count; ++i) {
        const auto mark = static_cast<unsigned char>(i);
        const std::size_t size = random() % (random() % 8 == 0 ? 9000 : 200);
        const auto what = random() % 4;
        if (what < 2 || blocks.empty()) {
            const way_in& way = ways_in<H>[random() % std::size(ways_in<H>)];
            block b{static_cast<unsigned char*>(way.get(size)), size, 0};
            if (b.data == nullptr) {
                ++refused;
                continue;
            }
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data) % way.align, 0u) << way.name;
            EXPECT_GE(H::malloc_usable_size(b.data), size) << way.name;
            if (way.zeroed) { expect_filled(b); }
            fill(b, mark);
            blocks.push_back(b);
            continue;
        }
        block& b = blocks[random() % blocks.size()];
        expect_filled(b);
        if (what == 2 && size != 0) {
            auto* const p = static_cast<unsigned char*>((H::realloc)(b.data, size));
            if (p == nullptr) {
                ++refused;
                EXPECT_GT(size, b.size) << "a smaller size is never refused";
                continue;
            }
            b = {p, std::min(size, b.size), b.fill};
            expect_filled(b);
            b.size = size;
            fill(b, mark);
        } else {
            ways_out<H>[random() % std::size(ways_out<H>)](b.data);
            b = blocks.back();
            blocks.pop_back();
        }
    }
    for (const block& b : blocks) {
        expect_filled(b);
        (H::free)(b.data);
    }
    return refused;
}

}  // namespace

TYPED_TEST(every_memory, serves_every_shape_as_a_model_says) {
    EXPECT_EQ(run_random_calls<TypeParam>(1, 3000), 0u);
    EXPECT_EQ(budget_object.live_size(), 0u);
    EXPECT_EQ(tracked_heap.stats().live_size, 0u);
}

TYPED_TEST(every_memory, refuses_a_product_that_does_not_exist) {
    EXPECT_EQ((TypeParam::calloc)(SIZE_MAX / 2 + 2, 2), nullptr) << "the product would be 2";
    EXPECT_EQ((TypeParam::calloc)(4, SIZE_MAX / 4 + 2), nullptr) << "the product would be 4";
    EXPECT_EQ((TypeParam::malloc)(SIZE_MAX), nullptr);
    EXPECT_EQ((TypeParam::malloc)(SIZE_MAX - 15), nullptr);
    EXPECT_EQ(TypeParam::aligned_alloc(4096, SIZE_MAX - 4000), nullptr);
}

TYPED_TEST(every_memory, refuses_an_alignment_that_is_no_power_of_two) {
    EXPECT_EQ(TypeParam::aligned_alloc(0, 10), nullptr);
    EXPECT_EQ(TypeParam::aligned_alloc(24, 10), nullptr);
    EXPECT_EQ(TypeParam::aligned_malloc(10, 48), nullptr);
}

TYPED_TEST(every_memory, gives_a_pointer_for_no_bytes_and_takes_none_back) {
    void* const p = (TypeParam::malloc)(0);
    EXPECT_NE(p, nullptr);
    (TypeParam::free)(p);
    (TypeParam::free)(nullptr);
    TypeParam::free_sized(nullptr, 0);
    EXPECT_EQ(TypeParam::malloc_usable_size(nullptr), 0u);
    void* const q = (TypeParam::calloc)(0, 0);
    EXPECT_NE(q, nullptr);
    (TypeParam::free)(q);
}

TYPED_TEST(every_memory, serves_rapidjson) {
    typename TypeParam::rapidjson json;
    EXPECT_EQ(json.Malloc(0), nullptr);
    void* p = json.Malloc(10);
    p = json.Realloc(p, 10, 1000);
    EXPECT_NE(p, nullptr);
    EXPECT_EQ(json.Realloc(p, 1000, 0), nullptr);
    TypeParam::rapidjson::Free(json.Realloc(nullptr, 0, 5));
    EXPECT_EQ(budget_object.live_size(), 0u) << "Free() frees";
    EXPECT_TRUE(json == typename TypeParam::rapidjson{});
}

namespace {
failing<heap<>> refusing_object;
failing<system_allocator> fixed_object;  // does not resize in place
heap<> quiet;
}  // namespace

TEST(hooks, change_nothing_when_any_of_their_requests_is_refused) {
    using refusing = hooks<refusing_object>;
    std::size_t refused = 1;
    for (std::size_t n = 0; refused != 0; ++n) {
        refusing_object.refuse_from(refusing_object.request_count() + n, 1);
        refused = run_random_calls<refusing>(2, 300);
        EXPECT_EQ(refusing_object.live_size(), 0u) << n;
        ASSERT_LE(refused, 1u);
        ASSERT_LT(n, 1000u);
    }
}

TEST(hooks, keep_a_block_where_it_is_when_a_smaller_one_is_refused) {
    using refusing = hooks<fixed_object>;
    void* const p = (refusing::malloc)(5000);
    fixed_object.refuse_from(fixed_object.request_count());
    EXPECT_EQ((refusing::realloc)(p, 6000), nullptr);
    EXPECT_EQ((refusing::realloc)(p, 10), p);
    EXPECT_EQ(refusing::malloc_usable_size(p), 5000u);
    (refusing::free)(p);
    EXPECT_EQ(fixed_object.live_size(), 0u);
}

TEST(context_hooks, serve_the_allocator_that_the_context_points_to) {
    heap<> one;
    failing<heap<>> other;
    using in_heap = context_hooks<heap<>>;
    using in_other = context_hooks<failing<heap<>>>;
    void* const p = (in_heap::malloc)(&one, 100);
    void* const q = (in_other::malloc)(&other, 100);
    EXPECT_TRUE(one.owns(p));
    EXPECT_EQ(other.live_size(), 116u) << "16 bytes stand in front where sizes are not found";
    EXPECT_EQ(in_heap::realloc_sized(&one, p, 1, 0), nullptr);
    void* const grown = (in_other::realloc)(&other, q, 200);
    in_other::free_sized(&other, grown, 3);
    EXPECT_EQ(other.live_size(), 0u);
    EXPECT_EQ((in_heap::calloc)(&one, SIZE_MAX, 2), nullptr);
}

TEST(hooks, pass_sizes_on_that_are_trusted) {
    using in = context_hooks<failing<heap<>>, hook_sizes::trusted>;
    failing<heap<>> memory;
    void* p = (in::malloc)(&memory, 100);
    EXPECT_EQ(memory.live_size(), 100u) << "nothing stands in front";
    p = in::realloc_sized(&memory, p, 100, 3000);
    EXPECT_EQ(memory.live_size(), 3000u);
    p = in::realloc_sized(&memory, p, 3000, 50);
    EXPECT_EQ(memory.live_size(), 50u);
    in::free_sized(&memory, p, 50);
    in::free_aligned_sized(&memory, in::aligned_alloc(&memory, 128, 77), 128, 77);
    EXPECT_EQ(memory.live_size(), 0u);
    EXPECT_EQ(in::realloc_sized(&memory, (in::malloc)(&memory, 9), 9, 0), nullptr);
    EXPECT_EQ(memory.live_size(), 0u);
}

namespace {
template <class Hooks>
concept frees_without_size = requires(void* p) {
    (Hooks::free)(p, p);
    (Hooks::realloc)(p, p, 3);
    Hooks::malloc_usable_size(p, p);
};
static_assert(frees_without_size<context_hooks<failing<heap<>>>>);
static_assert(frees_without_size<context_hooks<heap<>, hook_sizes::trusted>>);
static_assert(!frees_without_size<context_hooks<failing<heap<>>, hook_sizes::trusted>>,
              "an allocator that needs sizes gets them from the library, and only from there");
}  // namespace

namespace {
/// Memory that knows which bytes are zero.
struct zeroed_memory {
    [[nodiscard]] void* allocate(std::size_t size, alignment align) noexcept {
        return quiet.allocate(size, align);
    }
    [[nodiscard]] void* allocate_zeroed(std::size_t size, alignment align) noexcept {
        ++asked;
        void* const p = quiet.allocate(size, align);
        return p == nullptr ? p : std::memset(p, 0, size);
    }
    void deallocate(void* p, std::size_t size, alignment align) noexcept {
        quiet.deallocate(p, size, align);
    }
    int asked = 0;
};
}  // namespace

TEST(hooks, ask_for_zeroed_bytes_where_the_allocator_has_them) {
    zeroed_memory memory;
    using in = context_hooks<zeroed_memory>;
    void* const p = (in::calloc)(&memory, 10, 10);
    EXPECT_EQ(memory.asked, 1);
    (in::free)(&memory, p);
}

TEST(hooks_death, name_a_pointer_that_they_did_not_give_out) {
    if (!asserts_enabled) { GTEST_SKIP() << "unchecked builds do not look"; }
    using in = hooks<budget_object>;
    alignas(16) unsigned char foreign[64] = {};
    EXPECT_DEATH((in::free)(foreign + 32), "came from the same hooks");
    EXPECT_DEATH((void)(in::realloc)(foreign + 32, 10), "came from the same hooks");
}
