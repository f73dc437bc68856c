// What cairn/core/inside/flavour.hpp, version.hpp and fwd.hpp promise to the compiler; what they promise
// to the linker is in tests/modules.
#include <cairn/fwd.hpp>

// Declared ahead and pointed to, as a header would: before the classes are known.
struct world {
    cairn::arena* level;
    cairn::virtual_arena* strings;
    cairn::double_ended_arena* loading;
    cairn::pool* messages;
    cairn::concurrent_pool* jobs;
    cairn::pool_of<world>* others;
    cairn::arena_scope<cairn::growing_arena>* scope;
    cairn::per_thread<long>* counters;
    cairn::packed_array<int>* numbers;
    cairn::relocatable_heap* scripts;
    cairn::concurrent_relocatable_heap* assets;
    cairn::mutex* lock;
};

#include <cairn/cairn.hpp>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace {

TEST(flavour, names_declared_ahead_are_those_of_the_classes) {
    cairn::arena level{1024};
    cairn::concurrent_pool jobs{64};
    cairn::per_thread<long> counters{2};
    world w{};
    w.level = &level;
    w.jobs = &jobs;
    w.counters = &counters;
    EXPECT_NE(w.level->allocate(8, cairn::default_alignment), nullptr);
    EXPECT_GT(sizeof(*w.others) + sizeof(*w.scope) + sizeof(*w.numbers), 0u);
}

TEST(flavour, version_asserts_and_sanitizer_are_in_the_names) {
#if CAIRN_ASSERTS && CAIRN_DETAIL_ASAN
    using named = cairn::v0_1_checked_asan::arena;
#elif CAIRN_ASSERTS
    using named = cairn::v0_1_checked::arena;
#elif CAIRN_DETAIL_ASAN
    using named = cairn::v0_1_asan::arena;
#else
    using named = cairn::v0_1::arena;
#endif
    EXPECT_TRUE((std::is_same_v<named, cairn::arena>));
}

TEST(flavour, the_version_of_the_headers_is_that_of_the_package) {
    EXPECT_EQ(std::to_string(CAIRN_VERSION_MAJOR) + "." + std::to_string(CAIRN_VERSION_MINOR) +
                  "." + std::to_string(CAIRN_VERSION_PATCH),
              PACKAGE_VERSION);
    EXPECT_EQ(CAIRN_VERSION, 100);
}

}  // namespace
