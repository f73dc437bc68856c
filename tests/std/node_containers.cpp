// Every node-based container of the standard library on cairn/std/node_pool.hpp, whichever library that
// is. Without GoogleTest, whose package is built with libstdc++: the stage libcxx of .ci/run runs this
// with libc++. What else node_pool.hpp promises is in node_pool_test.cpp.
#include <cairn/std/node_pool.hpp>

#include <cstddef>
#include <cstdio>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <version>

namespace {

using cairn::node_allocator;
using cairn::node_pool;

constexpr int count = 1000;
int failures = 0;

void expect(bool condition, const char* container, const char* what) {
    if (condition) { return; }
    std::printf("%s: %s\n", container, what);
    ++failures;
}

int key_of(int value) { return value; }
int key_of(const std::pair<const int, std::string>& value) { return value.first; }

/// Each value has a node of its own in the pool, also in copies, and all come back; what is exchanged
/// (move, swap) is exchanged without a copy. `put` adds value number i, `value` makes it, `drop` takes
/// the values with one key out.
template <class Container, class Put, class Drop>
void try_out(const char* name, Put put, Drop drop) {
    node_pool nodes;
    const auto live = [&] { return nodes.stats().live_count; };
    {
        Container c{nodes};
        const std::size_t empty = live();  // some have a node of their own when they are empty
        for (int i = 0; i < count; ++i) { put(c, i); }
        const std::size_t full = live();
        expect(full == empty + count, name, "each value has its node in the pool");
        long sum = 0;
        for (const auto& value : c) { sum += key_of(value); }
        expect(sum == long{count} * (count - 1) / 2, name, "and is what was put there");

        Container copy{c};
        expect(copy == c && live() == 2 * full, name, "a copy's nodes come from the same pool");
        Container moved{std::move(copy)};
        expect(moved == c && live() <= 2 * full + empty, name, "a move makes no nodes");
        const auto* const first = std::addressof(*moved.begin());
        swap(moved, c);
        expect(std::addressof(*c.begin()) == first, name, "a swap keeps them");

        for (int i = 0; i < count; i += 2) { drop(c, i); }
        expect(live() <= 2 * full + empty - count / 2, name,
               "a value that goes gives its node back");
        for (int i = 0; i < count; i += 2) { put(c, i); }
        moved.clear();
        moved = std::move(c);
        expect(live() <= full + 2 * empty, name, "assigned, what was there goes back");
    }
    expect(live() == 0, name, "nothing is left behind");
}

const auto push = [](auto& c, int i) { c.push_front(i); };
const auto insert = [](auto& c, int i) { c.insert(i); };
const auto emplace = [](auto& c, int i) {
    c.emplace(i, "a text that is too long for a short string: " + std::to_string(i));
};
const auto remove_value = [](auto& c, int i) { c.remove(i); };
const auto erase = [](auto& c, int i) { c.erase(i); };

using pair = std::pair<const int, std::string>;
using ints = node_allocator<int>;
using pairs = node_allocator<pair>;
using hash = std::hash<int>;
using equal = std::equal_to<>;
using less = std::less<>;

}  // namespace

int main() {
    try_out<std::list<int, ints>>("list", push, remove_value);
    try_out<std::forward_list<int, ints>>("forward_list", push, remove_value);
    try_out<std::set<int, less, ints>>("set", insert, erase);
    try_out<std::multiset<int, less, ints>>("multiset", insert, erase);
    try_out<std::map<int, std::string, less, pairs>>("map", emplace, erase);
    try_out<std::multimap<int, std::string, less, pairs>>("multimap", emplace, erase);
    try_out<std::unordered_set<int, hash, equal, ints>>("unordered_set", insert, erase);
    try_out<std::unordered_multiset<int, hash, equal, ints>>("unordered_multiset", insert, erase);
    try_out<std::unordered_map<int, std::string, hash, equal, pairs>>("unordered_map", emplace,
                                                                      erase);
    try_out<std::unordered_multimap<int, std::string, hash, equal, pairs>>("unordered_multimap",
                                                                           emplace, erase);
#if defined(_LIBCPP_VERSION)
    const char* const library = "libc++";
#elif defined(__GLIBCXX__)
    const char* const library = "libstdc++";
#else
    const char* const library = "another library";
#endif
    std::printf("10 containers of %s: %d failures\n", library, failures);
    return failures == 0 ? 0 : 1;
}
