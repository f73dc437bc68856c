// How do I free objects that refer to each other in cycles, without ever stopping the game?
#include <cairn/collected/collected_heap.hpp>
#include <cairn/core/sizes.hpp>

#include <cstdio>

using namespace cairn::literals;

struct quest;

struct character {
    cairn::ref<character> rival;     // refers back
    cairn::ref_array<quest> quests;  // each of which refers back
    using references = cairn::refers_to<&character::rival, &character::quests>;
};

struct quest {
    cairn::ref<character> giver;
    cairn::ref<quest> next;
    int reward = 0;
    using references = cairn::refers_to<&quest::giver, &quest::next>;
};

/// Two rivals with a chain of quests each: one heap of cycles. Null: no memory.
character* new_village(cairn::collected_heap& heap) {
    character* const a = heap.make<character>();
    character* const b = heap.make<character>();
    if (a == nullptr || b == nullptr) { return nullptr; }
    a->rival = b;
    b->rival = a;
    for (int i = 0; i < 20; ++i) {
        quest* const q = heap.make<quest>();
        if (q == nullptr || !a->quests.push_back(q)) { return nullptr; }
        q->giver = i % 2 == 0 ? a : b;
        q->next = a->quests[0];
        q->reward = i;
    }
    return a;
}

int main() {
    cairn::collected_heap heap{1_MiB};
    cairn::root<character> here = new_village(heap);  // what a root refers to lives
    cairn::weak_ref<character> first{here.get()};     // this does not keep it

    for (int frame = 0; frame < 10'000; ++frame) {
        character* const village = new_village(heap);  // a T* is good until the next step
        if (village == nullptr) { return 1; }
        if (frame % 100 == 0) { here = village; }  // the old one is garbage, cycles and all
        heap.step({.microseconds = 50});           // the safe point: a part of the work
    }
    const auto stats = heap.stats();
    std::printf("%llu cycles, %zu KiB used of %zu\n",
                static_cast<unsigned long long>(stats.cycle_count), stats.used_size / 1024,
                stats.capacity / 1024);
    return first.get() == nullptr && here->quests[19]->reward == 19 && stats.cycle_count > 0 ? 0
                                                                                             : 2;
}
