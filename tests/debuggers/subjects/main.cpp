// Runs all of them, and shows what no constructor made.
#include <cstddef>

#include <cairn/cairn.hpp>

#include "debuggers/subjects/subjects.hpp"

namespace {

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
