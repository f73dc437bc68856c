// Collected types that do not say what they refer to, and references where none may be.
#include <cairn/cairn.hpp>

#include <string>

struct node {
    cairn::ref<node> next;
    int value = 0;
    using references = cairn::refers_to<&node::next>;
};

//= mistake: a type that says nothing
//= says: a collected type says what it refers to: write in it `using references =
struct silent {
    std::string name;
};
void f(cairn::collected_heap& h) { (void)h.make<silent>(); }

//= mistake: a type with a reference that says nothing
//= says: a collected type says what it refers to: write in it `using references =
struct silent {
    cairn::ref<node> first;
};
void f(cairn::collected_heap& h) { (void)h.make<silent>(); }

//= fine: numbers need not say that they refer to nothing
struct score {
    int points;
};
void f(cairn::collected_heap& h) { (void)h.make<score>(); }

//= mistake: a list that was inherited
//= says: this list of references is of a base class: write in the derived type `using references =
struct derived : node {
    cairn::ref<node> second;
};
void f(cairn::collected_heap& h) { (void)h.make<derived>(); }

//= fine: a list with that of the base class
struct derived : node {
    cairn::ref<node> second;
    using references = cairn::refers_to<&derived::second>::and_base<node>;
};
void f(cairn::collected_heap& h) { (void)h.make<derived>(); }

//= mistake: a trace that was inherited
//= says: this trace() is of a base class: write one in the derived type, which calls that of the base
struct base {
    cairn::ref<node> first;
    void trace(cairn::visitor& v) { v(first); }
};
struct derived : base {
    cairn::ref<node> second;
};
void f(cairn::collected_heap& h) { (void)h.make<derived>(); }

//= mistake: a list with a member that is no reference
//= says: a list of references names a ref, a ref_array, a traced container, or an array of them
struct pointed {
    node* raw;
    using references = cairn::refers_to<&pointed::raw>;
};
void f(cairn::collected_heap& h) { (void)h.make<pointed>(); }

//= mistake: a trace that shows what is no reference
//= says: a visitor is shown a ref, a ref_array, a traced container, or an array of them
//= lines: 20, clang 24
struct pointed {
    node* raw;
    void trace(cairn::visitor& v) { v(raw); }
};
void f(cairn::collected_heap& h) { (void)h.make<pointed>(); }

//= mistake: a copy of a ref
//= says: a ref is not copied: write T* or root<T>
void f(node& n) {
    cairn::ref<node> copy = n.next;
    (void)copy;
}

//= mistake: auto takes a ref
//= says: a ref is not copied: write T* or root<T>
void f(node& n) {
    auto copy = n.next;
    (void)copy;
}

//= fine: auto takes a pointer
void f(node& n) {
    node* const next = n.next;
    auto* also = n.next.get();
    (void)next;
    (void)also;
}

//= mistake: an array of refs outside of the heap
//= says: rows move when others are erased
//= lines: 40, clang 60
void f(cairn::packed_array<cairn::ref<node>>& a, node& n) { (void)a.emplace(n.next); }

//= mistake: before_collect() that may throw
//= says: before_collect() is noexcept: the collector calls it
//= lines: 20, clang 22
struct talks {
    int value = 0;
    void before_collect() {}
    using references = cairn::refers_to<>;
};
void f(cairn::collected_heap& h) { (void)h.make<talks>(); }

//= mistake: make of a const type
//= says: T is the type of an object: not const or volatile
//= lines: 25, clang 34
void f(cairn::collected_heap& h) { (void)h.make<const node>(); }

//= mistake: make of arguments that build nothing
//= says: an object is made as T(args...) or T{args...}: these arguments build none
struct score {
    explicit score(int points);
    int points;
};
void f(cairn::collected_heap& h) { (void)h.make<score>(std::string{}, 1); }

//= mistake: an object larger than a gibibyte
//= says: a collected object has 1 GiB at most
struct vast {
    char bytes[(1ull << 30) + 1];
};
void f(cairn::collected_heap& h) { (void)h.make<vast>(); }
