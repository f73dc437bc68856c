// tests/support/expectations.hpp - GoogleTest's comparisons, in a quarter of the code.
//
// What EXPECT_EQ and its like of GoogleTest put into each line that uses them (an AssertionResult, a
// Message, a stream, and the ends of all three, on two paths) and into each unit (a dozen functions for
// each pair of types) was a third of what a compiler wrote for these tests. Here a line is one call
// and, where it fails, one object that reports: values are put into words out of line, by GoogleTest's
// own printers. Same meaning, same words, same `<<` behind them.
//
// Part of the precompiled header alone. A build without it (ccache, and tests that have options of their
// own) compiles the same tests with GoogleTest's macros: nothing here may mean something else.
#pragma once
#pragma GCC system_header  // as GoogleTest's: no warnings of what a test's comparison compares

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

namespace cairn::test {

using printer = std::string (*)(const void*);

template <class T>
std::string in_words(const void* value) {
    return ::testing::PrintToString(*static_cast<const T*>(value));
}
std::string chars_in_words(const void* value);  // an array of them, as a literal is

template <class T>
constexpr printer printer_of() {
    if constexpr (std::is_array_v<T> && std::is_same_v<std::remove_extent_t<T>, char>) {
        return &chars_in_words;
    } else {
        return &in_words<T>;
    }
}

/// What a comparison compared, to be put into words where it fails. Always returns false.
struct two_values {
    const void* a;
    printer print_a;
    const void* b;
    printer print_b;
};
bool differ(const char* a_text, const char* b_text, const two_values& values);
bool fails(const char* a_text, const char* b_text, const char* relation, const two_values& values);

template <class A, class B>
bool equal(const char* a_text, const char* b_text, const A& a, const B& b) {
    if (a == b) { return true; }
    return differ(
        a_text, b_text,
        {__builtin_addressof(a), printer_of<A>(), __builtin_addressof(b), printer_of<B>()});
}

#define CAIRN_TEST_RELATION(name, relation)                                                      \
    template <class A, class B>                                                                  \
    bool name(const char* a_text, const char* b_text, const A& a, const B& b) {                  \
        if (a relation b) { return true; }                                                       \
        return fails(                                                                            \
            a_text, b_text, #relation,                                                           \
            {__builtin_addressof(a), printer_of<A>(), __builtin_addressof(b), printer_of<B>()}); \
    }
CAIRN_TEST_RELATION(unequal, !=)
CAIRN_TEST_RELATION(less, <)
CAIRN_TEST_RELATION(at_most, <=)
CAIRN_TEST_RELATION(greater, >)
CAIRN_TEST_RELATION(at_least, >=)
#undef CAIRN_TEST_RELATION

bool not_so(const char* text, bool wanted);
bool not_so(const char* text, const ::testing::AssertionResult& result, bool wanted);

template <class T>
bool holds(const char* text, const T& value, bool wanted) {
    if constexpr (std::is_convertible_v<const T&, ::testing::AssertionResult>) {
        return static_cast<bool>(value) == wanted || not_so(text, value, wanted);
    } else {
        return static_cast<bool>(value) == wanted || not_so(text, wanted);
    }
}

/// Reports the last failure of this thread, with what is written into it, when it ends.
class report {
public:
    report(::testing::TestPartResult::Type, const char* file, int line);
    report(const report&) = delete;
    report& operator=(const report&) = delete;
    ~report();

    template <class T>
    report& operator<<(const T& value) {
        write(::testing::Message() << value);
        return *this;
    }
    report& operator<<(const char* words);
    report& operator<<(const std::string& words);
    report& operator<<(int value);
    report& operator<<(unsigned value);
    report& operator<<(std::size_t value);

private:
    void write(const ::testing::Message&);

