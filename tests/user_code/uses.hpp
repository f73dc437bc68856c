// tests/user_code/uses.hpp - instantiates what users instantiate, with types of namespace `game`. The
// files that include it first include all headers and define game::thing, game::soldier, game::figure ...
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

namespace user_code {

inline int failures = 0;

inline void must(bool good, int line) {
    if (good) { return; }
    std::printf("tests/user_code/uses.hpp:%d: not so\n", line);
    ++failures;
}
#define MUST(...) ::user_code::must(static_cast<bool>(__VA_ARGS__), __LINE__)

using game::thing;

inline void use_packed_array() {
    cairn::packed_array<thing> a;
    for (int i = 0; i < 40; ++i) {
        MUST(a.emplace_back(i));
        MUST(a.push_back(thing{i}));
    }
    a.swap_erase(0);
    (void)a.erase_if([](thing& t) { return t.v == 3; });
    a.for_each([](thing& t) { ++t.v; });
    MUST(a.sort([](const thing& x, const thing& y) { return x.v < y.v; }));
    a.swap_rows(0, 1);
    a.validate();
    auto b = std::move(a);
    MUST(b.reserve(200));
    b.clear();
}

template <class Map>
void use_map() {
    Map m;
    const auto h = m.emplace(1);
    MUST(m.find(h));
    MUST(m[h].v == 1);
    MUST(m.contains(h));
    MUST(m.handle_of(m[h]) == h);
    for (thing& t : m) { ++t.v; }
    for (auto [handle, t] : m.items()) {
        (void)handle;
        ++t.v;
    }
    m.for_each([](auto, thing& t) { ++t.v; });
    (void)m.erase_if([](thing& t) { return t.v == 77; });
    for (int i = 0; i < 40; ++i) { MUST(m.insert(thing{i})); }
    auto c = m.clone();
    MUST(c);
    MUST(*c == m);
    MUST(m.take(h));
    const auto promised = m.promise_handle();
    MUST(m.fulfil(promised, 5));
    MUST(m.retire(promised, 1));
    MUST(m.collect(1) == 1);
    m.abandon(m.promise_handle());
    MUST(m.emplace_with([](auto) { return thing{6}; }));
    if constexpr (requires { m.sort([](const thing&, const thing&) { return false; }); }) {
        MUST(m.sort([](const thing& x, const thing& y) { return x.v < y.v; }));
        (void)m.swap_erase_if([](thing& t) { return t.v == 78; });
        m.swap_rows(0, 1);
    }
    MUST(m.shrink_to_fit());
    *c = std::move(m);
    m = std::move(*c);
    m.validate();
    m.clear();
    cairn::unique_handle owner{m, m.emplace(2)};
    MUST(owner->v == 2);
}

template <class Layout>
void use_table() {
    cairn::table<game::soldier, Layout> t;
    for (int i = 0; i < 40; ++i) {
        MUST(t.push_back(game::soldier{thing{i}, i, {}}));
        MUST(t.emplace_back(thing{i}, i, game::pod_value{}));
    }
    t.swap_erase(0);
    t.erase(0);
    t[0] = t[1];
    game::soldier r = t[0];
    t[1] = r;
    t.swap_rows(0, 1);
    t.for_each([](auto&& one) { (void)one; });
    t.template each<&game::soldier::a>([](thing& a) { ++a.v; });
    (void)t.erase_if([](auto&& one) { return cairn::get<&game::soldier::k>(one) == 3; });
    MUST(t.template sort_by<&game::soldier::k>());
    MUST(t.clone());
    MUST(t.resize(90));
    (void)t.swap_erase_if([](auto&& one) { return cairn::get<&game::soldier::k>(one) == 4; });
    MUST(t.insert(0, thing{1}, 2, game::pod_value{}));
    MUST(t.shrink_to_fit());
    t.validate();
}

inline void use_slot_table() {
    cairn::slot_table<game::soldier, cairn::soa> t;
    const auto h = t.insert(game::soldier{});
    MUST(t.find(h));
    for (auto [handle, one] : t.items()) {
        (void)handle;
        (void)one;
    }
    MUST(t.clone());
    MUST(t.take(h));
    const auto promised = t.promise_handle();
    MUST(t.fulfil(promised, thing{1}, 2, game::pod_value{}));
    MUST(t.retire(promised, 1));
    MUST(t.collect(1) == 1);
    cairn::attached_column<game::pod_value> heat{t};
}

inline void use_pools() {
    cairn::pool_hooks hooks{[](thing& t) { ++t.v; }, [](thing& t) { --t.v; }};
    cairn::object_pool<thing, decltype(hooks)> told{hooks};
    (void)told.acquire();
    (void)told.trim(0);
    cairn::object_pool<thing> p;
    auto lease = p.acquire();
    MUST(p.prewarm(5));
    p.for_each([](thing&) {});
    cairn::concurrent_object_pool<thing> q;
    auto other = q.acquire();
    cairn::pool_of<thing> made;
    made.destroy(made.make(1));
    made.for_each([](thing&) {});
    made.destroy_all();
    cairn::concurrent_pool_of<thing> shared;
    shared.destroy(shared.make(1));
}

inline void use_arenas() {
    cairn::growing_arena arena;
    (void)arena.make<game::pod_value>();
    (void)arena.make_array<game::pod_value>(3);
    cairn::arena_scope scope{arena};
    (void)scope.make<thing>(1);
    (void)scope.make_array<thing>(3);
    cairn::builder<thing> list{arena};
    for (int i = 0; i < 40; ++i) {
        MUST(list.push_back(thing{1}));
        MUST(list.emplace_back(1));
    }
    (void)list.finish();
    cairn::heap<> blocks;
    cairn::destroy(blocks, cairn::make<thing>(blocks, 1));
}

inline void use_owners() {
    auto one = cairn::make_unique_in<thing>(cairn::system_memory(), 1);
    auto several = cairn::make_unique_in<thing[]>(cairn::system_memory(), 3);
    auto counted = cairn::make_shared_in<thing>(cairn::system_memory(), 1);
    cairn::destruction_queue<thing> waiting{cairn::system_memory()};
    auto later = cairn::make_deferred_in(waiting, 1);
    cairn::shared_store<cairn::slot_map<thing>> store;
    auto a = store.make(1);
    auto b = a;
    MUST(b->v == 1);
    cairn::deferred_store<cairn::stable_slot_map<thing>> ends_later;
    auto c = ends_later.make(1);
    MUST(c->v == 1);
}

inline void use_polymorphic_store() {
    cairn::polymorphic_store<game::figure, game::circle> closed;
    const auto h = closed.emplace<game::circle>();
    MUST(closed.find(h));
    closed.for_each([](auto&) {});
    for (game::figure& s : closed) { (void)s; }
    cairn::polymorphic_store<game::figure> open;
    const auto k = open.emplace<game::circle>();
    MUST(open.find(k));
    open.for_each([](game::figure&) {});
    for (auto [handle, s] : open.items()) {
        (void)handle;
        (void)s;
    }
}

inline void use_movable() {
    cairn::collected_heap heap;
    cairn::root<game::quest> root = heap.make<game::quest>();
    root->next = heap.make<game::quest>();
    MUST(root->next->t.v == 0);
    heap.collect();
    const cairn::weak_ref<game::quest> weak{root};
    MUST(heap.who_keeps(root.get(), [](const cairn::collected_keeper&) {}));
    cairn::relocatable_heap moving{1 << 20};
    auto m = moving.make<game::pod_value>();
    (void)m->v;
    cairn::message_queue<game::pod_value*> queue{{.capacity = 4}};
    MUST(queue.try_push(nullptr));
    game::pod_value* got = nullptr;
    MUST(queue.try_pop(got));
}

inline void use_threads() {
    cairn::per_thread<thing> each;
    MUST(each.local());
    each.for_each([](thing& t) { ++t.v; });
    cairn::tagged_arenas frames;
    const auto tag = frames.begin("frame");
    {
        auto memory = frames.local(tag);
        MUST(memory.template make<game::pod_value>());
        MUST(memory.template make_array<game::pod_value>(3).data());
    }
    frames.end(tag);
    cairn::concurrent_heap shared;
    cairn::destroy(shared, cairn::make<thing>(shared, 1));
    cairn::registry::entry listed{"game", shared, cairn::registry::entry::any_thread};
    cairn::registry::publish();
    cairn::locked guard{shared};
    cairn::budget limited{1 << 20, guard};
    cairn::tracked counted{limited};
    cairn::guarded fenced{counted};
    cairn::destroy(fenced, cairn::make<thing>(fenced, 1));
    std::vector<thing, cairn::std_allocator<thing, decltype(counted)>> list{counted};
    list.emplace_back(1);
    cairn::string_pool names;
    MUST(names.intern("name").data());
    using for_c = cairn::context_hooks<cairn::heap<>>;
    cairn::heap<> scripts;
    void* const block = (for_c::malloc)(&scripts, 100);
    MUST(block);
    (for_c::free)(&scripts, block);
}

/// The wrappers over memory of the program's own type.
inline void use_own_memory() {
    game::game_memory mine;
    const auto use = [](auto& memory) { cairn::destroy(memory, cairn::make<thing>(memory, 1)); };
    cairn::budget<game::game_memory> limited{1 << 20};
    use(limited);
    const cairn::registry::entry listed{"game", limited};
    cairn::locked<game::game_memory> guard;
    use(guard);
    cairn::tracked counted{mine};
    use(counted);
    cairn::guarded fenced{mine};
    use(fenced);
    cairn::concurrent_budget<game::game_memory> shared{1 << 20};
    use(shared);
    cairn::failing<game::game_memory> failing;
    use(failing);
    cairn::hardened<game::game_memory> hardened;
    use(hardened);
    cairn::or_abort<game::game_memory> aborting;
    use(aborting);
    cairn::heap<game::own_fit> fitted;
    use(fitted);
    cairn::heap<game::own_waiting_fit> waiting;
    use(waiting);
    cairn::growing_arena frame{cairn::allocator_ref{mine}};
    auto scope = cairn::scratch(frame, limited);
    MUST(scope.make_array<thing>(2).size() == 2);
    cairn::array_recycler recycled{frame};
    void* const block = recycled.allocate(32);
    MUST(block);
    recycled.deallocate(block, 32);
    MUST(recycled.allocate(32) == block);
    MUST(frame.copy("name"));
    auto several = cairn::make_unique_in<thing[]>(mine, 3);
    MUST(several);
    std::vector<thing, cairn::std_allocator<thing, game::game_memory>> list{mine};
    list.emplace_back(1);
}

inline void use_copies_and_ranges() {
    cairn::packed_array<thing> a;
    for (int i = 3; i != 0; --i) { MUST(a.emplace_back(i)); }
    auto copy = cairn::clone(a);
    MUST(copy);
    MUST(*copy == a);
    swap(a, *copy);
    cairn::table<game::soldier> t;
    for (int i = 3; i != 0; --i) { MUST(t.emplace_back(thing{i}, i, game::pod_value{})); }
    std::ranges::sort(t, {}, cairn::key<&game::soldier::k>);
    std::rotate(t.begin(), t.begin() + 1, t.end());
    std::ranges::iter_swap(t.begin(), t.begin() + 1);
    MUST(std::ranges::iter_move(t.begin()).k == 3);
    for (auto row : t) { MUST(cairn::get<&game::soldier::k>(row)); }
    MUST(cairn::clone(t));
    cairn::shared_store<cairn::stable_slot_map<thing>> store;
    MUST(store.reserve(10));
}

inline int use_all() {
    use_own_memory();
    use_copies_and_ranges();
    use_threads();
    use_packed_array();
    use_map<cairn::slot_map<thing>>();
    use_map<cairn::stable_slot_map<thing>>();
    use_table<cairn::soa>();
    use_table<cairn::aos>();
    use_table<cairn::split_soa>();
    use_slot_table();
    use_pools();
    use_arenas();
    use_owners();
    use_polymorphic_store();
    use_movable();
    return failures;
}

}  // namespace user_code
