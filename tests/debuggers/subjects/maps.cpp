// Handles, maps and owners.
#include <array>

#include <cairn/cairn.hpp>
#include <cairn/std/text.hpp>

#include "debuggers/subjects/subjects.hpp"

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
    auto each = foes.begin();
    //= each: 0x.. = {[object] = {hp = 30, speed = 3.5}}
    cairn::slot_map<int, cairn::slot_policy<32, 20, cairn::reuse::lifo>> small{
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
    //= bosses: stable_slot_map of 2 objects in 1 chunk = {[1:9] = {hp = 2, speed = 2},
    //          [2:9] = {hp = 3, speed = 3}}
    //= boss: 1:9, alive in bosses
    //= where: at slot 1 = {[object] = {hp = 2, speed = 2}}
    //= at_end: at the end
    cairn::stable_slot_map<boulder> large{cairn::system_memory(), from_5};
    for (int i = 0; i < 100; ++i) { (void)large.emplace(i); }
    //= large: stable_slot_map of 100 objects in 2 chunks = {[0:5] = {weight = 0},
    //         ..[63:5] = {weight = 63}, [64:5] = {weight = 64}, .., [99:5] = {weight = 99}}

    cairn::detail::slot_directory<> slots{{1000, 100, 0, 5}};
    (void)slots.reserve(10);
    slots.occupy(slots.peek(), 7);
    //= slots: slot_directory of 1 live slot, capacity 16 = {[0:5] = 7}
    look();
    (void)where, (void)each, (void)at_end;
    (void)taker.abandon(promised);
}

namespace {

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

}  // namespace

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
    kept waits{cairn::system_memory(), cairn::destroys::in_collect, from_5};
    auto mine = waits.make(3, 2.5f);
    waits.make(4, 3.5f).reset();
    //= waits: deferred_store over slot_map of 2 objects, of which 1 wait =
    //         {[0:5] = {hp = 3, speed = 2.5}, [1:5] = {hp = 4, speed = 3.5}}
    //= mine: 0:5 = {[object] = {hp = 3, speed = 2.5}}
    look();
    (void)again;
}
