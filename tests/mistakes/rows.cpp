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
//= says: a layout is aos, soa, split_soa, aosoa<a power of two>, or a struct with the members of soa
void f() {
    cairn::table<point, int> t;
    (void)t.push_back({1, 2});
    for (auto&& p : t) { cairn::get<&point::x>(p) = 3; }
}

//= mistake: a layout that is a number type, in a slot table
//= says: a layout is aos, soa, split_soa, aosoa<a power of two>, or a struct with the members of soa
void f() {
    cairn::slot_table<point, int> t;
    (void)t.emplace(1.0f, 2.0f);
}

//= mistake: blocks of three rows
//= says: a layout is aos, soa, split_soa, aosoa<a power of two>, or a struct with the members of soa
void f() {
    cairn::table<point, cairn::aosoa<3>> t;
    (void)t.emplace_back(1.0f, 2.0f);
}

//= mistake: a layout of one's own that leaves out a field
//= says: a layout lists each field once: whole, or as all of its components
struct first_field {
    static constexpr std::size_t lanes = 0;
    static consteval void columns(auto& list) { list.add(0); }
};
cairn::table<point, first_field> t;

//= mistake: a layout of one's own that stores rows whole and in blocks
//= says: an array of rows has no blocks: lanes is 0
struct blocks_of_rows : cairn::aos {
    static constexpr std::size_t lanes = 8;
};
cairn::table<point, blocks_of_rows> t;

//= mistake: a field marked split that has no components
//= says: split<T> needs a T made of equal components
template <class K = cairn::value>
struct torn {
    cairn::field<K, cairn::split<std::string>> name;
};
cairn::table<torn<>> t;

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
    cairn::table<line> t;
    (void)t.push_back({});
}

//= mistake: an array of the language in a row of a slot table
//= says: a row has no C array: use std::array
//= only: clang
//= lines: 24
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

//= mistake: a field whose destructor is private
//= says: no field that cannot be destroyed
class endless {
    ~endless();
};
struct keeps_endless {
    int number;
    endless* other;
    endless field;
};
void f() { cairn::table<keeps_endless> t; }

//= mistake: a volatile field
//= says: a row has no volatile field
struct port {
    volatile int word;
    int number;
};
void f() {
    cairn::table<port> t;
    (void)t.push_back({});
}

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
