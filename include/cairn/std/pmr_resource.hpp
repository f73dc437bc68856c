// cairn/std/pmr_resource.hpp - cairn memory for std::pmr, and std::pmr memory for cairn.
//
//      std::pmr::vector --virtual call--> pmr_resource<arena&> --inlined--> arena::allocate
//      growing_arena --upstream--> from_pmr --virtual call--> std::pmr::memory_resource
//
//      cairn::arena frame{1_MiB};
//      cairn::pmr_resource resource{frame};                   // refers: pmr_resource<arena&>
//      std::pmr::vector<int> numbers{&resource};
//
// Use it for: interfaces that speak pmr already. Where the container's type is yours to choose,
//   std_allocator costs no virtual call.
// Trap: pmr containers never propagate their resource. `a = std::move(b)` with different resources
//   copies every element, silently; so does the pmr default, std::pmr::get_default_resource().
//
// Cost:      one virtual call (the standard's), then the allocator's hot path, inlined.
// Lifetimes: pmr_resource<A> owns its allocator, pmr_resource<A&> refers to it. Neither moves:
//            containers hold its address.
// Threads:   those of the allocator.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <utility>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/std/inside/bad_alloc.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// A std::pmr::memory_resource that owns an A (`pmr_resource<arena>{1_MiB}`) or refers to one
/// (`pmr_resource{a}` is `pmr_resource<A&>`).
///
/// do_allocate throws std::bad_alloc when the allocator is exhausted (without exceptions: prints
/// the size and aborts); it never returns null, which pmr containers would use. Two resources are
/// equal only when they are one object: telling more would take RTTI.
template <byte_allocator A>
class pmr_resource final : public std::pmr::memory_resource {
public:
    pmr_resource()
        requires std::constructible_from<A>
    = default;
    template <class First, class... More>
        requires std::constructible_from<A, First, More...>
    explicit pmr_resource(First&& first, More&&... more)
        : inner_(std::forward<First>(first), std::forward<More>(more)...) {}

    pmr_resource(const pmr_resource&) = delete;
    pmr_resource& operator=(const pmr_resource&) = delete;
    ~pmr_resource() override = default;

    /// The allocator behind it: to mark, rewind or reset.
    [[nodiscard]] std::remove_reference_t<A>& inner() noexcept { return inner_; }

    void reset(...) const = delete;    // inner().reset()
    void release(...) const = delete;  // inner().reset()

private:
    void* do_allocate(std::size_t size, std::size_t align) override {
        if (void* const p = inner_.allocate(size, alignment{align})) [[likely]] { return p; }
        detail::refuse(size, alignment{align});
    }

    void do_deallocate(void* p, std::size_t size, std::size_t align) override {
        inner_.deallocate(p, size, alignment{align});
    }

    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    A inner_;
};

template <class A>
pmr_resource(A&) -> pmr_resource<A&>;
/// An allocator_ref is copied: what it refers to must outlive the resource, and not the ref.
pmr_resource(allocator_ref) -> pmr_resource<allocator_ref>;

/// A byte_allocator over a std::pmr::memory_resource, which must outlive it. It catches whatever
/// the resource throws and says nullptr; catching costs microseconds, but only when memory is out.
class from_pmr {
public:
    /// Requires: resource != nullptr.
    explicit from_pmr(std::pmr::memory_resource* resource) noexcept : resource_{resource} {
        CAIRN_ASSERT(resource != nullptr, "from_pmr refers to a resource");
    }

    /// Returns: nullptr when the resource throws, and for sizes above PTRDIFF_MAX, without asking.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        if (size > PTRDIFF_MAX || asked(size, align) > PTRDIFF_MAX) {
            return nullptr;  // some resources compute with it and wrap
        }
#if defined(__cpp_exceptions)
        try {
            return resource_->allocate(asked(size, align), align.bytes());
        } catch (...) { return nullptr; }
#else
        return resource_->allocate(asked(size, align), align.bytes());
#endif
    }

    /// nullptr does nothing: not every resource takes it.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment) noexcept {
        if (p == nullptr) { return; }
        resource_->deallocate(p, asked(size, align), align.bytes());
    }

    /// Where its memory comes from.
    [[nodiscard]] std::pmr::memory_resource* resource() const noexcept { return resource_; }

private:
    /// libstdc++'s pool resources (gcc 12) misalign requests whose size is no multiple of their
    /// alignment: 21 bytes aligned to 16 come from a pool of 24-byte slots. Microsoft's crash on a
    /// request of 0 bytes.
    static std::size_t asked(std::size_t size, alignment align) noexcept {
        return detail::round_up(size == 0 ? 1 : size, align);
    }

    std::pmr::memory_resource* resource_;
};

static_assert(byte_allocator<from_pmr>);

}}  // namespace cairn::CAIRN_FLAVOUR
