// lab/experiments/first-touch.cpp - the first frame in fresh memory, and when its pages are paid.
//
//      loading        the memory is asked for, and in some rows touched ahead
//      first frame    16,384 objects of 256 bytes: 4 MiB, 1,024 pages of 4 KiB
//      second frame   the same memory again
//
// A page that was not touched yet costs the frame a fault: the kernel finds, clears and maps one.
// The faults are counted where the system counts them, so that a row that says "ahead" is ahead.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/os/page_allocator.hpp>

#include "lab/families/heap_family.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/system/system.hpp"

namespace {

constexpr std::size_t object_size = 256;
constexpr std::size_t object_count = std::size_t{1} << 14;
constexpr std::size_t frame_size = object_size * object_count;

void* there(void* p) {
    if (p == nullptr) { throw std::runtime_error{"no memory"}; }
    return p;
}

/// The frame: every object is written at both ends.
template <class Memory>
std::uint64_t frame(Memory& m) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i != object_count; ++i) {
        auto* const p = static_cast<std::byte*>(there(m.allocate(object_size)));
        lab::heaps::touch(p, object_size);
        sum += std::to_integer<std::uint64_t>(p[object_size - 1]);
    }
    return sum;
}

// ---- memories: the constructor is the loading ---------------------------------------------------

template <bool Ahead>
struct virtual_memory {
    cairn::virtual_arena a{frame_size};
    virtual_memory() {
        if (Ahead && !a.prefault(frame_size)) { throw std::runtime_error{"no memory"}; }
    }
    void* allocate(std::size_t size) { return a.allocate(size); }
    void reset() { a.reset(); }
};

template <bool Huge, bool Ahead>
struct pages {
    cairn::page_allocator upstream{{.huge_pages = Huge, .prefault = Ahead}};
    cairn::arena a{frame_size, upstream};
    void* allocate(std::size_t size) { return a.allocate(size); }
    void reset() { a.reset(); }
};

/// One block of malloc, as large as the frame, and a pointer into it; zeroed ahead, as a vector is,
/// or not. It is asked of the system each time, as it does for the first ones.
template <bool Zeroed>
struct one_block {
    std::byte* const memory = [] {
        lab::ask_for_large_blocks_anew();
        void* const p = there(std::malloc(frame_size));
        lab::keep(p);
        if (Zeroed) { std::memset(p, 0, frame_size); }
        lab::keep(p);
        return static_cast<std::byte*>(p);
    }();
    std::byte* next = memory;
    one_block() = default;
    one_block(const one_block&) = delete;
    one_block& operator=(const one_block&) = delete;
    ~one_block() { std::free(memory); }
    void* allocate(std::size_t size) { return std::exchange(next, next + size); }
    void reset() { next = memory; }
};

constexpr const char* load_case = "loading";
constexpr const char* second_case = "second frame";
constexpr const char* faults_case = "page faults of the first frame";

/// Times a frame, and counts its faults.
template <class Memory>
std::uint64_t first_frame(Memory& m, lab::sample& s, long& faults) {
    const long before = lab::page_faults();
    s.start();
    const std::uint64_t sum = frame(m);
    s.stop();
    faults += lab::page_faults() - before;
    return sum;
}

template <class Memory>
auto frames() {
    return [] {
        return [](lab::sample& s) {
            double load_ns = 0;
            double second_ns = 0;
            long faults = 0;
            std::uint64_t sum = 0;
            s.repeat(1, [&] {
                const std::int64_t begun = lab::now_ns();
                std::optional<Memory> m;
                m.emplace();
                load_ns += static_cast<double>(lab::now_ns() - begun);
                sum = first_frame(*m, s, faults);
                m->reset();
                const std::int64_t again = lab::now_ns();
                sum += frame(*m);
                second_ns += static_cast<double>(lab::now_ns() - again);
            });
            const auto count = static_cast<double>(s.repetitions());
            s.checksum(sum);
            s.also(load_case, load_ns / count / 1e3);
            s.also(second_case, second_ns / count / 1e3);
            s.also(faults_case, static_cast<double>(faults) / count);
        };
    };
}

/// The floor: memory that has been in use for a while.
struct touched_before {
    virtual_memory<true> m;
    void operator()(lab::sample& s) {
        std::uint64_t sum = 0;
        long faults = 0;
        s.repeat(1, [&] {
            m.reset();
            sum = first_frame(m, s, faults);
        });
        s.checksum(2 * sum);
        s.also(faults_case, static_cast<double>(faults) / static_cast<double>(s.repetitions()));
    }
};

const lab::registration first_touch{
    "first-touch",
    "What does the first frame pay for fresh memory, and what does paying before it cost?",
    [](lab::experiment& e) {
        e.quick_seconds = 2;
        e.how =
            "Each repetition asks the system anew, but in the row of memory that is in use. A "
            "malloc that kept the block of the level before has no first touch; the first level "
            "has.";
        lab::comparison& c =
            e.compare("first frame", {.unit = "us/frame", .equal_checksums = true});
        c.limit("memory in use for a while", lab::made<touched_before>());
        c.cairn("cairn::virtual_arena, prefault()", frames<virtual_memory<true>>());
        c.cairn("cairn::virtual_arena, on demand", frames<virtual_memory<false>>());
        c.cairn("cairn::page_allocator{prefault}", frames<pages<false, true>>());
        c.cairn("cairn::page_allocator, on demand", frames<pages<false, false>>());
        c.cairn("cairn::page_allocator{huge_pages, prefault}", frames<pages<true, true>>());
        c.cairn("cairn::page_allocator{huge_pages}, on demand", frames<pages<true, false>>());
        c.peer("malloc, on demand", frames<one_block<false>>());
        c.peer("malloc, zeroed ahead", frames<one_block<true>>());
        e.also(c, load_case, {.unit = "us"});
        e.also(c, second_case, {.unit = "us"});
        e.also(c, faults_case, {.unit = "faults"});
    }};

}  // namespace
