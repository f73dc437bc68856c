// lab/peers/std_pmr.cpp - std::pmr::monotonic_buffer_resource, over a warm buffer and growing.
#include <memory_resource>

#include "lab/families/arena_family.hpp"

namespace {

/// Virtual: through the base class, as the containers of std::pmr use it. Otherwise the compiler sees
/// the type, as in the function that makes it.
template <bool Virtual>
struct monotonic_over_buffer {
    std::pmr::monotonic_buffer_resource resource;
    std::pmr::memory_resource* base = &resource;
    explicit monotonic_over_buffer(std::span<std::byte> r)
        : resource{r.data(), r.size(), std::pmr::null_memory_resource()} {
        lab::forget(base);
    }
    monotonic_over_buffer(const monotonic_over_buffer&) = delete;
    void* allocate(std::size_t size) {
        return Virtual ? base->allocate(size, 8) : resource.allocate(size, 8);
    }
    void reset() { resource.release(); }
};

/// Passes on to new and delete, and counts.
class counting_resource : public std::pmr::memory_resource {
public:
    std::uint64_t calls = 0;

private:
    void* do_allocate(std::size_t size, std::size_t align) override {
        ++calls;
        return std::pmr::new_delete_resource()->allocate(size, align);
    }
    void do_deallocate(void* p, std::size_t size, std::size_t align) override {
        std::pmr::new_delete_resource()->deallocate(p, size, align);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

/// Without a buffer: grows from new, and gives everything back on release.
struct monotonic_growing {
    counting_resource upstream;
    std::pmr::monotonic_buffer_resource resource{&upstream};
    std::pmr::memory_resource* base = &resource;
    explicit monotonic_growing(std::span<std::byte>) { lab::forget(base); }
    monotonic_growing(const monotonic_growing&) = delete;
    void* allocate(std::size_t size) { return base->allocate(size, 8); }
    void reset() { resource.release(); }
    [[nodiscard]] std::uint64_t upstream_calls() const { return upstream.calls; }
};

const bool offered =
    lab::offer_arena<monotonic_over_buffer<false>>("std::pmr::monotonic, warm buffer",
                                                   lab::kind::peer, {.fixed_region = true}) &&
    lab::offer_arena<monotonic_over_buffer<true>>("std::pmr::monotonic, warm buffer, virtual",
                                                  lab::kind::peer, {.fixed_region = true}) &&
    lab::offer_arena<monotonic_growing>("std::pmr::monotonic, growing", lab::kind::peer);

}  // namespace
