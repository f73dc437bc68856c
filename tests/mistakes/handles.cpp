// Handles in the wrong place, and policies that are none.
#include <cairn/cairn.hpp>

#include <iostream>
#include <iterator>

struct enemy {
    int health;
};
struct spark {};

//= mistake: a handle is printed
//= says: include <cairn/std/text.hpp>
//= lines: 20, clang 160
void f(cairn::handle<enemy> h) { std::cout << h; }

//= mistake: the handle of another map's objects
//= says: handle<spark
void f(cairn::slot_map<enemy>& m, cairn::handle<spark> h) { (void)m.contains(h); }

//= mistake: a policy of 24 bits
//= says: a handle has 16, 32 or 64 bits
//= lines: 20, clang 25
cairn::slot_map<enemy, cairn::slot_policy<24>> m;

//= mistake: a number as the policy
//= says: a policy of a slot map is a slot_policy<...>
void f() {
    cairn::slot_map<enemy, int> m;
    m.erase(m.emplace(1));
}

//= mistake: a number as the policy of a stable map
//= says: names_handles
void f() {
    cairn::stable_slot_map<enemy, int> m;
    m.erase(m.emplace(1));
}

//= mistake: a number as the policy of a slot table
//= says: a policy of a slot map is a slot_policy<...>
void f() {
    cairn::slot_table<enemy, cairn::soa, int> m;
    m.erase(m.emplace(1));
}

//= mistake: an order of reuse for a stable map
//= says: a stable_slot_map chooses the order in which slots are reused
void f() {
    cairn::stable_slot_map<enemy, cairn::slot_policy<64, 32, cairn::reuse::fifo>> m;
    m.erase(m.emplace(1));
}

//= mistake: positions of a slot map are compared, as std::sort does
//= says: slot_map::sort() takes the handles along; std::sort does not
bool f(cairn::slot_map<int>& m) { return m.begin() < m.end(); }

//= mistake: the values of a slot map are sorted, as std::ranges::sort does
//= says: slot_map::sort() takes the handles along; std::sort does not
bool f(cairn::slot_map<int>& m) { return m.values().begin() < m.values().end(); }

//= mistake: positions of a slot table are compared, as std::sort does
//= says: slot_table::sort() takes the handles along; std::sort does not
bool f(cairn::slot_table<enemy>& m) { return m.begin() < m.end(); }

// The sentence stands first. clang goes on with the concepts in which std::ranges asked for the
// exchange: iter_swap() returns `auto`, so that std::ranges::unique stops, too, which only asks.

//= mistake: objects of a slot map are exchanged, as std::ranges::partition does
//= says: slot_map::swap_rows() takes the handles along; std::ranges do not
//= lines: 20, clang 40
void f(cairn::slot_map<int>& m) { std::ranges::iter_swap(m.begin(), m.begin() + 1); }

//= mistake: objects of a slot map by std::ranges::partition
//= says: slot_map::swap_rows() takes the handles along; std::ranges do not
//= lines: 20, clang 50
#include <algorithm>
void f(cairn::slot_map<int>& m) {
    std::ranges::partition(m, [](int i) { return i > 0; });
}

//= mistake: objects of a slot map by std::ranges::remove_if
//= says: slot_map::swap_rows() takes the handles along; std::ranges do not
//= lines: 20, clang 50
#include <algorithm>
void f(cairn::slot_map<int>& m) {
    std::ranges::remove_if(m, [](int i) { return i > 0; });
}

//= mistake: objects of a slot map by std::ranges::unique
//= says: slot_map::swap_rows() takes the handles along; std::ranges do not
//= lines: 20, clang 50
#include <algorithm>
void f(cairn::slot_map<int>& m) { std::ranges::unique(m); }

//= mistake: objects of a slot map by std::ranges::stable_sort
//= says: slot_map::swap_rows() takes the handles along; std::ranges do not
//= lines: 20, clang 80
#include <algorithm>
void f(cairn::slot_map<int>& m) { std::ranges::stable_sort(m); }

//= mistake: rows with handles by std::ranges::rotate
//= says: slot_table::swap_rows() takes the handles along; std::ranges do not
//= lines: 20, clang 50
#include <algorithm>
void f(cairn::slot_table<enemy>& m) { std::ranges::rotate(m, m.begin() + 1); }

//= mistake: rows with handles by std::ranges::remove_if
//= says: slot_table::swap_rows() takes the handles along; std::ranges do not
//= lines: 20, clang 50
#include <algorithm>
void f(cairn::slot_table<enemy>& m) {
    std::ranges::remove_if(m, [](const auto&) { return true; });
}

//= mistake: objects of a stable map by std::ranges::remove_if
//= says: handles would find each other's objects
//= lines: 20, clang 50
#include <algorithm>
void f(cairn::stable_slot_map<int>& m) {
    std::ranges::remove_if(m, [](int i) { return i > 0; });
}

//= mistake: objects of a stable map by std::sort
//= says: deleted
//= says: __last - __first
//= lines: 20, clang 100
#include <algorithm>
void f(cairn::stable_slot_map<int>& m) { std::sort(m.begin(), m.end()); }

//= mistake: items of a slot map by std::sort
//= says: an item is not assigned: sort() of the map takes the handles along
//= lines: 20, clang 14
#include <algorithm>
void f(cairn::slot_map<int>& m) { std::sort(m.items().begin(), m.items().end()); }

//= mistake: items of a slot map by std::ranges::sort
//= says: an item is not assigned: sort() of the map takes the handles along
//= lines: 20, clang 14
#include <algorithm>
void f(cairn::slot_map<int>& m) {
    std::ranges::sort(m.items(), {}, [](const auto& i) { return i.object; });
}

