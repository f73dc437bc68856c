// Cold half of cairn/core/assert.hpp.
#include <cairn/core/assert.hpp>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

/// Appends to a buffer and stops at its end.
class text_writer {
public:
    text_writer(char* text, std::size_t size) noexcept : text_{text}, size_{size} {}

#if defined(__GNUC__) && !defined(_WIN32)  // there, gcc checks against a printf without %zu
    [[gnu::format(printf, 2, 3)]]
#endif
    void add(const char* format, ...) noexcept {
        if (used_ >= size_) { return; }
        std::va_list arguments;
        va_start(arguments, format);
        const int wanted = std::vsnprintf(text_ + used_, size_ - used_, format, arguments);
        va_end(arguments);
        // vsnprintf says how much it would have written: cut to the end, from which nothing is
        // added.
        if (wanted > 0) { used_ += static_cast<std::size_t>(wanted); }
        if (size_ != 0 && used_ >= size_) { used_ = size_; }
    }

    /// Bytes written without the 0.
    [[nodiscard]] std::size_t used() const noexcept {
        return used_ == size_ && size_ != 0 ? size_ - 1 : used_;
    }

private:
    char* text_;
    std::size_t size_;
    std::size_t used_ = 0;
};

unsigned line_of(const std::source_location& where) noexcept {
    return static_cast<unsigned>(where.line());
}

void print_to_stderr(const broken_promise& broken, void*) {
    char text[2048];  // on the stack: the heap may be damaged
    std::fwrite(text, 1, describe(broken, text, sizeof text), stderr);
    std::fflush(stderr);
}

// A pair of words that is read and written as one: a version that is odd while it is being written.
// Not a mutex: a child of fork() that breaks a promise must not wait for a thread that it has not
// got.
constinit std::atomic<unsigned> version{0};
constinit std::atomic<assert_handler> current_handler{&print_to_stderr};
constinit std::atomic<void*> current_context{nullptr};

detail::installed_handler installed() noexcept {
    // reader   version even --- handler --- context --- the same version: a pair of one writer
    // A version that has changed, or is odd, means that it may be half of each: look again.
    detail::installed_handler seen;
    for (int tries = 0; tries < 2000; ++tries) {
        // A writer that was interrupted between its two stores needs a processor to go on.
        if (tries >= 1000) { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }
        const unsigned before = version.load(std::memory_order_acquire);
        seen.handler = current_handler.load(std::memory_order_acquire);
        seen.context = current_context.load(std::memory_order_acquire);
        // acquire above: neither load moves behind this one.
        if (before % 2 == 0 && version.load(std::memory_order_relaxed) == before) { return seen; }
    }
    return {&print_to_stderr, nullptr};  // a writer that will never end: the child of a fork
}

}  // namespace

detail::installed_handler set_assert_handler(assert_handler handler, void* context) noexcept {
    // version   even: the pair is whole     odd: one thread is writing it
    // Installers wait for each other here; each takes an even version to the odd one behind it.
    unsigned even = version.load(std::memory_order_relaxed) & ~1u;
    while (!version.compare_exchange_weak(even, even + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        even &= ~1u;
    }
    // acq_rel: what the installer wrote before installing is visible to the thread that fails, and
    // the odd version is visible to a reader that sees either of the two.
    const detail::installed_handler before{
        current_handler.exchange(handler != nullptr ? handler : &print_to_stderr,
                                 std::memory_order_acq_rel),
        current_context.exchange(handler != nullptr ? context : nullptr,
                                 std::memory_order_acq_rel)};
    version.store(even + 2, std::memory_order_release);
    return before;
}

std::size_t describe(const broken_promise& broken, char* text, std::size_t size) noexcept {
    text_writer out{text, size};
    out.add("%s:%u: broken promise: %s\n", broken.where.file_name(), line_of(broken.where),
            broken.invariant);
    // A second line only where there is something to say: what broke, its name, its figures.
    if (broken.object != nullptr || broken.type != nullptr || broken.values[0].name != nullptr) {
        const char* between = "    ";
        if (broken.object != nullptr || broken.type != nullptr) {
            out.add("%s%s", between, broken.type != nullptr ? broken.type : "object");
            if (broken.name != nullptr) { out.add(" '%s'", broken.name); }
            if (broken.object != nullptr) {
                out.add(" at 0x%zx", reinterpret_cast<std::uintptr_t>(broken.object));
            }
            between = ", ";
        }
        for (const detail::named_value& v : broken.values) {
            if (v.name == nullptr) { break; }
            out.add("%s%s %llu", between, v.name, v.value);
            between = ", ";
        }
        out.add("\n");
    }
    if (broken.where.function_name()[0] != '\0') {
        out.add("    in %s\n", broken.where.function_name());
    }
    out.add("    %s", broken.condition);
    if (broken.check.file_name() != broken.where.file_name() ||
        line_of(broken.check) != line_of(broken.where)) {
        out.add(", checked by %s:%u", broken.check.file_name(), line_of(broken.check));
    }
    out.add("\n");
    return out.used();
}

namespace detail {

void assert_failed(const char* condition, const char* invariant,
                   const std::source_location& where) {
    assert_failed(condition, invariant, evidence{}, where);
}

void assert_failed(const char* condition, const char* invariant, const evidence& details,
                   const std::source_location& where) {
    broken_promise broken;
    static_cast<evidence&>(broken) = details;
    broken.condition = condition;
    broken.invariant = invariant;
    // The user's line where it is known, else the library's own; the check is named in any case.
    broken.where = details.caller.line() != 0 ? details.caller : where;
    broken.check = where;
    const installed_handler now = installed();
    now.handler(broken, now.context);
    // A handler that returns does not save the program.
    std::abort();
}

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
