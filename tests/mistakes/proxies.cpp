// Rows are no objects in the layouts other than aos.
#include <cairn/containers/table.hpp>

template <class K = cairn::value>
struct spark {
    cairn::field<K, float> heat;
    cairn::field<K, float> life;
};
struct enemy {
    float hp;
    float mass;
};
using sparks = cairn::table<spark<>>;
using enemies = cairn::table<enemy>;

//= mistake: the address of a row with names
//= says: a row has no address
auto f(sparks& t) { return &t[0]; }

//= mistake: the address of a row
//= says: a row has no address
auto f(enemies& t) { return &t[0]; }

//= mistake: for_each by reference
//= says: the function takes a row: auto&&
void f(sparks& t) {
    t.for_each([](auto& p) { p.life = 1; });
}

//= mistake: for_each by the struct's reference
//= says: the function takes a row: auto&&
void f(enemies& t) {
    t.for_each([](enemy& e) { e.hp = 1; });
}

//= mistake: erase_if by reference
//= says: the predicate takes a row: auto&&
void f(enemies& t) {
    t.erase_if([](auto& e) { return e.hp < 1; });
}

//= mistake: sort by reference
//= says: the order compares two rows: const auto&
bool f(sparks& t) {
    return t.sort([](auto& a, auto& b) { return a.life < b.life; });
}

//= mistake: each with too few parameters
//= says: the function takes the fields that are named, in order
void f(enemies& t) {
    t.each<&enemy::hp, &enemy::mass>([](float& hp) { hp = 1; });
}

//= mistake: each with another type
//= says: the function takes the fields that are named, in order
void f(cairn::table<enemy, cairn::aos>& t) {
    t.each<&enemy::hp>([](int& hp) { hp = 1; });
}

//= mistake: a loop by reference
//= says: cannot bind
void f(sparks& t) {
    for (auto& p : t) { p.life = 1; }
}

//= mistake: a binding by reference
//= says: cannot bind
void f(enemies& t) {
    auto& [hp, mass] = t[0];
    hp = mass;
}

//= mistake: a name on a plain row
//= says: table_row
void f(enemies& t) { t[0].hp = 1; }

//= fine: rows as they are meant
void g(spark<>& s);
void f(sparks& t, enemies& e, cairn::table<spark<>, cairn::aos>& array) {
    for (auto&& p : t) { p.life = 1; }
    for (const auto& p : t) { p.life = 1; }
    for (auto& p : array) { g(p); }
    auto* first = &array[0];
    first->life = 2;
    auto [hp, mass] = e[0];
    hp = mass;
    t.for_each([](auto&& p) { p.life = 1; });
    array.for_each([](auto& p) { p.life = 1; });
    array.for_each([](spark<>& p) { p.life = 1; });
    t.erase_if([](const auto& p) { return p.life < 1; });
    e.erase_if([](enemy p) { return p.hp < 1; });
    (void)t.sort([](const auto& a, const auto& b) { return a.life < b.life; });
    (void)e.sort([](const enemy& a, const enemy& b) { return a.hp < b.hp; });
    e.each<&enemy::hp, &enemy::mass>([](float& a, float b) { a = b; });
    e.each<&enemy::hp, &enemy::mass>([](auto&& a, const auto& b) { a = b; });
}
