// What cairn/testing/expect_broken_promise.hpp promises, seen from GoogleTest. The same without a
// framework and in others: expect_broken_promise_plain.cpp, expect_broken_promise_doctest.cpp,
// expect_broken_promise_catch2.cpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

using namespace cairn;

namespace {

TEST(expect_broken_promise, returns_the_sentence_the_kind_and_the_line_of_the_caller) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    pool slots{64, default_alignment, system_memory(), {.name = "messages"}};
    void* const other = slots.allocate();
    void* const p = slots.allocate();
    slots.deallocate(p);
    const unsigned line = std::source_location::current().line() + 1;
    const auto broken = expect_broken_promise([&] { slots.deallocate(p); });
    ASSERT_TRUE(broken) << broken;
    EXPECT_STREQ(broken.sentence(), "a slot is freed once");
    EXPECT_EQ(broken.kind(), misuse_kind::double_free);
    EXPECT_EQ(broken.line(), line);
    EXPECT_STREQ(broken.file(), __FILE__);
    EXPECT_EQ(broken.object(), &slots);
    EXPECT_STREQ(broken.type(), "pool");
    EXPECT_EQ(broken.value("slot"), 1u);
    EXPECT_EQ(broken.value("bytes of a slot"), 64u);
    EXPECT_EQ(broken.value("no such value"), ~0ull);
    EXPECT_TRUE(broken.says("pool 'messages' at"));
    EXPECT_FALSE(broken.says("no such words"));
    slots.deallocate(other);
}

TEST(expect_broken_promise, leaves_the_object_as_it_was) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    pool slots{64};
    void* const p = slots.allocate();
    int calls = 0;
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(expect_broken_promise([&] {
                        ++calls;
                        slots.deallocate(static_cast<std::byte*>(p) + 1);
                    }).says("by the address it was given out with"));
    }
#if !defined(_WIN32)
    EXPECT_EQ(calls, 0) << "what a child did is not seen here";
#endif
    slots.validate();
    slots.deallocate(p);
    EXPECT_EQ(slots.allocate(), p);
    slots.deallocate(p);
}

TEST(expect_broken_promise, tells_a_promise_that_was_kept) {
    pool slots{64};
    const auto kept = expect_broken_promise([&] { slots.deallocate(slots.allocate()); });
    EXPECT_FALSE(kept);
    EXPECT_FALSE(kept.died());
    EXPECT_STREQ(kept.sentence(), "");
    EXPECT_FALSE(kept.says(""));
    EXPECT_STREQ(kept.text(), "no promise was broken\n");
}

TEST(expect_broken_promise, tells_a_death_without_a_sentence) {
    for (const auto how : {+[] { std::abort(); }, +[] { std::_Exit(0); }}) {
        const auto dead = expect_broken_promise(how);
        EXPECT_FALSE(dead);
        EXPECT_TRUE(dead.died());
    }
}

#if defined(__cpp_exceptions)
TEST(expect_broken_promise, lets_no_exception_climb_out_of_a_child) {
    EXPECT_TRUE(expect_broken_promise([] { throw 1; }).died());
}
#endif

TEST(expect_broken_promise, sees_what_is_broken_behind_an_allocator_ref) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena memory{1024};
    const allocator_ref ref{memory};
    int local = 0;
    const auto broken = expect_broken_promise([&] { ref.deallocate(&local, sizeof local); });
    EXPECT_TRUE(broken.says("a block comes back to the arena")) << broken;
    EXPECT_EQ(broken.kind(), misuse_kind::foreign_pointer);
}

TEST(expect_broken_promise, sees_the_wrappers_sentences_in_every_build) {
    heap<> memory{grow_by{64 << 10}};
    guarded guard{memory};
    void* const p = guard.allocate(100);
    const auto broken = expect_broken_promise([&] { guard.deallocate(p, 90); });
    EXPECT_TRUE(broken.says("has 100 bytes")) << broken;
    EXPECT_EQ(broken.kind(), misuse_kind::wrong_size);
    EXPECT_STREQ(broken.file(), __FILE__);
    guard.deallocate(p, 100);
}

TEST(expect_broken_promise, gives_the_handler_back) {
    int context = 0;
    const assert_handler mine = [](const broken_promise&, void*) {};
    const detail::installed_handler before = set_assert_handler(mine, &context);
    (void)expect_broken_promise([] {});
    const detail::installed_handler after = set_assert_handler(before.handler, before.context);
    EXPECT_EQ(after.handler, mine);
    EXPECT_EQ(after.context, &context);
}

TEST(expect_broken_promise, prints_what_was_said) {
    std::ostringstream out;
    out << expect_broken_promise([] {});
    EXPECT_EQ(out.str(), "no promise was broken\n");
}

TEST(expect_broken_promise, does_not_wait_for_what_ended_without_a_word) {
    errno = EINTR;  // of a call before
    EXPECT_TRUE(expect_broken_promise([] { std::_Exit(3); }).died());
}

TEST(expect_broken_promise, cuts_long_words_off) {
    const std::string sentence(5000, 's');
    const auto broken = expect_broken_promise([&] {
        detail::assert_failed("c", sentence.c_str(),
                              {.type = sentence.c_str(),
                               .values = {{"one", 1}, {sentence.c_str(), 2}, {"three", 3}}});
    });
    ASSERT_TRUE(broken);
    EXPECT_EQ(std::strlen(broken.sentence()), 255u);
    EXPECT_EQ(std::strlen(broken.text()), 2047u);
    EXPECT_EQ(broken.value("three"), 3u);
}

}  // namespace
