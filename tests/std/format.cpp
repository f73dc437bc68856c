// Handles and sizes in std::format (cairn/std/format.hpp), where the standard library has it.
// Without GoogleTest, whose package is built with libstdc++: the stage libcxx of .ci/run runs this
// with libc++.
#include <cairn/std/format.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

int failures = 0;

void expect_equal(std::string_view is, std::string_view should) {
    if (is == should) { return; }
    std::printf("'%.*s' should be '%.*s'\n", static_cast<int>(is.size()), is.data(),
                static_cast<int>(should.size()), should.data());
    ++failures;
}

struct enemy {};
struct red;

}  // namespace

int main() {
    using handle = cairn::handle<enemy>;
    using tagged = cairn::handle<enemy, 32, 16, 4, red>;
    expect_equal(cairn::handle_text(handle{}), "null");
#if defined(__cpp_lib_format)
    expect_equal(std::format("{}", handle{}), "null");
    expect_equal(std::format("{} {}", handle::make(7, 9), tagged::make(7, 9).with_user(3)),
                 "7:9 7:9:3");
    expect_equal(std::format("{:>6}|{:-<6}|{:.1}", handle::make(7, 9), handle{}, handle{}),
                 "   7:9|null--|n");
    expect_equal(std::format("{:^9}", cairn::size_text(64 << 10)), " 64 KiB  ");
#else
    expect_equal(cairn::handle_text(tagged::make(7, 9).with_user(3)), "7:9:3");
    std::puts("this standard library has no std::format");
#endif
    return failures == 0 ? 0 : 1;
}
