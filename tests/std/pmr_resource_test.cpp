// Behaviours of cairn/std/pmr_resource.hpp: std::pmr on cairn memory, cairn on std::pmr memory.
#include <cairn/core/poison.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/std/pmr_resource.hpp>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

TEST(pmr_resource, owns_or_refers_as_it_is_written) {
    test_upstream memory;
    pmr_resource refers{memory};
    static_assert(std::is_same_v<decltype(refers), pmr_resource<test_upstream&>>);
    EXPECT_EQ(&refers.inner(), &memory);
    pmr_resource<page_allocator> owns{page_options{.name = "pmr"}};
    EXPECT_STREQ(owns.inner().options().name, "pmr");
    static_assert(!std::is_copy_constructible_v<pmr_resource<test_upstream&>>);
    static_assert(!std::is_move_constructible_v<pmr_resource<page_allocator>>);
}

TEST(pmr_resource, pmr_containers_live_in_it_and_give_everything_back) {
    test_upstream memory;
    {
        pmr_resource resource{memory};
        std::pmr::vector<std::pmr::string> names{&resource};
        std::pmr::map<int, std::pmr::string> by_number{&resource};
        std::pmr::unordered_map<std::pmr::string, int> by_name{&resource};
        for (int i = 0; i < 200; ++i) {
            std::pmr::string name{"the name of number " + std::to_string(i), &resource};
            names.push_back(name);
            by_number[i] = name;
            by_name[name] = i;
        }
        EXPECT_EQ(names[150].get_allocator().resource(), &resource) << "elements too";
        EXPECT_EQ(by_name[names[77]], 77);
        EXPECT_GT(memory.live_count(), 400u);
    }
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(pmr_resource, an_exhausted_allocator_throws_and_null_never_comes_out) {
    test_upstream memory;
    memory.refuse_from(1);
    pmr_resource resource{memory};
    void* const p = resource.allocate(100, 8);
    ASSERT_NE(p, nullptr);
    EXPECT_THROW((void)resource.allocate(100, 8), std::bad_alloc);
    volatile std::size_t absurd = SIZE_MAX;  // volatile: gcc would warn, rightly
    EXPECT_THROW((void)resource.allocate(absurd, 8), std::bad_alloc);
    resource.deallocate(p, 100, 8);
}

TEST(pmr_resource, passes_size_and_alignment_on_exactly) {
    test_upstream memory;  // checks what comes back against what was asked
    pmr_resource resource{memory};
    for (std::size_t align = 1; align <= 4096; align *= 2) {
        void* const p = resource.allocate(align * 3, align);
        EXPECT_TRUE(detail::is_aligned(p, alignment{align}));
        resource.deallocate(p, align * 3, align);
    }
}

TEST(pmr_resource, is_equal_to_itself_only) {
    test_upstream memory;
    pmr_resource a{memory};
    pmr_resource b{memory};
    EXPECT_TRUE(a == a);
    EXPECT_FALSE(a == b);
}

TEST(pmr_resource, a_move_between_resources_copies_the_elements) {
    // The trap of pmr, shown: std_allocator moves the memory instead (std_allocator_test).
    test_upstream memory_a;
    test_upstream memory_b;
    pmr_resource resource_a{memory_a};
    pmr_resource resource_b{memory_b};
    std::pmr::vector<int> a(1000, &resource_a);
    std::pmr::vector<int> b{&resource_b};
    const int* const data = a.data();
    b = std::move(a);
    EXPECT_NE(b.data(), data);
    EXPECT_EQ(memory_b.live_count(), 1u);
}

TEST(from_pmr, keeps_the_shared_contract_and_never_throws) {
    std::pmr::unsynchronized_pool_resource pool;
    from_pmr memory{&pool};
    // AddressSanitizer's operator new ends the program over 2^63 bytes instead of throwing.
    const contract::options o{.sizes_are_refused = !detail::poison_is_queryable};
    for (unsigned seed = 1; seed <= 20; ++seed) { check_allocator_contract(memory, seed, o); }
    from_pmr none{std::pmr::null_memory_resource()};
    EXPECT_EQ(none.allocate(1), nullptr);
    EXPECT_EQ(none.resource(), std::pmr::null_memory_resource());
}

TEST(pmr_resource, of_an_allocator_ref_keeps_a_copy_of_it) {
    test_upstream memory;
    const auto made_here = [&memory] {
        allocator_ref local = memory;
        pmr_resource resource{local};  // the local variable ends before the resource
        static_assert(std::is_same_v<decltype(resource), pmr_resource<allocator_ref>>);
        return allocator_ref{resource.inner()};
    };
    EXPECT_EQ(made_here(), allocator_ref{memory});
    pmr_resource resource{system_memory()};
    std::pmr::vector<int> numbers(100, &resource);
    EXPECT_EQ(numbers.size(), 100u);
}

TEST(from_pmr, asks_for_at_least_one_byte) {
    test_upstream memory;
    pmr_resource resource{memory};
    from_pmr again{&resource};
    void* const p = again.allocate(0, alignment{1});
    EXPECT_NE(p, nullptr);
    EXPECT_EQ(memory.live_size(), 1u);
    again.deallocate(p, 0, alignment{1});
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(from_pmr, both_ways_at_once_is_the_same_memory) {
    test_upstream memory;
    pmr_resource resource{memory};
    from_pmr again{&resource};
    pmr_resource resource_again{again};
    {
        std::pmr::vector<int> numbers(100, &resource_again);
        EXPECT_EQ(memory.live_count(), 1u);
    }
    memory.refuse_nothing();
    EXPECT_EQ(again.allocate(SIZE_MAX), nullptr);
    EXPECT_EQ(memory.request_count(), 1u) << "the absurd is refused without asking";
}
