// lab/experiments/operations.cpp - each operation of each container, beside std::vector and peers.
//
//      container x operation: an operation has a row for each container that has it
//
//      add(e, "name", prepare, act)     act(store) is timed; prepare(store) before it is not
//
// tests/lab/operations_test.py reads the public operations of the containers from their headers: each
// is called here or in another experiment, or has a reason there.
#include <cairn/containers/batches.hpp>
#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/containers/field.hpp>
#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/polymorphic_store.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/string_pool.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/storage/clone.hpp>

#include <concepts>
#include <unordered_set>

#include "lab/families/random_order.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/peers/offers.hpp"

namespace {

constexpr std::size_t object_count = 10'000;

template <class K = cairn::value>
struct object_of {
    cairn::field<K, float> x, y, z;
    cairn::field<K, std::uint32_t> key;
    cairn::field<K, float> dx, dy, dz;
    cairn::field<K, std::uint32_t> number;
};
using object = object_of<>;
static_assert(sizeof(object) == 32);

object made(std::uint32_t n) { return {1, 2, 3, n * 2654435761u, 4, 5, 6, n}; }
constexpr auto is_tenth = [](const auto& o) { return o.number % 10 == 0; };
constexpr auto is_no_tenth = [](const auto& o) { return o.number % 10 != 0; };
constexpr auto is_less = [](const auto& a, const auto& b) { return a.key < b.key; };

// ---- containers ---------------------------------------------------------------------------------

struct solid : object {};
struct hollow : object {};
using shapes = cairn::polymorphic_store<object, solid, hollow>;

struct seeded : object {
    explicit seeded(unsigned n) : object{made(n)} {}
};
/// A store of lab/peers, which has its room from the start.
template <class P>
struct peer_container {
    static constexpr bool has_room = true;
    using handle_type = typename P::handle;
    std::unique_ptr<P> store = std::make_unique<P>(object_count);
    handle_type insert(const object& o) { return store->insert(o.number); }
    void erase(handle_type h) { store->erase(h); }
    auto find(handle_type h)
        requires requires(P& p) { p.find(h); }
    {
        return store->find(h);
    }
    template <class F>
    void for_each(F f) {
        store->each(f);
    }
    [[nodiscard]] std::size_t size() const { return store->size(); }
    void clear() { store = std::make_unique<P>(object_count); }
};

template <class C>
concept has_handles = requires { typename C::handle_type; };

/// A container, who is in it, and a second one of its kind.
template <class C>
struct store {
    C all;
    C other;
    std::vector<std::uint32_t> order = lab::shuffled(object_count, 5);
    std::vector<typename decltype([] {
        if constexpr (has_handles<C>) {
            return std::type_identity<typename C::handle_type>{};
        } else {
            return std::type_identity<std::uint32_t>{};
        }
    }())::type>
        handles;
    std::uint32_t next = 0;

