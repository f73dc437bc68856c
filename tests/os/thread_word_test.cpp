// Each living thread has a word of its own.
#include <cairn/os/inside/thread_word.hpp>
#include <gtest/gtest.h>

#include <thread>

using cairn::detail::this_thread_word;

TEST(thread_word, a_thread_finds_the_same_word_again) {
    EXPECT_NE(this_thread_word(), nullptr);
    EXPECT_EQ(this_thread_word(), this_thread_word());
}

TEST(thread_word, another_living_thread_has_another) {
    const void* theirs = nullptr;
    std::thread other{[&] { theirs = this_thread_word(); }};
    other.join();
    EXPECT_NE(theirs, nullptr);
    EXPECT_NE(theirs, this_thread_word());
}
