// cairn/movable/inside/map_json.hpp - a memory map as JSON, written in pieces, without a library.
//
//      {"capacity":256,"ranges":[{"offset":0,"size":64,"user":7},{"offset":64,"size":192}]}
//                                 ^ begin_range         ^ user   ^ end_range
//
// What offset_heap and relocatable_heap print; the report draws pictures of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Sink: sink(const char* text, std::size_t length).
template <class Sink>
class map_json {
public:
    map_json(Sink& sink, std::uint64_t capacity) : sink_{sink} {
        text("{\"capacity\":");
        number(capacity);
        text(",\"ranges\":[");
    }
    void begin_range(std::uint64_t offset, std::uint64_t size) {
        text(between_);
        between_ = ",{\"offset\":";
        number(offset);
        text(",\"size\":");
        number(size);
    }
    void user(std::uint64_t value) {
        text(",\"user\":");
        number(value);
    }
    void flag(const char* name) {
        text(",\"");
        text(name);
        text("\":true");
    }
    void end_range() { text("}"); }
    void end() { text("]}"); }

private:
    void text(const char* s) { sink_(s, std::strlen(s)); }
    void number(std::uint64_t value) {
        char digits[20];
        char* at = digits + sizeof(digits);
        do { *--at = static_cast<char>('0' + value % 10); } while ((value /= 10) != 0);
        sink_(at, static_cast<std::size_t>(digits + sizeof(digits) - at));
    }

    Sink& sink_;
    const char* between_ = "{\"offset\":";
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
