// Names and forms that people who come from other libraries type first. Where ours has another name,
// the compiler shows the line that says which.
#include <cairn/cairn.hpp>

#include <string>
#include <vector>

struct enemy {
    int hp = 0;
};
struct spark {
    float x;
    float y;
};
using map = cairn::slot_map<enemy>;

//= mistake: push_back of a map
//= says: insert(value) or emplace(args...)
void f(map& m) { m.push_back(enemy{}); }

//= mistake: push_back of a stable map
//= says: insert(value) or emplace(args...)
void f(cairn::stable_slot_map<enemy>& m) { m.push_back(enemy{}); }

//= mistake: add of a map
//= says: insert(value) or emplace(args...)
void f(map& m) { m.add(enemy{}); }

//= mistake: add of rows with handles
//= says: insert(value) or emplace(args...)
void f(cairn::slot_table<spark>& m) { m.add(spark{}); }

//= mistake: the type of handles
//= says: a map's handles are of its handle_type
map::handle h;

//= mistake: get of a map
//= says: map[h], or find(h), which may be null
void f(map& m, map::handle_type h) { m.get(h); }

//= mistake: try_get of a map
//= says: // find(h)
void f(map& m, map::handle_type h) { m.try_get(h); }

//= mistake: valid of a map
//= says: // contains(h)
void f(map& m, map::handle_type h) { m.valid(h); }

//= mistake: destroy of a map
//= says: // erase(h)
void f(map& m, map::handle_type h) { m.destroy(h); }

//= mistake: remove of a map
//= says: // erase(h)
void f(cairn::stable_slot_map<enemy>& m, map::handle_type h) { m.remove(h); }

//= mistake: remove of a store
//= says: // erase(h)
void f(cairn::polymorphic_store<enemy>& s) { s.remove(1); }

//= mistake: create of a pool
//= says: make(args...)
void f(cairn::pool_of<enemy>& p) { p.create(1); }

//= mistake: construct of a pool of threads
//= says: make(args...)
void f(cairn::concurrent_pool_of<enemy>& p) { p.construct(1); }

//= mistake: acquire of a pool
//= says: make(args...)
void f(cairn::pool_of<enemy>& p) { p.acquire(); }

//= mistake: free of a pool
//= says: destroy(p)
void f(cairn::pool_of<enemy>& p, enemy* e) { p.free(e); }

//= mistake: create of an object pool
//= says: acquire(), which returns a lease
void f(cairn::object_pool<enemy>& p) { p.create(1); }

//= mistake: get of an object pool of threads
//= says: acquire(), which returns a lease
void f(cairn::concurrent_object_pool<enemy>& p) { p.get(); }

//= mistake: size of an object pool
//= says: stats().live
auto f(cairn::object_pool<enemy>& p) { return p.size(); }

//= mistake: make_unique of a pool
//= says: make_unique_in<T>(pool, args...)
void f(cairn::pool_of<enemy>& p) { p.make_unique(1); }

//= mistake: size of a pool
//= says: stats().live_count
auto f(cairn::pool_of<enemy>& p) { return p.size(); }

//= mistake: the live objects of a pool
//= says: stats().live_count
auto f(cairn::pool_of<enemy>& p) { return p.live_count(); }

//= mistake: a loop over a pool
//= says: for_each(f), or a slot_map
void f(cairn::pool_of<enemy>& p) {
    for (enemy& e : p) { e.hp = 0; }
}

//= mistake: clear of a pool
//= says: destroy_all() of pool_of<T>, or reset()
void f(cairn::pool_of<enemy>& p) { p.clear(); }

//= mistake: a pool of a number of objects
//= says: reserve(1000)
cairn::pool_of<enemy> p{1000};

//= mistake: a pool of threads with a number of objects
//= says: reserve(1000)
cairn::concurrent_pool_of<enemy> p{1000};

//= mistake: an object pool of a number of objects
//= says: reserve(32), prewarm(32)
cairn::object_pool<enemy> p{32};