//= mistake: items of a stable map by std::remove_if
//= says: an item is not assigned: sort() of the map takes the handles along
//= lines: 20, clang 14
#include <algorithm>
void f(cairn::stable_slot_map<int>& m) {
    auto all = m.items();
    (void)std::remove_if(all.begin(), all.end(), [](const auto&) { return true; });
}

//= mistake: items of a polymorphic store by std::ranges::remove_if
//= says: an item is not assigned: sort() of the map takes the handles along
//= lines: 20, clang 14
#include <algorithm>
void f(cairn::polymorphic_store<enemy>& m) {
    (void)std::ranges::remove_if(m.items(), [](const auto&) { return true; });
}

//= fine: algorithms that read, and that change objects in place
#include <algorithm>
#include <numeric>
#include <ranges>
template <class Map>
int f(Map& m) {
    const auto dead = [](const enemy& e) { return e.health == 0; };
    (void)std::find_if(m.begin(), m.end(), dead);
    (void)std::ranges::find_if(m, dead);
    std::for_each(m.begin(), m.end(), [](enemy& e) { ++e.health; });
    std::ranges::for_each(m | std::views::filter(dead), [](enemy& e) { ++e.health; });
    std::vector<enemy> copies(m.begin(), m.end());
    std::ranges::copy(m, copies.begin());
    std::ranges::move(m, copies.begin());
    for (const auto item : m.items() | std::views::drop(1)) { copies.push_back(item.object); }
    return std::accumulate(m.begin(), m.end(), 0,
                           [](int sum, const enemy& e) { return sum + e.health; });
}
template int f(cairn::slot_map<enemy>&);
template int f(cairn::stable_slot_map<enemy>&);

//= fine: positions of constant objects cannot be exchanged
template <class Map>
inline constexpr bool is_exchangeable =
    std::indirectly_swappable<decltype(std::declval<const Map&>().begin())>;
static_assert(!is_exchangeable<cairn::slot_map<int>>);
static_assert(!is_exchangeable<cairn::slot_table<enemy>>);
static_assert(!is_exchangeable<cairn::slot_table<enemy, cairn::soa>>);
static_assert(!is_exchangeable<cairn::stable_slot_map<int>>);

//= mistake: rows with handles are exchanged, as std::ranges::partition does
//= says: slot_table::swap_rows() takes the handles along; std::ranges do not
//= lines: 20, clang 40
void f(cairn::slot_table<enemy>& m) { std::ranges::iter_swap(m.begin(), m.begin() + 1); }

//= mistake: objects of a stable map are exchanged, as std::ranges::partition does
//= says: handles would find each other's objects
//= lines: 20, clang 40
void f(cairn::stable_slot_map<enemy>& m) { std::ranges::iter_swap(m.begin(), m.begin()); }

//= mistake: a slot map of tables
//= says: handles over the rows of a table<Row, Layout> are a slot_table<Row, Layout>
//= lines: 24
void f() {
    cairn::slot_map<cairn::table<enemy, cairn::soa>> m;
    m.erase(m.emplace(1));
}

//= mistake: a stable slot map of tables
//= says: handles over the rows of a table<Row, Layout> are a slot_table<Row, Layout>
void f() {
    cairn::stable_slot_map<cairn::table<enemy>> m;
    m.erase(m.emplace(1));
}

//= fine: a handle that the program prints
std::ostream& operator<<(std::ostream& out, cairn::handle<enemy> h) { return out << h.index(); }
template <class T>
std::ostream& operator<<(std::ostream& out, const cairn::handle<T>& h) {
    return out << h.generation();
}
void f(cairn::handle<enemy> a, cairn::handle<spark> b) { std::cout << a << b; }

//= fine: a handle that the program prints into a stream of its own class
#include <sstream>
std::ostream& operator<<(std::ostream& out, cairn::handle<enemy> h) { return out << h.index(); }
void f(std::ostringstream& out, cairn::handle<enemy> h) { out << h; }

//= fine: a handle and a size that cairn prints
#include <cairn/std/text.hpp>
#include <sstream>
void f(std::ostringstream& out, cairn::handle<enemy> h) { out << h << cairn::size_text(100); }

//= mistake: a type that a polymorphic store does not name
//= says: a closed polymorphic_store holds the types that it names
struct shape {};
struct circle : shape {};
struct square : shape {};
void f(cairn::polymorphic_store<shape, circle>& all) { (void)all.insert(square{}); }

//= mistake: a type that does not derive from the base of the store
//= says: objects of a polymorphic_store derive from its Base
struct shape {};
void f(cairn::polymorphic_store<shape>& all) { (void)all.insert(enemy{}); }

//= mistake: a type in the list that does not derive from the base
//= says: objects of a polymorphic_store derive from its Base
struct shape {};
cairn::polymorphic_store<shape, enemy> all;

//= mistake: a closed store of more types than compilers nest
//= says: a polymorphic_store names at most 256 types; polymorphic_store<Base> holds 512
//= lines: 40, clang 40
struct part_of_a_set {};
template <std::size_t N>
struct numbered_part : part_of_a_set {};
template <std::size_t... N>
auto store_of(std::index_sequence<N...>)
    -> cairn::polymorphic_store<part_of_a_set, numbered_part<N>...>;
void f() { [[maybe_unused]] decltype(store_of(std::make_index_sequence<257>{})) all; }

//= mistake: a type that is named twice
//= says: a polymorphic_store names each type once
struct shape {};
struct circle : shape {};
cairn::polymorphic_store<shape, circle, circle> all;
