// One of each public container, handle and allocator, for debuggers_test.py. A line
//
//      //= name: text
//
// says how a debugger shows the variable `name` of this function where it calls look(), in the
// words of gdb's print; lines behind it, indented further, continue it. `..` stands for any text,
// `0x..` for any address.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <cairn/cairn.hpp>
#include <cairn/std/node_pool.hpp>
#include <cairn/std/text.hpp>

namespace {

struct vec2 {
    float x, y;
};
struct enemy {
    int hp = 0;
    float speed = 0;
};
struct any_unit {};
struct orc : any_unit {
    int hp;
};
struct elf : any_unit {
    int hp, arrows;
};
struct body {  // a plain row
    vec2 at;
    float mass;
    int team;
};
template <class K = cairn::value>
struct particle {  // a named row
    cairn::field<K, cairn::split<vec2>> at;
    cairn::field<K, vec2> velocity;
    cairn::field<K, float> life = 1;
};
struct message {
    int kind;
    int value;
};
struct alignas(4096) boulder {  // 64 of them are a chunk
    int weight;
};
struct npc {  // a collected object
    explicit npc(int years) noexcept : age{years} {}
    cairn::ref<npc> rival;
    cairn::ref_array<npc> friends;
    int age;
    using references = cairn::refers_to<&npc::rival, &npc::friends>;
};
struct party {  // a collected object with references elsewhere
    cairn::traced<cairn::packed_array<cairn::outer_ref<npc>>> members;
    using references = cairn::refers_to<&party::members>;
};
struct team_a;
struct own_policy {
    template <class T>
    using handle_type = cairn::handle<T, 32, 16>;
    static constexpr cairn::reuse order = cairn::reuse::lowest;
    static constexpr std::uint32_t free_min = 0;
};

int stops = 0;
[[gnu::noinline]] void look() {
    ++stops;
    __asm__ volatile("" ::: "memory");
}

constexpr cairn::slot_map_options from_5{.first_generation = 5};
constexpr cairn::slot_map_options from_9{.first_generation = 9};

void handles() {
    using small = cairn::handle<enemy, 32>;
    using tagged = cairn::handle<enemy, 64, 24, 9, team_a>;
    cairn::handle<enemy> none;
    //= none: null
    auto plain = cairn::handle<enemy>::make(2, 7);
    //= plain: 2:7
    auto half = small::make(1000, 4095);
    //= half: 1000:4095
    auto user = tagged::make(3, 4).with_user(5);
    //= user: 3:4:5
    const cairn::handle<enemy>* pointer = &plain;
    //= *pointer: 2:7
    const auto& reference = user;
    //= reference: 3:4:5
    std::array<cairn::handle<enemy>, 2> two{none, plain};
    //= two: {_M_elems = {null, 2:7}}
    cairn::short_text text = cairn::handle_text(plain);
    //= text: "2:7"
    look();
    (void)half, (void)reference, (void)pointer, (void)two, (void)text;
}

void maps() {
    cairn::slot_map<enemy> foes{cairn::system_memory(), from_5};
    const auto gone = foes.emplace(10, 1.5f);
    const auto target = foes.emplace(20, 2.5f);
    (void)foes.emplace(30, 3.5f);
    (void)foes.erase(gone);
    //= foes: slot_map of 2 objects = {[2:5] = {hp = 30, speed = 3.5},
    //        [1:5] = {hp = 20, speed = 2.5}}
    //= gone: 0:5, not in foes, bosses
    //= target: 1:5, alive in foes
    auto found = foes.find(target);
    //= found: 0x.. = {[object] = {hp = 20, speed = 2.5}}
    auto lost = foes.find(gone);
    //= lost: null
    auto each = foes.begin();
    //= each: 0x.. = {[object] = {hp = 30, speed = 3.5}}
    cairn::slot_map<int, cairn::slot_policy<32, 20, cairn::reuse::lowest>> small{
        cairn::system_memory(), from_5};
    (void)small.emplace(1);
    //= small: slot_map of 1 object = {[0:5] = 1}
    cairn::slot_map<int, own_policy> own{cairn::system_memory(), from_5};
    (void)own.emplace(1);
    //= own: slot_map of 1 object = {[0:5] = 1}
    cairn::slot_map<int, cairn::slot_policy<16>::tagged<team_a>> moved{cairn::system_memory(),
                                                                       from_5};
    (void)moved.emplace(1);
    auto taker = std::move(moved);
    const auto promised = taker.promise_handle();
    //= moved: slot_map of 0 objects
    //= promised: 1:5, promised by taker
    //= taker: slot_map of 1 object, 1 promised = {[0:5] = 1}

    cairn::slot_table<body> bodies{cairn::system_memory(), from_5};
    (void)bodies.emplace(body{{1, 2}, 3, 4});
    const auto heavy = bodies.emplace(body{{5, 6}, 7, 8});
    auto row = bodies.find(heavy);
    //= bodies: slot_table of 2 rows = {[0:5] = {at = {x = 1, y = 2}, mass = 3, team = 4},
    //          [1:5] = {at = {x = 5, y = 6}, mass = 7, team = 8}}
    //= heavy: 1:5, alive in bodies
    //= row: found = {[row] = row 1 = {[row] = {at = {x = 5, y = 6}, mass = 7, team = 8}}}

    cairn::polymorphic_store<any_unit, orc, elf> party{cairn::system_memory(), from_5};
    (void)party.insert(orc{{}, 7});
    const auto legolas = party.insert(elf{{}, 8, 9});
    //= party: polymorphic_store of 2 objects of 2 types = {[0:5:0] = {..hp = 7},
    //         [0:5:1] = {..hp = 8, arrows = 9}}
    //= legolas: 0:5:1, alive in party
    cairn::polymorphic_store<any_unit> open_party{cairn::system_memory(), from_9};
    (void)open_party.insert(elf{{}, 1, 2});
    const auto gimli = open_party.insert(orc{{}, 3});
    //= open_party: polymorphic_store of 2 objects of 2 types = {[0:9:0] = {..hp = 1, arrows = 2},
    //              [0:9:1] = {..hp = 3}}
    //= gimli: 0:9:1, alive in open_party

    cairn::stable_slot_map<enemy> bosses{cairn::system_memory(), from_9};
    const auto first = bosses.emplace(1, 1.0f);
    const auto boss = bosses.emplace(2, 2.0f);
    (void)bosses.emplace(3, 3.0f);
    (void)bosses.erase(first);
    auto where = bosses.begin();
    auto at_end = bosses.end();
    auto last = bosses.find(boss);
    //= bosses: stable_slot_map of 2 objects in 1 chunk = {[1:9] = {hp = 2, speed = 2},
    //          [2:9] = {hp = 3, speed = 3}}
    //= boss: 1:9, alive in bosses
    //= where: at slot 1 = {[object] = {hp = 2, speed = 2}}
    //= at_end: at the end
    //= last: 0x.. = {[object] = {hp = 2, speed = 2}}
    cairn::stable_slot_map<boulder> large{cairn::system_memory(), from_5};
    for (int i = 0; i < 100; ++i) { (void)large.emplace(i); }
    //= large: stable_slot_map of 100 objects in 2 chunks = {[0:5] = {weight = 0},
    //         ..[63:5] = {weight = 63}, [64:5] = {weight = 64}, .., [99:5] = {weight = 99}}

    cairn::slot_directory<> slots{{1000, 100, 0, 5}};
    (void)slots.reserve(10);
    slots.occupy(slots.peek(), 7);
    //= slots: slot_directory of 1 live slot, capacity 16 = {[0:5] = 7}
    look();
    (void)found, (void)where, (void)each, (void)lost, (void)at_end;
    (void)taker.abandon(promised);
}

struct world {
    cairn::slot_map<enemy> foes{cairn::system_memory(), from_5};
    cairn::stable_slot_map<enemy> bosses{cairn::system_memory(), from_9};
    void turn(cairn::handle<enemy> target, cairn::handle<enemy> gone);
};
[[gnu::noinline]] void world::turn(cairn::handle<enemy> target, cairn::handle<enemy> gone) {
    //= target: 0:5, alive in foes
    //= gone: 0:9, not in foes, bosses
    look();
    (void)target, (void)gone;
}
void members() {
    world now;
    const auto target = now.foes.emplace(1, 1.0f);
    const auto gone = now.bosses.emplace(2, 2.0f);
    (void)now.bosses.erase(gone);
    //= target: 0:5, alive in now.foes
    look();
    now.turn(target, gone);
}

void owners() {
    using map = cairn::slot_map<enemy>;
    map foes{cairn::system_memory(), from_5};
    cairn::unique_handle<map> owner{foes, foes.emplace(10, 1.5f)};
    //= owner: 0:5 = {[object] = {hp = 10, speed = 1.5}}
    cairn::unique_handle<map> none;
    //= none: null
    cairn::unique_handle<map> stale{foes, foes.emplace(20, 2.5f)};
    (void)foes.erase(stale.handle());
    //= stale: 1:5, stale: slot 1 is free, its next life is 6, the handle is of life 5
    cairn::shared_store<cairn::stable_slot_map<enemy>> store{cairn::system_memory(), from_9};
    auto shared = store.make(7, 0.5f);
    auto again = shared;
    //= store: shared_store over stable_slot_map of 1 object in 1 chunk =
    //         {[0:9] = {hp = 7, speed = 0.5}}
    //= shared: 0:9, 2 owners = {[object] = {hp = 7, speed = 0.5}}
    using kept = cairn::deferred_store<cairn::slot_map<enemy>>;
    kept waits{cairn::system_memory(), from_5, cairn::destroys::in_collect};
    auto mine = waits.make(3, 2.5f);
    waits.make(4, 3.5f).reset();
    //= waits: deferred_store over slot_map of 2 objects, of which 1 wait =
    //         {[0:5] = {hp = 3, speed = 2.5}, [1:5] = {hp = 4, speed = 3.5}}
    //= mine: 0:5 = {[object] = {hp = 3, speed = 2.5}}
    look();
    (void)again;
}

template <class Layout>
void fill(cairn::table<body, Layout>& t) {
    (void)t.push_back({{1, 2}, 3, 4});
    (void)t.push_back({{5, 6}, 7, 8});
}

void tables() {
    cairn::table<body> columns;
    cairn::table<body> none;
    cairn::table<body, cairn::aos> rows;
    cairn::table<body, cairn::split_soa> split;
    cairn::table<body, cairn::grouped_soa<cairn::group<&body::mass, &body::team>>> grouped;
    cairn::table<body, cairn::aosoa<8>> blocks;
    fill(columns);
    fill(rows);
    fill(split);
    fill(grouped);
    for (int i = 0; i < 5; ++i) { fill(blocks); }
    //= columns: table of 2 rows, soa, capacity 16 = {{at = {x = 1, y = 2}, mass = 3, team = 4},
    //           {at = {x = 5, y = 6}, mass = 7, team = 8}}
    //= none: table of 0 rows, soa, capacity 0
    //= rows: table of 2 rows, aos, capacity 2 = {{at = {x = 1, y = 2}, mass = 3, team = 4},
    //        {at = {x = 5, y = 6}, mass = 7, team = 8}}
    //= split: table of 2 rows, split_soa, capacity 16 = {{at = {x = 1, y = 2}, mass = 3, team = 4},
    //         {at = {x = 5, y = 6}, mass = 7, team = 8}}
    //= grouped: table of 2 rows, grouped_soa, capacity 16 =
    //           {{at = {x = 1, y = 2}, mass = 3, team = 4},
    //           {at = {x = 5, y = 6}, mass = 7, team = 8}}
    //= blocks: table of 10 rows, aosoa<8>, capacity 16 = {..
    //          {at = {x = 1, y = 2}, mass = 3, team = 4},
    //          {at = {x = 5, y = 6}, mass = 7, team = 8}}
    cairn::table<particle<>> sparks;
    (void)sparks.emplace_back(vec2{1, 2}, vec2{3, 4}, 5.0f);
    //= sparks: table of 1 row, soa, capacity 16 =
    //          {{at = {x = 1, y = 2}, velocity = {x = 3, y = 4}, life = 5}}
    cairn::attached_column<int> notes{rows, 9};
    notes[1] = 10;
    //= notes: attached_column of 2 = {9, 10}
    auto view = columns.view();
    //= view: table_view of 2 rows, soa = {{at = {x = 1, y = 2}, mass = 3, team = 4},
    //        {at = {x = 5, y = 6}, mass = 7, team = 8}}
    auto second = columns[1];
    //= second: row 1 = {[row] = {at = {x = 5, y = 6}, mass = 7, team = 8}}
    auto spark = sparks[0];
    //= spark: row = {at = split = {[value] = {x = 1, y = 2}}, velocity = {x = 3, y = 4}, life = 5}
    auto place = cairn::get<&body::at>(split[1]);
    //= place: split = {[value] = {x = 5, y = 6}}
    auto masses = rows.column<&body::mass>();
    //= masses: strided_span of 2 = {3, 7}
    auto places = split.column<&body::at>();
    //= places: split_span of 2 = {{x = 1, y = 2}, {x = 5, y = 6}}
    auto lanes = blocks.column<&body::mass>();
    //= lanes: blocked_span of 10 = {3, 7, 3, 7, 3, 7, 3, 7, 3, 7}
    auto here = columns.begin();
    //= here: at 0 = {[row] = {at = {x = 1, y = 2}, mass = 3, team = 4}}
    auto some = columns.view().row<&body::mass, &body::team>(1);
    //= some: at 1 = {[row] = {at = {x = 5, y = 6}, mass = 7, team = 8}}
    auto pieces = columns.batches(1);
    //= pieces: row_batches of ..
    look();
    (void)view, (void)masses, (void)places, (void)lanes, (void)here, (void)second, (void)spark;
    (void)pieces, (void)place, (void)some;
}

void arrays() {
    cairn::packed_array<enemy> squad;
    (void)squad.emplace(1, 1.5f);
    (void)squad.emplace(2, 2.5f);
    //= squad: packed_array of 2, capacity 16 = {{hp = 1, speed = 1.5}, {hp = 2, speed = 2.5}}
    cairn::packed_array<int> none;
    //= none: packed_array of 0, capacity 0
    int numbers[] = {1, 2, 3};
    cairn::slice<int> some{numbers};
    //= some: slice of 3 = {1, 2, 3}
    cairn::string_pool words;
    (void)words.intern("sword");
    //= words: string_pool of 1 string = {"sword"}
    cairn::message_queue<message> mail{4};
    message taken{};
    (void)mail.try_push({1, 10});
    (void)mail.try_push({2, 20});
    (void)mail.try_pop(taken);
    //= mail: message_queue of 1, capacity 4 = {{kind = 2, value = 20}}
    cairn::growable_memory bytes;
    (void)bytes.grow(4096, 0);
    //= bytes: 4 KiB at 0x..
    cairn::per_thread<int> counters{3};
    counters.at(0) = 1;
    //= counters: per_thread of 3 = {[0] = 1, [1] = 0, [2] = 0, [shared] = 0}
    look();
}

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
    cairn::frame_arena<2> frames{4096};
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
    cairn::offset_heap device{1000, 100, cairn::system_memory(), {.first_generation = 5}};
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

// What a debugger may meet before a constructor ran, after a wild write, after the end: bytes that
// are all alike. Everything is shown, with some text, at once.
template <class T>
union wreckage {
    explicit wreckage(unsigned char byte) {
        auto* const bytes = reinterpret_cast<volatile unsigned char*>(&object);
        for (std::size_t i = 0; i < sizeof(T); ++i) { bytes[i] = byte; }
    }
    ~wreckage() {}
    T object;
};
void wrecks(unsigned char byte) {
    wreckage<cairn::slot_map<enemy>> a{byte};
    wreckage<cairn::stable_slot_map<enemy>> b{byte};
    wreckage<cairn::slot_table<body>> c{byte};
    wreckage<cairn::table<particle<>>> d{byte};
    wreckage<cairn::heap<>> e{byte};
    wreckage<cairn::growing_arena> f{byte};
    wreckage<cairn::pool_of<enemy>> g{byte};
    wreckage<cairn::concurrent_pool> h{byte};
    wreckage<cairn::relocatable_heap> i{byte};
    wreckage<cairn::offset_heap> j{byte};
    wreckage<cairn::string_pool> k{byte};
    wreckage<cairn::message_queue<message>> l{byte};
    wreckage<cairn::object_pool<enemy>> m{byte};
    wreckage<cairn::unique_handle<cairn::slot_map<enemy>>> n{byte};
    wreckage<cairn::relocatable<enemy>> o{byte};
    wreckage<cairn::packed_array<enemy>> p{byte};
    wreckage<cairn::allocator_ref> q{byte};
    wreckage<cairn::tracked<cairn::arena&>> r{byte};
    wreckage<cairn::concurrent_object_pool<enemy>> s{byte};
    wreckage<cairn::shared_store<cairn::stable_slot_map<enemy>>> t{byte};
    wreckage<cairn::deferred_store<cairn::slot_map<enemy>>> deferred{byte};
    wreckage<cairn::frame_arena<2>> u{byte};
    wreckage<cairn::attached_column<int>> v{byte};
    wreckage<cairn::per_thread<int>> w{byte};
    wreckage<cairn::collected_heap> x{byte};
    wreckage<cairn::root<npc>> y{byte};
    wreckage<cairn::weak_ref<npc>> z{byte};
    wreckage<cairn::ref<npc>> ref{byte};
    wreckage<cairn::ref_array<npc>> array{byte};
    look();
}

}  // namespace

int main() {
    handles();
    maps();
    members();
    owners();
    tables();
    arrays();
    arenas();
    pools();
    heaps();
    collected();
    wrappers();
    wrecks(0);
    wrecks(0xCC);
    wrecks(0x01);
}