    store() { handles.reserve(2 * object_count); }
    /// The handle of one more; a container without handles has none to give.
    auto place() {
        const object o = made(next++);
        if constexpr (std::is_same_v<C, shapes>) {
            return all.insert(solid{o});
        } else if constexpr (has_handles<C>) {
            return all.insert(o);
        } else {
            (void)all.push_back(o);
            return std::uint32_t{0};
        }
    }
    [[gnu::noinline]] void place_all() {
        for (std::size_t i = 0; i != object_count; ++i) { handles.push_back(place()); }
    }
    void leave(std::uint32_t which) {
        if constexpr (has_handles<C>) {
            (void)all.erase(handles[which]);
        } else if constexpr (requires { all.swap_erase(which); }) {
            (void)all.swap_erase(which % all.size());
        } else {
            all[which % all.size()] = all.back();
            all.pop_back();
        }
    }
    void forget() {
        handles.clear();
        next = 0;
    }
};

// ---- prepare: not timed -------------------------------------------------------------------------

template <class C>
void begin_anew(C& all) {
    all = C{};
}
constexpr auto nothing = [](auto& s) {
    s.forget();
    begin_anew(s.all);
};
constexpr auto room = [](auto& s) {
    s.forget();
    if constexpr (requires { s.all.has_room; }) {
        s.all.clear();
    } else {
        begin_anew(s.all);
        if constexpr (std::is_same_v<decltype(s.all), shapes>) {
            (void)s.all.template reserve<solid>(object_count);
        } else {
            (void)s.all.reserve(object_count);
        }
    }
};
constexpr auto addresses = [](auto& s) {
    nothing(s);
    if constexpr (requires { s.all.reserve_address_space(object_count); }) {
        if (!s.all.reserve_address_space(object_count)) { std::abort(); }
    }
};
constexpr auto all_there = [](auto& s) {
    if (s.handles.size() == object_count && s.all.size() == object_count) { return; }
    s.forget();
    s.all.clear();
    s.place_all();
};
constexpr auto all_anew = [](auto& s) {
    s.all.clear();
    all_there(s);
};
constexpr auto a_tenth_left = [](auto& s) {
    all_anew(s);
    if constexpr (requires { s.all.erase_if(is_no_tenth); }) {
        (void)s.all.erase_if(is_no_tenth);
    } else if constexpr (requires { std::erase_if(s.all, is_no_tenth); }) {
        std::erase_if(s.all, is_no_tenth);
    }
};
/// 500 of them leave: a container whose objects stay has holes then.
constexpr auto holes = [](auto& s) {
    if (s.all.size() == object_count - object_count / 20) { return; }
    all_there(s);
    for (std::size_t i = 0; i != object_count / 20; ++i) { s.leave(s.order[i]); }
};
constexpr auto a_copy = [](auto& s) {
    all_there(s);
    if constexpr (requires { s.other.copy_from(s.all); }) {
        (void)s.other.copy_from(s.all);
    } else if constexpr (std::copyable<std::remove_cvref_t<decltype(s.all)>>) {
        s.other = s.all;
    }
};

// ---- act: timed. What a container lacks does not compile, and has no row. -----------------------

/// std::vector<object>: it stands for the containers of the standard library.
template <class S>
concept vector_like = std::same_as<decltype(S::all), std::vector<object>>;

template <class... F>
struct either : F... {
    using F::operator()...;
};
template <class... F>
either(F...) -> either<F...>;

constexpr auto insert = [](auto& s) { s.place_all(); };
constexpr auto insert_from_nothing = [](auto& s)
    requires(!requires { s.all.has_room; })
{ s.place_all(); };
constexpr auto insert_in_addresses = [](auto& s)
    requires requires { s.all.reserve_address_space(1); }
{ s.place_all(); };
constexpr either reserve{[](auto& s) -> decltype(void(s.all.reserve(object_count))) {
                             (void)s.all.reserve(object_count);
                         },
                         [](store<shapes>& s) { (void)s.all.reserve<solid>(object_count); }};
constexpr auto emplace_with = [](auto& s)
    requires requires { s.all.emplace_with([](auto) { return made(1); }); }
{
    for (std::uint32_t i = 0; i != object_count; ++i) {
        s.handles.push_back(s.all.emplace_with([i](auto) { return made(i); }));
    }
};
constexpr auto promise_and_fulfil = [](auto& s)
    requires requires { s.all.promise_handle(); }
{
    for (std::size_t i = 0; i != object_count; ++i) { s.handles.push_back(s.all.promise_handle()); }
    for (std::uint32_t i = 0; i != object_count; ++i) { (void)s.all.fulfil(s.handles[i], made(i)); }
};
constexpr auto promise_and_abandon = [](auto& s)
    requires requires { s.all.promise_handle(); }
{
    for (std::size_t i = 0; i != object_count; ++i) { s.handles.push_back(s.all.promise_handle()); }
    for (const auto h : s.handles) { s.all.abandon(h); }
};
constexpr auto find_by_handle = [](auto& s)
    requires requires { s.all.find(s.handles[0]); }
{
    std::uint32_t sum = 0;
    for (const std::uint32_t i : s.order) {
        if (const auto found = s.all.find(s.handles[i])) { sum += (*found).key; }
    }
    lab::keep(&sum);
};
constexpr auto find_by_index = [](auto& s)
    requires(!has_handles<std::remove_cvref_t<decltype(s.all)>>)
{
    std::uint32_t sum = 0;
    for (const std::uint32_t i : s.order) { sum += s.all[i].key; }
    lab::keep(&sum);
};
constexpr either find{find_by_handle, find_by_index};
constexpr auto range_for = [](auto& s)
    requires requires { s.all.begin(); }
{
    std::uint32_t sum = 0;
    for (auto&& o : s.all) { sum += o.key; }
    lab::keep(&sum);
};
constexpr auto for_each = [](auto& s)
    requires requires { s.all.for_each([](auto&&) {}); }
{
    std::uint32_t sum = 0;
    s.all.for_each([&](auto&& o) { sum += o.key; });
    lab::keep(&sum);
};
constexpr either visit{for_each, [](vector_like auto& s) { range_for(s); }};
constexpr auto items = [](auto& s)
    requires requires { s.all.items(); }
{
    std::uint64_t sum = 0;
    for (auto&& [h, o] : s.all.items()) { sum += h.index() ^ o.key; }
    lab::keep(&sum);
};
constexpr auto batches = [](auto& s)
    requires requires { s.all.batches(1024); }
{
    std::uint32_t sum = 0;
    for (auto&& batch : s.all.batches(1024)) {
        for (auto&& o : batch) { sum += o.key; }
    }
    lab::keep(&sum);
};
constexpr auto handle_of = [](auto& s)
    requires requires { s.all.handle_of(*s.all.begin()); }
{
    std::uint64_t sum = 0;
    for (auto& o : s.all) { sum += s.all.handle_of(o).index(); }
    lab::keep(&sum);
};
constexpr auto one_goes_one_comes = [](auto& s) {
    for (const std::uint32_t i : s.order) {
        s.leave(i);
        s.handles[i] = s.place();
    }
};
constexpr auto erase = [](auto& s) {
    for (const std::uint32_t i : s.order) { s.leave(i); }
};
constexpr auto pop_back = [](auto& s)
    requires requires { s.all.pop_back(); }
{
    while (s.all.size() != 0) { s.all.pop_back(); }
};
constexpr either erase_if{
    [](auto& s) -> decltype(void(s.all.erase_if(is_tenth))) { (void)s.all.erase_if(is_tenth); },
    [](vector_like auto& s) { std::erase_if(s.all, is_tenth); }};
constexpr auto last_fills_the_hole = [](vector_like auto& s) {
    for (std::size_t i = 0; i < s.all.size();) {
        if (!is_tenth(s.all[i])) {
            ++i;
            continue;
        }
        s.all[i] = s.all.back();
        s.all.pop_back();
    }
};
constexpr either swap_erase_if{[](auto& s) -> decltype(void(s.all.swap_erase_if(is_tenth))) {
                                   (void)s.all.swap_erase_if(is_tenth);
                               },
                               last_fills_the_hole};
constexpr auto take = [](auto& s)
    requires requires { s.all.retire(s.handles[0], 1); }
{
    std::uint32_t sum = 0;
    for (const std::uint32_t i : s.order) {
        if constexpr (std::is_same_v<decltype(s.all), shapes>) {
            sum += s.all.template take<solid>(s.handles[i])->key;
        } else {
            sum += s.all.take(s.handles[i])->key;
        }
    }
    lab::keep(&sum);
};
constexpr either retire_and_collect{[](auto& s) -> decltype(void(s.all.retire(s.handles[0], 1))) {
                                        for (const std::uint32_t i : s.order) {
                                            (void)s.all.retire(s.handles[i], 1);
                                        }
                                        (void)s.all.collect(1);
                                    },
                                    [](vector_like auto& s) {  // what waits is in a second vector
                                        for (const std::uint32_t i : s.order) {
                                            s.other.push_back(s.all[i % s.all.size()]);
                                            s.leave(i);
                                        }
                                        s.other.clear();
                                    }};
constexpr either sort{
    [](auto& s) -> decltype(void(s.all.sort(is_less))) { (void)s.all.sort(is_less); },
    [](store<shapes>& s) { (void)s.all.sort<solid>(is_less); },
    [](vector_like auto& s) { std::sort(s.all.begin(), s.all.end(), is_less); }};
constexpr either sort_by{[]<class L>(store<cairn::table<object, L>>& s) {
                             (void)s.all.template sort_by<&object::key>();
                         },
                         []<class L>(store<cairn::slot_table<object, L>>& s) {
                             (void)s.all.template sort_by<&object::key>();
                         }};
constexpr auto permute = [](auto& s)
    requires requires { s.all.permute(std::span<std::uint32_t>{}); }
{
    std::vector<std::uint32_t> order = s.order;
    (void)s.all.permute(order);
};
constexpr auto swap_rows = [](auto& s)
    requires requires { s.all.swap_rows(0, 1); }
{
    for (std::size_t i = 0; i != object_count; ++i) { s.all.swap_rows(i, s.order[i]); }
};
constexpr either clone{[](auto& s) -> decltype(void(s.other.copy_from(s.all))) {
                           const auto copy = cairn::clone(s.all);
                           lab::keep(&copy);
                       },
                       [](vector_like auto& s) {
                           const auto copy = s.all;
                           lab::keep(copy.data());
                       }};
constexpr either copy_from{
    [](auto& s) -> decltype(void(s.other.copy_from(s.all))) { (void)s.other.copy_from(s.all); },
    [](vector_like auto& s) { s.other = s.all; }};
constexpr auto clear = [](auto& s)
    requires(!requires { s.all.has_room; })
{ s.all.clear(); };
constexpr auto shrink = [](auto& s) -> decltype(void(s.all.shrink_to_fit())) {
    (void)s.all.shrink_to_fit();
};
constexpr auto resize = [](auto& s) -> decltype(void(s.all.resize(object_count))) {
    (void)s.all.resize(object_count);
};
constexpr auto resize_for_overwrite =
    [](auto& s) -> decltype(void(s.all.resize_for_overwrite(object_count))) {
    (void)s.all.resize_for_overwrite(object_count);
};
constexpr std::size_t few = 100;  // of those that move all behind them
constexpr either erase_in_order{[](auto& s) -> decltype(void(s.all.erase(std::size_t{1}))) {
                                    for (std::size_t i = 0; i != few; ++i) {
                                        s.all.erase(object_count / 2);
                                    }
                                },
                                [](vector_like auto& s) {
                                    for (std::size_t i = 0; i != few; ++i) {
                                        s.all.erase(s.all.begin() + object_count / 2);
                                    }
                                }};

// ---- the table ----------------------------------------------------------------------------------

/// Calls f<container>(kind, name) for each; those that few take in a full run only.
template <class F>
void for_each_container(bool full, F f) {
    using enum lab::kind;
    using cairn::soa, cairn::aos;
    f.template operator()<cairn::packed_array<object>>(cairn, "cairn::packed_array");
    f.template operator()<cairn::slot_map<object>>(cairn, "cairn::slot_map");
    f.template operator()<cairn::stable_slot_map<object>>(cairn, "cairn::stable_slot_map");
    f.template operator()<cairn::table<object, soa>>(cairn, "cairn::table soa");
    f.template operator()<cairn::slot_table<object, soa>>(cairn, "cairn::slot_table soa");
    if (full) {
        f.template operator()<cairn::table<object, aos>>(cairn, "cairn::table aos");
        f.template operator()<shapes>(cairn, "cairn::polymorphic_store");
    }
    f.template operator()<std::vector<object>>(peer, "std::vector");
    lab::offers<lab::kinds::stores<seeded>>(
        [&]<class P>(const char* name) { f.template operator()<peer_container<P>>(peer, name); });
}

template <class C>
std::shared_ptr<void> make_store() {
    return std::make_shared<store<C>>();
}
template <class C, class Prepare, class Act>
void run_once(void* where, lab::sample& s) {
    auto& now = *static_cast<store<C>*>(where);
    Prepare{}(now);
    s.start();
    Act{}(now);
    s.stop();
    lab::clobber();
}
/// One class for all rows: hundreds of them are compiled.
void add_row(lab::comparison& c, lab::kind kind, const char* who, std::size_t operations,
             std::shared_ptr<void> (*make)(), void (*run)(void*, lab::sample&)) {
    c.add(kind, who, [=] {
        return
            [=, now = make()](lab::sample& s) { s.repeat(operations, [&] { run(now.get(), s); }); };
    });
}

template <class Prepare, class Act>
void add(lab::experiment& e, const char* name, Prepare, Act, std::size_t operations = object_count,
         std::vector<lab::cause> causes = {}) {
    // 500 ns of 10,000 objects: what is over in a moment is as good as what takes no time.
    lab::comparison& c = e.compare(name, {.unit = "ns/object",
                                          .many_per_cycle = true,
                                          .least_difference = 0.05,
                                          .causes = std::move(causes)});
    for_each_container(e.options().full, [&]<class C>(lab::kind kind, const char* who) {
        if constexpr (std::invocable<Act&, store<C>&>) {
            add_row(c, kind, who, operations, make_store<C>, run_once<C, Prepare, Act>);
        }
    });
}

// ---- names, and objects that stay built ---------------------------------------------------------

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (std::size_t i = 0; i != object_count; ++i) {
        all.push_back("textures/stone_" + std::to_string(i));
    }
    return all;
}

