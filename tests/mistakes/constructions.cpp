// What cannot be built without a size, and copies: the compiler shows what to write.
#include <cairn/cairn.hpp>

struct enemy {
    int hp = 0;
};
struct spark {
    float x;
    float y;
};

//= mistake: an arena without a size
//= says: it needs a size, arena{64_KiB}, or memory, arena{buffer}
cairn::arena a;

//= mistake: an arena without a size as a member
//= says: it needs a size, arena{64_KiB}, or memory, arena{buffer}
struct level {
    level() {}
    cairn::arena a;
};

//= mistake: an arena with two ends without a size
//= says: it needs a size, double_ended_arena{1_MiB}, or memory
cairn::double_ended_arena a;

//= mistake: frames of arenas without a size
//= says: such an arena needs a size: frame_arena<2, arena>{1_MiB}
cairn::frame_arena<2, cairn::arena> a;

//= mistake: a pool without a size
//= says: it needs the size of a slot: pool{64}
cairn::pool p;

//= mistake: a pool of threads without a size
//= says: it needs the size of a slot: concurrent_pool{64}
cairn::concurrent_pool p;

//= mistake: a relocatable heap without a size
//= says: it needs a size, relocatable_heap{16_MiB}, or memory
cairn::relocatable_heap h;

//= mistake: an offset heap without a capacity
//= says: it needs a capacity: offset_heap{256_MiB}
cairn::offset_heap h;

//= mistake: an arena of an upstream alone
//= says: it needs a size: arena{64_KiB, upstream}
cairn::heap<> h;
cairn::arena a{h};

//= mistake: an arena with two ends of an upstream alone
//= says: it needs a size: {1_MiB, upstream}
cairn::heap<> h;
cairn::double_ended_arena a{h};

//= mistake: a pool of an upstream alone
//= says: it needs the size of a slot: pool{64, upstream}
cairn::heap<> h;
cairn::pool a{h};

//= mistake: a pool of threads of an upstream alone
//= says: it needs a slot's size: {64, upstream}
cairn::heap<> h;
cairn::concurrent_pool a{h};

//= mistake: a relocatable heap of an upstream alone
//= says: it needs a size: {16_MiB, upstream}
cairn::heap<> h;
cairn::relocatable_heap a{h};

//= mistake: a relocatable heap of threads of an upstream alone
//= says: a size: {16_MiB, upstream}
cairn::heap<> h;
cairn::concurrent_relocatable_heap a{h};

//= mistake: an offset heap of an upstream alone
//= says: it needs a capacity: {256_MiB, upstream}
cairn::heap<> h;
cairn::offset_heap a{h};

//= mistake: a budget of threads without a limit
//= says: it needs a limit: concurrent_budget{64_MiB}
cairn::concurrent_budget b;

//= mistake: a budget without a limit
//= says: it needs a limit: budget{64_MiB}
cairn::budget b;

//= mistake: a budget of heaps without a limit
//= says: it needs a limit: budget{64_MiB}
cairn::budget<cairn::heap<>> b;

//= mistake: a budget by reference of what system_memory() returns
//= says: system_memory() is one: budget<allocator_ref>
struct game {
    cairn::budget<cairn::system_allocator&> memory{64, cairn::system_memory()};
};

//= mistake: tracked with a heap that was built elsewhere
//= says: tracked<A>{{}, args of the A}
cairn::system_allocator memory;
cairn::tracked<cairn::heap<>> t{cairn::heap<>{memory}};

//= mistake: tracked with a heap of the user
//= says: tracked<A>{{}, args of the A}; tracked{a}
//= lines: 10, clang 8
cairn::heap<> h;
cairn::tracked<cairn::heap<>> t{h};

//= mistake: tracked by reference without its heap
//= says: it needs its allocator: tracked{a}
//= lines: 10, clang 8
cairn::tracked<cairn::heap<>&> t;

//= mistake: guarded with a heap of the user
//= says: guarded<A>{{}, args of the A}; guarded{a}
//= lines: 10, clang 8
cairn::heap<> h;
cairn::guarded<cairn::heap<>> t{h};

//= mistake: guarded by reference without its heap
//= says: it needs its allocator: guarded{a}
//= lines: 10, clang 8
cairn::guarded<cairn::heap<>&> t;

//= mistake: locked with a heap of the user
//= says: locked<A>{args of the A}, or locked{a}
//= lines: 10, clang 8
cairn::heap<> h;
cairn::locked<cairn::heap<>> t{h};

