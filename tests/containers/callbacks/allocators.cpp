// Allocators whose upstream comes back: at every call of it, before and after it works, each act.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/alloc/tagged_arenas.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/debug/inside/block_table.hpp>
#include <cairn/movable/offset_heap.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <cairn/os/system_allocator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "script.hpp"

namespace { namespace allocator_cells {

using namespace cairn;
using namespace callback_tests;

/// An upstream that acts at one point: two points a call, in front of it and behind it.
class acting_memory {
public:
    template <class Act>
    static void act_at(std::size_t point, const Act& act) noexcept {
        points = 0;
        left = point;
        object = &act;
        run = [](const void* a) { (*static_cast<const Act*>(a))(); };
    }
    static void begin() noexcept { points = 0; }
    /// After a cell that stopped: on Windows cells run in one process.
    static void forget() noexcept {
        run = nullptr;
        held = 0;
    }
    [[nodiscard]] static bool has_acted() noexcept { return run == nullptr; }

    static void* allocate(std::size_t size, alignment align) noexcept {
        reach();
        void* const p = system_memory().allocate(size, align);
        check(p != nullptr, "memory");
        std::memset(p, 0xc3, std::min(size, looked_at));
        held += size;
        reach();
        return p;
    }
    static void deallocate(void* p, std::size_t size, alignment align) noexcept {
        reach();
        check(held >= size, "no more comes back than went out");
        held -= size;
        std::memset(p, 0xdd, std::min(size, looked_at));
        system_memory().deallocate(p, size, align);
        reach();
    }

    static inline std::size_t points = 0;
    static inline std::size_t held = 0;
    static constexpr std::size_t looked_at = 65'536;  // bytes of a block that are written to

private:
    static void reach() noexcept {
        ++points;
        if (run == nullptr || left-- != 0) { return; }
        std::exchange(run, nullptr)(object);
    }
    static inline std::size_t left = 0;
    static inline const void* object = nullptr;
    static inline void (*run)(const void*) = nullptr;
};
inline constinit acting_memory upstream;

template <class World>
struct cause {
    const char* name;
    void (*run)(World&);
};
template <class World>
struct deed {
    const char* name;
    void (*run)(World&);
    bool works = true;
};

/// Every point of every cause with every act.
template <class World, std::size_t Causes, std::size_t Deeds>
void expect_points(const char* name, const cause<World> (&causes)[Causes],
                   const deed<World> (&deeds)[Deeds]) {
    for (const cause<World>& why : causes) {
        std::size_t points = 0;
        acting_memory::forget();
        expect(name, why.name, "nothing", true, [&] {
            World world;
            acting_memory::begin();
            why.run(world);
            check(acting_memory::points != 0, "the upstream was called");
        });
        {
            World world;
            acting_memory::begin();
            why.run(world);
            points = acting_memory::points;
        }
        for (const deed<World>& what : deeds) {
            const auto at = [&](std::size_t point) {
                acting_memory::forget();
                {
                    World world;
                    const auto once = [&] { what.run(world); };
                    acting_memory::act_at(point, once);
                    why.run(world);
                    check(acting_memory::has_acted(), "the upstream came back");
                    world.expect_whole();
                }
                check(acting_memory::held == 0, "all memory has come back");
            };
            if (what.works) {
                expect(name, why.name, what.name, true, [&] {
                    for (std::size_t point = 0; point < points; ++point) { at(point); }
                });
                continue;
            }
            for (std::size_t point = 0; point < points; ++point) {
                expect(name, why.name, what.name, false, [&] { at(point); });
            }
        }
    }
}

/// Blocks of an allocator, each with its own bytes.
template <class Allocator>
struct blocks {
    struct block {
        unsigned char* at;
        std::size_t size;
        unsigned char fill;
    };
    template <class... Args>
    explicit blocks(Args&&... args)
        : owner{std::in_place, std::forward<Args>(args)...}, from{&*owner} {}

