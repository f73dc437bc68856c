// lab/experiments/unknown-length.cpp - lists whose length nobody knows in advance.
//
// std::vector moves its elements at every doubling, because its allocator cannot say "you may have
// more, right here". Something that asks the arena (builder, packed_array) need not.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/std/std_allocator.hpp>

#include <memory_resource>

#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t one_size = 1'000'000;
constexpr std::size_t many = 1000;
constexpr std::size_t each_size = 100;
constexpr std::size_t room = std::size_t{64} << 20;

// ---- where the memory comes from; forget() after each repetition ---------------------------------

struct from_malloc {
    using vector = std::vector<int>;
    vector make() { return {}; }
    void forget() {}
};

/// Over a warm buffer, or growing from new when there is none.
template <bool Buffer>
struct from_pmr {
    using vector = std::pmr::vector<int>;
    std::vector<std::byte> buffer = std::vector<std::byte>(Buffer ? room : 0);
    std::optional<std::pmr::monotonic_buffer_resource> resource;
    from_pmr() {
        if (Buffer)
            resource.emplace(buffer.data(), buffer.size());
        else
            resource.emplace();
    }
    vector make() { return vector{&*resource}; }
    void forget() { resource->release(); }
};

struct plain_arena : cairn::arena {
    plain_arena() : arena{room} {}
};
struct reserving_arena : cairn::virtual_arena {
    reserving_arena() : virtual_arena{room} {}
};
template <class Arena>
struct from_cairn {
    using vector = std::vector<int, cairn::std_allocator<int, Arena>>;
    Arena arena;
    vector make() { return vector{cairn::std_allocator<int, Arena>{arena}}; }
    void forget() { arena.reset(); }
};

using from_recycling = from_cairn<cairn::array_recycler<cairn::growing_arena>>;

template <class Arena>
struct collector {  // a builder looks like a vector that is not copied
    using vector = cairn::builder<int, Arena>;
    Arena arena;
    vector make() { return vector{arena}; }
    void forget() { arena.reset(); }
};

// ---- the work ---------------------------------------------------------------------------------

template <class From, bool Reserve = false>
auto one_vector() {
    return lab::repeated_on(one_size, lab::made<From>(), [](From& from) {
        {
            auto v = from.make();
            if constexpr (Reserve) v.reserve(one_size);
            for (std::size_t i = 0; i != one_size; ++i) (void)v.push_back(static_cast<int>(i));
            lab::keep(&v[0]);
        }
        from.forget();
    });
}

template <class From>
auto many_vectors() {
    return lab::repeated_on(many * each_size, lab::made<From>(), [](From& from) {
        {
            using vector = typename From::vector;
            auto vectors = std::make_unique<std::optional<vector>[]>(many);
            for (std::size_t k = 0; k != many; ++k) {
                // Constructed in place: a builder cannot move.
                struct in_place {
                    From& f;
                    operator vector() const { return f.make(); }
                };
                vectors[k].emplace(in_place{from});
            }
            for (std::size_t i = 0; i != each_size; ++i) {
                for (std::size_t k = 0; k != many; ++k) {
                    (void)vectors[k]->push_back(static_cast<int>(i));
                }
            }
            lab::keep(vectors.get());
        }
        from.forget();
    });
}

const lab::registration grow{
    "unknown-length", "What does it cost when a list grows and nobody knows how far?",
    [](lab::experiment& e) {
        e.quick_seconds = 6;
        lab::comparison& one = e.compare("one vector, 1000000 push_backs");
        one.limit("std::vector, reserved", one_vector<from_malloc, true>());
        one.mallocs(one_vector<from_malloc>());
        one.peer("std::pmr::monotonic", one_vector<from_pmr<false>>());
        one.peer("std::pmr::monotonic, warm buffer", one_vector<from_pmr<true>>());
        one.cairn("std::vector on cairn::arena", one_vector<from_cairn<plain_arena>>());
        one.cairn("std::vector on cairn::growing_arena",
                  one_vector<from_cairn<cairn::growing_arena>>());
        one.cairn("std::vector on cairn::virtual_arena", one_vector<from_cairn<reserving_arena>>());
        one.cairn("cairn::builder on arena", one_vector<collector<plain_arena>>());
        one.cairn("cairn::builder on growing_arena", one_vector<collector<cairn::growing_arena>>());
        one.cairn("cairn::builder on virtual_arena", one_vector<collector<reserving_arena>>());

        lab::comparison& interleaved = e.compare("1000 vectors interleaved, 100 push_backs each");
        interleaved.mallocs(many_vectors<from_malloc>());
        interleaved.peer("std::pmr::monotonic", many_vectors<from_pmr<false>>());
        interleaved.peer("std::pmr::monotonic, warm buffer", many_vectors<from_pmr<true>>());
        interleaved.cairn("std::vector on cairn::arena", many_vectors<from_cairn<plain_arena>>());
        interleaved.cairn("std::vector on cairn::growing_arena",
                          many_vectors<from_cairn<cairn::growing_arena>>());
        interleaved.cairn("std::vector on cairn::virtual_arena",
                          many_vectors<from_cairn<reserving_arena>>());
        interleaved.cairn("std::vector on cairn::array_recycler", many_vectors<from_recycling>());
        interleaved.cairn("cairn::builder on growing_arena",
                          many_vectors<collector<cairn::growing_arena>>());
    }};

}  // namespace
