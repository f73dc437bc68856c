// lab/peers/std_pmr.hpp - std::pmr::monotonic_buffer_resource, over a warm buffer and growing.
#pragma once

#include <memory_resource>

#include "lab/harness/experiment.hpp"
#include "lab/peers/kinds.hpp"

namespace lab::peers {

struct std_pmr {
    /// Virtual: through the base class, as the containers of std::pmr use it. Otherwise the compiler
    /// sees the type, as in the function that makes it.
    template <bool Virtual>
    struct monotonic_over_buffer {
        static constexpr bool has_fixed_region = true;
        std::pmr::monotonic_buffer_resource resource;
        std::pmr::memory_resource* base = &resource;
        explicit monotonic_over_buffer(std::span<std::byte> r)
            : resource{r.data(), r.size(), std::pmr::null_memory_resource()} {
            forget(base);
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
        explicit monotonic_growing(std::span<std::byte>) { forget(base); }
        monotonic_growing(const monotonic_growing&) = delete;
        void* allocate(std::size_t size) { return base->allocate(size, 8); }
        void reset() { resource.release(); }
        [[nodiscard]] std::uint64_t upstream_calls() const { return upstream.calls; }
    };

    static void offer(kinds::arenas, auto visit) {
        visit.template operator()<monotonic_over_buffer<false>>("std::pmr::monotonic, warm buffer");
        visit.template operator()<monotonic_over_buffer<true>>(
            "std::pmr::monotonic, warm buffer, virtual");
        visit.template operator()<monotonic_growing>("std::pmr::monotonic, growing");
    }
};

}  // namespace lab::peers
