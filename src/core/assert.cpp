// Cold half of cairn/core/assert.hpp.
#include <cairn/core/assert.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace cairn::inline CAIRN_FLAVOUR {
namespace {

void print_to_stderr(const broken_promise& broken) {
    std::fprintf(stderr, "%s:%u: broken promise: %s\n    %s\n    in %s\n", broken.where.file_name(),
                 static_cast<unsigned>(broken.where.line()), broken.invariant, broken.condition,
                 broken.where.function_name());
    std::fflush(stderr);
}

constinit std::atomic<assert_handler> current_handler{&print_to_stderr};

}  // namespace

assert_handler set_assert_handler(assert_handler handler) noexcept {
    // acq_rel: what the installer wrote before installing is visible to the thread that fails.
    return current_handler.exchange(handler != nullptr ? handler : &print_to_stderr,
                                    std::memory_order_acq_rel);
}

namespace detail {

void assert_failed(const char* condition, const char* invariant,
                   const std::source_location& where) {
    current_handler.load(std::memory_order_acquire)({condition, invariant, where});
    std::abort();
}

}  // namespace detail
}  // namespace cairn::inline CAIRN_FLAVOUR
