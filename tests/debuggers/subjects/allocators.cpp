// Allocators, what wraps them, and the objects of a collected heap.
#include <cstddef>
#include <utility>

#include <cairn/cairn.hpp>
#include <cairn/std/node_pool.hpp>

#include "debuggers/subjects/subjects.hpp"

void arenas() {
    cairn::arena memory{64 << 10};
    (void)memory.allocate(1000);
    //= memory: arena: 1008 B of 64 KiB used
    std::byte buffer[256];
    cairn::arena small{buffer};
    small.set_name("small");
    //= small: arena..: 0 B of 256 B used
    cairn::arena gone{4096};
    cairn::arena taker{std::move(gone)};
    //= gone: arena: 0 B of 0 B used
    //= taker: arena: 0 B of 4 KiB used
    cairn::growing_arena growing{4096};
    (void)growing.allocate(100);
    (void)growing.allocate(3000);
    (void)growing.allocate(5000);
    //= growing: growing_arena: 7.9 KiB used, 8.9 KiB in 2 blocks = {current, 4 KiB at 0x..,
    //           full, 4.9 KiB at 0x..}
    cairn::virtual_arena reserved{1 << 20, {.commit_step_min = 64 << 10}};
    (void)reserved.allocate(100);
    //= reserved: virtual_arena: 112 B used, .. KiB committed, 1 MiB reserved
    cairn::double_ended_arena ends{64 << 10};
    (void)ends.low().allocate(160);
    (void)ends.high().allocate(320);
    cairn::arena_high_end& high = ends.high();
    //= ends: double_ended_arena: 160 B low and 320 B high of 64 KiB used
    //= high: arena_high_end: 320 B used
    cairn::frame_arena<2, cairn::arena> frames{4096};
    (void)frames.allocate(64);
    //= frames: frame_arena of 2 arenas = {[0] active = arena: 64 B of 4 KiB used,
    //          [1] = arena: 0 B of 4 KiB used}
    cairn::arena scratch{4096};
    cairn::arena_scope scope{scratch};
    (void)scope.make<cairn::packed_array<int>>();
    //= scope: arena_scope: 1 object to destroy = {[arena] = arena: .. of 4 KiB used}
    auto mark = memory.mark();
    //= mark: marker at 0x..
    cairn::builder<int> list{scratch};
    (void)list.push_back(4);
    (void)list.push_back(5);
    //= list: builder of 2, room for .. = {4, 5}
    look();
    (void)mark, (void)high;
}

void pools() {
    cairn::pool slots{64, cairn::alignment{16}};
    void* const a = slots.allocate();
    void* const b = slots.allocate();
    slots.deallocate(a);
    //= slots: pool: 1 of 256 slots taken, 64 B each
    cairn::pool_of<enemy> enemies;
    enemy* const one = enemies.make(1, 1.5f);
    enemy* const two = enemies.make(2, 2.5f);
    enemy* const three = enemies.make(3, 3.5f);
    enemies.destroy(two);
    //= enemies: pool_of: 2 of 2048 slots taken, 8 B each =
    //           {{hp = 1, speed = 1.5}, {hp = 3, speed = 3.5}}
    cairn::concurrent_pool common{64, cairn::alignment{16}};
    void* const c = common.allocate();
    auto mine = common.local();
    //= common: concurrent_pool: 1 of 1024 slots taken
    //= mine: local_view = {[pool] = concurrent_pool: 1 of 1024 slots taken}
    cairn::concurrent_pool_of<enemy> typed;
    enemy* const four = typed.make(4, 4.5f);
    //= typed: concurrent_pool_of: 1 of 1024 slots taken
    cairn::concurrent_heap any_size;
    void* const any = any_size.allocate(100);
    //= any_size: concurrent_heap: 1 MiB in segments, 1 cache
    cairn::tagged_arenas jobs;
    const auto frame_tag = jobs.begin("frame");
    void* const in_frame = jobs.local(frame_tag).allocate(100);
    //= jobs: tagged_arenas: 1 tag with 1 block, 0 free, ..
    cairn::object_pool<enemy> reused;
    auto five = reused.acquire();
    five->hp = 5;
    (void)reused.acquire();
    //= reused: object_pool: 1 live, 1 idle = {{hp = 5, speed = 0}}
    //= five: 0x.. = {[object] = {hp = 5, speed = 0}}
    cairn::concurrent_object_pool<enemy> shared;
    auto six = shared.acquire();
    six->hp = 6;
    (void)shared.acquire();
    //= shared: concurrent_object_pool: 1 live, 1 idle = {{hp = 6, speed = 0}}
    cairn::node_pool nodes;
    cairn::node_allocator<double> in_nodes{nodes};
    double* const node = in_nodes.allocate(1);
    //= nodes: node_pool of 64 pools = {pool: 1 of 2048 slots taken, 8 B each, ..}
    look();
    in_nodes.deallocate(node, 1);
    (void)in_frame;
    jobs.end(frame_tag);
    any_size.deallocate(any, 100);
    typed.destroy(four);
    common.deallocate(c);
    enemies.destroy(one);
    enemies.destroy(three);
    slots.deallocate(b);
}

