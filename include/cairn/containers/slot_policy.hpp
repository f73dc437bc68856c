// cairn/containers/slot_policy.hpp - the choices of a slot map, in one type.
//
//      slot_map<particle>                                   64-bit handles, newest free slot first
//      slot_map<particle, slot_policy<32>>                  20 bits index, 12 generation, oldest
//                                                           free slot first
//      slot_map<particle, slot_policy<32, 16, reuse::lifo>> 16 and 16, newest free slot first
//
//      slot_map<enemy, slot_policy<>::tagged<struct red>>   handles no other map of enemies takes
//
// The usual order is the newest first where a generation has 28 bits or more: the slot is still in
// the cache. FreeMin slots at least share its lives, up to 1024 at a time. Narrow generations last
// longest with the oldest first.
//
// The order and the minimum of free slots are for slot_map and slot_table; stable_slot_map reuses
// the slot that was freed last. Everything here changes the handle or the hot path and is therefore
// a type; what changes only the cold path (which allocator, reserved addresses) is an argument at
// run time.
#pragma once

#include <concepts>
#include <cstdint>

#include <cairn/core/handle.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/other_names.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/inside/store_traits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <unsigned Bits = 64, unsigned IndexBits = detail::default_index_bits(Bits),
          reuse Order = reuse::usual, std::uint32_t FreeMin = 64, unsigned UserBits = 0>
struct slot_policy {
    template <class Of>
    using handle_type = handle<Of, Bits, IndexBits, UserBits>;
    /// Bits of a handle that tell one life of a slot from another. A policy of your own may leave
    /// it out: its handles say it, too.
    static constexpr unsigned generation_bits = Bits - IndexBits - UserBits;

    /// Which free slot begins its next life, and how many stay free before one does.
    static constexpr reuse order = Order;
    static constexpr std::uint32_t free_min = FreeMin;

    /// The same with handles of their own type: two maps with different tags, which may be
    /// incomplete types, do not compile with each other's handles.
    template <class Tag>
    struct tagged {
        template <class Of>
        using handle_type = handle<Of, Bits, IndexBits, UserBits, Tag>;

        /// As of the policy without the tag.
        static constexpr unsigned generation_bits = slot_policy::generation_bits;
        static constexpr reuse order = Order;
        static constexpr std::uint32_t free_min = slot_policy::free_min;
    };
};

template <detail::maybe_const_element Row, class Layout>
class table;

namespace detail {

/// A handle and its object, as items() of a map names them: for (auto [h, object] : map.items()).
template <class Handle, class Reference>
struct slot_item {
    Handle handle;
    Reference object;

    [[CAIRN_FORCE_INLINE]] slot_item(Handle h, Reference r) noexcept
        : handle{h}, object(static_cast<Reference&&>(r)) {}
    slot_item(const slot_item&) = default;
    /// Declared, so that std::sort and its like come this far, and say one sentence.
    slot_item& operator=(const slot_item&) const noexcept {
        static_assert(!std::same_as<Handle, Handle>,
                      "an item is not assigned: sort() of the map takes the handles along");
        return const_cast<slot_item&>(*this);
    }
    friend bool operator<(const slot_item& a, const slot_item& b) { return &(a = b) == &b; }
};

/// For the sentence of the maps: handles over rows are a class of their own, slot_table.
template <class T>
inline constexpr bool is_table = false;
template <class Row, class Layout>
inline constexpr bool is_table<table<Row, Layout>> = true;

template <class Policy>
inline constexpr bool names_handles = requires { typename Policy::template handle_type<int>; };

/// A handle as operator[] of a map takes it. C++20 gives operators no default arguments, but a
/// conversion has one: in checked builds it carries the line of the caller.
#if CAIRN_ASSERTS
template <class Handle>
class asked {
public:
    constexpr asked(call_site from = call_site::current()) noexcept : from_{from} {}  // map[{}]
    template <std::convertible_to<Handle> H>
    [[CAIRN_FORCE_INLINE]] constexpr asked(const H& h,
                                           call_site from = call_site::current()) noexcept
        : handle_{h}, from_{from} {}

    [[nodiscard]] [[CAIRN_FORCE_INLINE]] constexpr operator Handle() const noexcept {
        return handle_;
    }
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] constexpr call_site from() const noexcept { return from_; }

private:
    Handle handle_{};
    call_site from_;
};
template <class Handle>
[[nodiscard]] [[CAIRN_FORCE_INLINE]] constexpr call_site line_of(const asked<Handle>& h) noexcept {
    return h.from();
}
#else
template <class Handle>
using asked = Handle;
template <class Handle>
[[nodiscard]] constexpr call_site line_of(const Handle&) noexcept {
    return {};
}
#endif

/// For the compiler: an object that was found has an address, so that the caller's own null test
/// vanishes where it follows ours.
template <class T>
[[nodiscard]] [[CAIRN_FORCE_INLINE]] inline T* not_null(T* object) noexcept {
    if (object == nullptr) { compiler::unreachable(); }
    return object;
}

}  // namespace detail

}}  // namespace cairn::CAIRN_FLAVOUR
