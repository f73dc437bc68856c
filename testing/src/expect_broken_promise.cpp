// Cold half of cairn/testing/expect_broken_promise.hpp.
#include <cairn/testing/expect_broken_promise.hpp>

#include <cstdio>
#include <cstring>

#include "aside.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct promise_catcher {
    using end = caught_promise::end;

    template <std::size_t Size>
    static void copy(char (&to)[Size], const char* from) noexcept {
        std::snprintf(to, Size, "%s", from != nullptr ? from : "");
    }

    /// The handler of the run: hands a copy over and ends it.
    static void report(const broken_promise& broken, void*) {
        // Copies, no pointers: on POSIX this is another process, and its strings end with it.
        caught_promise caught;
        caught.how_ = end::broken;
        caught.kind_ = broken.kind;
        caught.line_ = static_cast<unsigned>(broken.where.line());
        caught.object_ = broken.object;
        // The array of figures ends at the first without a name.
        for (std::size_t i = 0; i < 3 && broken.values[i].name != nullptr; ++i) {
            copy(caught.names_[i], broken.values[i].name);
            caught.values_[i] = broken.values[i].value;
        }
        copy(caught.type_, broken.type);
        copy(caught.file_, broken.where.file_name());
        copy(caught.sentence_, broken.invariant);
        (void)describe(broken, caught.text_, sizeof caught.text_);
        detail::end_aside(&caught, sizeof caught);
    }

    static caught_promise run(void (*call)(void*) noexcept, void* function) noexcept {
        caught_promise caught;
        // Before the run: a child of fork() takes it along, and Windows' other stack needs it here.
        const detail::installed_handler before = set_assert_handler(&report);
        const detail::aside_end how = detail::run_aside(call, function, &caught, sizeof caught);
        (void)set_assert_handler(before.handler, before.context);
        switch (how) {
            // `caught` holds the report, bytes of the other side.
            case detail::aside_end::reported:
                break;
            case detail::aside_end::returned:
                caught.how_ = end::kept;
                copy(caught.text_, "no promise was broken\n");
                break;
            case detail::aside_end::died:
                // A report may have come in part.
                caught = {};
                caught.how_ = end::died;
                copy(caught.text_, "the function died without a sentence\n");
                break;
            case detail::aside_end::impossible:
                copy(caught.text_, "the function could not be run: no process or stack\n");
                break;
        }
        return caught;
    }
};

bool caught_promise::says(const char* part) const noexcept {
    return how_ == end::broken && std::strstr(text_, part) != nullptr;
}

unsigned long long caught_promise::value(const char* name,
                                         unsigned long long otherwise) const noexcept {
    for (std::size_t i = 0; i < 3; ++i) {
        if (std::strcmp(names_[i], name) == 0) { return values_[i]; }
    }
    return otherwise;
}

namespace detail {

caught_promise catch_promise(void (*call)(void*) noexcept, void* function) noexcept {
    return promise_catcher::run(call, function);
}

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
