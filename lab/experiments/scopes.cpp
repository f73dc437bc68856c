// lab/experiments/scopes.cpp - memory that dies where a block of the program ends.
//
//      temporaries of nested calls   f takes two arrays for itself, calls f, and leaves a result of
//                                    a size that only f knows in the memory of its caller
//      one after the other           open, eight blocks, close
//      inside each other             32 are open at once, four blocks in each
//      with destructors              the same, with objects that end where their scope ends
//
// Every contender makes the same values out of what it allocated, and they are compared.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/scratch.hpp>
#include <cairn/alloc/virtual_arena.hpp>

#include <memory_resource>

#include "lab/harness/experiment.hpp"

namespace {

using word = std::uint32_t;

// ---- temporaries of nested calls ----------------------------------------------------------------

constexpr unsigned call_depth = 16;
constexpr std::size_t result_max = 20;     // words
constexpr std::size_t temporary_max = 88;  // words

constexpr std::size_t first_count(unsigned depth) { return 16 + 24 * (depth % 4); }
constexpr std::size_t second_count(unsigned depth) { return 8 + 40 * (depth % 3); }
std::size_t result_count(word sum) { return 4 + sum % (result_max - 4); }

/// Writes both ends, as one who uses the array does.
void use(word* p, std::size_t count, word value) {
    p[0] = value;
    p[count - 1] = value * 2'654'435'761u;
    lab::keep(p);
}
word sum_of(const word* p, std::size_t count) { return p[0] ^ (p[count - 1] + 1); }

struct words {
    const word* first;
    std::size_t count;
};

template <class Memory>
word* array_in(Memory& m, std::size_t count) {
    return static_cast<word*>(m.allocate(count * sizeof(word), cairn::alignment{alignof(word)}));
}

/// The body of f: what differs is where `mine` and `out` take their bytes.
template <class Mine, class Out, class Inner>
words call(Mine& mine, Out& out, unsigned depth, word seed, Inner inner) {
    word* const a = array_in(mine, first_count(depth));
    use(a, first_count(depth), seed);
    word* const b = array_in(mine, second_count(depth));
    use(b, second_count(depth), seed + depth);
    word sum = sum_of(a, first_count(depth)) + sum_of(b, second_count(depth));
    if (depth != 0) {
        const words below = inner(depth - 1, seed + 1);
        sum ^= sum_of(below.first, below.count);
    }
    const std::size_t count = result_count(sum);
    word* const r = array_in(out, count);
    use(r, count, sum);
    return {r, count};
}

struct by_scratch {
    using scope = cairn::arena_scope<cairn::growing_arena>;
    [[gnu::noinline]] static words f(scope& out, unsigned depth, word seed) {
        auto mine = cairn::scratch(out);
        return call(mine, out, depth, seed, [&](unsigned d, word s) { return f(mine, d, s); });
    }
    word operator()(word seed) {
        auto top = cairn::scratch();
        const words r = f(top, call_depth, seed);
        return sum_of(r.first, r.count);
    }
};

/// The floor: arrays of the largest size on the stack. A result lies in the frame of the caller.
struct by_stack {
    struct memory {
        word* next;
        void* allocate(std::size_t size, cairn::alignment) {
            return std::exchange(next, next + size / sizeof(word));
        }
    };
    [[gnu::noinline]] static words f(memory& out, unsigned depth, word seed) {
        word room[2 * temporary_max + result_max];
        memory mine{room};
        return call(mine, out, depth, seed, [&](unsigned d, word s) { return f(mine, d, s); });
    }
    word operator()(word seed) {
        word room[result_max];
        memory top{room};
        const words r = f(top, call_depth, seed);
        return sum_of(r.first, r.count);
    }
};

struct by_vector {
    [[gnu::noinline]] static std::vector<word> f(unsigned depth, word seed) {
        std::vector<word> a(first_count(depth));
        use(a.data(), a.size(), seed);
        std::vector<word> b(second_count(depth));
        use(b.data(), b.size(), seed + depth);
        word sum = sum_of(a.data(), a.size()) + sum_of(b.data(), b.size());
        if (depth != 0) {
            const std::vector<word> below = f(depth - 1, seed + 1);
            sum ^= sum_of(below.data(), below.size());
        }
        std::vector<word> r(result_count(sum));
        use(r.data(), r.size(), sum);
        return r;
    }
    word operator()(word seed) {
        const std::vector<word> r = f(call_depth, seed);
        return sum_of(r.data(), r.size());
    }
};

/// The standard's answer: a buffer on the stack behind a monotonic resource, in each call.
struct by_pmr {
    struct memory {
        std::pmr::memory_resource* resource;
        void* allocate(std::size_t size, cairn::alignment align) {
            return resource->allocate(size, cairn::detail::round_up(1, align));
        }
    };
    [[gnu::noinline]] static words f(std::pmr::memory_resource& out, unsigned depth, word seed) {
        std::array<std::byte, 1024> buffer;
        std::pmr::monotonic_buffer_resource temporary{buffer.data(), buffer.size()};
        memory mine{&temporary};
        memory result{&out};
        return call(mine, result, depth, seed,
                    [&](unsigned d, word s) { return f(temporary, d, s); });
    }
    word operator()(word seed) {
        std::array<std::byte, 1024> buffer;
        std::pmr::monotonic_buffer_resource top{buffer.data(), buffer.size()};
        const words r = f(top, call_depth, seed);
        return sum_of(r.first, r.count);
    }
};

template <class Program>
auto nested_calls() {
    return lab::repeated_on(call_depth + 1, lab::made<Program>(), [](Program& p) { return p(17); });
}

// ---- scopes -------------------------------------------------------------------------------------

constexpr std::array<std::size_t, 8> sizes{16, 200, 48, 24, 128, 64, 96, 32};

/// A memory has enter() -> a scope that allocates and ends with its object.
template <class Arena>
struct cairn_scopes {
    Arena arena{std::size_t{1} << 16};
    auto enter() { return cairn::arena_scope<Arena>{arena}; }
};

/// Ends once.
struct ends_once {
    ends_once() = default;
    ends_once(const ends_once&) = delete;
    ends_once& operator=(const ends_once&) = delete;
};

/// The floor: a pointer that is kept and put back.
struct saved_pointer {
    std::vector<std::byte> memory = std::vector<std::byte>(std::size_t{1} << 16);
    std::byte* next = memory.data();
    struct scope : ends_once {
        saved_pointer& m;
        std::byte* const start = m.next;
        explicit scope(saved_pointer& in) : m{in} {}
        ~scope() { m.next = start; }
        void* allocate(std::size_t size) {
            if (size > static_cast<std::size_t>(m.memory.data() + m.memory.size() - m.next)) {
                return nullptr;
            }
            void* const p = m.next;
            m.next += (size + 15) / 16 * 16;
            return p;
        }
    };
    auto enter() { return scope{*this}; }
};

/// malloc, and a list of the blocks to free, linked through the blocks.
struct freed_one_by_one {
    struct link {
        link* next;
        void* unused;  // the block behind it is a multiple of 16, as malloc's
    };
    struct scope : ends_once {
        link* blocks = nullptr;
        ~scope() {
            while (blocks != nullptr) { std::free(std::exchange(blocks, blocks->next)); }
        }
        void* allocate(std::size_t size) {
            auto* const l = static_cast<link*>(std::malloc(size + sizeof(link)));
            l->next = blocks;
            blocks = l;
            return l + 1;
        }
    };
    auto enter() { return scope{}; }
};

/// A monotonic resource in each scope, over a pool that keeps its chunks.
struct pmr_scopes {
    std::pmr::unsynchronized_pool_resource pool;
    struct scope {
        std::pmr::monotonic_buffer_resource resource;
        explicit scope(std::pmr::memory_resource* upstream) : resource{1024, upstream} {}
        void* allocate(std::size_t size) { return resource.allocate(size, 16); }
    };
    auto enter() { return scope{&pool}; }
};

template <class Scope>
word fill(Scope& scope, std::size_t count, word seed) {
    word sum = 0;
    for (std::size_t i = 0; i != count; ++i) {
        auto* const p = static_cast<word*>(scope.allocate(sizes[i]));
        use(p, sizes[i] / sizeof(word), seed + static_cast<word>(i));
        sum += sum_of(p, sizes[i] / sizeof(word));
    }
    return sum;
}

template <class Memory>
auto one_after_the_other() {
    return lab::repeated_on(1, lab::made<Memory>(), [](Memory& m) {
        auto scope = m.enter();
        return fill(scope, 8, 3);
    });
}

constexpr unsigned scope_depth = 32;

template <class Memory>
[[gnu::noinline]] word nest(Memory& m, unsigned depth) {
    auto scope = m.enter();
    const word sum = fill(scope, 4, depth);
    return depth == 0 ? sum : sum ^ nest(m, depth - 1);
}

template <class Memory>
auto inside_each_other() {
    return lab::repeated_on(scope_depth, lab::made<Memory>(),
                            [](Memory& m) { return nest(m, scope_depth - 1); });
}

// ---- scopes with destructors --------------------------------------------------------------------

struct counted : ends_once {
    word* ended;
    word name;
    std::array<word, 6> rest{};
    counted(word* count, word n) : ended{count}, name{n} {}
    ~counted() { *ended = *ended * 31 + name; }  // in order: newest first
};

template <class Arena>
struct made_in_scopes {
    Arena arena{std::size_t{1} << 16};
    struct scope : cairn::arena_scope<Arena> {
        using cairn::arena_scope<Arena>::arena_scope;
        counted* add(word* count, word name) { return this->template make<counted>(count, name); }
    };
    auto enter() { return scope{arena}; }
};

struct owned_by_vector {
    struct scope : ends_once {
        std::vector<std::unique_ptr<counted>> owners;
        scope() { owners.reserve(4); }
        ~scope() {
            while (!owners.empty()) { owners.pop_back(); }  // newest first, as the others
        }
        counted* add(word* count, word name) {
            return owners.emplace_back(std::make_unique<counted>(count, name)).get();
        }
    };
    auto enter() { return scope{}; }
};

template <class Memory>
[[gnu::noinline]] void nest_objects(Memory& m, unsigned depth, word* ended) {
    auto scope = m.enter();
    for (word i = 0; i != 4; ++i) { lab::keep(scope.add(ended, depth + i)); }
    if (depth != 0) { nest_objects(m, depth - 1, ended); }
}

template <class Memory>
auto with_destructors() {
    return lab::repeated_on(scope_depth, lab::made<Memory>(), [](Memory& m) {
        word ended = 0;
        nest_objects(m, scope_depth - 1, &ended);
        return ended;
    });
}

// ---- the experiment -----------------------------------------------------------------------------

const lab::registration scopes{
    "scopes", "What does memory cost that dies where a scope or a call ends?",
    [](lab::experiment& e) {
        e.quick_seconds = 5;
        e.how =
            "Both ends of every block are written. In the nested calls a result of unknown size is "
            "left in the caller's memory; the stack cannot do that, its results lie in a buffer of "
            "the largest size.";
        lab::comparison& calls = e.compare("temporaries of 17 nested calls",
                                           {.unit = "ns/call", .equal_checksums = true});
        calls.limit("the stack", nested_calls<by_stack>());
        calls.cairn("cairn::scratch", nested_calls<by_scratch>());
        calls.mallocs(nested_calls<by_vector>(), ", std::vector");
        calls.peer("std::pmr::monotonic_buffer_resource", nested_calls<by_pmr>());

        const auto add = [](lab::comparison& c, auto work) {
            c.limit("saved pointer", work.template operator()<saved_pointer>());
            c.cairn("cairn::arena_scope of arena",
                    work.template operator()<cairn_scopes<cairn::arena>>());
            c.cairn("cairn::arena_scope of growing_arena",
                    work.template operator()<cairn_scopes<cairn::growing_arena>>());
            c.cairn("cairn::arena_scope of virtual_arena",
                    work.template operator()<cairn_scopes<cairn::virtual_arena>>());
            c.mallocs(work.template operator()<freed_one_by_one>());
            c.peer("std::pmr::monotonic_buffer_resource", work.template operator()<pmr_scopes>());
        };
        add(e.compare("one after the other, 8 blocks each",
                      {.unit = "ns/scope", .equal_checksums = true}),
            []<class M>() { return one_after_the_other<M>(); });
        add(e.compare("32 inside each other, 4 blocks each",
                      {.unit = "ns/scope", .equal_checksums = true}),
            []<class M>() { return inside_each_other<M>(); });

        lab::comparison& ends = e.compare("32 inside each other, 4 objects with destructors each",
                                          {.unit = "ns/scope", .equal_checksums = true});
        ends.cairn("cairn::arena_scope of arena", with_destructors<made_in_scopes<cairn::arena>>());
        ends.cairn("cairn::arena_scope of growing_arena",
                   with_destructors<made_in_scopes<cairn::growing_arena>>());
        ends.mallocs(with_destructors<owned_by_vector>(), ", std::vector of unique_ptr");
    }};

}  // namespace
