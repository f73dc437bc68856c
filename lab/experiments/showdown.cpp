// lab/experiments/showdown.cpp - the article's comparison (seed 1), its four sets exactly.
//
//      set 1   10,000 allocated,  9,500 freed       1,000 passes     500 replaced in each of 1,000 frames
//      set 2   10,000 allocated,    500 freed       1,000 passes     the same
//      set 3  100,000 allocated, 99,500 freed       1,000 passes     the same
//      set 4   10,000 allocated,  9,500 freed     100,000 passes     the same
//
// The article prints milliseconds for everything on an M4 Pro; here it is ns for one operation, and its
// figures are converted. As in the article only allocating and freeing is timed in `churn`, not the
// choice of the victims, and iteration comes after the 1,000 frames of churn. Added: `refill` (into an emptied store)
// and iteration before the churn, while the survivors still lie scattered; and churn of a million, of
// which 100,000 were freed: a store that looks for a free place among all of them shows it there.
//
// A packed array has no stable names: the driver hands it positions that are valid at that moment, for
// nothing.

#include "lab/families/particle_scene.hpp"
#include "lab/families/particle_stores.hpp"
#include "lab/harness/counters.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/system/system.hpp"

namespace {

using lab::particle;

using lab::scene, lab::set, lab::replaced;
constexpr std::size_t churned_frames = 1000;

/// `FirstTouch`: the article's phase. A store is made in pages that are touched for the first time,
/// and that counts.
template <class Store, bool FirstTouch>
struct filled_and_freed {
    set which;
    explicit filled_and_freed(set w) : which{w} {
        FirstTouch ? lab::return_freed_memory() : lab::keep_freed_memory();
    }
    void operator()(lab::sample& s) {
        s.repeat(which.allocated + which.freed, [&] {
            if (FirstTouch) { s.start(); }
            // Behind a pointer that escapes, as a store of a program is: in a local variable
            // gcc kept the counters of the stores without functions elsewhere in registers.
            auto now = std::make_unique<scene<Store>>(which);
            lab::keep(now.get());
            if (!FirstTouch) { s.start(); }
            now->fill();
            s.stop();
            now->choose_survivors();
            s.timed([&] { now->free_most(); });
        });
    }
};
template <class Store>
using first_touch = filled_and_freed<Store, true>;
template <class Store>
using allocate_and_free = filled_and_freed<Store, false>;

/// What a store holds of the system's memory, an object. The blocks that were freed before it are
/// taken first: a store in them would lie in pages that are counted already.
template <class Store>
struct bytes_an_object {
    std::size_t count;
    void operator()(lab::sample& s) {
        std::vector<std::unique_ptr<particle>> fill_free_blocks(8 * count);
        for (auto& p : fill_free_blocks) { p = std::make_unique<particle>(); }
        const lab::resident_since_here taken;
        Store store{count};
        for (unsigned i = 0; i != count; ++i) { (void)store.insert(i); }
        lab::keep(&store);
        s.value(static_cast<double>(taken.bytes()) / static_cast<double>(count));
    }
};

/// After most of a set was freed.
template <class Store>
struct survivors : scene<Store> {
    explicit survivors(set which) : scene<Store>{which} {
        this->fill();
        this->choose_survivors();
        this->free_most();
    }
};

template <class Store>
struct churn : survivors<Store> {
    using survivors<Store>::survivors;
    void operator()(lab::sample& s) {
        s.repeat(replaced, [&] {
            this->choose_victims();
            s.timed([&] { this->replace_victims(); });
            this->remember_new();
        });
    }
};

/// The naive pool with a mark below which no slot is free. It fills the same slots, without the
/// billions of questions that 1,000 frames of set 2 would ask before anything is measured.
struct marked_naive_pool : lab::naive_pool {
    std::size_t full_count = 0;
    using naive_pool::naive_pool;
    [[gnu::always_inline]] handle insert(unsigned seed) {
        while (slots[full_count].is_active) { ++full_count; }
        slots[full_count].write(seed);
        ++count;
        return &slots[full_count];
    }
    [[gnu::always_inline]] void erase(handle p) {
        naive_pool::erase(p);
        full_count = std::min(full_count, static_cast<std::size_t>(p - slots.data()));
    }
};

template <class Store>
using prepared =
    std::conditional_t<std::is_same_v<Store, lab::naive_pool>, marked_naive_pool, Store>;
template <class Store>
struct iterate : survivors<prepared<Store>> {
    iterate(set which, std::size_t frames) : survivors<prepared<Store>>{which} {
        this->churn(frames);
    }
    void operator()(lab::sample& s) {
        s.repeat(this->s.live(), [&] {
            this->store.each([](particle& p) { p.update(); });
            lab::clobber();
        });
    }
};

template <class Store>
struct refill : scene<Store> {
    explicit refill(set which) : scene<Store>{which} { this->fill(); }
    void operator()(lab::sample& s) {
        s.repeat(this->s.allocated, [&] {
            this->empty();
            this->live.resize(this->s.allocated);
            s.timed([&] { this->fill(); });
        });
    }
};

/// What the article prints for one set, in ms: naive, free list, packed, slot map.
struct published {
    double naive, free_list, packed, slot_map;
};

/// Work<Store>, made of `args`, for every store.
template <template <class> class Work, class... Args>
void add_all(lab::comparison& c, published ms, double operations, bool with_naive, Args... args) {
    const std::string source = "article " + c.name.substr(0, c.name.find(' ', 4)) + ", M4 Pro";
    const auto add = [&]<class Store>(lab::kind kind, const char* name, double value = 0) {
        lab::contender& who = c.add(kind, name, lab::made<Work<Store>>(args...));
        if (value != 0) { who.published(value * 1e6 / operations, c.options.unit, source); }
    };
    using enum lab::kind;
    add.template operator()<lab::packed_by_hand>(limit, "packed array", ms.packed);
    if (with_naive) { add.template operator()<lab::naive_pool>(baseline, "naive pool", ms.naive); }
    add.template operator()<lab::external_free_list>(baseline, "external free list");
    add.template operator()<lab::intrusive_free_list>(baseline, "intrusive free list",
                                                      ms.free_list);
    add.template operator()<lab::article_slot_map>(baseline, "article slot map", ms.slot_map);
    add.template operator()<lab::cairn_packed_array>(cairn, "cairn::packed_array");
    add.template operator()<lab::cairn_slot_map>(cairn, "cairn::slot_map");
    add.template operator()<lab::cairn_stable_slot_map>(cairn, "cairn::stable_slot_map");
    lab::offers<lab::kinds::stores<lab::particle>>(
        [&]<class Store>(const char* name) { add.template operator()<Store>(peer, name); });
    add.template operator()<lab::vector_of_pointers>(peer, "vector of unique_ptr");
}

/// Quotients hold on another machine where figures do not: everything over the article's free list.
void add_quotients(lab::experiment& e, const lab::comparison& of, published ms) {
    lab::comparison& c = e.relative(of, of.name + ", beside the free list", "intrusive free list");
    const std::string source = "article " + of.name.substr(0, of.name.find(' ', 4)) + ", M4 Pro";
    c.publish("packed array", ms.free_list / ms.packed, "x", source);
    c.publish("article slot map", ms.free_list / ms.slot_map, "x", source);
}

void add_set(lab::experiment& e, const std::string& name, set which, published alloc_ms,
             published churn_ms, published iterate_ms, double passes = 1000.0) {
    const bool small = which.allocated <= 10000;
    lab::comparison& freed =
        e.compare(name + " alloc and free", {.unit = "ns/call", .weight = small ? 1.0 : 2.0});
    lab::comparison& touched = e.compare(name + " alloc and free, first touch",
                                         {.unit = "ns/call", .weight = small ? 0.5 : 1.0});
    // The naive pool needs seconds for one run of set 3.
    const bool with_naive = small || e.options().full;
    add_all<first_touch>(touched, alloc_ms, static_cast<double>(which.allocated + which.freed),
                         with_naive, which);
    add_all<allocate_and_free>(freed, {}, 1, with_naive, which);
    lab::comparison& churned = e.compare(name + " churn", {.unit = "ns/pair"});
    add_all<churn>(churned, churn_ms, 500.0 * 1000.0, true, which);
    add_quotients(e, touched, alloc_ms);
    add_quotients(e, churned, churn_ms);
    lab::comparison& iterated =
        e.compare(name + " iterate", {.unit = "ns/particle", .many_per_cycle = true});
    add_all<iterate>(iterated, iterate_ms, passes * static_cast<double>(which.live()), true, which,
                     churned_frames);
    add_quotients(e, iterated, iterate_ms);
    // Set 2: most of its particles stay. The others where counting costs nothing, or is asked for.
    if (which.freed == 500 ||
        (e.options().full && (e.options().cachegrind || lab::processor_counts()))) {
        for (const lab::comparison* c : {&freed, &churned, &iterated}) { add_counts(e, *c); }
    }
    if (passes > 1000.0) { return; }  // one pass of set 4 is one pass of set 1
    add_all<iterate>(
        e.compare(name + " iterate, scattered", {.unit = "ns/particle", .many_per_cycle = true}),
        {}, 1, true, which, std::size_t{0});
}

const lab::registration showdown{
    "showdown", "Which store for particles that come and go: the article's four sets",
    [](lab::experiment& e) {
        e.quick_seconds = 21;
        e.how =
            "Alloc and free, first touch: as the article times it, a store is made within what is "
            "timed, in pages that the system has just given. Alloc and free: the store is made "
            "outside of what is timed, in memory that the repetition before had.";
        add_set(e, "set 1", {10000, 9500}, {12.99, 0.17, 0.27, 0.15}, {35.91, 0.44, 0.39, 1.19},
                {2.79, 5.48, 0.31, 0.31});
        add_set(e, "set 2", {10000, 500}, {12.94, 0.13, 0.15, 0.15}, {613.37, 0.51, 0.80, 1.69},
                {6.51, 7.63, 6.92, 7.00});
        add_set(e, "set 3", {100000, 99500}, {1244.46, 1.41, 2.73, 1.62}, {34.84, 0.46, 0.39, 1.19},
                {25.13, 32.69, 0.31, 0.31});
        add_set(e, "set 4", {10000, 9500}, {12.78, 0.15, 0.26, 0.15}, {35.44, 0.43, 0.38, 1.17},
                {273.18, 542.18, 30.79, 30.62}, 100000.0);
        constexpr std::size_t count = 20'000;
        lab::comparison& bytes =
            e.compare("bytes an object, 20,000 of 24 bytes",
                      {.unit = "bytes", .measure = lab::measure::value, .one_sample = true});
        add_all<bytes_an_object>(bytes, {}, 1, true, count);
        bytes.cairn("cairn::slot_table", lab::made<bytes_an_object<lab::cairn_slot_table>>(count));
        add_all<refill>(e.compare("refill 10000", {.unit = "ns/call"}), {}, 1, false,
                        set{10000, 0});
        add_all<churn>(e.compare("a million, churn", {.unit = "ns/pair", .weight = 2.0}), {}, 1,
                       false, set{1'000'000, 100'000});
    }};

}  // namespace