//= mistake: an object pool of a number of objects, with an upstream
//= says: reserve(32), prewarm(32)
cairn::heap<> h;
cairn::object_pool<enemy> p{32, h};

//= mistake: an object pool of threads with a number of objects
//= says: prewarm(32)
cairn::concurrent_object_pool<enemy> p{32};

//= mistake: a map of a number of objects
//= says: reserve(1000)
map m{1000};

//= mistake: a stable map of a number of objects
//= says: reserve(1000)
cairn::stable_slot_map<enemy> m{1000};

//= mistake: a table of a number of rows
//= says: resize(1000)
cairn::table<spark> t{1000};

//= mistake: rows with handles, of a number of rows
//= says: reserve(1000)
cairn::slot_table<spark> t{1000};

//= mistake: an array of a number of objects
//= says: reserve(1000)
cairn::packed_array<enemy> a{1000};

//= mistake: a store of a number of objects
//= says: reserve<T>(1000)
cairn::polymorphic_store<enemy> s{1000};

//= mistake: a pool of names of a number of names
//= says: reserve(1000)
cairn::string_pool names{1000};

//= mistake: a queue of a number of messages
//= says: {{.capacity = 1000}}
cairn::message_queue<int> q{1000};

//= mistake: free of a heap
//= says: deallocate(p, size), or deallocate(p)
void f(cairn::heap<>& h, void* p) { h.free(p); }

//= mistake: reallocate of a heap
//= says: try_resize(p, old, new), or a new block
auto f(cairn::heap<>& h, void* p) { return h.reallocate(p, 100); }

//= mistake: make of a heap
//= says: cairn::make<T>(heap, args...)
auto f(cairn::heap<>& h) { return h.make<enemy>(1); }

//= mistake: the live bytes of a heap
//= says: of budget<heap<>> or tracked<heap<>>
auto f(cairn::heap<>& h) { return h.live_size(); }

//= mistake: free of a heap of threads
//= says: deallocate(p, size), or deallocate(p)
void f(cairn::concurrent_heap& h, void* p) { h.free(p); }

//= mistake: make of a heap of threads
//= says: cairn::make<T>(heap, args...)
auto f(cairn::concurrent_heap& h) { return h.make<enemy>(1); }

//= mistake: alloc of an arena
//= says: allocate(size)
auto f(cairn::arena& a) { return a.alloc(10); }

//= mistake: alloc of a growing arena
//= says: allocate(size)
auto f(cairn::growing_arena& a) { return a.alloc(10); }

//= mistake: clear of an arena
//= says: reset()
void f(cairn::virtual_arena& a) { a.clear(); }

//= mistake: used of an arena
//= says: used_size()
auto f(cairn::growing_arena& a) { return a.used(); }

//= mistake: size of an arena
//= says: used_size(), or capacity()
auto f(cairn::arena& a) { return a.size(); }

//= mistake: the scope of an arena
//= says: cairn::arena_scope temporary{arena}
void f(cairn::growing_arena& a) { auto s = a.scope(); }

//= mistake: create in an arena
//= says: make<T>(args...)
auto f(cairn::growing_arena& a) { return a.create<enemy>(1); }

//= mistake: free in an arena
//= says: reset() for all
void f(cairn::arena& a, void* p) { a.free(p); }

//= mistake: scratch memory by its size
//= says: give arenas: no pointer, size
void f() { auto s = cairn::scratch(4096); }

//= mistake: scratch that avoids an arena by its address
//= says: give arenas: no pointer, size
void f(cairn::growing_arena& result) { auto s = cairn::scratch(&result); }

//= mistake: scratch that avoids an allocator_ref
//= says: give arenas: no pointer, size, container, allocator_ref
void f(cairn::allocator_ref result) { auto s = cairn::scratch(result); }

//= mistake: is a text in a pool of names
//= says: find(text).data() != nullptr
bool f(cairn::string_pool& names) { return names.contains("player"); }

