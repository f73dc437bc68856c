// cairn/collected/traced.hpp - a container of references, whose memory is not the heap's.
//
//      army (collected)                        malloc, an arena, reserved addresses
//      +---------------------------+           +-----------+-----------+- - -
//      | traced<packed_array<..>> -+---------->| outer_ref | outer_ref |
//      +---------------------------+           +-----------+-----------+- - -
//
//      struct army {
//          cairn::traced<cairn::packed_array<cairn::outer_ref<unit>>> units;
//          cairn::traced<cairn::table<order, cairn::soa>, &order::from, &order::to> orders;
//          using references = cairn::refers_to<&army::units, &army::orders>;
//      };
//      (void)a->units.edit().emplace(u);      changes go through edit()
//      for (unit* u : *a->units) { ... }      reading does not
//
// Containers move their elements as they like, whole buffers too, and no barrier sees that. So the
// first edit() of a cycle, while it is marking, keeps everything that the container refers to:
// whatever happens to the container then takes nothing away from the snapshot.
//
// Use it for: containers that are there already, columns of a table.
// Look elsewhere for: an array of references and nothing more (ref_array: half the memory, its
//                     barriers are single stores); references from outside of collected objects
//                     (root<T> as an element of any container).
//
// Invariant: objects that a traced container refers to live while its object lives.
// Cost:      outer_ref: 8 bytes. A container is looked at in one piece, 8 bytes of work for each
//            reference: it lengthens a pause as a trace() of that length does. From some thousand
//            references on take ref_array, which is looked at in pieces.
// Threads:   that of the heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/collected/trace.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// A reference as an element of a container that is traced. Copied as a pointer is: alone it keeps
/// nothing alive.
template <class T>
class outer_ref {
public:
    using element_type = T;

    constexpr outer_ref() noexcept = default;
    constexpr outer_ref(std::nullptr_t) noexcept {}
    /// Requires: `target` is null or a collected object.
    outer_ref(T* target) noexcept
        : name_{detail::name_of(target)},
          heap_{static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(target) >> 32)} {}

    /// Null when it refers to nothing, and in the destructor of the object that it belongs to.
    [[nodiscard]] T* get() const noexcept {
        const std::uintptr_t address = std::uintptr_t{heap_} << 32 | name_;
        return name_ == 0 ? nullptr : reinterpret_cast<T*>(address);
    }
    operator T*() const noexcept { return get(); }
    explicit operator bool() const noexcept { return name_ != 0; }
    /// Requires: it refers to something.
    T& operator*() const noexcept { return *checked_target(); }
    T* operator->() const noexcept { return checked_target(); }

private:
    template <class, auto...>
    friend class traced;

    [[nodiscard]] T* checked_target() const noexcept {
        CAIRN_ASSERT(name_ != 0, "a reference that is followed refers to something");
        return get();
    }

    detail::object_name name_ = 0;
    std::uint32_t heap_ = 0;  // the upper half of the address
};

/// A member of a collected object: a container whose elements are outer_ref; with `Fields`, a table
/// in whose rows these fields are.
template <class Container, auto... Fields>
class traced {
public:
    /// Makes the container of `args`.
    template <class... Args>
        requires std::constructible_from<Container, Args...>
    explicit(sizeof...(Args) != 0) traced(Args&&... args)
        : container_(static_cast<Args&&>(args)...) {
        if constexpr (asserts_enabled) { detail::check_new_ref(&listed_, nullptr); }
    }
    traced(const traced&) = delete;
    traced& operator=(const traced&) = delete;

    /// For reading.
    [[nodiscard]] const Container& get() const noexcept { return container_; }
    const Container& operator*() const noexcept { return container_; }
    const Container* operator->() const noexcept { return compiler::address_of(container_); }

    /// For changing, until the next safe point. While marking, O(references) once a cycle.
    [[nodiscard]] Container& edit() noexcept {
        if constexpr (asserts_enabled) { detail::check_store(&listed_, nullptr); }
        detail::collected_region& r = detail::region_of(this);
        if (r.is_marking) [[unlikely]] { keep_all(r); }
        return container_;
    }

private:
    friend visitor;

    template <class Visit>
    void for_each(Visit visit) noexcept {
        visit(listed_);
        const auto visit_all = [&](auto&& several) {
            for (auto& one : several) {
                CAIRN_ASSERT(one.name_ == 0 || one.heap_ == own_heap(),
                             "a reference leads to a collected object of the same heap");
                visit(one.name_);
            }
        };
        if constexpr (sizeof...(Fields) == 0) {
            visit_all(container_);
        } else {
            (visit_all(container_.template column<Fields>()), ...);
        }
    }
    [[nodiscard]] std::uint32_t own_heap() const noexcept {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(this) >> 32);
    }
    void keep_all(detail::collected_region& r) noexcept {
        const auto cycle = static_cast<std::uint32_t>(r.cycle_count) + 1;
        if (kept_in_ == cycle) { return; }
        kept_in_ = cycle;
        for_each([&r](detail::object_name name) { detail::keep_for_this_cycle(r, name); });
    }

    Container container_;
    detail::object_name listed_ = 0;  // always; checked builds look for its place
    std::uint32_t kept_in_ = 0;  // the cycle whose snapshot has its references: a number above 0
};

}}  // namespace cairn::CAIRN_FLAVOUR