    void take(std::size_t size, std::size_t times = 1) {
        for (; times != 0; --times) {
            auto* const p = static_cast<unsigned char*>(from->allocate(size, default_alignment));
            check(p != nullptr, "memory");
            check(count < 512, "room in the list");
            std::memset(p, ++filled, std::min<std::size_t>(size, looked_at));
            list[count++] = {p, size, filled};
        }
    }
    void give() {
        if (count == 0) { return; }
        const block gone = list[--count];
        expect_bytes(gone);
        from->deallocate(gone.at, gone.size, default_alignment);
    }
    void give_all() {
        while (count != 0) { give(); }
    }
    void forget_all() { count = 0; }
    void expect_all() const {
        for (std::size_t i = 0; i < count; ++i) { expect_bytes(list[i]); }
    }

    std::optional<Allocator> owner;
    Allocator* from;
    block list[512];
    std::size_t count = 0;
    unsigned char filled = 0;

private:
    static constexpr std::size_t looked_at = 64;  // bytes of a block
    static void expect_bytes(const block& b) {
        for (std::size_t i = 0; i < std::min<std::size_t>(b.size, looked_at); ++i) {
            check(b.at[i] == b.fill, "a block keeps its bytes");
        }
    }
};

// ---- heaps

template <class Fit>
struct heap_world : blocks<heap<Fit>> {
    heap_world() : blocks<heap<Fit>>{grow_by{16 * 1024}, allocator_ref{upstream}} {
        this->take(500, 5);
    }
    void expect_whole() {
        if (!this->owner) { return; }
        this->from->validate();
        this->expect_all();
        this->take(400, 60);
        this->expect_all();
        this->from->validate();
        this->give_all();
        this->from->trim();
        this->from->validate();
        check(this->from->stats().region_count == 0, "all regions go back");
    }
};

template <class World>
constexpr cause<World> causes_of_heaps[] = {
    {"grows", [](World& w) { w.take(500, 40); }},
    {"grows by a large block", [](World& w) { w.take(40'000); }},
    {"gives all and trims",
     [](World& w) {
         w.take(500, 60);
         w.give_all();
         w.from->trim();
     }},
    {"gives a region that is empty for long",
     [](World& w) {
         w.take(60'000);
         w.give();
         // Of a size of which no block waits.
         for (int i = 0; i < 6000 && acting_memory::points < 4; ++i) {
             w.take(5000);
             w.give();
         }
         check(acting_memory::points >= 4, "a region goes back");
     }},
};
template <class World>
constexpr deed<World> deeds_of_heaps[] = {
    {"takes one", [](World& w) { w.take(32); }},
    {"grows", [](World& w) { w.take(500, 40); }},
    {"grows by a large block", [](World& w) { w.take(40'000); }},
    {"gives one", [](World& w) { w.give(); }},
    {"gives all", [](World& w) { w.give_all(); }},
    {"trims", [](World& w) { w.from->trim(); }},
    {"gives all and trims",
     [](World& w) {
         w.give_all();
         w.from->trim();
     }},
    {"resets",
     [](World& w) {
         w.forget_all();
         w.from->reset();
     }},
    {"looks",
     [](World& w) {
         w.from->validate();
         w.expect_all();
     }},
};

template <class Fit>
void expect_heap(const char* name) {
    using world = heap_world<Fit>;
    expect_points(name, causes_of_heaps<world>, deeds_of_heaps<world>);
    const cause<world> end[] = {{"ends", [](world& w) { w.owner.reset(); }}};
    const deed<world> uses[] = {
        {"takes one", [](world& w) { w.take(32); }, false},
        {"grows", [](world& w) { w.take(40'000); }, false},
        {"gives one",
         [](world& w) { w.from->deallocate(w.list[0].at, w.list[0].size, default_alignment); },
         false},
        {"trims", [](world& w) { w.from->trim(); }},
    };
    expect_points(name, end, uses);
}

TEST(callbacks, of_the_upstream_of_a_heap) {
    expect_heap<good_fit>("heap<good_fit>");
    expect_heap<strict_good_fit>("heap<strict_good_fit>");
    expect_heap<best_fit>("heap<best_fit>");
    expect_heap<half_fit>("heap<half_fit>");
}

// ---- arenas

template <class Arena>
struct arena_world : blocks<Arena> {
    template <class... Args>
    explicit arena_world(Args&&... args) : blocks<Arena>{std::forward<Args>(args)...} {
        this->take(100);
        this->take(40);
    }
    void reset() {
        this->forget_all();
        if constexpr (requires { this->from->swap(); }) {
            this->from->swap();
        } else {
            this->from->reset();
        }
    }
    void look() {
        if constexpr (requires { this->from->validate(); }) { this->from->validate(); }
        this->expect_all();
    }
    void expect_whole() {
        if (!this->owner) { return; }
        look();
        this->take(60, 20);
        look();
        reset();
        this->take(60, 20);
        look();
    }
};
struct growing_world : arena_world<growing_arena> {
    growing_world() : arena_world{std::size_t{256}, allocator_ref{upstream}} {}
};
struct keeping_world : arena_world<growing_arena> {
    keeping_world()
        : arena_world{std::size_t{256}, allocator_ref{upstream},
                      growing_arena::options{.on_reset = reset_policy::keep(1000)}} {}
};
struct frame_world : arena_world<frame_arena<2>> {
    frame_world() : arena_world{std::size_t{256}, allocator_ref{upstream}} {}
};
struct recycling_world : arena_world<array_recycler<growing_arena>> {
    recycling_world() : arena_world{std::size_t{256}, allocator_ref{upstream}} {}
};

template <class World>
constexpr cause<World> causes_of_arenas[] = {
    {"grows", [](World& w) { w.take(100, 40); }},
    {"grows by a large block", [](World& w) { w.take(90'000); }},
    {"grows, resets",
     [](World& w) {
         w.take(200, 20);
         w.take(90'000);
         w.reset();
     }},
};
template <class World>
constexpr deed<World> deeds_of_arenas[] = {
    {"takes one", [](World& w) { w.take(32); }},
    {"grows", [](World& w) { w.take(500, 40); }},
    {"grows by a large block", [](World& w) { w.take(95'000); }},
    {"gives one", [](World& w) { w.give(); }},
    {"resets", [](World& w) { w.reset(); }},
    {"looks", [](World& w) { w.look(); }},
};
void trim(auto& w) { check(w.from->trim() < 1'000'000, "the bytes that went back"); }
template <class World>
constexpr cause<World> causes_of_trim[] = {
    {"trims",
     [](World& w) {
         w.take(200, 20);
         w.reset();
         w.take(200, 20);
         w.take(90'000);
         w.reset();
         trim(w);
     }},
    {"trims little",
     [](World& w) {
         w.take(200, 20);
         w.reset();
         trim(w);
     }},
    {"reserves", [](World& w) { check(w.from->reserve(5000), "memory"); }},
};
template <class World>
constexpr deed<World> deeds_of_trim[] = {
    {"trims", [](World& w) { trim(w); }},
    {"reserves", [](World& w) { check(w.from->reserve(9000), "memory"); }},
    {"resets and trims",
     [](World& w) {
         w.reset();
         trim(w);
     }},
    {"gives all back",
     [](World& w) {
         w.forget_all();
         w.from->reset(reset_policy::release());
     }},
};

template <class World>
void expect_end_of_arena(const char* name) {
    const cause<World> end[] = {{"ends", [](World& w) { w.owner.reset(); }}};
    const deed<World> uses[] = {
        {"takes one", [](World& w) { w.take(32); }, false},
        {"gives one",
         [](World& w) { w.from->deallocate(w.list[0].at, w.list[0].size, default_alignment); },
         false},
    };
    expect_points(name, end, uses);
}

TEST(callbacks, of_the_upstream_of_an_arena) {
    expect_points("growing_arena", causes_of_arenas<growing_world>, deeds_of_arenas<growing_world>);
    expect_points("growing_arena", causes_of_arenas<growing_world>, deeds_of_trim<growing_world>);
    expect_points("growing_arena", causes_of_trim<growing_world>, deeds_of_arenas<growing_world>);
    expect_points("growing_arena", causes_of_trim<growing_world>, deeds_of_trim<growing_world>);
    expect_points("growing_arena, keep", causes_of_arenas<keeping_world>,
                  deeds_of_arenas<keeping_world>);
    expect_points("growing_arena, keep", causes_of_arenas<keeping_world>,
                  deeds_of_trim<keeping_world>);
    expect_points("frame_arena", causes_of_arenas<frame_world>, deeds_of_arenas<frame_world>);
    expect_points("array_recycler", causes_of_arenas<recycling_world>,
                  deeds_of_arenas<recycling_world>);
    expect_end_of_arena<growing_world>("growing_arena");
    expect_end_of_arena<frame_world>("frame_arena");
    expect_end_of_arena<recycling_world>("array_recycler");
}

// ---- arenas of one region: their upstream is called at their end alone

struct fixed_world : blocks<arena> {
    fixed_world() : blocks{std::size_t{4096}, allocator_ref{upstream}} { take(100, 2); }
    void expect_whole() {}
};
struct two_ended_world {
    void expect_whole() {}
    std::optional<double_ended_arena> owner{std::in_place, std::size_t{4096},
                                            allocator_ref{upstream}};
    double_ended_arena* from = &*owner;
};

TEST(callbacks, of_the_upstream_of_an_arena_of_one_region) {
    const cause<fixed_world> end[] = {{"ends", [](fixed_world& w) { w.owner.reset(); }}};
    const deed<fixed_world> uses[] = {
        {"takes one", [](fixed_world& w) { check(w.from->allocate(32) == nullptr, "refused"); }},
        {"gives one",
         [](fixed_world& w) {
             w.from->deallocate(w.list[0].at, w.list[0].size, default_alignment);
         },
         false},
    };
    expect_points("arena", end, uses);
    using world = two_ended_world;
    const cause<world> ends[] = {{"ends", [](world& w) { w.owner.reset(); }}};
    const deed<world> takes[] = {
        {"takes one", [](world& w) { check(w.from->low().allocate(32) == nullptr, "refused"); }},
        {"takes one of the high end",
         [](world& w) { check(w.from->high().allocate(32) == nullptr, "refused"); }},
    };
    expect_points("double_ended_arena", ends, takes);
}

// ---- arenas of many jobs

struct job_world {
    job_world() {
        first = owner->begin();
        take(100);
    }
    void take(std::size_t size) {
        auto memory = owner->local(first);
        check(memory.allocate(size) != nullptr, "memory");
    }
    void begin_many() {
        for (int i = 0; i < 33; ++i) {
            const auto other = from->begin();
            check(static_cast<bool>(other), "memory");
            tags[count++] = other;
        }
    }
    void end_all() {
        while (count != 0) { owner->end(tags[--count]); }
        owner->end(std::exchange(first, {}));
    }
    ~job_world() {
        if (owner) { end_all(); }
    }
    void expect_whole() {
        if (!owner) { return; }
        if (owner->is_live(first)) { take(100); }
        end_all();
        check(owner->stats().tag_count == 0 && owner->stats().block_count == 0, "all tags ended");
    }

    std::optional<tagged_arenas> owner{std::in_place, allocator_ref{upstream},
                                       tagged_arenas::options{.block_size = 4096}};
    tagged_arenas* from = &*owner;
    tagged_arenas::tag first;
    tagged_arenas::tag tags[128];
    int count = 0;
};

TEST(callbacks, of_the_upstream_of_tagged_arenas) {
    using world = job_world;
    const cause<world> causes[] = {
        {"begins tags", [](world& w) { w.begin_many(); }},
        {"takes blocks",
         [](world& w) {
             for (int i = 0; i < 20; ++i) { w.take(900); }
         }},
        {"takes a large block", [](world& w) { w.take(9000); }},
        {"ends a tag",
         [](world& w) {
             const auto other = w.owner->begin();
             {
                 auto memory = w.owner->local(other);
                 check(memory.allocate(9000) != nullptr, "memory");
             }
             w.owner->end(other);
         }},
        {"reserves", [](world& w) { check(w.owner->reserve(20'000), "memory"); }},
        {"trims",
         [](world& w) {
             check(w.owner->reserve(20'000), "memory");
             (void)w.owner->trim();
         }},
    };
    const deed<world> deeds[] = {
        {"begins tags", [](world& w) { w.begin_many(); }},
        {"takes one", [](world& w) { w.take(900); }},
        {"takes a large block", [](world& w) { w.take(9000); }},
        {"reserves", [](world& w) { check(w.owner->reserve(20'000), "memory"); }},
        {"trims", [](world& w) { (void)w.owner->trim(); }},
        {"looks", [](world& w) { (void)w.owner->stats(); }},
    };
    expect_points("tagged_arenas", causes, deeds);
    struct unused_world : job_world {
        unused_world() {
            check(owner->reserve(20'000), "memory");
            end_all();
        }
    };
    const cause<unused_world> end[] = {{"ends", [](unused_world& w) { w.owner.reset(); }}};
    const deed<unused_world> uses[] = {
        {"begins tags", [](unused_world& w) { w.begin_many(); }, false},
        {"reserves", [](unused_world& w) { (void)w.from->reserve(20'000); }, false},
    };
    expect_points("tagged_arenas", end, uses);
}

// ---- heaps whose blocks move, and builders

struct moving_world {
    moving_world() { add(3); }
    void add(int times) {
        for (; times != 0; --times) {
            const auto h = heap.allocate(64);
            check(static_cast<bool>(h), "memory");
            std::memset(heap.get(h), count, 64);
            handles[count++] = h;
        }
    }
    void remove() { heap.deallocate(handles[--count]); }
    void look() {
        for (int i = 0; i < count; ++i) {
            check(heap.contains(handles[i]), "a handle finds its object");
            const auto* const p = static_cast<const unsigned char*>(heap.get(handles[i]));
            check(p[0] == i && p[63] == i, "an object keeps its bytes");
        }
        check(heap.stats().object_count == static_cast<std::size_t>(count), "all are counted");
    }
    void expect_whole() {
        look();
        heap.validate();
        add(20);
        look();
        (void)heap.compact();
        look();
        while (count != 0) { remove(); }
        heap.validate();
    }

    relocatable_heap heap{std::size_t{64 * 1024}, allocator_ref{upstream}};
    relocatable_heap::handle_type handles[256];
    int count = 0;
};

TEST(callbacks, of_the_upstream_of_a_relocatable_heap) {
    using world = moving_world;
    const cause<world> causes[] = {
        {"adds", [](world& w) { w.add(150); }},
        {"trims",
         [](world& w) {
             w.add(150);
             while (w.count > 3) { w.remove(); }
             (void)w.heap.trim();
         }},
    };
    const deed<world> deeds[] = {
        {"looks", [](world& w) { w.look(); }},
        {"adds", [](world& w) { w.add(1); }, false},
        {"removes", [](world& w) { w.remove(); }, false},
        {"compacts", [](world& w) { (void)w.heap.compact(); }, false},
        {"trims", [](world& w) { (void)w.heap.trim(); }, false},
        {"pins", [](world& w) { (void)w.heap.pin(w.handles[0]); }, false},
    };
    expect_points("relocatable_heap", causes, deeds);
}

/// Ends with its objects.
struct ending_world {
    ending_world() {
        for (auto& h : handles) {
            h = heap->allocate(64);
            check(static_cast<bool>(h), "memory");
        }
    }
    static void expect_whole() {}
    std::optional<relocatable_heap> owner{std::in_place, std::size_t{64 * 1024},
                                          allocator_ref{upstream}};
    relocatable_heap* heap = &*owner;
    relocatable_heap::handle_type handles[100];
};

TEST(callbacks, of_the_upstream_of_a_relocatable_heap_that_ends) {
    using world = ending_world;
    const cause<world> end[] = {{"ends", [](world& w) { w.owner.reset(); }}};
    const deed<world> deeds[] = {
        {"looks",
         [](world& w) { check(!w.heap->contains(w.handles[7]), "no handle finds an object"); }},
        {"adds", [](world& w) { (void)w.heap->allocate(64); }, false},
        {"removes", [](world& w) { w.heap->deallocate(w.handles[7]); }, false},
        {"compacts", [](world& w) { (void)w.heap->compact(); }, false},
        {"trims", [](world& w) { (void)w.heap->trim(); }, false},
    };
    expect_points("relocatable_heap", end, deeds);
}

struct offsets_world {
    offsets_world() { add(3); }
    void add(int times) {
        for (; times != 0; --times) {
            const auto a = heap.allocate(48, 64, static_cast<std::uint64_t>(count));
            check(static_cast<bool>(a), "room");
            list[count++] = a;
        }
    }
    void remove_every_second() {
        int kept = 0;
        for (int i = 0; i < count; ++i) {
            if (i % 2 == 0) {
                heap.deallocate(list[i]);
            } else {
                list[kept++] = list[i];
            }
        }
        count = kept;
    }
    void look() {
        for (int i = 0; i < count; ++i) {
            check(heap.contains(list[i]), "an allocation is there");
            for (int j = 0; j < i; ++j) {
                check(heap.offset(list[i]) != heap.offset(list[j]), "no two share their place");
            }
        }
    }
    void expect_whole() {
        if (!owner) { return; }
        look();
        heap.validate();
        add(20);
        look();
        heap.validate();
    }

    std::optional<offset_heap> owner{std::in_place, 1 << 20, allocator_ref{upstream}};
    offset_heap& heap = *owner;
    offset_allocation list[1024];
    int count = 0;
};

TEST(callbacks, of_the_upstream_of_an_offset_heap) {
    using world = offsets_world;
    const cause<world> causes[] = {
        {"adds", [](world& w) { w.add(200); }},
        {"resizes",
         [](world& w) {
             w.add(120);
             for (int i = 0; i < w.count; ++i) { (void)w.heap.try_resize(w.list[i], 16); }
         }},
        {"plans",
         [](world& w) {
             w.add(120);
             w.remove_every_second();
             offset_heap::move moves[32];
             const std::size_t n = w.heap.plan(
                 moves, 32, {.move_count_max = 32, .size_max = 1 << 20, .step_count_max = 1000});
             for (std::size_t i = 0; i < n; ++i) { w.heap.cancel(moves[i]); }
             w.add(120);
         }},
    };
    const deed<world> deeds[] = {
        {"looks",
         [](world& w) {
             w.heap.validate();
             w.look();
         }},
        {"adds", [](world& w) { w.add(1); }},
        {"adds many", [](world& w) { w.add(300); }},
        {"removes", [](world& w) { w.remove_every_second(); }},
    };
    expect_points("offset_heap", causes, deeds);
    const cause<world> end[] = {{"ends", [](world& w) { w.owner.reset(); }}};
    const deed<world> uses[] = {
        {"adds", [](world& w) { check(!w.heap.allocate(48), "refused"); }},
        {"removes", [](world& w) { w.heap.deallocate(w.list[0]); }, false},
    };
    expect_points("offset_heap", end, uses);
}

struct building_world {
    void push(int times) {
        for (; times != 0; --times) {
            check(list->push_back(static_cast<int>(list->size())), "memory");
        }
    }
    void look() {
        for (std::size_t i = 0; i < list->size(); ++i) {
            check((*list)[i] == static_cast<int>(i), "an element keeps its value");
        }
    }
    void expect_whole() {
        if (!list) { return; }
        look();
        push(100);
        look();
        const std::size_t room = list->capacity() * sizeof(int);  // which none gives back in parts
        const slice<int> all = list->finish();
        check(all.size() >= 100, "all elements are there");
        acting_memory::deallocate(all.data(), room, alignment::of<int>());
    }
    struct exact {
        static void* allocate(std::size_t size, alignment align) noexcept {
            return acting_memory::allocate(size, align);
        }
        static void deallocate(void* p, std::size_t size, alignment align) noexcept {
            acting_memory::deallocate(p, size, align);
        }
        static bool try_resize(void*, std::size_t, std::size_t, alignment) noexcept {
            return false;
        }
    };
    static inline exact memory;
    std::optional<builder<int>> list{std::in_place, allocator_ref{memory}, 1};
    builder<int>* from = &*list;
};

TEST(callbacks, of_the_upstream_of_a_builder) {
    using world = building_world;
    const cause<world> causes[] = {{"grows", [](world& w) { w.push(156); }}};
    const deed<world> deeds[] = {
        {"looks", [](world& w) { w.look(); }},
        {"pushes", [](world& w) { w.push(1); }, false},
        {"finishes", [](world& w) { (void)w.list->finish(); }, false},
    };
    expect_points("builder", causes, deeds);
    struct full_world : building_world {
        full_world() { push(20); }
    };
    const cause<full_world> end[] = {{"ends", [](full_world& w) { w.list.reset(); }}};
    const deed<full_world> uses[] = {
        {"pushes", [](full_world& w) { (void)w.from->push_back(1); }, false},
        {"finishes", [](full_world& w) { (void)w.from->finish(); }, false},
    };
    expect_points("builder", end, uses);
    struct empty_world : building_world {
        empty_world() {
            push(20);
            while (!list->empty()) { list->pop_back(); }
        }
    };
    const cause<empty_world> gives[] = {
        {"finishes without elements", [](empty_world& w) { (void)w.list->finish(); }}};
    const deed<empty_world> pushes[] = {{"pushes", [](empty_world& w) { w.push(1); }}};
    expect_points("builder", gives, pushes);
}

// ---- a heap of many threads

struct shared_world : blocks<concurrent_heap> {
    shared_world() : blocks{allocator_ref{upstream}} { take(500, 5); }
    void expect_whole() {
        if (!owner) { return; }
        from->validate();
        expect_all();
        take(400, 60);
        expect_all();
        give_all();
        (void)from->trim();
        from->validate();
        check(from->stats().segment_size == 0, "all segments go back");
    }
};

TEST(callbacks, of_the_upstream_of_a_concurrent_heap) {
    using world = shared_world;
    const cause<world> causes[] = {
        {"takes a segment",
         [](world& w) {
             w.take(20'000, 250);
             w.take(60'000, 60);
         }},
        {"takes a large block", [](world& w) { w.take(6'000'000); }},
        {"gives a large block",
         [](world& w) {
             w.take(6'000'000);
             w.give();
         }},
        {"gives all and trims",
         [](world& w) {
             w.take(60'000, 60);
             w.give_all();
             (void)w.from->trim();
         }},
        {"reserves", [](world& w) { check(w.from->reserve(8'000'000), "memory"); }},
    };
    const deed<world> deeds[] = {
        {"takes one", [](world& w) { w.take(32); }},
        {"takes many", [](world& w) { w.take(500, 90); }},
        {"takes some of a size", [](world& w) { w.take(20'000); }},
        {"takes a segment", [](world& w) { w.take(60'000, 90); }},
        {"takes a large block", [](world& w) { w.take(7'000'000); }},
        {"gives one", [](world& w) { w.give(); }},
        {"gives all", [](world& w) { w.give_all(); }},
        {"gives all and trims",
         [](world& w) {
             w.give_all();
             (void)w.from->trim();
         }},
        {"reserves", [](world& w) { check(w.from->reserve(9'000'000), "memory"); }},
        {"leaves", [](world& w) { w.from->release_this_thread(); }},
        {"looks",
         [](world& w) {
             w.from->validate();
             w.expect_all();
         }},
    };
    expect_points("concurrent_heap", causes, deeds);
    const cause<world> end[] = {{"ends", [](world& w) { w.owner.reset(); }}};
    const deed<world> uses[] = {
        {"takes one", [](world& w) { w.take(32); }, false},
        {"takes a large block", [](world& w) { w.take(7'000'000); }, false},
        {"gives one",
         [](world& w) { w.from->deallocate(w.list[0].at, w.list[0].size, default_alignment); },
         false},
    };
    expect_points("concurrent_heap", end, uses);
}

// ---- the list of blocks of tracked and guarded

struct listed_world {
    void add(std::size_t times) {
        for (; times != 0; --times) {
            std::byte* const block = memory + made++;
            check(list.insert({.data = block, .size = made}), "memory");
            blocks[count++] = block;
        }
    }
    void remove(std::size_t times) {
        for (; times != 0 && count != 0; --times) { list.erase(list.find(blocks[--count])); }
    }
    void look() {
        check(list.count() == count, "all are counted");
        for (std::size_t i = 0; i < count; ++i) {
            const auto* const found = list.find(blocks[i]);
            check(found != nullptr && found->data == blocks[i], "a block is found");
        }
    }
    void expect_whole() {
        look();
        add(100);
        look();
        remove(count);
        (void)list.shrink();
        check(list.slot_count() == 0, "all memory goes back");
    }

    detail::block_table list{allocator_ref{upstream}};
    std::byte memory[1000];
    std::size_t made = 0;
    std::byte* blocks[1000];
    std::size_t count = 0;
};

TEST(callbacks, of_the_upstream_of_a_list_of_blocks) {
    using world = listed_world;
    const cause<world> causes[] = {
        {"grows", [](world& w) { w.add(129); }},
        {"shrinks",
         [](world& w) {
             w.add(200);
             w.remove(150);
             (void)w.list.shrink();
         }},
    };
    const deed<world> deeds[] = {
        {"looks", [](world& w) { (void)w.list.find(w.memory); }},
        {"adds", [](world& w) { w.add(1); }},
        {"adds many", [](world& w) { w.add(300); }},
        {"removes", [](world& w) { w.remove(w.count / 2); }},
        {"removes and shrinks",
         [](world& w) {
             w.remove(w.count);
             (void)w.list.shrink();
         }},
    };
    expect_points("block_table", causes, deeds);
}

// ---- after the end: a static object that ends later uses them

template <class Run>
void expect_outlived(const char* name, const char* act, Run run) {
    if (!asserts_enabled || detail::poison_is_queryable) { return; }
    const auto caught = expect_broken_promise(run);
    EXPECT_EQ(caught.kind(), misuse_kind::outlived) << name << ", " << act << ": " << caught.text();
}

template <class Allocator, class... Args>
void expect_end_is_seen(const char* name, Args... args) {
    expect_outlived(name, "takes one", [&] {
        alignas(Allocator) static unsigned char room[sizeof(Allocator)];
        auto* const volatile one = ::new (static_cast<void*>(room)) Allocator{args...};
        for (int i = 0; i < 3; ++i) {
            one->deallocate(one->allocate(100, default_alignment), 100, default_alignment);
        }
        one->~Allocator();
        (void)one->allocate(100, default_alignment);
    });
    expect_outlived(name, "gives one", [&] {
        alignas(Allocator) static unsigned char room[sizeof(Allocator)];
        auto* const volatile one = ::new (static_cast<void*>(room)) Allocator{args...};
        void* const p = one->allocate(100, default_alignment);
        one->~Allocator();
        one->deallocate(p, 100, default_alignment);
    });
}

TEST(callbacks, after_the_end_of_an_allocator) {
    expect_end_is_seen<heap<>>("heap");
    expect_end_is_seen<heap<best_fit>>("heap<best_fit>");
    expect_end_is_seen<growing_arena>("growing_arena");
    expect_end_is_seen<concurrent_heap>("concurrent_heap");
    expect_end_is_seen<pool>("pool", 128u, default_alignment);
    expect_end_is_seen<concurrent_pool>("concurrent_pool", 128u, default_alignment);
    expect_outlived("pool_of", "makes one", [] {
        alignas(pool_of<int>) static unsigned char room[sizeof(pool_of<int>)];
        auto* const volatile one = ::new (static_cast<void*>(room)) pool_of<int>{};
        one->destroy(one->make(1));
        one->~pool_of();
        (void)one->make(2);
    });
    expect_outlived("tagged_arenas", "begins a tag", [] {
        alignas(tagged_arenas) static unsigned char room[sizeof(tagged_arenas)];
        auto* const volatile one = ::new (static_cast<void*>(room)) tagged_arenas{};
        one->end(one->begin());
        one->~tagged_arenas();
        (void)one->begin();
    });
}

}}  // namespace ::allocator_cells
