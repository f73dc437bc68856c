// Arguments that build no object, and objects that cannot be where they are wanted.
#include <cairn/cairn.hpp>
#include <cairn/std/unique_in.hpp>

#include <mutex>
#include <string>
#include <vector>

struct enemy {
    enemy(int health, std::string name);
    int health;
};
struct spark {
    int a;
    int b;
};
struct anchored {
    anchored* self = this;
    int value = 0;
    anchored() = default;
    anchored(const anchored&) = delete;
    anchored& operator=(const anchored&) = delete;
};

//= mistake: make in a pool
//= says: an object is made as T(args...) or T{args...}: these arguments build none
void f(cairn::pool_of<enemy>& p) { (void)p.make(std::string{}, 1, 2); }

//= mistake: make in an arena
//= says: an object is made as T(args...) or T{args...}: these arguments build none
void f(cairn::arena& a) { (void)a.make<spark>("no"); }

//= mistake: make in a scope
//= says: an object is made as T(args...) or T{args...}: these arguments build none
void f(cairn::arena_scope<cairn::arena>& a) { (void)a.make<enemy>(); }

//= mistake: make in any allocator
//= says: an object is made as T(args...) or T{args...}: these arguments build none
void f(cairn::heap<>& h) { (void)cairn::make<enemy>(h, 1); }

//= mistake: make in a relocatable heap
//= says: an object is made as T(args...) or T{args...}: these arguments build none
void f(cairn::relocatable_heap& h) { (void)h.make<spark>(1, 2, 3); }

//= mistake: make_unique_in
//= says: an object is made as T(args...) or T{args...}: these arguments build none
void f(cairn::heap<>& h) { (void)cairn::make_unique_in<enemy>(h, 1); }

//= mistake: make_shared_in
//= says: an object is made as T(args...): these arguments build none
void f(cairn::heap<>& h) { (void)cairn::make_shared_in<enemy>(h, 1); }

//= mistake: emplace in a slot map
//= says: an object is made as T(args...) or T{args...}: these arguments build none
//= lines: 20, clang 22
void f(cairn::slot_map<spark>& m) { (void)m.emplace("no"); }

//= mistake: emplace in a stable slot map
//= says: an object is made as T(args...) or T{args...}: these arguments build none
void f(cairn::stable_slot_map<enemy>& m) { (void)m.emplace(1); }

//= mistake: emplace_back in a builder
//= says: an object is made as T(args...) or T{args...}: these arguments build none
void f(cairn::builder<std::string>& b) { (void)b.emplace_back(1, 2, 3); }

//= mistake: an object pool of objects that need arguments
//= says: an object of a pool is built by T(), or by the create of its hooks
//= lines: 20, clang 23
void f() {
    cairn::object_pool<enemy> p;
    (void)p.acquire();
}

//= mistake: an object that knows its own address moves
//= says: an object that moves has a relocate() or a move constructor
void f(cairn::relocatable_heap& h) { (void)h.make<anchored>(); }

//= mistake: a mutex moves
//= says: an object that moves has a relocate() or a move constructor
void f(cairn::relocatable_heap& h) { (void)h.make<std::mutex>(); }

//= mistake: an anchored object in a concurrent relocatable heap
//= says: an object that moves has a relocate() or a move constructor
void f(cairn::concurrent_relocatable_heap& h) { (void)h.make<anchored>(); }

//= mistake: an array of objects whose destructor is private
//= says: T has a public destructor and is not abstract
//= lines: 40
class ends_itself {
    ~ends_itself() = default;
};
bool wrong(cairn::packed_array<ends_itself>& a) { return a.emplace_back(); }

//= mistake: a slot map of anchored objects
//= says: rows move when others are erased
//= lines: 20, clang 26
cairn::slot_map<anchored> a;

//= mistake: an object that owns others of its own map
//= says: an object that owns others of its own map lives in a deferred_store
struct room {
    int number;
    cairn::unique_handle<cairn::slot_map<room>> next;
};

//= mistake: an object that owns others of its own stable map
//= says: an object that owns others of its own map lives in a deferred_store
struct room {
    int number;
    cairn::unique_handle<cairn::stable_slot_map<room>> next;
};

//= fine: objects that own others of their stores
struct room;
using rooms = cairn::deferred_store<cairn::slot_map<room>>;
struct room {
    int number;
    cairn::unique_handle<rooms> next{};
};
struct sound;
using sounds = cairn::shared_store<cairn::stable_slot_map<sound>, cairn::atomic_count>;
struct sound {
    int number;
    cairn::shared_handle<sounds> next{};
};
void f(rooms& r, sounds& s) {
    r.make(1, r.make(2)).reset();
    s.make(1, s.make(2)).reset();
}

//= mistake: a destructor in a bare arena
//= says: this destructor
void f(cairn::arena& a) { (void)a.make<std::string>("x"); }

//= fine: objects made with fewer arguments than they have fields, and without any
//= alone: gcc
struct relocates {
    relocates() = default;
    relocates(const relocates&) = delete;
    static void relocate(relocates*, relocates*) noexcept {}
};
void f(cairn::heap<>& h, cairn::arena& a, cairn::relocatable_heap& r,
       cairn::concurrent_relocatable_heap& c) {
    cairn::pool_of<spark> p;
    (void)p.make(1);
    (void)p.make();
    (void)a.make<spark>(1);
    (void)cairn::make<spark>(h, 1);
    (void)r.make<spark>(1);
    (void)r.make<relocates>();
    (void)c.make<spark>(1);
    cairn::packed_array<spark> packed;
    (void)packed.emplace(1);
    cairn::slot_map<spark> m;
    (void)m.emplace(1);
    cairn::stable_slot_map<spark> s;
    (void)s.emplace(1);
    cairn::builder<spark> b{a};
    (void)b.emplace_back(1);
    cairn::table<spark> t;
    (void)t.emplace_back(1);
    cairn::slot_table<spark, cairn::aos> rows;
    (void)rows.emplace(1);
    (void)cairn::make_unique_in<spark>(h, 1);
    cairn::object_pool<std::vector<int>> o;
    (void)o.acquire();
}