    const char* file_;
    int line_;
    ::testing::TestPartResult::Type type_;
    std::unique_ptr<::testing::Message> words_;  // what was written, where there is any
};

struct no_value {
    void operator&(const report&) const {}
};

#if defined(CAIRN_TEST_ONCE)  // support/precompiled.cpp
#    define CAIRN_TEST_TEMPLATE template
#else
#    define CAIRN_TEST_TEMPLATE extern template
#endif
#define CAIRN_TEST_PAIR(A, B)                                                             \
    CAIRN_TEST_TEMPLATE bool equal<A, B>(const char*, const char*, const A&, const B&);   \
    CAIRN_TEST_TEMPLATE bool unequal<A, B>(const char*, const char*, const A&, const B&); \
    CAIRN_TEST_TEMPLATE bool less<A, B>(const char*, const char*, const A&, const B&);    \
    CAIRN_TEST_TEMPLATE bool at_most<A, B>(const char*, const char*, const A&, const B&); \
    CAIRN_TEST_TEMPLATE bool greater<A, B>(const char*, const char*, const A&, const B&); \
    CAIRN_TEST_TEMPLATE bool at_least<A, B>(const char*, const char*, const A&, const B&);
#define CAIRN_TEST_VALUE(T) CAIRN_TEST_TEMPLATE std::string in_words<T>(const void*);
CAIRN_TEST_PAIR(int, int)
CAIRN_TEST_PAIR(unsigned, int)
CAIRN_TEST_PAIR(unsigned, unsigned)
CAIRN_TEST_PAIR(std::size_t, int)
CAIRN_TEST_PAIR(std::size_t, unsigned)
CAIRN_TEST_PAIR(std::size_t, std::size_t)
CAIRN_TEST_TEMPLATE bool holds<bool>(const char*, const bool&, bool);
CAIRN_TEST_VALUE(bool)
CAIRN_TEST_VALUE(char)
CAIRN_TEST_VALUE(unsigned char)
CAIRN_TEST_VALUE(int)
CAIRN_TEST_VALUE(unsigned)
CAIRN_TEST_VALUE(std::size_t)
CAIRN_TEST_VALUE(std::byte)
CAIRN_TEST_VALUE(float)
CAIRN_TEST_VALUE(double)
CAIRN_TEST_VALUE(std::nullptr_t)
CAIRN_TEST_VALUE(void*)
CAIRN_TEST_VALUE(const void*)
CAIRN_TEST_VALUE(std::byte*)
CAIRN_TEST_VALUE(int*)
CAIRN_TEST_VALUE(const char*)
CAIRN_TEST_VALUE(std::string)
#undef CAIRN_TEST_VALUE
#undef CAIRN_TEST_PAIR

}  // namespace cairn::test

#undef EXPECT_EQ
#undef EXPECT_NE
#undef EXPECT_LT
#undef EXPECT_LE
#undef EXPECT_GT
#undef EXPECT_GE
#undef EXPECT_TRUE
#undef EXPECT_FALSE
#undef ASSERT_EQ
#undef ASSERT_NE
#undef ASSERT_LT
#undef ASSERT_LE
#undef ASSERT_GT
#undef ASSERT_GE
#undef ASSERT_TRUE
#undef ASSERT_FALSE

#define CAIRN_TEST_EXPECT(...)                                       \
    GTEST_AMBIGUOUS_ELSE_BLOCKER_ if (::cairn::test::__VA_ARGS__) {} \
    else ::cairn::test::report(::testing::TestPartResult::kNonFatalFailure, __FILE__, __LINE__)
#define CAIRN_TEST_ASSERT(...)                                       \
    GTEST_AMBIGUOUS_ELSE_BLOCKER_ if (::cairn::test::__VA_ARGS__) {} \
    else return ::cairn::test::no_value() &                          \
        ::cairn::test::report(::testing::TestPartResult::kFatalFailure, __FILE__, __LINE__)

#define EXPECT_EQ(a, b) CAIRN_TEST_EXPECT(equal(#a, #b, a, b))
#define EXPECT_NE(a, b) CAIRN_TEST_EXPECT(unequal(#a, #b, a, b))
#define EXPECT_LT(a, b) CAIRN_TEST_EXPECT(less(#a, #b, a, b))
#define EXPECT_LE(a, b) CAIRN_TEST_EXPECT(at_most(#a, #b, a, b))
#define EXPECT_GT(a, b) CAIRN_TEST_EXPECT(greater(#a, #b, a, b))
#define EXPECT_GE(a, b) CAIRN_TEST_EXPECT(at_least(#a, #b, a, b))
#define EXPECT_TRUE(condition) CAIRN_TEST_EXPECT(holds(#condition, condition, true))
#define EXPECT_FALSE(condition) CAIRN_TEST_EXPECT(holds(#condition, condition, false))
#define ASSERT_EQ(a, b) CAIRN_TEST_ASSERT(equal(#a, #b, a, b))
#define ASSERT_NE(a, b) CAIRN_TEST_ASSERT(unequal(#a, #b, a, b))
#define ASSERT_LT(a, b) CAIRN_TEST_ASSERT(less(#a, #b, a, b))
#define ASSERT_LE(a, b) CAIRN_TEST_ASSERT(at_most(#a, #b, a, b))
#define ASSERT_GT(a, b) CAIRN_TEST_ASSERT(greater(#a, #b, a, b))
#define ASSERT_GE(a, b) CAIRN_TEST_ASSERT(at_least(#a, #b, a, b))
#define ASSERT_TRUE(condition) CAIRN_TEST_ASSERT(holds(#condition, condition, true))
#define ASSERT_FALSE(condition) CAIRN_TEST_ASSERT(holds(#condition, condition, false))
