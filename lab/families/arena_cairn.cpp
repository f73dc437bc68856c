// lab/families/arena_cairn.cpp - cairn's arenas in `linear` and `temporary-objects`.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/std/pmr_resource.hpp>

#include "lab/families/arena_family.hpp"

namespace {

/// malloc, counted: what an arena asks of its upstream.
struct counting_upstream {
    std::uint64_t calls = 0;
    void* allocate(std::size_t size, cairn::alignment align) noexcept {
        ++calls;
        return cairn::system_memory().allocate(size, align);
    }
    void deallocate(void* p, std::size_t size, cairn::alignment align) noexcept {
        cairn::system_memory().deallocate(p, size, align);
    }
};

struct plain {
    cairn::arena a;
    explicit plain(std::span<std::byte> r) : a{cairn::byte_slice{r.data(), r.size()}} {}
    void* allocate(std::size_t size) { return a.allocate(size); }
    void reset() { a.reset(); }
};

/// Counts what it asks of its upstream.
template <int Policy>
struct growing {
    counting_upstream upstream;
    cairn::growing_arena a{64 << 10,
                           upstream,
                           {.on_reset = Policy == 0   ? cairn::reset_policy::coalesce()
                                        : Policy == 1 ? cairn::reset_policy::keep_all()
                                                      : cairn::reset_policy::adaptive()}};
    explicit growing(std::span<std::byte>) {}
    growing(const growing&) = delete;
    void* allocate(std::size_t size) { return a.allocate(size); }
    void reset() { a.reset(); }
    [[nodiscard]] std::uint64_t upstream_calls() const { return upstream.calls; }
};

struct growing_as_constructed {
    cairn::growing_arena a;
    explicit growing_as_constructed(std::span<std::byte>) {}
    void* allocate(std::size_t size) { return a.allocate(size); }
    void reset() { a.reset(); }
};

struct frames_as_constructed {
    cairn::frame_arena<> a;
    explicit frames_as_constructed(std::span<std::byte>) {}
    void* allocate(std::size_t size) { return a.allocate(size); }
    void reset() { a.swap(); }
};

struct reserved {
    cairn::virtual_arena a;
    explicit reserved(std::span<std::byte> r) : a{r.size()} {}
    void* allocate(std::size_t size) { return a.allocate(size); }
    void reset() { a.reset(); }
};

struct low_end {
    cairn::double_ended_arena a;
    explicit low_end(std::span<std::byte> r) : a{cairn::byte_slice{r.data(), r.size()}} {}
    void* allocate(std::size_t size) { return a.low().allocate(size); }
    void reset() { a.low().reset(); }
};

struct high_end {
    cairn::double_ended_arena a;
    explicit high_end(std::span<std::byte> r) : a{cairn::byte_slice{r.data(), r.size()}} {}
    void* allocate(std::size_t size) { return a.high().allocate(size); }
    void reset() { a.high().reset(); }
};

/// As std::pmr's own is measured: through the base class.
struct through_pmr {
    cairn::pmr_resource<cairn::arena> resource;
    std::pmr::memory_resource* base = &resource;
    explicit through_pmr(std::span<std::byte> r) : resource{cairn::byte_slice{r.data(), r.size()}} {
        lab::forget(base);
    }
    through_pmr(const through_pmr&) = delete;
    void* allocate(std::size_t size) { return base->allocate(size, 8); }
    void reset() { resource.inner().reset(); }
};

using lab::kind;
const bool offered =
    lab::offer_arena<plain>("cairn::arena", kind::cairn, {.fixed_region = true}) &&
    lab::offer_arena<growing<0>>("cairn::growing_arena", kind::cairn) &&
    lab::offer_arena<growing_as_constructed>("cairn::growing_arena as constructed", kind::cairn) &&
    lab::offer_arena<frames_as_constructed>("cairn::frame_arena as constructed", kind::cairn) &&
    lab::offer_arena<growing<1>>("cairn::growing_arena, keep_all", kind::cairn,
                                 {.only_changing = true}) &&
    lab::offer_arena<growing<2>>("cairn::growing_arena, adaptive", kind::cairn,
                                 {.only_changing = true}) &&
    lab::offer_arena<reserved>("cairn::virtual_arena", kind::cairn) &&
    lab::offer_arena<low_end>("cairn::double_ended_arena, low", kind::cairn,
                              {.fixed_region = true}) &&
    lab::offer_arena<high_end>("cairn::double_ended_arena, high", kind::cairn,
                               {.fixed_region = true}) &&
    lab::offer_arena<through_pmr>("cairn::arena through std::pmr", kind::cairn,
                                  {.fixed_region = true});

}  // namespace