/// act(set, name) for each; `known`: all names are in it already.
template <class Set, class Act>
auto named(bool known, Act act) {
    struct state {
        std::vector<std::string> all = names();
        Set set;
    };
    return lab::repeated_on(object_count, lab::made<state>(), [=](state& now, lab::sample& s) {
        if (known) {
            for (const std::string& name : now.all) { act(now.set, name); }
        } else {
            now.set.clear();
        }
        s.timed([&] {
            for (const std::string& name : now.all) { act(now.set, name); }
        });
    });
}

void add_names(lab::experiment& e) {
    using set = std::unordered_set<std::string>;
    const auto intern = [](cairn::string_pool& p, const std::string& n) {
        lab::keep(p.intern(n).data());
    };
    const auto emplace = [](set& p, const std::string& n) { lab::keep(p.insert(n).first->data()); };
    lab::comparison& unknown = e.compare("string_pool: intern a new name", {.unit = "ns/name"});
    unknown.cairn("cairn::string_pool", named<cairn::string_pool>(false, intern));
    unknown.peer("std::unordered_set<std::string>", named<set>(false, emplace));
    lab::comparison& known = e.compare("string_pool: intern a known name", {.unit = "ns/name"});
    known.cairn("cairn::string_pool", named<cairn::string_pool>(true, intern));
    known.peer("std::unordered_set<std::string>", named<set>(true, emplace));
}

