// What the tests of a hardened heap share: the sentence in which an operation ends, and the suite
// of fits.
#pragma once

#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "support/heap_fits.hpp"

namespace heap_hardening_tests {

using namespace cairn;
using namespace cairn::literals;

inline misuse_kind kind;  // of the last sentence_of()

/// Runs `operation` aside. Returns: the sentence that it ended in, or nothing; `kind` says what it
/// was.
template <class Operation>
std::string sentence_of(Operation operation) {
    const caught_promise told = expect_broken_promise(operation);
    EXPECT_FALSE(told.died()) << told;
    kind = told.kind();
    return told.sentence();
}

/// Ends an operation with a sentence of the test: what it finds aside it cannot tell in another
/// way.
[[noreturn]] inline void tell(const char* what) { cairn::detail::assert_failed("told", what); }

inline constexpr const char* went_wrong = "a heap that says nothing works";

template <class Fit>
class heap_hardening : public testing::Test {};

TYPED_TEST_SUITE(heap_hardening, test::all_fits, test::fit_names);

inline constexpr std::size_t memory_size = 64_KiB;

struct block {
    std::byte* data;
    std::size_t size;
};

}  // namespace heap_hardening_tests
