// expect_broken_promise without a test framework.
#include <cairn/alloc/pool.hpp>
#include <cairn/testing/expect_broken_promise.hpp>

#include <cstdio>

namespace {

int failures = 0;

void check(bool good, const char* what) {
    if (good) { return; }
    std::printf("failed: %s\n", what);
    ++failures;
}

}  // namespace

int main() {
    cairn::pool slots{64};
    void* const p = slots.allocate();
    slots.deallocate(p);
    const auto broken = cairn::expect_broken_promise([&] { slots.deallocate(p); });
    check(static_cast<bool>(broken) == cairn::asserts_enabled,
          "a double free is reported in checked builds");
    if (cairn::asserts_enabled) {
        check(broken.kind() == cairn::misuse_kind::double_free, "its kind is told");
        check(broken.says("a slot is freed once"), "its sentence is told");
        check(broken.value("slot") == 0, "its slot is told");
    }
    check(!cairn::expect_broken_promise([] {}), "a kept promise is told");
    check(slots.allocate() != nullptr, "the pool is what it was");
    return failures;
}
