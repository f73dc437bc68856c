// cairn/containers/polymorphic_store/typed_rows.hpp - objects of one type, packed, with handles.
//
//      handle<Base>:   63 ..... 55   54 ............ 24   23 ....... 0
//                     +-----------+-------------------+---------------+
//                     | type      |    generation     |     index     |
//                     +-----------+-------------------+---------------+
//                       which rows       as every slot map reads it
//
// The rows are those of a slot map, whose handles are handles of Base. They never read the bits of
// the type: the store adds them when a handle leaves, and asks by them which rows are meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <cairn/core/handle.hpp>  // first: messages about handles come through few files

#include <cairn/containers/slot_map.hpp>
#include <cairn/storage/generations.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Base>
struct polymorphic_policy {
    template <class>
    using handle_type = handle<Base, 64, 24, 9>;
    static constexpr reuse order = reuse::usual;
    static constexpr std::uint32_t free_min = 64;
};
template <class Base>
using polymorphic_handle = typename polymorphic_policy<Base>::template handle_type<Base>;

template <class T>
struct typed_rows_parts : slot_map_parts<T> {
    using iterator = T*;
    using const_iterator = const T*;
    static constexpr const char* name = "polymorphic_store";
};

/// Objects of one type that a loop over the base walks: `count` of them, `stride` bytes apart.
template <class Base>
struct base_rows {
    Base* first = nullptr;
    std::size_t stride = 0;
    std::size_t count = 0;
    const polymorphic_handle<std::remove_const_t<Base>>* handles = nullptr;

    [[nodiscard]] Base& operator[](std::size_t row) const noexcept {
        using byte = std::conditional_t<std::is_const_v<Base>, const std::byte, std::byte>;
        return *reinterpret_cast<Base*>(reinterpret_cast<byte*>(first) + row * stride);
    }
};

template <class Base, class T>
class typed_rows : public slot_rows<typed_rows_parts<T>, polymorphic_policy<Base>> {
    using core = slot_rows<typed_rows_parts<T>, polymorphic_policy<Base>>;
    using core::rows_;

public:
    using core::begin_loop;
    using core::core;
    using typename core::handle_type;

    [[nodiscard]] std::span<T> values() noexcept { return rows_.values(); }
    [[nodiscard]] std::span<const T> values() const noexcept { return rows_.values(); }

    /// Of a type that changes, too: a loop over them is checked by begin_loop().
    [[nodiscard]] base_rows<Base> rows() noexcept {
        return {rows_.empty() ? nullptr : static_cast<Base*>(rows_.data()), sizeof(T), rows_.size(),
                core::handles().data()};
    }
    [[nodiscard]] base_rows<const Base> rows() const noexcept {
        return {rows_.empty() ? nullptr : static_cast<const Base*>(rows_.data()), sizeof(T),
                rows_.size(), core::handles().data()};
    }

    /// Stops the program and names what is wrong with `h`. Requires: it finds nothing.
    [[noreturn, CAIRN_COLD]] void refuse(handle_type h, const void* store, call_site from) const {
        core::slots_.refuse(h.index(), h.generation(), store, "polymorphic_store", from);
    }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