void add_object_pools(lab::experiment& e) {
    lab::comparison& c = e.compare("object pools: prewarm and trim", {.unit = "ns/object"});
    c.cairn("cairn::object_pool", lab::repeated(object_count, [] {
                cairn::object_pool<object> pool;
                (void)pool.reserve(object_count);
                (void)pool.prewarm(object_count);
                lab::keep(&pool);
                (void)pool.trim(0);
            }));
    c.cairn("cairn::concurrent_object_pool", lab::repeated(object_count, [] {
                cairn::concurrent_object_pool<object> pool;
                (void)pool.prewarm(object_count);
                lab::keep(&pool);
                (void)pool.trim();
            }));
    c.peer("vector of unique_ptr", lab::repeated(object_count, [] {
               std::vector<std::unique_ptr<object>> all;
               while (all.size() != object_count) { all.push_back(std::make_unique<object>()); }
               lab::keep(all.data());
           }));
}

/// Those that few call.
void add_rare(lab::experiment& e) {
    add(e, "insert, addresses reserved", addresses, insert_in_addresses);
    add(e, "emplace_with, room reserved", room, emplace_with);
    add(e, "promise_handle and fulfil", room, promise_and_fulfil);
    add(e, "promise_handle and abandon", room, promise_and_abandon);
    add(e, "visit each, range-for", all_there, range_for);
    add(e, "visit each with its handle, items", all_there, items);
    add(e, "visit each, batches of 1,024", all_there, batches);
    add(e, "handle_of each", all_there, handle_of);
    add(e, "pop_back all", all_anew, pop_back);
    add(e, "sort_by a field", all_anew, sort_by);
    add(e, "permute", all_there, permute);
    add(e, "swap_rows, at random", all_there, swap_rows);
    add(e, "copy_from, into room that is there", a_copy, copy_from);
    add(e, "resize", nothing, resize);
    add(e, "resize_for_overwrite", nothing, resize_for_overwrite);
    add(e, "erase one of the middle, order kept", all_anew, erase_in_order, few);
    add_names(e);
    add_object_pools(e);
}