void heaps() {
    cairn::heap<> heap{1 << 20};
    void* const a = heap.allocate(100);
    void* const b = heap.allocate(200);
    void* const waiting = heap.allocate(32);
    heap.deallocate(waiting, 32);
    heap.deallocate(a, 100);
    //= heap: heap: 208 B of .. used, 160 B waiting = {waiting, 104 B at 0x.., used, 200 B at 0x..,
    //        waiting, 40 B at 0x.., free, .. at 0x..}
    cairn::heap<cairn::first_fit> exact{64 << 10};
    void* const c = exact.allocate(1000);
    //= exact: heap: 1008 B of .. KiB used = {used, 1000 B at 0x.., free, .. KiB at 0x..}
    cairn::heap<> untouched;
    //= untouched: heap: 0 B of 0 B used, 0 regions

    cairn::relocatable_heap objects{64 << 10, cairn::system_memory(), {.first_generation = 5}};
    auto moves = objects.make<enemy>(1, 1.5f);
    auto other = objects.make<enemy>(2, 2.5f);
    objects.destroy(other);
    auto stays = moves.pin();
    auto frame = moves.frame_ptr();
    cairn::relocatable<enemy> none;
    //= objects: relocatable_heap: 1 object, 16 B of 64 KiB used = {[0:5] = 8 B at 0x.., pinned}
    //= moves: 0:5 = {[object] = {hp = 1, speed = 1.5}}
    //= other: 1:5, stale: slot 1 is free, its next life is 6, the handle is of life 5
    //= none: null
    //= stays: 0x.. = {[object] = {hp = 1, speed = 1.5}}
    //= frame: 0x.. = {[object] = {hp = 1, speed = 1.5}}
    cairn::concurrent_relocatable_heap common{
        64 << 10, cairn::system_memory(), {.first_generation = 5}};
    auto held = common.pin<enemy>(common.make<enemy>(3, 3.5f));
    //= common: concurrent_relocatable_heap: 1 object, 16 B of 64 KiB used = {[0:5] = 8 B at 0x..}
    //= held: 0x.. = {[object] = {hp = 3, speed = 3.5}}
    cairn::offset_heap device{1000, {.allocation_count_max = 100, .first_generation = 5}};
    const auto texture = device.allocate(100);
    //= device: offset_heap: 1 allocation in 1000 = {[0:5] = used, 100 at 0,
    //          [free] = free, 900 at 100}
    //= texture: 0:5
    look();
    device.deallocate(texture);
    heap.deallocate(b, 200);
    exact.deallocate(c, 1000);
    (void)frame;
}

void collected() {
    cairn::collected_heap heap{1 << 20};
    //= heap: collected_heap: .. KiB of 1 MiB used, 3 roots, 3 types, idle = {..npc = 1 chunk,
    //      ref_array = 1 chunk, ..party = 1 chunk}
    cairn::root<npc> first = heap.make<npc>(7);
    //= first: 0x.. = {[object] = {rival = 0x.., friends = ref_array: 1 reference = {0x..}, age = 7}}
    cairn::root<npc> none;
    //= none: null
    cairn::root<npc> second = heap.make<npc>(8);
    first->rival = second.get();
    (void)first->friends.push_back(second.get());
    cairn::ref<npc>& rival = first->rival;
    //= rival: 0x..
    cairn::ref<npc>& nothing = second->rival;
    //= nothing: null
    cairn::ref_array<npc>& friends = first->friends;
    //= friends: ref_array: 1 reference = {0x..}
    cairn::root<party> group = heap.make<party>();
    (void)group->members.edit().emplace(second.get());
    auto& members = group->members;
    //= members: traced = {[container] = packed_array of 1, capacity 16 = {0x..}}
    cairn::outer_ref<npc> one = second.get();
    //= one: 0x..
    cairn::weak_ref<npc> alive{first.get()};
    //= alive: weak, to 0x..
    cairn::weak_ref<npc> gone{heap.make<npc>(9)};
    //= gone: weak, to 0x.., which is gone
    heap.collect();
    look();
    (void)rival, (void)nothing, (void)friends, (void)alive, (void)gone, (void)members, (void)one;
}

void wrappers() {
    cairn::arena memory{4096};
    (void)memory.allocate(64);
    cairn::allocator_ref ref{memory};
    //= ref: to arena at 0x.. = {[allocator] = arena: .. of 4 KiB used}
    cairn::allocator_ref system = cairn::system_memory();
    //= system: to system_allocator at 0x..
    cairn::tracked<cairn::arena&> tracked{memory, {.name = "level", .list = true}};
    void* const a = tracked.allocate(100);
    //= tracked: tracked "level": 100 B in 1 block, peak 100 B = {[inner] = arena: ..}
    cairn::failing<cairn::arena&> failing{memory};
    failing.refuse_every(2);
    void* const b = failing.allocate(10);
    (void)failing.allocate(10);
    //= failing: failing: 1 of 2 requests refused, 10 B live = {[inner] = arena: ..}
    cairn::budget<cairn::arena&> budget{1000, memory};
    void* const c = budget.allocate(50);
    //= budget: budget: 50 B of 1000 B live, 0 refused = {[inner] = arena: ..}
    cairn::guarded<cairn::arena&> guarded{memory};
    void* const d = guarded.allocate(20);
    //= guarded: guarded: 1 block live, 0 in quarantine = {[inner] = arena: ..}
    cairn::hardened<cairn::arena&> hardened{memory};
    //= hardened: hardened = {[inner] = arena: ..}
    cairn::locked<cairn::arena&> locked{memory};
    //= locked: locked = {[inner] = arena: ..}
    cairn::monotonic<cairn::arena&> monotonic{memory};
    //= monotonic: monotonic = {[inner] = arena: ..}
    cairn::array_recycler<cairn::arena&> recycler{memory};
    //= recycler: array_recycler = {[inner] = arena: ..}
    cairn::or_abort<cairn::arena&> never_null{memory};
    //= never_null: or_abort = {[inner] = arena: ..}
    cairn::alignment cache_line{64};
    //= cache_line: 64
    look();
    guarded.deallocate(d, 20);
    budget.deallocate(c, 50);
    failing.deallocate(b, 10);
    tracked.deallocate(a, 100);
    (void)system, (void)cache_line;
}
