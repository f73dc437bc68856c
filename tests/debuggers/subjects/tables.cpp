// Tables and arrays.
#include <cairn/cairn.hpp>

#include "debuggers/subjects/subjects.hpp"

namespace {

template <class Layout>
void fill(cairn::table<body, Layout>& t) {
    (void)t.push_back({{1, 2}, 3, 4});
    (void)t.push_back({{5, 6}, 7, 8});
}

}  // namespace

void tables() {
    cairn::table<body> columns;
    cairn::table<body> none;
    cairn::table<body, cairn::aos> rows;
    cairn::table<body, cairn::split_soa> split;
    cairn::table<body, cairn::aosoa<8>> blocks;
    fill(columns);
    fill(rows);
    fill(split);
    for (int i = 0; i < 5; ++i) { fill(blocks); }
    //= columns: table of 2 rows, soa, capacity 16 = {{at = {x = 1, y = 2}, mass = 3, team = 4},
    //           {at = {x = 5, y = 6}, mass = 7, team = 8}}
    //= none: table of 0 rows, soa, capacity 0
    //= rows: table of 2 rows, aos, capacity 2 = {{at = {x = 1, y = 2}, mass = 3, team = 4},
    //        {at = {x = 5, y = 6}, mass = 7, team = 8}}
    //= split: table of 2 rows, split_soa, capacity 16 = {{at = {x = 1, y = 2}, mass = 3, team = 4},
    //         {at = {x = 5, y = 6}, mass = 7, team = 8}}
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
    cairn::message_queue<message> mail{{.capacity = 4}};
    message taken{};
    (void)mail.try_push({1, 10});
    (void)mail.try_push({2, 20});
    (void)mail.try_pop(taken);
    //= mail: message_queue of 1, capacity 4 = {{kind = 2, value = 20}}
    cairn::detail::growable_memory bytes;
    (void)bytes.grow(4096, 0);
    //= bytes: 4 KiB at 0x..
    cairn::per_thread<int> counters{3};
    counters.at(0) = 1;
    //= counters: per_thread of 3 = {[0] = 1, [1] = 0, [2] = 0, [shared] = 0}
    look();
}
