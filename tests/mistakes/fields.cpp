// Member pointers of another struct, and what is no member pointer at all.
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/containers/table/column.hpp>

#include <array>
#include <string>

struct vec3 {
    float x, y, z;
};
struct enemy {
    float hp;
    float mass;
    vec3 place;
};
struct old_enemy {
    float armor;
    float hp;
    vec3 place;
    void hit();
};
template <class K = cairn::value>
struct spark {
    cairn::field<K, vec3> place;
    cairn::field<K, float> life;
};
template <class K = cairn::value>
struct old_spark {
    cairn::field<K, vec3> place;
    cairn::field<K, float> life;
};
using enemies = cairn::table<enemy>;
using named = cairn::slot_table<enemy>;

//= mistake: column
//= says: a field is named by a member pointer of its own row
auto f(enemies& t) { return t.column<&old_enemy::armor>(); }

//= mistake: column of a slot table
//= says: a field is named by a member pointer of its own row
auto f(named& t) { return t.column<&old_enemy::armor>(); }

//= mistake: column of a row template
//= says: a field is named by a member pointer of its own row
auto f(cairn::table<spark<>>& t) { return t.column<&old_spark<>::life>(); }

//= mistake: a member function
//= says: a field is named by a member pointer of its own row
auto f(enemies& t) { return t.column<&old_enemy::hit>(); }

//= mistake: get of a row
//= says: a field is named by a member pointer of its own row
void f(enemies& t) { cairn::get<&old_enemy::hp>(t[0]) = 7; }

//= mistake: get of a row with names
//= says: a field is named by a member pointer of its own row
void f(cairn::table<spark<>>& t) { cairn::get<&old_spark<>::life>(t[0]) = 7; }

//= mistake: get of a value
//= says: a field is named by a member pointer of its own row
void f(enemy& e) { cairn::get<&old_enemy::hp>(e) = 7; }

//= mistake: get as a member
//= says: a field is named by a member pointer of its own row
void f(enemies& t) { t[0].get<&old_enemy::hp>() = 7; }

//= mistake: a field number beyond the row
//= says: a row has fewer fields
void f(enemies& t) { t[0].get<3>() = {}; }

//= mistake: key
//= says: a field is named by a member pointer of its own row
bool f(enemies& t) { return cairn::key<&old_enemy::hp>(t[0]) < 1; }

//= mistake: sort_by
//= says: a field is named by a member pointer of its own row
bool f(enemies& t) { return t.sort_by<&old_enemy::hp>(); }

//= mistake: each
//= says: a field is named by a member pointer of its own row
void f(enemies& t) {
    t.each<&enemy::hp, &old_enemy::hp>([](float& a, float b) { a += b; });
}

//= mistake: row
//= says: a field is named by a member pointer of its own row
float f(enemies& t) {
    auto [hp, armor] = t.row<&enemy::hp, &old_enemy::armor>(0);
    return hp + armor;
}

//= mistake: part of another vector
//= says: a component is named by a member pointer of its own vector
float f(cairn::table<enemy, cairn::split_soa>& t) {
    return cairn::part<&old_enemy::hp>(cairn::get<&enemy::place>(t[0]));
}

//= fine: every way to name a field of its own row
void f(enemies& t, cairn::table<spark<>, cairn::split_soa>& sparks, named& map, enemy& e) {
    (void)t.column<&enemy::hp>();
    (void)map.column<&enemy::hp>();
    cairn::get<&enemy::hp>(t[0]) = cairn::get<&enemy::mass>(e);
    cairn::get<&spark<>::life>(sparks[0]) = 1;
    cairn::part<&vec3::x>(sparks[0].place) = 1;
    (void)sparks.column<&spark<>::place>().part<&vec3::y>();
    t[0].get<&enemy::hp>() = t[0].get<1>();
    (void)t.sort_by<&enemy::hp>();
    t.each<&enemy::hp, &enemy::mass>([](float& a, float b) { a += b; });
    auto [hp, mass] = t.row<&enemy::hp, &enemy::mass>(0);
    hp += mass;
}