//= mistake: a memory that is listed for one statement
//= says: the memory is listed while its entry exists
//= with: -Werror
void f(cairn::heap<>& h) { cairn::registry::entry{"x", h}; }

//= mistake: sort_by with a member as the argument
//= says: sort_by<&row::member>(), or sort(less)
bool f(cairn::table<spark>& t) { return t.sort_by(&spark::x); }

//= mistake: a column with a member as the argument
//= says: column<&row::member>()
auto f(cairn::table<spark>& t) { return t.column(&spark::x); }

//= mistake: a row of a table by its iterator
//= says: by number: erase(i)
void f(cairn::table<spark>& t) { t.erase(t.begin()); }

//= mistake: a resource that is released
//= says: inner().reset()
//= lines: 30
#include <cairn/std/pmr_resource.hpp>
void f(cairn::pmr_resource<cairn::growing_arena>& r) { r.release(); }

//= mistake: a std_allocator of a reference
//= says: a std_allocator refers to its allocator always
#include <cairn/std/std_allocator.hpp>
cairn::std_allocator<int, cairn::arena&> a;

//= mistake: how many messages wait
//= says: approximate_count()
auto f(cairn::message_queue<int>& q) { return q.size(); }

//= mistake: push to a queue
//= says: try_push(message)
void f(cairn::message_queue<int>& q) { q.push(1); }

//= mistake: pop from a queue
//= says: try_pop(message)
void f(cairn::message_queue<int>& q) { q.pop(); }

//= mistake: try_pop without a place
//= says: try_pop(m)
auto f(cairn::message_queue<int>& q) { return q.try_pop(); }

//= mistake: the next frame
//= says: // swap()
void f(cairn::frame_arena<2>& frames) { frames.next_frame(); }

//= mistake: flip of two frames
//= says: // swap()
void f(cairn::frame_arena<2>& frames) { frames.flip(); }

//= mistake: a lease of an object
//= says: a lease names its pool: object_pool<T>::lease_type
cairn::lease<enemy> l;

//= mistake: a handle beside nullptr
//= says: a handle h is null where !h
bool f(map::handle_type h) { return h == nullptr; }

//= mistake: an alignment that is a number, of a pool
//= says: pool{64, cairn::alignment{16}}
cairn::pool p{64, 16};

//= mistake: an alignment that is a number, of a pool of threads
//= says: {64, cairn::alignment{16}}
cairn::concurrent_pool p{64, 16};

//= mistake: a text as the options of tracked
//= says: {.name = "textures"}
cairn::heap<> h;
cairn::tracked t{h, "textures"};

//= mistake: a text as the options of guarded
//= says: a guarded has no name: tracked has
cairn::heap<> h;
cairn::guarded t{h, "textures"};

//= mistake: an arena over characters
//= says: memory for objects is of std::byte
char buffer[1024];
cairn::arena a{buffer};

//= mistake: a container in the list of memories
//= says: list its upstream: a budget
map m;
cairn::registry::entry e{"enemies", m};

//= mistake: a limit of work without a unit, in braces
//= says: the limit has a unit: {.microseconds = 50}
void f(cairn::relocatable_heap& h) { h.compact({50}); }

//= mistake: a number of objects to collect
//= says: the limit has a unit: {.steps = 64}
void f(cairn::shared_store<map>& s) { s.collect(64); }

//= mistake: find of a store of owners
//= says: objects().find(h), or lock(h)
void f(cairn::shared_store<map>& s, map::handle_type h) { s.find(h); }

//= mistake: emplace of a store of owners
//= says: make(args...), which returns an owner
void f(cairn::shared_store<map>& s) { s.emplace(1); }

//= mistake: a string copied into an arena
//= says: copy(std::string_view{text}): copy() returns a view
void f(cairn::arena& a, const std::string& name) { (void)a.copy(name); }

//= mistake: scratch that avoids a view of an arena
//= says: give arenas: no pointer
#include <cairn/std/pmr_resource.hpp>
void f(cairn::pmr_resource<cairn::growing_arena>& result) { auto s = cairn::scratch(result); }

