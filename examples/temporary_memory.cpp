// Where does a function get temporary memory, when its caller brings the memory for the result?
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/scratch.hpp>

#include <cstring>

// [scratch]
// Works with any arena for the result, even if that is a scratch arena of the caller.
template <class Arena>
cairn::slice<char> reversed_twice(Arena& result, const char* text) {
    auto temporary = cairn::scratch(result);  // never the arena that `result` allocates from
    const std::size_t length = std::strlen(text);
    const auto reversed = temporary.template make_array<char>(length);
    for (std::size_t i = 0; i < reversed.size(); ++i) { reversed[i] = text[length - 1 - i]; }

    const auto again = result.template make_array<char>(length);
    for (std::size_t i = 0; i < again.size(); ++i) { again[i] = reversed[length - 1 - i]; }
    return again;
}  // `reversed` is gone, `again` lives on
// [/scratch]

int main() {
    cairn::growing_arena level;
    auto caller = cairn::scratch();
    const auto in_level = reversed_twice(level, "cairn");
    const auto in_scratch = reversed_twice(caller, "stones");
    const bool right = in_level.size() == 5 && std::memcmp(in_level.data(), "cairn", 5) == 0 &&
                       in_scratch.size() == 6 && std::memcmp(in_scratch.data(), "stones", 6) == 0;
    return right ? 0 : 1;
}
