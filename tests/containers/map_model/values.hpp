// tests/containers/map_model/values.hpp - objects that know whether they are alive.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

namespace map_model {

/// Checks that it is alive, counts live objects, and throws on command: not when it moves, as the
/// containers require.
class tracked {
public:
    explicit tracked(std::uint64_t value) : value_{value} {
        step();
        ++alive_count;
    }
    tracked(tracked&& other) : value_{other.value()} { ++alive_count; }  // not marked noexcept
    tracked(const tracked& other) : value_{other.value()} {
        step();
        ++alive_count;
    }
    tracked& operator=(tracked&& other) {
        value_ = other.value();
        return *this;
    }
    tracked& operator=(const tracked& other) {
        step();
        value_ = other.value();
        return *this;
    }
    ~tracked() {
        EXPECT_EQ(magic_, alive) << "an object is destroyed once";
        magic_ = dead;
        --alive_count;
    }
    std::uint64_t value() const {
        EXPECT_EQ(magic_, alive) << "only live objects are read";
        return value_;
    }

    static inline int alive_count = 0;
    static inline int throw_at = -1;  // counts constructions and copies down; throws at 0

    static void step() {
#if defined(__cpp_exceptions)
        if (throw_at >= 0 && throw_at-- == 0) { throw std::runtime_error{"planned"}; }
#endif
    }

private:
    static constexpr std::uint32_t alive = 0x600d'11fe, dead = 0xdead'dead;
    std::uint64_t value_;
    std::uint32_t magic_ = alive;
};

/// As tracked, with moves that are marked noexcept.
struct quiet : tracked {
    using tracked::tracked;
    quiet(quiet&& other) noexcept : tracked{other.value()} {}
    quiet& operator=(quiet&& other) noexcept {
        tracked::operator=(static_cast<const tracked&>(other));
        return *this;
    }
    quiet(const quiet&) = default;
    quiet& operator=(const quiet&) = default;
};

/// How a value gets into a map, for maps whose rows are not built from a number.
template <class Value>
struct maker {
    static Value make(std::uint64_t value) { return Value{value}; }
    template <class Map>
    static auto emplace(Map& map, std::uint64_t value) {
        return map.emplace(value);
    }
    template <class Map, class Handle>
    static bool fulfil(Map& map, Handle h, std::uint64_t value) {
        return map.fulfil(h, value) != nullptr;
    }
};

}  // namespace map_model
