// A user of cairn whose own code would not survive cairn's warnings. It is built with -Werror and
// no warning switched on: were ours to leak, it would not compile.
#include <cairn/cairn.hpp>

static_assert(CAIRN_ASSERTS == 0 || CAIRN_ASSERTS == 1, "the package says how it was built");

static int narrow(double value) {
    int value_as_int = value;      // -Wconversion
    unsigned sign = value_as_int;  // -Wsign-conversion
    {
        int sign = (int)value;
        value_as_int = sign;
    }  // -Wshadow, -Wold-style-cast
    return value_as_int + sign;
}

int main() {
    cairn::system_allocator memory;
    int* const number = cairn::make<int>(memory, narrow(42.0));
    const bool good = number != nullptr && *number == 84;
    cairn::destroy(memory, number);
    return good ? 0 : 1;
}
