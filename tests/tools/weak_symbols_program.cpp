// tests/tools/weak_symbols_program.cpp - uses what is hot, so that its inline functions stand in the
// object files that tools/weak_symbols.py compares.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/owners/unique_handle.hpp>

#include <cstddef>

struct row {
    int a;
    float b;
};

namespace {

template <class Allocator>
void use_bytes(Allocator& memory) {
    void* const p = memory.allocate(64, cairn::default_alignment);
    memory.deallocate(p, 64, cairn::default_alignment);
    (void)cairn::allocator_ref{memory};
}

template <class Map>
void use_map(Map& objects) {
    const auto h = objects.insert(row{1, 2.0f});
    if (objects.contains(h)) { objects[h].a = 3; }
    (void)objects.find(h);
    const Map& constant = objects;
    (void)constant.find(h);
    objects.erase(h);
    cairn::unique_handle owner{objects, objects.insert(row{1, 2.0f})};
}

}  // namespace

void use_all() {
    static std::byte memory[4096];
    cairn::arena fixed{memory};
    use_bytes(fixed);
    cairn::growing_arena growing;
    use_bytes(growing);
    cairn::heap<> blocks;
    use_bytes(blocks);
    cairn::pool slots{64};
    use_bytes(slots);
    cairn::concurrent_pool shared{64};
    use_bytes(shared);
    cairn::pool_of<row> rows;
    rows.destroy(rows.make());
    cairn::slot_map<row> map;
    use_map(map);
    cairn::stable_slot_map<row> stable;
    use_map(stable);
    cairn::slot_table<row, cairn::soa> columns;
    const auto h = columns.insert(row{1, 2.0f});
    (void)columns.find(h);
    cairn::packed_array<row> packed;
    (void)packed.push_back(row{1, 2.0f});
    cairn::table<row, cairn::soa> table;
    (void)table.push_back(row{1, 2.0f});
}
