// Everything whose code is in the library's archive although it is a template, or that other
// compilers name differently: built by one compiler, linked with a library by another
// (linking_test.py).
#include <cairn/cairn.hpp>

#include <cstdio>

namespace {

template <class Heap>
bool works() {
    Heap h{std::size_t{1} << 16};
    const std::size_t sizes[] = {1, 24, 100, 512, 3000};
    void* blocks[5] = {};
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 5; ++i) {
            blocks[i] = h.allocate(sizes[i], cairn::alignment{i == 3 ? 256u : 16u});
            if (blocks[i] == nullptr) { return false; }
        }
        for (int i = 0; i < 5; ++i) {
            h.deallocate(blocks[i], sizes[i], cairn::alignment{i == 3 ? 256u : 16u});
        }
    }
    h.validate();
    return h.stats().region_count != 0;
}

struct enemy {
    int health = 0;
};

bool all_work() {
    cairn::slot_map<enemy> map;
    const auto h = map.emplace(enemy{7});
    cairn::stable_slot_map<enemy> stable;
    const auto s = stable.emplace(enemy{8});
    cairn::concurrent_pool pool{64};
    void* const slot = pool.allocate();
    pool.deallocate(slot);
    cairn::growing_arena growing;
    cairn::virtual_arena large{std::size_t{1} << 20};
    return works<cairn::heap<cairn::good_fit>>() && works<cairn::heap<cairn::quick_fit>>() &&
           works<cairn::heap<cairn::strict_good_fit>>() && works<cairn::heap<cairn::best_fit>>() &&
           works<cairn::heap<cairn::first_fit>>() && works<cairn::heap<cairn::half_fit>>() &&
           map[h].health == 7 && stable[s].health == 8 && slot != nullptr &&
           growing.allocate(100, cairn::default_alignment) != nullptr &&
           large.allocate(100, cairn::default_alignment) != nullptr;
}

}  // namespace

int main() {
    if (!all_work()) {
        std::puts("not all allocators work");
        return 1;
    }
    return 0;
}
