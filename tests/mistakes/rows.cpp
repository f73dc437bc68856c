// Structs that cannot be rows, and layouts that are none.
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/table.hpp>

#include <array>
#include <mutex>
#include <string>

struct point {
    float x, y;
};

//= mistake: a layout that is a number type
//= says: a layout is aos, soa, split_soa, aosoa<a power of two> or grouped_soa<group<...>...>
void f() {
    cairn::table<point, int> t;
    (void)t.push_back({1, 2});
    for (auto&& p : t) { cairn::get<&point::x>(p) = 3; }
}

//= mistake: a layout that is a number type, in a slot table
//= says: a layout is aos, soa, split_soa, aosoa<a power of two> or grouped_soa<group<...>...>
void f() {
    cairn::slot_table<point, int> t;
    (void)t.emplace(1.0f, 2.0f);
}

//= mistake: blocks of three rows
//= says: a layout's blocks hold a power of two of rows
void f() {
    cairn::table<point, cairn::aosoa<3>> t;
    (void)t.emplace_back(1.0f, 2.0f);
}

//= mistake: a layout of one's own that splits and has blocks
//= says: a layout is one array of rows, or splits vectors, or has blocks: not two of them
struct split_blocks : cairn::split_soa {
    static constexpr std::size_t lanes = 8;
};
void f() {
    cairn::table<point, split_blocks> t;
    (void)t.emplace_back(1.0f, 2.0f);
}

//= mistake: a layout of one's own that splits and has groups
//= says: a layout that splits vectors or has blocks has no groups
struct split_groups : cairn::split_soa {
    static consteval std::size_t group_of(std::size_t) { return 0; }
};
void f() {
    cairn::table<point, split_groups> t;
    (void)t.emplace_back(1.0f, 2.0f);
}

//= mistake: a layout of one's own that has blocks and groups
//= says: a layout that splits vectors or has blocks has no groups
struct block_groups : cairn::aosoa<8> {
    static consteval std::size_t group_of(std::size_t) { return 0; }
};
void f() {
    cairn::table<point, block_groups> t;
    (void)t.emplace_back(1.0f, 2.0f);
}

//= mistake: a layout of one's own that groups fields with destructors
//= says: fields of a group are plain data
struct pairs : cairn::soa {
    static consteval std::size_t group_of(std::size_t field) { return field / 2; }
};
struct titled {
    std::string name;
    std::string title;
};
void f() {
    cairn::table<titled, pairs> t;
    (void)t.push_back({});
}

//= mistake: a group of one field
//= says: a group has two fields or more
void f() {
    cairn::table<point, cairn::grouped_soa<cairn::group<&point::x>>> t;
    (void)t.emplace_back(1.0f, 2.0f);
}

//= mistake: a field in two groups
//= says: a field is in one group at most
void f() {
    using twice =
        cairn::grouped_soa<cairn::group<&point::x, &point::y>, cairn::group<&point::y, &point::x>>;
    cairn::table<point, twice> t;
    (void)t.emplace_back(1.0f, 2.0f);
}

//= mistake: a group of fields with destructors
//= says: fields of a group are plain data
struct named {
    std::string name;
    std::string title;
};
void f() {
    cairn::table<named, cairn::grouped_soa<cairn::group<&named::name, &named::title>>> t;
    (void)t.push_back({});
}

//= mistake: a row that is a number
//= says: a row is a struct
void f() {
    cairn::table<float> t;
    (void)t.push_back(1);
}

//= mistake: a private member
//= says: a row is an aggregate: public fields only, no constructors, no virtual functions
class account {
    int money = 0;

public:
    int balance() const { return money; }
    float rate = 0;
};
void f() {
    cairn::table<account> t;
    (void)t.push_back({});
    for (auto&& a : t) { cairn::get<&account::rate>(a) = 3; }
}

//= mistake: a virtual function
//= says: a row is an aggregate: public fields only, no constructors, no virtual functions
struct animal {
    int legs = 4;
    virtual void speak() {}
};
void f() {
    cairn::table<animal> t;
    (void)t.push_back({});
    (void)t.column<&animal::legs>();
}

//= mistake: a constructor
//= says: a row is an aggregate: public fields only, no constructors, no virtual functions
struct circle {
    circle() {}
    float x = 0, y = 0, r = 0;
};
void f() {
    cairn::table<circle> t;
    (void)t.push_back({});
}

//= mistake: a base class
//= says: a row has no base class
struct circle : point {
    float r = 0;
};
void f() {
    cairn::table<circle> t;
    (void)t.push_back({});
    for (auto&& c : t) { cairn::get<&circle::r>(c) = 3; }
}

//= mistake: an array of the language
//= says: a row has no C array: use std::array
struct matrix {
    float m[16];
};
void f() {
    cairn::table<matrix> t;
    (void)t.push_back({});
    (void)t.column<&matrix::m>();
}

//= mistake: an array of the language between other fields
//= says: a row has no C array: use std::array
struct joint {
    int parent;
    float place[3];
    std::string name;
};
void f() {
    cairn::table<joint> t;
    (void)t.push_back({});
}

//= mistake: an array of the language that is larger than any row
//= says: a row has no C array: use std::array
struct line {
    char text[80];
    int length;
};
void f() {
    cairn::slot_table<line> t;
    (void)t.emplace(line{});
}

//= mistake: a reference
//= says: a row has no reference
struct follower {
    int& target;
    float distance;
};
void f() { cairn::table<follower> t; }

//= mistake: twenty-five fields
//= says: a row has 1 to 24 fields
struct wide {
    int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y;
};
void f() {
    cairn::table<wide> t;
    (void)t.push_back({});
}

//= mistake: no field
//= says: a row has 1 to 24 fields
struct nothing {};
void f() {
    cairn::table<nothing> t;
    (void)t.push_back({});
}

//= mistake: a union
//= says: a row is a struct
union either {
    int a;
    float b;
};
void f() {
    cairn::table<either> t;
    (void)t.push_back({});
}

//= mistake: a field that cannot move
//= says: each field of a row can be moved
struct locked_row {
    std::mutex lock;
    int value;
};
void f() {
    cairn::table<locked_row> t;
    (void)t.emplace_back();
}

//= mistake: arguments of which one fits no field
//= says: a row is built from a row, from an argument for each field, or by Row{args...}
void f() {
    cairn::table<point> t;
    (void)t.emplace_back(1.0f, std::string{});
}

//= mistake: too many arguments
//= says: a row is built from a row, from an argument for each field, or by Row{args...}
void f() {
    cairn::table<point> t;
    (void)t.emplace_back(1.0f, 2.0f, 3.0f);
}

//= fine: rows at the edge of what a row may be
//= alone: gcc
struct inner {
    int numbers[4];
};
struct edge {
    std::array<float, 16> matrix;
    inner whole;
    std::string name;
    std::string* link = nullptr;
    bool flag = true;
    auto is_set() const { return flag; }
};
struct no_default {
    explicit no_default(int v) : value{v} {}
    int value;
};
struct strict {
    no_default first;
    int second;
};
void f() {
    cairn::table<edge> t;
    (void)t.push_back({});
    cairn::table<strict> s;
    (void)s.emplace_back(no_default{1}, 2);
    (void)t.emplace_back();
    (void)t.emplace_back(std::array<float, 16>{}, inner{});
    cairn::table<edge, cairn::split_soa> c;
    (void)c.push_back({});
    cairn::table<edge, cairn::aos> a;
    (void)a.emplace_back(std::array<float, 16>{}, inner{});
    (void)a.emplace_back();
}
struct node;
struct graph {
    cairn::table<node>* nodes;
};
