// What the tests of cairn/containers/polymorphic_store.hpp share: three kinds of things, and the
// suite of both stores.
#pragma once

#include <cairn/containers/polymorphic_store.hpp>
#include <gtest/gtest.h>

#include <cstdint>

#include "containers/map_model.hpp"

namespace polymorphic_tests {

using namespace cairn;
using map_model::quiet;

struct thing {
    thing() = default;
    thing(const thing&) = default;
    thing& operator=(const thing&) = default;
    virtual std::uint64_t value() const = 0;
    virtual int kind() const = 0;
    int visits = 0;

protected:
    ~thing() = default;
};
template <std::size_t Bytes>
struct padding {
    std::uint8_t bytes[Bytes] = {};
};
/// Each type has another size, and its base lies elsewhere in it.
template <unsigned Kind>
struct a_kind final : padding<std::size_t{16} * Kind + 8>, thing {
    explicit a_kind(std::uint64_t v) : held{v} {}
    std::uint64_t value() const override { return held.value(); }
    int kind() const override { return static_cast<int>(Kind); }
    quiet held;
};
using disc = a_kind<0>;
using box = a_kind<1>;
using ring = a_kind<2>;

template <class Store>
class polymorphic : public testing::Test {};
using sets = testing::Types<polymorphic_store<thing, disc, box, ring>, polymorphic_store<thing>>;
TYPED_TEST_SUITE(polymorphic, sets);

/// A new object of kind 0, 1 or 2.
template <class Store>
auto add(Store& store, int kind, std::uint64_t value) {
    return kind == 0   ? store.template emplace<disc>(value)
           : kind == 1 ? store.template emplace<box>(value)
                       : store.template emplace<ring>(value);
}

}  // namespace polymorphic_tests