//= fine: overloads for bytes, for text and for arrays
#include <span>
#include <string_view>
void load(cairn::byte_slice);
void load(std::string_view);
void save(cairn::byte_slice);
void save(std::span<char>);
void read(cairn::byte_slice);
void read(const char*);
struct file_buffer {
    char* data() const;
    std::size_t size() const;
    operator cairn::byte_slice() const;
};
void f(std::string& text, std::vector<char>& file, file_buffer& b) {
    load(text);
    load("text");
    save(file);
    read("text");
    cairn::arena a{b};
    cairn::heap<> h{b};
}

//= fine: an arena over memory by pointer and size, in braces
struct level {
    level(std::byte* p, std::size_t n) : memory({p, n}) {}
    cairn::arena memory;
};
void load(cairn::byte_slice);
void load(cairn::arena);
void f(std::byte* p, std::size_t n) {
    cairn::arena a({p, n});
    cairn::arena b{{p, n}};
    load({p, n});
}

//= fine: memories of the user in the list of memories
struct my_memory {
    using value_type = std::byte;
    void* allocate(std::size_t, cairn::alignment) noexcept;
    void deallocate(void*, std::size_t, cairn::alignment) noexcept;
};
struct my_objects {
    using value_type = int;
    std::size_t live_size() const;
};
struct my_counts {
    using value_type = int;
    struct numbers {
        std::size_t live_size;
    };
    numbers stats();
};
void f(my_memory& m, my_objects& o, my_counts& c) {
    cairn::registry::entry memory{"memory", m};
    cairn::registry::entry objects{"objects", o};
    cairn::registry::entry counts{"counts", c};
}

//= fine: scratch that avoids what never is one of the two arenas
void f(cairn::double_ended_arena& ends, cairn::tagged_arenas& tags, cairn::collected_heap& quests,
       cairn::relocatable_heap& meshes, cairn::growing_arena& result) {
    auto a = cairn::scratch(ends, ends.low(), tags);
    auto b = cairn::scratch(quests, meshes, result, a);
    cairn::budget<cairn::growing_arena&> limited{1000, result};
    auto c = cairn::scratch(limited);
}

//= fine: are these the bytes of a pool
struct name {
    operator std::string_view() const;
};
struct text {
    const char* c_str() const;
    operator std::string_view() const;
};
bool f(cairn::string_pool& names, const char* kept, const name& n, const text& t) {
    return names.contains(kept) && names.contains(n) && names.contains(t) && names.contains({});
}

//= fine: a text of the user that converts to a pointer, copied into an arena
struct fixed_string {
    const char* c_str() const;
    operator const char*() const;
};
const char* f(cairn::arena& a, const fixed_string& s) { return a.copy(s); }

//= fine: what people type first, and what it is here
void f(map& m, cairn::stable_slot_map<enemy>& s, cairn::polymorphic_store<enemy>& p,
       cairn::arena& a) {
    for (auto& [h, e] : m.items()) { e.hp += h ? 1 : 0; }
    for (auto& [h, e] : s.items()) { e.hp += h ? 1 : 0; }
    for (auto& [h, e] : p.items()) { e.hp += h ? 1 : 0; }
    for (auto [h, e] : m.items()) { e.hp += h ? 1 : 0; }
    for (const auto& [h, e] : m.items()) { e.hp += h ? 1 : 0; }
    const char* const name = a.copy("hello");
    (void)name;
    cairn::collected_heap quests;
    quests.step();
    cairn::growing_arena frame{64, {.on_reset = cairn::reset_policy::keep_all()}};
    const bool is_name = cairn::string_pool{}.contains(std::string_view{"x"});
    (void)is_name;
    cairn::shared_store<map> store{cairn::destroys::in_collect};
    const auto owner = store.make(1);
    if (enemy* const e = owner.get()) { e->hp = 2; }
    store.collect({});
    store.collect({.steps = 64});
}
