// What the tests of the surface share: the suites of containers, stores and maps, and words for
// what they spell in different ways.
#pragma once

#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace surface_tests {

using namespace cairn;

template <class K = value>
struct unit {
    field<K, int> id;
    field<K, int> health;
    friend bool operator==(const unit&, const unit&) = default;
};

/// One more element, with the words of the container. Returns: false when exhausted.
template <class Container>
bool add(Container& all, int id) {
    if constexpr (requires { all.acquire_raw(); }) {
        unit<>* const object = all.acquire_raw();
        if (object != nullptr) { *object = {id, 100}; }
        return object != nullptr;
    } else if constexpr (requires { all.push_back(unit<>{}); }) {
        return all.push_back(unit<>{id, 100});
    } else {
        return static_cast<bool>(all.emplace(id, 100));
    }
}
/// Elements; of a pool: its live objects.
template <class Container>
std::size_t count_of(const Container& all) {
    if constexpr (requires { all.live_count(); }) {
        return all.live_count();
    } else {
        return all.size();
    }
}
template <class Container>
void drop_all(Container& all) {
    if constexpr (requires { all.acquire_raw(); }) {
        all.for_each([&](auto& object) { all.release(object); });
    } else {
        all.clear();
    }
}
template <class Container>
std::vector<int> ids(const Container& all) {
    std::vector<int> found;
    all.for_each([&](const auto& row) { found.push_back(row.id); });
    std::sort(found.begin(), found.end());
    return found;
}
template <class Container>
bool are_equal(const Container& a, const Container& b) {
    if constexpr (requires { a == b; }) {
        return a == b;
    } else {
        return ids(a) == ids(b);
    }
}
using numbers = std::vector<int>;

template <class Container>
class every_container : public testing::Test {};
using containers =
    testing::Types<packed_array<unit<>>, table<unit<>, soa>, table<unit<>, aos>, slot_map<unit<>>,
                   stable_slot_map<unit<>>, slot_table<unit<>, soa>, slot_table<unit<>, aos>>;
TYPED_TEST_SUITE(every_container, containers);

/// The containers, and what has only some of their words.
template <class Store>
class every_store : public testing::Test {};
using stores = testing::Types<packed_array<unit<>>, table<unit<>, soa>, table<unit<>, aos>,
                              slot_map<unit<>>, stable_slot_map<unit<>>, slot_table<unit<>, soa>,
                              slot_table<unit<>, aos>, object_pool<unit<>>>;
TYPED_TEST_SUITE(every_store, stores);

template <class Map>
class every_map : public testing::Test {};
using maps =
    testing::Types<slot_map<unit<>>, slot_map<unit<>, slot_policy<32, 16, reuse::lifo>>,
                   slot_map<unit<>, slot_policy<64, 32, reuse::fifo>>, stable_slot_map<unit<>>,
                   slot_table<unit<>, soa>, slot_table<unit<>, aos>>;
TYPED_TEST_SUITE(every_map, maps);

}  // namespace surface_tests