const lab::registration operations{
    "operations", "What does each operation of a container cost?", [](lab::experiment& e) {
        e.quick_seconds = 6;
        e.full_seconds = 120;
        e.how =
            "10,000 objects of 32 bytes. Only the operation is timed. Maps return a handle for "
            "each object, which is kept; a vector returns none.";
        add(e, "insert, from nothing", nothing, insert_from_nothing);
        add(e, "insert, room reserved", room, insert);
        add(e, "reserve", nothing, reserve);
        add(e, "find, in any order", all_there, find);
        add(e, "visit each, for_each", all_there, visit);
        add(e, "visit each, 500 of 10,000 erased", holes, visit);
        add(e, "one leaves and one comes, at random", all_there, one_goes_one_comes);
        add(e, "erase all, in any order", all_anew, erase);
        add(e, "erase_if, one in ten", all_anew, erase_if, object_count,
            {{"Each tenth object goes, which the processor foresees: std::erase_if mispredicts no "
              "branch. A table does not branch on the answers. Where one in ten goes at random, it "
              "takes 1.2 ns and std::erase_if 1.4.",
              "std::vector"}});
        add(e, "swap_erase_if, one in ten", all_anew, swap_erase_if, object_count,
            {{"Each tenth object goes, which the processor foresees. A map then writes the handle "
              "of each object that moves, and a table moves each field alone.",
              "std::vector"}});
        add(e, "take all, in any order", all_anew, take);
        add(e, "retire all, collect", all_anew, retire_and_collect, object_count,
            {{"A map ends the handle of each object, fills its place with the last object and "
              "keeps the retired one for its fence. The vector has no handles.",
              "std::vector"}});
        add(e, "sort by a random key", all_anew, sort);
        add(e, "clone, and end of the copy", all_there, clone);
        add(e, "clear", all_anew, clear);
        add(e, "shrink_to_fit, a tenth left", a_tenth_left, shrink, object_count / 10);
        if (e.options().full) { add_rare(e); }
    }};

}  // namespace
