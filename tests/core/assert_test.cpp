// What cairn/core/assert.hpp promises.
#include <cairn/core/assert.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

using namespace cairn;

namespace {

broken_promise some_promise() {
    broken_promise broken;
    broken.condition = "i < n";
    broken.invariant = "a slot is freed once";
    broken.where = broken.check = std::source_location::current();
    return broken;
}

std::string described(const broken_promise& broken, std::size_t size = 2048) {
    std::string text(size, '?');
    text.resize(describe(broken, text.data(), text.size()));
    return text;
}

void takes_a_line(call_site from = call_site::current()) {
    CAIRN_ASSERT(std::source_location{from}.line() == 0, "the caller did not call",
                 {.caller = from});
}

TEST(assert_handler, is_called_once_with_the_sentence_and_its_context) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    EXPECT_DEATH(
        {
            static char context[] = "context";
            set_assert_handler(
                +[](const broken_promise& broken, void* what) {
                    std::fprintf(stderr, "handler saw: %s, %s", broken.invariant,
                                 static_cast<const char*>(what));
                },
                context);
            CAIRN_ASSERT(1 == 2, "one is two");
        },
        "^handler saw: one is two, context$");
}

TEST(assert_handler, is_given_back_with_its_context_by_the_next_installation) {
    int context = 0;
    const assert_handler mine = [](const broken_promise&, void*) {};
    const detail::installed_handler first = set_assert_handler(mine, &context);
    const detail::installed_handler second = set_assert_handler(nullptr, &context);
    EXPECT_EQ(second.handler, mine);
    EXPECT_EQ(second.context, &context);
    const detail::installed_handler third = set_assert_handler(first.handler, first.context);
    EXPECT_EQ(third.handler, first.handler) << "nullptr installs the default";
    EXPECT_EQ(third.context, nullptr) << "which has no context";
}

TEST(assert_handler, and_its_context_are_read_as_a_pair_by_a_thread_that_fails_meanwhile) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    // Each context belongs to one handler: a pair that was never installed prints "mixed".
    EXPECT_DEATH(
        {
            static char a[] = "a";
            static char b[] = "b";
            const assert_handler wants_a = [](const broken_promise&, void* c) {
                std::fputs(c == a ? "pair" : "mixed", stderr);
            };
            const assert_handler wants_b = [](const broken_promise&, void* c) {
                std::fputs(c == b ? "pair" : "mixed", stderr);
            };
            set_assert_handler(wants_a, a);
            std::atomic<int> rounds{0};
            std::thread installer{[&] {
                for (;;) {
                    set_assert_handler(wants_b, b);
                    set_assert_handler(wants_a, a);
                    ++rounds;
                }
            }};
            while (rounds < 1000) { std::this_thread::yield(); }
            CAIRN_ASSERT(1 == 2, "one is two");
        },
        "^pair$");
}

TEST(broken_promise, names_the_line_of_the_caller_where_the_function_carries_it) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const auto handler = [](const broken_promise& broken, void*) {
        std::fprintf(stderr, "line %u checked by a line below %d, in %s",
                     static_cast<unsigned>(broken.where.line()), broken.check.line() < 50,
                     std::strrchr(broken.where.file_name(), '/'));
    };
    set_assert_handler(handler);
    const auto call = [] { takes_a_line(); };
    const unsigned line = std::source_location::current().line() - 1;
    EXPECT_DEATH(
        call(), "line " + std::to_string(line) + " checked by a line below 1, in /assert_test.cpp");
    set_assert_handler(nullptr);
}

TEST(broken_promise, a_default_constructed_caller_is_not_known) {
    EXPECT_EQ(std::source_location{}.line(), 0u);
    takes_a_line({});
}

TEST(describe, says_the_sentence_the_object_the_values_and_both_lines) {
    broken_promise broken = some_promise();
    EXPECT_EQ(described(broken).find(std::string{__FILE__ ":"}), 0u);
    EXPECT_NE(described(broken).find(": broken promise: a slot is freed once\n"),
              std::string::npos);
    EXPECT_EQ(described(broken).find("checked by"), std::string::npos)
        << "one line, when caller and check are one";
    broken.values[0] = {"slot", 4};
    EXPECT_NE(described(broken).find("\n    slot 4\n    in "), std::string::npos)
        << "no object, where none is known: " << described(broken);
    broken.type = "pool";
    EXPECT_NE(described(broken).find("\n    pool, slot 4\n    in "), std::string::npos)
        << described(broken);
    broken.type = nullptr;
    broken.object = &broken;
    EXPECT_NE(described(broken).find("\n    object at 0x"), std::string::npos);
    broken.object = &broken;
    broken.type = "pool";
    broken.name = "enemies";
    broken.values[0] = {"slot", 4};
    broken.values[1] = {"life", 7};
    broken.check = std::source_location::current();
    const std::string all = described(broken);
    EXPECT_NE(all.find("\n    pool 'enemies' at 0x"), std::string::npos) << all;
    EXPECT_NE(all.find(", slot 4, life 7\n    in "), std::string::npos) << all;
    EXPECT_NE(all.find("\n    i < n, checked by " + std::string(__FILE__)), std::string::npos)
        << all;
}

TEST(describe, stays_inside_its_buffer) {
    broken_promise broken = some_promise();
    broken.type = "pool";
    broken.values[0] = {"slot", 4};
    const std::string all = described(broken);
    for (std::size_t size = 0; size <= all.size() + 2; ++size) {
        std::string text(size + 1, '?');
        const std::size_t written = describe(broken, text.data(), size);
        EXPECT_EQ(text[size], '?') << size;
        if (size != 0) {
            EXPECT_EQ(text[written], '\0') << size;
            EXPECT_EQ(text.substr(0, written), all.substr(0, size - 1)) << size;
        } else {
            EXPECT_EQ(written, 0u);
        }
    }
}

TEST(CAIRN_ASSERT, evaluates_nothing_when_the_condition_holds) {
    [[maybe_unused]] int calls = 0;
    [[maybe_unused]] const auto details = [&] {
        ++calls;
        return detail::evidence{};
    };
    CAIRN_ASSERT(true, "true is true", details());
    EXPECT_EQ(calls, 0);
}

}  // namespace
