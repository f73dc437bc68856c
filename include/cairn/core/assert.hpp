// cairn/core/assert.hpp - how cairn reports a broken promise.
//
// Two things can go wrong, and the library never mixes them:
//   - a caller breaks a "Requires:" line -> a bug: CAIRN_ASSERT names it and the program stops;
//   - memory runs out                    -> normal life: the function returns nullptr or empty.
//
//      CAIRN_ASSERT(top <= end, "top stays inside the buffer");
//      CAIRN_ASSERT(is_live(slot), "a slot is freed once",
//                   {.kind = misuse_kind::double_free, .object = this, .type = "pool",
//                    .caller = from, .values = {{"slot", slot}}});
//
//      game.cpp:41: broken promise: a slot is freed once
//          pool 'enemies' at 0x7ffd9c3f11b0, slot 4
//          in void game::end_of_wave()
//          is_live(slot), checked by cairn/src/alloc/pool/checks.cpp:51
//
// CAIRN_ASSERT is the only macro of the library: it must vanish from release builds, and it must
// know the line it stands on. CAIRN_ASSERTS (0 or 1) is the only build option. The CMake target and
// the pkg-config file carry its value, so that the library and its user always agree.
//
// State the invariant in the positive: "top stays inside the buffer". Condition and details are not
// evaluated when asserts are off: no side effects inside.
//
// What a handler may do: log, flush a trace, show a dialog, stop in a debugger, end the process,
// and return: the program aborts then. It must not throw and must not leave by longjmp: nearly
// every function of cairn is noexcept (an exception ends in std::terminate), locks would stay held,
// and the object that broke is in an unknown state. A test that wants to see a sentence calls
// expect_broken_promise (cairn/testing/expect_broken_promise.hpp), in any test framework.
// (docs/decisions/0066-what-checks-promise.md)
#pragma once

#include <cstddef>
#include <source_location>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What went wrong, for programs; the sentence is for people.
enum class misuse_kind : unsigned char {
    unspecified,      // see the sentence
    double_free,      // the freed block or object is not live
    foreign_pointer,  // it came from another object, or from none
    wrong_size,       // given back with another size or alignment
    stale_handle,     // a handle of an object that is gone
    null_handle,      // a handle of nothing
    foreign_handle,   // a handle of another container
    reserved_handle,  // a handle whose object is not there yet
    out_of_order,     // markers, scopes and owners end in another order than they began
    outlived,         // a marker, view or block from before a reset, rewind or safe point
    moved_from,       // an object is used after it was moved from
    leak,             // an object ends while something in it is live
    wrong_thread,     // two threads use an object at once
    corrupted,        // memory was written to by code that it does not belong to
    out_of_range,     // an index beyond the end
};

namespace detail {

/// An integer of a report: "slot 4".
struct named_value {
    const char* name = nullptr;
    unsigned long long value = 0;
};

/// What a check may add to its sentence; each part may be absent.
struct evidence {
    misuse_kind kind = misuse_kind::unspecified;  // what went wrong, for programs
    const void* object = nullptr;                 // whose promise was broken
    const char* type = nullptr;                   // of the object: "pool"
    const char* name = nullptr;     // of the object, where the user gave one: "enemies"
    std::source_location caller{};  // line() is 0 where the function does not carry it
    named_value values[3] = {};     // up to the first without a name
};

}  // namespace detail

/// What is known about a broken promise. Lives as long as the handler's call.
struct broken_promise : detail::evidence {
    const char* condition = nullptr;  // the expression that was false, as written
    const char* invariant = nullptr;  // the sentence that should have been true
    std::source_location where{};     // the caller's line where it is known, else that of the check
    std::source_location check{};     // the line that noticed
};

/// Called for a broken promise, by the thread that broke it, before the program aborts; `context`
/// was installed with it. See above for its limits.
/// Threads: several may break promises at once; each calls the handler.
using assert_handler = void (*)(const broken_promise& broken, void* context);

namespace detail {

/// A handler and its context, as they were installed together.
struct installed_handler {
    assert_handler handler = nullptr;
    void* context = nullptr;
};

}  // namespace detail

/// Installs `handler` (nullptr: the default, which prints describe() to stderr) with its context,
/// and returns what was there before.
/// Threads: any; a thread that fails meanwhile sees the old pair or the new one.
detail::installed_handler set_assert_handler(assert_handler handler,
                                             void* context = nullptr) noexcept;

/// Writes the paragraph of the drawing above into `text`, ended by 0, cut off after `size` bytes.
/// Returns: bytes written, the 0 not counted.
std::size_t describe(const broken_promise& broken, char* text, std::size_t size) noexcept;

/// True when this translation unit checks promises.
inline constexpr bool asserts_enabled = CAIRN_ASSERTS != 0;

/// The line that calls a function, as its last parameter:
///
///      void deallocate(void* p, call_site from = call_site::current()) noexcept;
///
/// In checked builds std::source_location; otherwise an empty class, which is passed in no
/// register.
#if CAIRN_ASSERTS
using call_site = std::source_location;
#else
/// In unchecked builds: an empty class in place of std::source_location.
struct call_site {
    [[nodiscard]] static constexpr call_site current() noexcept { return {}; }
    call_site() = default;
    explicit constexpr call_site(const std::source_location&) noexcept {}
    constexpr operator std::source_location() const noexcept { return {}; }
};
#endif

namespace detail {

/// Calls the handler, then aborts. Out of line: it is the coldest path there is.
[[noreturn]] void assert_failed(
    const char* condition, const char* invariant,
    const std::source_location& where = std::source_location::current());
[[noreturn]] void assert_failed(
    const char* condition, const char* invariant, const evidence& details,
    const std::source_location& where = std::source_location::current());

/// What is known about an index that is not below `size`.
[[nodiscard]] constexpr evidence beyond_end(const void* object, const char* type, std::size_t index,
                                            std::size_t size) noexcept {
    return {.kind = misuse_kind::out_of_range,
            .object = object,
            .type = type,
            .values = {{"index", index}, {"size", size}}};
}

/// Only for sizeof: the details are spelled right in unchecked builds, too.
evidence as_evidence(const evidence& details) noexcept;

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR

// The details are an evidence, often in braces, which hold commas: hence the dots.
#if CAIRN_ASSERTS
#    define CAIRN_ASSERT(condition, invariant, ...) \
        ((condition)                                \
             ? (void)0                              \
             : ::cairn::detail::assert_failed(#condition, invariant __VA_OPT__(, ) __VA_ARGS__))
#else
#    define CAIRN_ASSERT(condition, invariant, ...) \
        ((void)sizeof((condition) ? 1 : 0)          \
             __VA_OPT__(, (void)sizeof(::cairn::detail::as_evidence(__VA_ARGS__))))
#endif
