// cairn/std/text.hpp - handles and sizes as text: for streams, logs and assertions of tests.
//
//      handle_text(h)      null          the null handle
//                          7:9           index 7, generation 9
//                          7:9:3         and user bits of value 3, where the type has user bits
//      size_text(n)        100 B         bytes
//                          64 KiB        a multiple of its unit: exact
//                          64.1 KiB      no multiple: rounded to a tenth; 64.0 KiB is about 64 KiB
//
//      std::cout << "boss " << boss << " in " << cairn::size_text(level.capacity()) << '\n';
//      std::printf("boss %s\n", cairn::handle_text(boss).c_str());
//      fmt::print("boss {}\n", cairn::handle_text(boss).view());         // any library: a view
//
// Both give a short_text: characters by value, no memory. Two handles of one type have the same
// text only when they are equal. std::hash is where the handles are (core/handle.hpp); std::format
// is in a header of its own (std/format.hpp), because <format> is dear.
//
// Cost:    some divisions; nothing is allocated. Widths of streams count, as with any text.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include <cairn/core/handle.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Up to 47 characters, ended by a 0.
class short_text {
public:
    constexpr short_text() noexcept = default;
    /// Requires: at most 47 characters.
    constexpr explicit short_text(std::string_view text) noexcept { append(text); }

    [[nodiscard]] constexpr std::string_view view() const noexcept { return {text_, size_}; }
    [[nodiscard]] constexpr operator std::string_view() const noexcept { return view(); }
    [[nodiscard]] constexpr const char* c_str() const noexcept { return text_; }

    /// Requires, for both: at most 47 characters in all.
    constexpr void append(std::string_view text) noexcept {
        CAIRN_ASSERT(text.size() < sizeof text_ - size_, "a short text has room for what it says");
        for (const char c : text) { text_[size_++] = c; }
    }
    constexpr void append(std::uint64_t number) noexcept {
        char digits[20] = {};
        std::size_t first = sizeof digits;
        do {
            digits[--first] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        append(std::string_view{digits + first, sizeof digits - first});
    }

    friend constexpr bool operator==(const short_text& a, const short_text& b) noexcept {
        return a.view() == b.view();
    }
    friend constexpr bool operator==(const short_text& a, std::string_view b) noexcept {
        return a.view() == b;
    }

private:
    char text_[48] = {};
    std::size_t size_ = 0;  // characters
};

/// "null"; or index and generation, and the user bits where its type has them: "7:9", "7:9:3".
template <detail::any_handle Handle>
[[nodiscard]] constexpr short_text handle_text(const Handle& h) noexcept {
    if (!h) { return short_text{"null"}; }
    short_text text;
    text.append(h.index());
    text.append(":");
    text.append(h.generation());
    if constexpr (Handle::user_bits != 0) {
        text.append(":");
        text.append(h.user());
    }
    return text;
}

/// A number of bytes in the largest unit that it reaches: "100 B", "64 KiB", "1.5 MiB" exactly or
/// to a tenth. What is rounded shows the tenth, even when it is 0.
[[nodiscard]] constexpr short_text size_text(std::size_t bytes) noexcept {
    constexpr std::string_view units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    std::size_t unit = 0;
    while (unit != 6 && bytes >> 10 * unit >= 1024) { ++unit; }
    const std::uint64_t n = bytes;
    const std::uint64_t whole = n >> 10 * unit;
    const std::uint64_t rest = n - (whole << 10 * unit);
    short_text text;
    if (rest == 0) {
        text.append(whole);
    } else {
        const std::uint64_t half = (std::uint64_t{1} << 10 * unit) / 2;
        std::uint64_t tenths = whole * 10 + ((rest * 10 + half) >> 10 * unit);
        if (tenths == 10240 && unit != 6) {  // rounded up to the next unit
            tenths = 10;
            ++unit;
        }
        text.append(tenths / 10);
        text.append(".");
        text.append(tenths % 10);
    }
    text.append(units[unit]);
    return text;
}

/// A program's own operator<< for its handles is preferred to this.
template <class Traits, detail::any_handle Handle>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const Handle& h) {
    return out << cairn::handle_text(h).view();
}
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const short_text& text) {
    return out << text.view();
}

static_assert(handle_text(handle<int>{}) == "null");
static_assert(handle_text(handle<int>::make(7, 9)) == "7:9");
static_assert(size_text(64 << 10) == "64 KiB");

}}  // namespace cairn::CAIRN_FLAVOUR
