// Containers whose objects move: packed_array, table, slot_map, slot_table, polymorphic_store; and
// stable_slot_map beside them.
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/polymorphic_store.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/storage/clone.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "script.hpp"

namespace {

using namespace cairn;
using namespace callback_tests;

template <class T>
struct row_of {
    T object;
    int number;
    friend bool operator==(const row_of& a, const row_of& b) { return a.object == b.object; }
};
using row = row_of<probe>;
/// Row{6, 6}, which makes a row of aos, converts 6.
struct made_from_int : probe {
    made_from_int(int v) : probe{v} {}
};
/// Nothing of it is a function that a container could call: predicates, orders and visitors are.
struct number {
    int value;
    [[nodiscard]] bool is_whole() const noexcept { return value > 0; }
    friend bool operator==(number, number) = default;
};
struct thing : probe {
    using probe::probe;
};
struct other_thing : probe {
    using probe::probe;
};

/// So large that 64 of them are a chunk of a stable_slot_map.
struct large : probe {
    using probe::probe;
    char rest[1000]{};
};

/// Why a container calls.
enum class cause {
    emplace,
    grow,
    emplace_with,
    promise,
    fulfil,
    clone,
    compare,
    reserve,
    shrink,
    shrink_empty,
    erase,
    erase_if,
    swap_erase_if,
    clear,
    retire,
    collect,
    sort,
    swap_rows,
    for_each,
    end,
    assign
};
/// What the function that is called does.
enum class act {
    find,
    loop,
    range_for,
    insert,
    promise,
    erase,
    erase_next,
    clear,
    reserve,
    shrink,
    sort,
    swap_rows,
    move,
    assign
};

constexpr const char* names_of_causes[] = {"emplace",
                                           "emplace that grows",
                                           "emplace_with",
                                           "promise_handle",
                                           "fulfil",
                                           "clone",
                                           "==",
                                           "reserve",
                                           "shrink_to_fit",
                                           "shrink_to_fit when empty",
                                           "erase",
                                           "erase_if",
                                           "swap_erase_if",
                                           "clear",
                                           "retire",
                                           "collect",
                                           "sort",
                                           "swap_rows",
                                           "for_each",
                                           "end",
                                           "move assignment"};
constexpr const char* names_of_acts[] = {"looks up",
                                         "loops (for_each)",
                                         "loops (range-for)",
                                         "inserts",
                                         "promises a handle",
                                         "erases",
                                         "erases the next",
                                         "clears",
                                         "reserves",
                                         "shrinks",
                                         "sorts",
                                         "swaps rows",
                                         "moves it away",
                                         "assigns to it"};

template <class C>
inline constexpr bool has_handles = requires { typename C::handle_type; };
template <class C>
inline constexpr bool is_table_like =
    requires { requires sizeof(C::value_type::number) == sizeof(int); };
template <class C>
inline constexpr bool finds_pointers =
    requires(C& c, typename C::handle_type h) { requires std::is_pointer_v<decltype(c.find(h))>; };
template <class C>
inline constexpr bool is_polymorphic = requires(C& c) { c.template emplace<thing>(1); };
template <class C>
inline constexpr bool is_stable = requires { C::slots_per_chunk; };

/// The same words for all containers. Objects 1 to 4 are there, and room for more.
template <class C>
class subject {
public:
    subject() {
        check(room(8), "room for eight");
        for (int i = 1; i <= 4; ++i) { insert(i); }
        if constexpr (has_handles<C>) {
            if constexpr (requires { c->promise_handle(); }) { promised = c->promise_handle(); }
            if constexpr (requires { c->retire(h[0], 1); }) {
                insert(5);
                check(c->retire(h[4], 1), "retired");
            }
        }
    }
    ~subject() {
        c.reset();
        check(probe::alive == 0, "every object was destroyed");
        check(told_memory::held == 0, "all memory went back");
    }

