// cairn/testing/expect_broken_promise.hpp - a test that wants to see a broken promise, in any
// framework.
//
//      cairn::pool slots{64};
//      void* const p = slots.allocate();
//      slots.deallocate(p);
//      const auto broken = cairn::expect_broken_promise([&] { slots.deallocate(p); });
//      EXPECT_TRUE(broken.says("a slot is freed once"));              // GoogleTest
//      CHECK(broken.kind() == cairn::misuse_kind::double_free);       // Catch2, doctest
//      CHECK(broken.value("slot") == 0);
//      assert(broken);                                                // no framework at all
//
// A broken promise ends the program, and no handler may throw (core/assert.hpp). So the function
// runs aside: on POSIX in a child of fork(), as death tests do; its memory is a copy, so `slots`
// above is what it was, the next line of the test may use it, and nothing leaks. On Windows it runs
// on a stack of its own that is left when it breaks a promise: what it changed stays changed, locks
// that it held stay held, its own objects are not destroyed, and the stack is not given back.
//
// Use it in: checked builds, or with the wrappers of debug/, which report in every build. Without
//   asserts nothing is reported: skip such tests where !cairn::asserts_enabled.
//
// The function's own checks (EXPECT, CHECK) count nothing: they happen in the child. An exception
// that leaves the function ends the child: died().
//
// Cost:    a process: about a millisecond.
// Threads: one caller at a time, and no other thread may hold a lock that the function wants
//          (malloc's among them, under AddressSanitizer): the rule of death tests.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// The report of a broken promise; a copy, of a fixed size.
class caught_promise {
public:
    /// True when a promise was broken.
    [[nodiscard]] explicit operator bool() const noexcept { return how_ == end::broken; }

    /// True when it ended in another way than by its return or a sentence: a signal (a crash, an
    /// AddressSanitizer report), an exception, exit(), or a minute without an end. On Windows only
    /// of abort() and exceptions: the others end the test.
    [[nodiscard]] bool died() const noexcept { return how_ == end::died; }

    /// What kind of misuse it was.
    [[nodiscard]] misuse_kind kind() const noexcept { return kind_; }

    /// The sentence that should have been true; "" when no promise was broken.
    [[nodiscard]] const char* sentence() const noexcept { return sentence_; }

    /// True when a promise was broken and its paragraph contains `part`: words of the sentence, a
    /// name.
    [[nodiscard]] bool says(const char* part) const noexcept;

    /// The paragraph that the default handler prints, or a line that says how the function ended.
    [[nodiscard]] const char* text() const noexcept { return text_; }

    /// The line that broke it where the function called carries it (core/assert.hpp), else the line
    /// that noticed. Cut off after 255 bytes.
    [[nodiscard]] const char* file() const noexcept { return file_; }
    [[nodiscard]] unsigned line() const noexcept { return line_; }

    /// The object, as an address in the test's process, and its type; nullptr and "" when not
    /// known.
    [[nodiscard]] const void* object() const noexcept { return object_; }
    [[nodiscard]] const char* type() const noexcept { return type_; }

    /// The integer called `name`. Returns: `otherwise` when there is none.
    [[nodiscard]] unsigned long long value(const char* name,
                                           unsigned long long otherwise = ~0ull) const noexcept;

    /// So that a framework prints what was said when a check of it fails.
    template <class Stream>
    friend auto operator<<(Stream& to, const caught_promise& caught) -> decltype(to << "") {
        return to << caught.text();
    }

private:
    friend struct promise_catcher;
    enum class end : unsigned char { broken, kept, died, impossible };

    static constexpr std::size_t name_size = 32;
    end how_ = end::impossible;
    misuse_kind kind_ = misuse_kind::unspecified;
    unsigned line_ = 0;
    const void* object_ = nullptr;
    unsigned long long values_[3] = {};
    char names_[3][name_size] = {};
    char type_[64] = {};
    char file_[256] = {};
    char sentence_[256] = {};
    char text_[2048] = {};
};

namespace detail {
/// Runs call(function) aside and says how it ended.
[[nodiscard]] caught_promise catch_promise(void (*call)(void* function) noexcept,
                                           void* function) noexcept;
}  // namespace detail

/// Runs function() aside and returns the promise that it broke, if any (see above).
template <class F>
[[nodiscard]] caught_promise expect_broken_promise(F&& function) {
    // noexcept: an exception may not climb out of a child into the rest of the tests.
    return detail::catch_promise(
        [](void* f) noexcept { (void)(*static_cast<std::remove_reference_t<F>*>(f))(); },
        const_cast<void*>(static_cast<const void*>(&function)));
}

}}  // namespace cairn::CAIRN_FLAVOUR
