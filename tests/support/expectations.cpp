// What a failed comparison says, and the templates that support/precompiled.hpp keeps out of each test.
#define CAIRN_TEST_ONCE
#include <support/precompiled.hpp>

namespace cairn::test {

namespace {

thread_local std::string last_failure;

std::string in_words(const void* value, printer print) { return print(value); }

}  // namespace

std::string chars_in_words(const void* value) {
    return ::testing::PrintToString(static_cast<const char*>(value));
}

bool differ(const char* a_text, const char* b_text, const two_values& v) {
    last_failure = ::testing::internal::EqFailure(a_text, b_text, in_words(v.a, v.print_a),
                                                  in_words(v.b, v.print_b), false)
                       .failure_message();
    return false;
}

bool fails(const char* a_text, const char* b_text, const char* relation, const two_values& v) {
    last_failure = std::string("Expected: (") + a_text + ") " + relation + " (" + b_text +
                   "), actual: " + in_words(v.a, v.print_a) + " vs " + in_words(v.b, v.print_b);
    return false;
}

bool not_so(const char* text, bool wanted) {
    return not_so(text, wanted ? ::testing::AssertionFailure() : ::testing::AssertionSuccess(),
                  wanted);
}

bool not_so(const char* text, const ::testing::AssertionResult& result, bool wanted) {
    last_failure = ::testing::internal::GetBoolAssertionFailureMessage(
        result, text, wanted ? "false" : "true", wanted ? "true" : "false");
    return false;
}

report::report(::testing::TestPartResult::Type type, const char* file, int line)
    : file_(file), line_(line), type_(type) {}

report::~report() {
    const std::string failure = std::exchange(last_failure, {});
    ::testing::Message words;
    if (words_ != nullptr) { words << words_->GetString(); }
    ::testing::internal::AssertHelper(type_, file_, line_, failure.c_str()) = words;
}

void report::write(const ::testing::Message& words) {
    if (words_ == nullptr) { words_ = std::make_unique<::testing::Message>(); }
    *words_ << words.GetString();
}
report& report::operator<<(const char* words) {
    return write(::testing::Message() << words), *this;
}
report& report::operator<<(const std::string& words) {
    return write(::testing::Message() << words), *this;
}
report& report::operator<<(int value) { return write(::testing::Message() << value), *this; }
report& report::operator<<(unsigned value) { return write(::testing::Message() << value), *this; }
report& report::operator<<(std::size_t value) {
    return write(::testing::Message() << value), *this;
}

}  // namespace cairn::test