//= mistake: a budget of the user's heap without a limit
//= says: a limit: budget{64_MiB, a}
//= lines: 10, clang 8
cairn::heap<> h;
cairn::budget b{h};

//= mistake: a budget of threads of the user's heap without a limit
//= says: a limit: {64_MiB, a}
//= lines: 10, clang 8
cairn::heap<> h;
cairn::concurrent_budget b{h};

//= mistake: frames of arenas of an upstream alone
//= says: such an arena needs a size: {1_MiB, upstream}
//= lines: 10, clang 8
cairn::heap<> h;
cairn::frame_arena<2, cairn::arena> frames{h};

//= mistake: a growing arena over a growing arena
//= says: a child: growing_arena{allocator_ref{parent}}
cairn::growing_arena a;
cairn::growing_arena b{a};

//= mistake: a heap over a heap
//= says: a child: heap<>{allocator_ref{parent}}
cairn::heap<> a;
cairn::heap<> b{a};

//= mistake: frames over frames
//= says: a child: frame_arena<2>{allocator_ref{parent}}
cairn::frame_arena<2> a;
cairn::frame_arena<2> b{a};

//= mistake: tracked around tracked
//= says: a wrapper of a wrapper: tracked<decltype(inner)&>{inner}
cairn::heap<> h;
cairn::tracked a{h};
cairn::tracked b{a};

//= mistake: the copy of a map
//= says: // clone()
cairn::slot_map<enemy> a;
auto b = a;

//= mistake: the copy of a stable map
//= says: // clone()
cairn::stable_slot_map<enemy> a;
auto b = a;

//= mistake: the copy of rows with handles
//= says: // clone()
cairn::slot_table<spark> a;
auto b = a;

//= mistake: the copy of a store
//= says: // clone()
cairn::polymorphic_store<enemy> a;
auto b = a;

//= mistake: the copy of an array
//= says: clone()
cairn::packed_array<enemy> a;
auto b = a;

//= mistake: the copy of a table
//= says: clone()
cairn::table<spark> a;
auto b = a;

//= fine: one way to construct
cairn::growing_arena frame;
cairn::growing_arena child{cairn::allocator_ref{frame}};
cairn::budget memory{64};
cairn::budget more{64, cairn::system_memory()};
cairn::tracked named{memory};
cairn::tracked others{cairn::system_memory(), {.name = "others"}};
cairn::locked shared{cairn::system_memory()};
cairn::tracked all;
cairn::guarded watched;
cairn::relocatable_heap moved{1024, {.object_count = 8}};
cairn::concurrent_relocatable_heap shared_moved{1024, {.object_count = 8}};
cairn::concurrent_budget half{32, more};
struct game {
    cairn::budget<cairn::system_allocator> memory{64};
    cairn::tracked<cairn::heap<>> talk{{.name = "talk"}, memory};
    cairn::heap<> heap{memory};
    cairn::locked<cairn::heap<>&> shared{heap};
    cairn::monotonic<cairn::growing_arena> words{memory};
    cairn::guarded<cairn::heap<>&> watched{heap, {.page_guard_every = 8}};
    cairn::frame_arena<2> frames{memory};
    cairn::virtual_arena level{memory};
    cairn::message_queue<int> events{memory, {.capacity = 64}};
};

//= fine: members that an initializer leaves out begin empty
struct level {
    int number;
    cairn::slot_map<enemy> enemies;
    cairn::stable_slot_map<enemy> towers;
    cairn::slot_table<spark> sparks;
    cairn::table<spark> trails;
    cairn::packed_array<enemy> dead;
    cairn::polymorphic_store<enemy> bosses;
    cairn::string_pool names;
    cairn::object_pool<enemy> voices;
    cairn::concurrent_object_pool<enemy> workers;
    cairn::pool_of<enemy> shots;
    cairn::concurrent_pool_of<enemy> jobs;
    cairn::message_queue<int> events;
    cairn::heap<> heap;
    cairn::concurrent_heap shared;
    cairn::growing_arena words;
    cairn::virtual_arena text;
    cairn::frame_arena<2> frames;
    cairn::tagged_arenas tags;
    cairn::collected_heap quests;
    cairn::per_thread<enemy> each;
    cairn::shared_store<cairn::slot_map<enemy>> owned;
    cairn::deferred_store<cairn::slot_map<enemy>> late;
};
void f() {
    level first{};
    level second = {};
    second.enemies = {};
    first.towers = {};
}