    bool room(std::size_t n) {
        if constexpr (is_polymorphic<C>) {
            return c->template reserve<thing>(n);
        } else {
            return c->reserve(n);
        }
    }
    void insert(int value) {
        if constexpr (is_polymorphic<C>) {
            keep(c->template emplace<thing>(value));
        } else if constexpr (has_handles<C> && is_table_like<C>) {
            keep(c->emplace(value, value));
        } else if constexpr (is_table_like<C>) {
            check(c->emplace_back(value, value), "memory");
        } else if constexpr (has_handles<C>) {
            keep(c->emplace(value));
        } else if constexpr (requires {
                                 requires std::is_same_v<typename C::value_type, number>;
                             }) {
            check(c->push_back(number{value}), "memory");
        } else {
            check(c->emplace_back(value), "memory");
        }
    }
    template <class Row>
    static const auto& object_in(Row&& r) {
        if constexpr (is_table_like<C>) {
            return get<&C::value_type::object>(r);
        } else {
            return r;
        }
    }
    /// Object 2 is neither the one that a cause erases, nor the last one.
    void look_up() {
        if constexpr (has_handles<C>) {
            if (is_erasing) {
                check(!c->find(h[0]) && !c->contains(h[0]), "what is being erased is not found");
                check(c->fault_of(h[0]) == handle_fault::stale, "its handle is stale");
            }
            check(!is_retired || !c->find(last), "what is being retired is not found");
            auto found = c->find(h[1]);
            check(!found || !is_ending, "a stale handle finds nothing");
            if (c->size() != 0 && found) {
                check(value_of(*found) == 2, "a handle finds its own");
                if constexpr (!is_table_like<C>) {
                    check(c->handle_of(*found) == h[1], "an object finds its handle");
                }
            }
        } else if (c->size() > 1) {
            check(object_in((*c)[1]).is_whole(), "a row is whole");
        }
    }
    template <class Row>
    static int value_of(Row&& r) {
        return object_in(r).value;
    }
    void loop() {
        c->for_each([](auto&&... r) { (void)sizeof...(r); });
    }
    void range_for() {
        for (auto&& r : *c) { (void)r; }
    }
    void erase(std::size_t n) {
        if constexpr (has_handles<C>) {
            c->erase(h[n]);
        } else {
            c->swap_erase(n < c->size() ? n : 0);
        }
    }
    bool sort_now() {
        const auto less = [](const auto& a, const auto& b) {
            script::called(call::less);
            return value_of(a) > value_of(b);
        };
        if constexpr (is_polymorphic<C>) {
            return c->template sort<thing>(less);
        } else if constexpr (requires { c->sort(less); }) {
            return c->sort(less);
        }
        return true;
    }
    template <bool IsSwap>
    void erase_some() {
        const auto dies = [](auto&& r) {
            script::called(call::predicate);
            return value_of(r) == 1;
        };
        if constexpr (!IsSwap) {
            c->erase_if(dies);
        } else if constexpr (requires { c->swap_erase_if(dies); }) {
            c->swap_erase_if(dies);
        }
    }
    void run(cause why) {
        switch (why) {
            case cause::emplace:
                return insert(6);
            case cause::grow:
                if constexpr (is_stable<C>) {
                    if (C::slots_per_chunk != 64) { return; }
                    while (c->chunk_count() <= 16) { insert(6); }  // the table of chunks grows
                } else if constexpr (requires { c->capacity(); }) {
                    while (c->size() < c->capacity()) { insert(6); }
                    insert(6);
                }
                return;
            case cause::emplace_with:
                if constexpr (is_polymorphic<C>) {
                    keep(c->template emplace_with<thing>([](auto) { return thing{6}; }));
                } else if constexpr (has_handles<C> && !is_table_like<C>) {
                    keep(c->emplace_with([](auto) { return typename C::value_type(6); }));
                }
                return;
            case cause::promise:
                if constexpr (requires { c->promise_handle(); }) {
                    for (int i = 0; i < 500; ++i) { (void)c->promise_handle(); }
                }
                return;
            case cause::fulfil:
                if constexpr (has_handles<C> && is_table_like<C>) {
                    (void)c->fulfil(promised, 6, 6);
                } else if constexpr (has_handles<C> && !is_polymorphic<C>) {
                    (void)c->fulfil(promised, 6);
                }
                return;
            case cause::clone:
                if constexpr (requires { c->clone(); }) {
                    check(c->clone().has_value(), "memory");
                } else {
                    check(cairn::clone(*c, system_memory()).has_value(), "memory");
                }
                return;
            case cause::compare:
                if constexpr (requires { *c == *c; }) { check(*c == *c, "equal"); }
                return;
            case cause::reserve:
                return check(room(2000), "memory");
            case cause::retire:
                if constexpr (requires { c->retire(last, 2); }) {
                    for (int i = 0; i < 20; ++i) {
                        insert(6);
                        has_ended = false;
                        check(c->retire(last, 2) || has_ended, "memory");
                    }
                }
                return;
            case cause::shrink_empty:
                is_ending = true;
                c->clear();
                if constexpr (requires { c->collect(2); }) { c->collect(2); }
                [[fallthrough]];
            case cause::shrink:
                if constexpr (requires { c->shrink_to_fit(); }) {
                    check(c->shrink_to_fit(), "memory");
                }
                return;
            case cause::erase:
                is_erasing = true;
                erase(0);
                is_erasing = false;
                return;
            case cause::erase_if:
                return erase_some<false>();
            case cause::swap_erase_if:
                return erase_some<true>();
            case cause::clear:
                return c->clear();
            case cause::collect:
                if constexpr (requires { c->collect(9); }) { c->collect(9); }
                return;
            case cause::sort:
                return check(sort_now(), "memory");
            case cause::swap_rows:
                if constexpr (requires { c->swap_rows(0, 1); }) { c->swap_rows(0, 1); }
                return;
            case cause::for_each:
                return c->for_each([](auto&& r) {
                    (void)r;
                    script::called(call::visitor);
                });
            case cause::end:
                is_ending = true;
                return c.reset();
            case cause::assign:
                is_ending = true;
                *c = C{};
                return;
        }
    }
    static constexpr bool can(act what) {
        switch (what) {
            case act::promise:
                return requires(C& a) { a.promise_handle(); };
            case act::swap_rows:
                return requires(C& a) { a.swap_rows(0, 1); };
            case act::sort:
                return !is_stable<C>;
            default:
                return true;
        }
    }
    void do_it(act what) {
        C* const all = &*c;
        has_ended = what == act::clear || what == act::move || what == act::assign;
        switch (what) {
            case act::find:
                return look_up();
            case act::loop:
                return loop();
            case act::range_for:
                return range_for();
            case act::insert:
                return insert(7);
            case act::promise:
                if constexpr (requires { c->promise_handle(); }) { (void)c->promise_handle(); }
                return;
            case act::erase:
                return erase(0);
            case act::erase_next:
                return erase(2);
            case act::clear:
                return all->clear();
            case act::reserve:
                return check(room(5000), "memory");
            case act::shrink:
                if constexpr (requires { c->shrink_to_fit(); }) { (void)c->shrink_to_fit(); }
                return;
            case act::sort:
                return (void)sort_now();
            case act::swap_rows:
                if constexpr (requires { c->swap_rows(0, 1); }) { c->swap_rows(0, 1); }
                return;
            case act::move: {
                C away{std::move(*all)};
                return;
            }
            case act::assign:
                *all = C{};
                return;
        }
    }
    void expect_whole() {
        if (!c) { return; }
        c->validate();
        c->for_each([](auto&& r) { check(object_in(r).is_whole(), "a row is whole"); });
    }

