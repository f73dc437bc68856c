// Types that are no element: their container says so in one sentence.
#include <cairn/cairn.hpp>

struct spark {
    int a;
};
class hidden {
    ~hidden();

public:
    int a;
};
struct shape {
    virtual void draw() = 0;
};

//= mistake: a const type in a slot_map
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::slot_map<const spark>&) {}

//= mistake: a volatile type in a slot_map
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::slot_map<volatile int>&) {}

//= mistake: a reference in a slot_map
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::slot_map<spark&>&) {}

//= mistake: an rvalue reference in a slot_map
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::slot_map<int&&>&) {}

//= mistake: void in a slot_map
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::slot_map<void>&) {}

//= mistake: a function in a slot_map
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::slot_map<int()>&) {}

//= mistake: an array in a slot_map
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::slot_map<spark[3]>&) {}

//= mistake: an array without a bound in a slot_map
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::slot_map<int[]>&) {}

//= mistake: a const type in a stable_slot_map
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::stable_slot_map<const spark>&) {}

//= mistake: a reference in a packed_array
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::packed_array<spark&>&) {}

//= mistake: an array in a pool_of
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::pool_of<int[3]>&) {}

//= mistake: a volatile type in an object_pool
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::object_pool<volatile int>&) {}

//= mistake: void in a concurrent_pool_of
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::concurrent_pool_of<void>&) {}

//= mistake: a function in a concurrent_object_pool
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::concurrent_object_pool<int()>&) {}

//= mistake: an array in a message_queue
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::message_queue<int[3]>&) {}

//= mistake: an array without a bound in a per_thread
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::per_thread<int[]>&) {}

//= mistake: a reference in a polymorphic_store
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::polymorphic_store<shape&>&) {}

//= mistake: void in a table
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::table<void>&) {}

//= mistake: a reference in a slot_table
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::slot_table<spark&>&) {}

//= mistake: a const type in a builder
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::builder<const spark>&) {}

//= mistake: an array in an attached_column
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::attached_column<int[3]>&) {}

//= mistake: a function in a destruction_queue
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::destruction_queue<int()>&) {}

//= mistake: a const type in a store of owners
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 28, clang 40
void f(cairn::deferred_store<cairn::slot_map<const spark>>&) {}

//= mistake: a ref to void
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::ref<void>&) {}

//= mistake: a root of a reference
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::root<spark&>&) {}

//= mistake: a weak_ref to an array
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::weak_ref<spark[2]>&) {}

//= mistake: make of a reference in any allocator
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::heap<>& h, int& i) { (void)cairn::make<int&>(h, i); }

//= mistake: make of an array in an arena
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::arena& a) { (void)a.make<int[3]>(); }

//= mistake: make of a reference in an arena
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::arena& a, int& i) { (void)a.make<int&>(i); }

//= mistake: make_array of a const type
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::arena& a) { (void)a.make_array<const int>(3); }

//= mistake: make_array of a reference
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::arena& a) { (void)a.make_array<int&>(3); }

//= mistake: make of void in a scope
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::arena_scope<cairn::arena>& a) { (void)a.make<void>(); }

//= mistake: make_array of an array in a scope
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::arena_scope<cairn::arena>& a) { (void)a.make_array<int[2]>(3); }

//= mistake: make of a volatile type in a relocatable heap
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::relocatable_heap& h) { (void)h.make<volatile int>(); }

//= mistake: make of an array in a concurrent relocatable heap
//= says: T is the type of an object: not const or volatile, and no reference, array, function or void
//= lines: 25, clang 40
void f(cairn::concurrent_relocatable_heap& h) { (void)h.make<int[3]>(); }

//= mistake: a private destructor in a slot_map
//= says: T has a public destructor and is not abstract
//= lines: 50, clang 115
void f() {
    cairn::slot_map<hidden> m;
    (void)m;
}

//= mistake: an abstract class in a slot_map
//= says: T has a public destructor and is not abstract
//= lines: 40, clang 60
void f() {
    cairn::slot_map<shape> m;
    (void)m;
}

//= mistake: an abstract class in a stable_slot_map
//= says: T has a public destructor and is not abstract
//= lines: 20, clang 42
void f() {
    cairn::stable_slot_map<shape> m;
    (void)m;
}

//= mistake: an abstract class in a packed_array
//= says: T has a public destructor and is not abstract
//= lines: 20, clang 42
void f() {
    cairn::packed_array<shape> m;
    (void)m;
}

//= mistake: a private destructor in a pool_of
//= says: T has a public destructor and is not abstract
//= lines: 20, clang 20
void f() {
    cairn::pool_of<hidden> m;
    (void)m;
}

//= mistake: an abstract class in an object_pool
//= says: T has a public destructor and is not abstract
//= lines: 20, clang 40
void f() {
    cairn::object_pool<shape> m;
    (void)m;
}

//= mistake: an abstract class in a concurrent_pool_of
//= says: T has a public destructor and is not abstract
//= lines: 20
void f() {
    cairn::concurrent_pool_of<shape> m;
    (void)m;
}

//= mistake: a private destructor in a concurrent_object_pool
//= says: T has a public destructor and is not abstract
//= lines: 25, clang 30
void f() {
    cairn::concurrent_object_pool<hidden> m;
    (void)m;
}

//= mistake: an abstract class in a per_thread
//= says: T has a public destructor and is not abstract
//= lines: 40, clang 60
void f() {
    cairn::per_thread<shape> m;
    (void)m;
}

//= mistake: a private destructor in a builder
//= says: T has a public destructor and is not abstract
//= lines: 30, clang 40
void f(cairn::arena& a) { cairn::builder<hidden> b{a}; }

//= mistake: a private destructor in a scope
//= says: T has a public destructor and is not abstract
//= lines: 45
void f(cairn::arena_scope<cairn::arena>& a) { (void)a.make<hidden>(); }

//= mistake: an abstract class in a scope
//= says: T has a public destructor and is not abstract
//= lines: 60
void f(cairn::arena_scope<cairn::arena>& a) { (void)a.make<shape>(); }

//= mistake: a private destructor in a relocatable heap
//= says: T has a public destructor and is not abstract
//= lines: 60
void f(cairn::relocatable_heap& h) { (void)h.make<hidden>(); }

//= mistake: an abstract class in a collected heap
//= says: T has a public destructor and is not abstract
//= lines: 40
void f(cairn::collected_heap& h) { (void)h.make<shape>(); }

//= fine: elements that are incomplete where they are named, and const objects elsewhere
struct actor {
    int v = 0;
    cairn::slot_map<actor> few;
    cairn::stable_slot_map<actor> many;
    cairn::packed_array<actor> row;
    cairn::pool_of<actor>* pool = nullptr;
    cairn::object_pool<actor>* objects = nullptr;
    cairn::concurrent_pool_of<actor>* shared = nullptr;
    cairn::concurrent_object_pool<actor>* threads = nullptr;
    cairn::message_queue<actor*>* told = nullptr;
    cairn::builder<actor>* list = nullptr;
    cairn::weak_ref<const actor> weak;
};
class later;
struct owner {
    cairn::slot_map<later>* few;
    cairn::object_pool<later>* objects;
    cairn::per_thread<later>* each;
    cairn::table<later>* rows;
};
template <template <class> class Array>
struct world {
    Array<actor> actors;
};
template <class T>
using array_of = cairn::packed_array<T>;
void f(cairn::arena& a, world<array_of>& w) {
    const spark* const one = a.make<const spark>(1);
    cairn::heap<> h;
    const volatile int* const two = cairn::make<const volatile int>(h, one->a);
    cairn::destroy(h, two);
    w.actors.clear();
}
