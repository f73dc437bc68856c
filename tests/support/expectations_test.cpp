// What a failed comparison says and does is what GoogleTest says: with its own macros (a build without a
// precompiled header) and with those of support/expectations.hpp.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace {

using result_type = testing::TestPartResult;

/// Runs `body` and returns what failed in it, as words.
template <class F>
std::string words_of(F body, result_type::Type type = result_type::kNonFatalFailure) {
    testing::TestPartResultArray found;
    {
        const testing::ScopedFakeTestPartResultReporter reporter(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &found);
        body();
    }
    if (found.size() != 1) { return std::to_string(found.size()) + " failures"; }
    const auto& first = found.GetTestPartResult(0);
    if (first.type() != type) { return "of the other kind"; }
    return first.message();
}

enum class colour { red = 3 };
struct yes_or_no {
    bool yes;
    explicit operator bool() const { return yes; }
};

TEST(expectation, that_holds_is_silent_and_looks_once) {
    int calls = 0;
    const auto next = [&calls] { return ++calls; };
    const auto silent = words_of([&] {
        EXPECT_EQ(next(), 1);
        EXPECT_NE(next(), 1);
        EXPECT_LT(next(), 4);
        EXPECT_LE(next(), 4);
        EXPECT_GT(next(), 4);
        EXPECT_GE(next(), 6);
        EXPECT_TRUE(next() == 7);
        EXPECT_FALSE(next() == 7);
        EXPECT_TRUE(yes_or_no{true});
        EXPECT_FALSE(std::unique_ptr<int>());
        EXPECT_EQ(std::string("as"), "as");
        EXPECT_TRUE(testing::AssertionSuccess());
    });
    EXPECT_EQ(silent, "0 failures");
    EXPECT_EQ(calls, 8);
}

TEST(expectation, says_both_values_and_how_they_were_written) {
    const int two = 2;
    EXPECT_EQ(
        words_of([&] { EXPECT_EQ(two + 1, 4u); }),
        "Expected equality of these values:\n  two + 1\n    Which is: 3\n  4u\n    Which is: 4");
    EXPECT_EQ(words_of([&] { EXPECT_EQ(std::string("ab"), "abc"); }),
              "Expected equality of these values:\n  std::string(\"ab\")\n    Which is: \"ab\"\n  "
              "\"abc\"");
    EXPECT_EQ(words_of([&] { EXPECT_NE(two, 2); }), "Expected: (two) != (2), actual: 2 vs 2");
    EXPECT_EQ(words_of([&] { EXPECT_LT(two, 1u); }), "Expected: (two) < (1u), actual: 2 vs 1");
    EXPECT_EQ(words_of([&] { EXPECT_LE(two, 1); }), "Expected: (two) <= (1), actual: 2 vs 1");
    EXPECT_EQ(words_of([&] { EXPECT_GT(two, 2); }), "Expected: (two) > (2), actual: 2 vs 2");
    EXPECT_EQ(words_of([&] { EXPECT_GE(two, 3); }), "Expected: (two) >= (3), actual: 2 vs 3");
    EXPECT_EQ(words_of([&] { EXPECT_NE(static_cast<int*>(nullptr), nullptr); }),
              "Expected: (static_cast<int*>(nullptr)) != (nullptr), actual: NULL vs (nullptr)");
    EXPECT_NE(
        words_of([&] { EXPECT_EQ(colour::red, colour{4}); }).find("4-byte object <03-00 00-00>"),
        std::string::npos);
}

TEST(expectation, says_which_condition_it_was) {
    const bool good = false;
    EXPECT_EQ(words_of([&] { EXPECT_TRUE(good); }),
              "Value of: good\n  Actual: false\nExpected: true");
    EXPECT_EQ(words_of([&] { EXPECT_FALSE(!good); }),
              "Value of: !good\n  Actual: true\nExpected: false");
    const auto reason = testing::AssertionFailure() << "no room";
    EXPECT_EQ(words_of([&] { EXPECT_TRUE(reason); }),
              "Value of: reason\n  Actual: false (no room)\nExpected: true");
}

TEST(expectation, says_what_is_written_behind_it) {
    const std::string room = "room";
    EXPECT_EQ(words_of([&] { EXPECT_NE(1, 1) << "in " << room << ' ' << 7 << ", " << 8u << true; }),
              "Expected: (1) != (1), actual: 1 vs 1\nin room 7, 8true");
    EXPECT_EQ(words_of([] { EXPECT_TRUE(false); }),
              "Value of: false\n  Actual: false\nExpected: true");
}

TEST(expectation, names_its_line) {
    testing::TestPartResultArray found;
    int line = 0;
    {
        const testing::ScopedFakeTestPartResultReporter reporter(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &found);
        line = __LINE__ + 1;
        EXPECT_EQ(1, 2);
    }
    ASSERT_EQ(found.size(), 1);
    EXPECT_EQ(found.GetTestPartResult(0).line_number(), line);
    EXPECT_STREQ(found.GetTestPartResult(0).file_name(), __FILE__);
}

TEST(assertion, ends_the_function_where_it_fails_and_goes_on_where_it_holds) {
    int reached = 0;
    const auto body = [&](int value) {
        ASSERT_EQ(value, 1) << "no " << value;
        ASSERT_NE(value, 2);
        ASSERT_LT(value, 2);
        ASSERT_LE(value, 1);
        ASSERT_GT(value, 0);
        ASSERT_GE(value, 1);
        ASSERT_TRUE(value == 1);
        ASSERT_FALSE(value == 2);
        ++reached;
    };
    EXPECT_EQ(words_of([&] { body(1); }), "0 failures");
    EXPECT_EQ(reached, 1);
    EXPECT_EQ(words_of([&] { body(5); }, result_type::kFatalFailure),
              "Expected equality of these values:\n  value\n    Which is: 5\n  1\nno 5");
    EXPECT_EQ(reached, 1);
    EXPECT_EQ(words_of([&] { ASSERT_TRUE(reached == 0); }, result_type::kFatalFailure),
              "Value of: reached == 0\n  Actual: false\nExpected: true");
}

TEST(expectation, is_one_statement) {
    if (false)
        EXPECT_EQ(1, 2);
    else
        EXPECT_EQ(1, 1);
}

}  // namespace