    told_memory upstream;
    std::optional<C> c{std::in_place, allocator_ref{upstream}};
    bool is_retired = false;  // the last object, which has moved out

private:
    template <class H>
    void keep(H handle) {
        check(static_cast<bool>(handle), "memory");
        last = handle;
        if (count < 8) { h[count++] = handle; }
    }
    template <class D, bool HasHandles>
    struct handle_of_container {
        using type = int;
    };
    template <class D>
    struct handle_of_container<D, true> {
        using type = typename D::handle_type;
    };
    using handle_type = typename handle_of_container<C, has_handles<C>>::type;

    handle_type h[8]{};
    handle_type promised{};
    handle_type last{};
    std::size_t count = 0;
    bool is_erasing = false;  // object 1
    bool is_ending = false;   // the objects that handles named before
    bool has_ended = false;   // the last object, by what was done meanwhile
};

struct cell {
    cause why;
    call function;
};
constexpr cell cells[] = {
    {cause::emplace, call::constructor},
    {cause::grow, call::move},
    {cause::emplace_with, call::constructor},
    {cause::fulfil, call::constructor},
    {cause::clone, call::copy},
    {cause::compare, call::equal},
    {cause::reserve, call::move},
    {cause::reserve, call::destructor},
    {cause::shrink, call::move},
    {cause::erase, call::destructor},
    {cause::erase_if, call::predicate},
    {cause::erase_if, call::destructor},
    {cause::erase_if, call::move},
    {cause::swap_erase_if, call::predicate},
    {cause::swap_erase_if, call::destructor},
    {cause::clear, call::destructor},
    {cause::collect, call::destructor},
    {cause::sort, call::less},
    {cause::sort, call::move},
    {cause::swap_rows, call::move},
    {cause::for_each, call::visitor},
    {cause::end, call::destructor},
    {cause::assign, call::destructor},
};

template <class C>
inline constexpr bool is_open = std::is_same_v<C, polymorphic_store<probe>>;

/// An open store that ends has no rows any more: all works but what would add some.
bool works_without_rows(act what) {
    return what != act::insert && what != act::reserve && what != act::move && what != act::assign;
}

/// Rows that move: a look-up is all that works; visitors and comparisons may loop, too.
template <class C>
bool works_in_rows(cell at, act what) {
    if (is_open<C> && at.why == cause::end) { return works_without_rows(what); }
    // The old objects end in another map, after the assignment; here are no two rows to exchange.
    if (has_handles<C> && at.why == cause::assign) { return what != act::swap_rows; }
    // A constructor runs before its object counts.
    const bool reads = at.why == cause::for_each || at.why == cause::clone ||
                       at.why == cause::compare || at.function == call::constructor;
    // A handle that is stale already is erased without a change.
    const bool are_stale = has_handles<C> && (at.why == cause::clear || at.why == cause::end);
    const bool erases_one =
        at.why == cause::erase || at.why == cause::erase_if || at.why == cause::swap_erase_if;
    const bool is_stale = has_handles<C> && erases_one && at.function != call::predicate;
    if (what == act::erase && (is_stale || are_stale)) { return true; }
    if (what == act::erase_next && are_stale) { return true; }
    // Rows move in blocks.
    if (what == act::find) {
        // So few rows in columns keep their room: what is retired moves in shrink_to_fit().
        const bool moves_many =
            at.why == cause::erase_if || at.why == cause::reserve || at.why == cause::grow ||
            at.why == cause::sort ||
            (at.why == cause::shrink && (!is_table_like<C> || finds_pointers<C>)) ||
            (at.why == cause::swap_erase_if && is_table_like<C> && !has_handles<C>);
        return !moves_many || (at.function != call::move && at.function != call::destructor);
    }
    return reads && (what == act::loop || what == act::range_for);
}
/// Objects that stay: while one begins or ends, no loop begins and the map is not moved.
bool works_where_objects_stay(cell at, act what) {
    if (at.why == cause::assign) { return true; }  // the old objects end in another map
    const bool begins_or_ends = at.function == call::constructor ||
                                at.function == call::destructor || at.function == call::copy;
    switch (what) {
        case act::loop:
        case act::range_for:
            return !begins_or_ends || at.why == cause::clone;
        case act::move:
        case act::assign:
            return false;
        case act::shrink:
            return false;
        case act::insert:
        case act::promise:
            return at.why != cause::clone;
        case act::erase_next:
            return at.why != cause::for_each;
        case act::clear:
            return at.why != cause::for_each && at.why != cause::fulfil;
        default:
            return true;
    }
}

/// True when the container calls the function at all: the container is asked.
template <class C>
bool calls(const cell& at) {
    subject<C> s;
    const auto nothing = [] {};
    const script told{at.function, nothing};
    s.run(at.why);
    return told.has_run();
}

template <class C>
void expect_all_cells(const char* name) {
    for (const cell at : cells) {
        if (!calls<C>(at)) { continue; }
        for (int a = 0; a <= static_cast<int>(act::assign); ++a) {
            const act what = static_cast<act>(a);
            if (!subject<C>::can(what)) { continue; }
            const bool works =
                is_stable<C> ? works_where_objects_stay(at, what) : works_in_rows<C>(at, what);
            expect(name, names_of_causes[static_cast<int>(at.why)], names_of_acts[a], works, [&] {
                subject<C> s;
                const auto once = [&] { s.do_it(what); };
                const script told{at.function, once};
                s.run(at.why);
                check(told.has_run(), "the function was called");
                s.expect_whole();
            });
        }
    }
}

/// Rows are whole where one is built; nothing changes.
template <class C>
bool works_in_memory(cell at, act what) {
    if (is_open<C> && at.why == cause::end) { return works_without_rows(what); }
    const bool are_gone = at.why == cause::shrink_empty || at.why == cause::end;
    switch (what) {
        case act::loop:  // not while a table moves its fields
            return at.why == cause::grow &&
                   (at.function == call::allocate || has_handles<C> || !is_table_like<C>);
        case act::erase_next:  // a stale handle
            return has_handles<C> && are_gone;
        case act::clear:
            return is_table_like<C> && !has_handles<C> && (are_gone || at.why == cause::assign);
        default:
            return false;
    }
}
/// What neither takes memory nor gives some back.
bool works_in_stable_memory(cell at, act what) {
    switch (what) {
        case act::loop:
            return at.why != cause::shrink && at.why != cause::shrink_empty;
        case act::erase_next:
            return true;
        case act::clear:  // of many chunks all but one go back
            return at.why != cause::grow || at.function == call::allocate;
        case act::insert:
        case act::promise:  // slots are ready
            return at.why == cause::reserve || at.why == cause::retire;
        default:
            return false;
    }
}

/// An upstream that comes back may look up: it finds every object.
template <class C>
void expect_memory_cells(const char* name) {
    constexpr cell memory_cells[] = {
        {cause::grow, call::allocate},      {cause::grow, call::deallocate},
        {cause::reserve, call::allocate},   {cause::reserve, call::deallocate},
        {cause::shrink, call::deallocate},  {cause::shrink_empty, call::deallocate},
        {cause::retire, call::allocate},    {cause::retire, call::deallocate},
        {cause::sort, call::deallocate},    {cause::end, call::deallocate},
        {cause::assign, call::deallocate},  {cause::promise, call::allocate},
        {cause::promise, call::deallocate},
    };
    constexpr act acts[] = {act::find, act::insert,  act::promise, act::erase_next, act::clear,
                            act::loop, act::reserve, act::shrink,  act::move,       act::assign};
    for (const cell at : memory_cells) {
        if (!calls<C>(at)) { continue; }
        for (const act what : acts) {
            if (what == act::shrink && !requires(C& c) { c.shrink_to_fit(); }) { continue; }
            if (!subject<C>::can(what)) { continue; }
            // The memory of a map goes back after the assignment, from another map.
            const bool is_another = has_handles<C> && at.why == cause::assign;
            const bool works =
                what == act::find || is_another ||
                (is_stable<C> ? works_in_stable_memory(at, what) : works_in_memory<C>(at, what));
            expect(name, names_of_causes[static_cast<int>(at.why)],
                   names_of_acts[static_cast<int>(what)], works, [&] {
                       subject<C> s;
                       s.is_retired = at.why == cause::retire && at.function == call::deallocate &&
                                      !is_stable<C>;
                       const auto once = [&] { s.do_it(what); };
                       const script told{at.function, once};
                       s.run(at.why);
                       check(told.has_run(), "the function was called");
                       s.expect_whole();
                   });
        }
    }
}

/// What leaves a constructor, a predicate, an order, a comparison or a visitor leaves the container
/// whole, and open to changes.
template <class C>
void expect_throwing_cells([[maybe_unused]] const char* name) {
#if defined(__cpp_exceptions)
    for (const cell at : cells) {
        if (at.function == call::move || at.function == call::destructor) { continue; }
        subject<C> s;
        bool has_thrown = false;
        {
            const auto throws = [] { throw 1; };
            const script told{at.function, throws};
            try {
                s.run(at.why);
            } catch (int) { has_thrown = true; }
            EXPECT_EQ(has_thrown, told.has_run())
                << name << ", " << names_of_causes[static_cast<int>(at.why)];
        }
        s.expect_whole();
        s.insert(8);
        s.erase(0);
        check(s.room(2000), "memory");
        s.expect_whole();
    }
#endif
}

template <class C>
void expect_table_of(const char* name) {
    expect_all_cells<C>(name);
    expect_memory_cells<C>(name);
    expect_throwing_cells<C>(name);
}

/// erase_if() asks for 600 rows, in blocks; rows 150 to 255 are gone when row 300 is asked for.
template <class C, class Read>
void expect_read_in_the_gap(const char* how, bool works, Read read) {
    expect(how, "erase_if", "reads another row", works, [&] {
        C c;
        for (int i = 1; i <= 600; ++i) {
            if constexpr (has_handles<C>) {
                check(static_cast<bool>(c.emplace(i, i)), "memory");
            } else if constexpr (is_table_like<C>) {
                check(c.emplace_back(i, i), "memory");
            } else {
                check(c.emplace_back(i), "memory");
            }
        }
        int asked = 0;
        c.erase_if([&](auto&&) {
            if (asked == 300) { read(c); }
            ++asked;
            return asked > 150 && asked <= 256;
        });
        check(c.size() == 494, "the others stay");
        read(c);
    });
}
TEST(callbacks, a_predicate_reads_no_row_where_others_are_gone) {
    using columns = table<row>;
    const auto by_number = [](auto& c) { (void)c[200]; };
    expect_read_in_the_gap<packed_array<probe>>("packed_array[]", false, by_number);
    expect_read_in_the_gap<columns>("table[]", false, by_number);
    expect_read_in_the_gap<columns>("front()", false, [](auto& c) { (void)c.front(); });
    expect_read_in_the_gap<columns>("back()", false, [](auto& c) { (void)c.back(); });
    expect_read_in_the_gap<columns>("row()", false,
                                    [](auto& c) { (void)c.template row<&row::number>(200); });
    expect_read_in_the_gap<table<row_of<number>>>("table of numbers", true, by_number);
    expect_read_in_the_gap<slot_table<row>>("slot_table", true, [](auto& c) {
        for (const auto h : c.handles().first(150)) {
            check(get<&row::object>(*c.find(h)).is_whole(), "a handle finds its own");
        }
    });
}
#if defined(__cpp_exceptions)
TEST(callbacks, rows_are_read_again_after_a_predicate_has_thrown) {
    table<row> rows;
    for (int i = 1; i <= 600; ++i) { ASSERT_TRUE(rows.emplace_back(i, i)); }
    int asked = 0;
    EXPECT_THROW(rows.erase_if([&](auto&&) { return asked++ == 300 ? throw 1 : asked > 150; }),
                 int);
    EXPECT_EQ(rows.size(), 494u);
    EXPECT_EQ(get<&row::number>(rows[150]), 257);
}
#endif

/// Arguments of an insertion that come back while they are converted, and a field that does.
struct converted {
    operator int() const {
        script::called(call::constructor);
        return 6;
    }
};
struct converted_row {
    operator row_of<number>() const { return {{converted{}}, 6}; }
};
struct counted {
    counted(int n) : value{n} { script::called(call::constructor); }
    int value;
};
struct pair_of_numbers {
    int value;
    int number;
};
template <class C, class Add>
void expect_conversion(const char* name, bool works, Add add) {
    expect(name, "emplace that converts", "inserts", works, [&] {
        C c;
        check(c.reserve(8), "memory");
        const auto back = [&] { add(c, 7); };
        const script told{call::constructor, back};
        add(c, converted{});
        check(told.has_run(), "the function was called");
        check(c.size() == 2, "both are there");
    });
}
TEST(callbacks, of_an_argument_that_is_converted) {
    const auto as_field = [](auto& c, auto v) { check(c.emplace_back(v, 1), "memory"); };
    const auto as_number = [](auto& c, auto v) {
        check(static_cast<bool>(c.emplace(v)), "memory");
    };
    const auto as_handle = [](auto& c, auto v) {
        check(static_cast<bool>(c.emplace(v, 1)), "memory");
    };
    const auto as_row = [](auto& c, auto v) {
        if constexpr (std::is_same_v<decltype(v), int>) {
            check(c.push_back({{v}, 1}), "memory");
        } else {
            check(c.emplace_back(converted_row{}), "memory");
        }
    };
    const auto as_counted = [](auto& c, auto) { check(c.emplace_back(6, 1), "memory"); };
    expect_conversion<table<pair_of_numbers>>("table", false, as_field);
    expect_conversion<table<pair_of_numbers, aos>>("table of aos", false, as_field);
    expect_conversion<table<row_of<number>>>("table, a row", false, as_row);
    expect_conversion<table<row_of<number>, aos>>("table of aos, a row", false, as_row);
    expect_conversion<slot_table<pair_of_numbers>>("slot_table", false, as_handle);
    expect_conversion<packed_array<number>>("packed_array", false, as_number);
    expect_conversion<slot_map<number>>("slot_map", false, as_number);
    expect_conversion<stable_slot_map<number>>("stable_slot_map", true, as_number);
    expect_conversion<table<row_of<counted>>>("table, a field", false, as_counted);
}

TEST(callbacks, of_a_packed_array) { expect_table_of<packed_array<probe>>("packed_array"); }
TEST(callbacks, of_a_table) { expect_table_of<table<row>>("table"); }
TEST(callbacks, of_a_packed_array_of_numbers) {
    expect_table_of<packed_array<number>>("packed_array of numbers");
}
TEST(callbacks, of_a_table_of_numbers) {
    expect_table_of<table<row_of<number>>>("table of numbers");
}
TEST(callbacks, of_a_slot_map) { expect_table_of<slot_map<probe>>("slot_map"); }
TEST(callbacks, of_the_upstream_of_a_slot_map_of_numbers) {
    expect_memory_cells<slot_map<number>>("slot_map of numbers");
}
TEST(callbacks, of_a_slot_table) { expect_table_of<slot_table<row>>("slot_table"); }
TEST(callbacks, of_a_slot_table_of_numbers) {
    expect_memory_cells<slot_table<row_of<number>>>("slot_table of numbers");
}
TEST(callbacks, of_a_slot_table_of_whole_rows) {
    expect_table_of<slot_table<row_of<made_from_int>, aos>>("slot_table of aos");
}
TEST(callbacks, of_a_stable_slot_map) {
    expect_table_of<stable_slot_map<probe>>("stable_slot_map");
}
TEST(callbacks, of_a_stable_slot_map_of_many_chunks) {
    expect_memory_cells<stable_slot_map<large>>("stable_slot_map of chunks of 64");
}
TEST(callbacks, of_a_closed_store) {
    expect_table_of<polymorphic_store<probe, thing, other_thing>>("polymorphic_store");
}
TEST(callbacks, of_an_open_store) {
    expect_table_of<polymorphic_store<probe>>("open polymorphic_store");
}

/// An open store meets a type: memory for its rows, and then for a longer list of types.
TEST(callbacks, of_the_upstream_of_an_open_store_that_meets_a_type) {
    const auto expect_cell = [](const char* act, call when, bool works, auto back) {
        expect("open polymorphic_store", "a new type", act, works, [&] {
            told_memory upstream;
            {
                polymorphic_store<probe> all{allocator_ref{upstream}};
                const auto first = all.emplace<thing>(1);
                const auto once = [&] { back(all, first); };
                const script told{when, once};
                const auto second = all.emplace<other_thing>(2);
                check(told.has_run(), "the function was called");
                check(all.find(first)->value == 1 && all.find(second)->value == 2,
                      "both are there");
                all.validate();
            }
            check(probe::alive == 0, "every object was destroyed");
        });
    };
    const auto add_known = [](auto& all, auto) {
        check(!!all.template emplace<thing>(3), "memory");
    };
    const auto add_same = [](auto& all, auto) {
        const auto h = all.template emplace<other_thing>(3);
        check(all.find(h)->value == 3, "it is there");
    };
    const auto look = [](auto& all, auto h) { check(all.find(h)->value == 1, "it is found"); };
    expect_cell("looks up", call::allocate, true, look);
    expect_cell("looks up", call::deallocate, true, look);
    expect_cell("inserts", call::allocate, true, add_known);
    expect_cell("inserts", call::deallocate, true, add_known);
    expect_cell("inserts another of the type", call::allocate, true, add_same);
    expect_cell("inserts another of the type", call::deallocate, false, add_same);
}

/// An upstream that looks an object up each time that memory has gone back.
struct looking_memory {
    static inline polymorphic_store<probe>* all = nullptr;
    static inline polymorphic_store<probe>::handle_type first;
    static inline int look_count = 0;

    static void* allocate(std::size_t size, alignment align) noexcept {
        return system_memory().allocate(size, align);
    }
    static void deallocate(void* p, std::size_t size, alignment align) noexcept {
        std::memset(p, 0xdd, size);
        system_memory().deallocate(p, size, align);
        if (all == nullptr) { return; }
        check(!all->contains(first), "an object of a store that ends is not found");
        ++look_count;
    }
};
TEST(callbacks, of_the_upstream_of_an_open_store_of_two_types_that_ends) {
    looking_memory upstream;
    {
        polymorphic_store<probe> all{allocator_ref{upstream}};
        looking_memory::first = all.emplace<thing>(1);
        ASSERT_TRUE(all.emplace<other_thing>(2));
        looking_memory::all = &all;
    }
    looking_memory::all = nullptr;
    EXPECT_GT(looking_memory::look_count, 4);
}

}  // namespace
