// cairn/core/handle.hpp - a handle names an object by index and generation, never by address.
//
//      handle<Of, 64>      63      62 ........ 32   31 ............ 0
//                         +------+----------------+------------------+
//                         | user |   generation   |      index       |     all zero: null
//                         +------+----------------+------------------+
//                                        |                 |
//      the slot it names:                v  equal?         v
//                         +------+----------------+
//                         | free |   generation   |   slots[index]: 32 bits
//                         +------+----------------+
//
// A slot counts its lives. A handle remembers which life it was given in, and the slot's word keeps
// one flag above the generation while no object lives there. So one comparison of one word answers
// "alive?" and "still the same life?" together, a stale handle can never match, and neither can a
// forged one: no handle can carry the flag. The first life is 1, so index 0 is usable and all bits
// zero is the null handle.
//
// Use it for: every reference that outlives a frame, crosses a thread, a file or an FFI.
// Look elsewhere for: references inside one loop body (T& is fine there).
//
// Invariant: generation() != 0 unless the whole handle is null.
// Cost:      a register; index() and generation() are a mask and a shift.
// Whose:     a map's lives begin at a number of its own, so a foreign handle is detected too:
//            certainly, or with a chance of 1 in 2^31 (64 bits), 4095 (32) or 63 (16) to miss it:
//            storage/generations.hpp.
// Bits:      generation bits = Bits - IndexBits - UserBits, 31 at most. A slot lives 2^bits - 1
//         lives and is then worn out (slot_directory.hpp), never used again.
//         handle<T>             64: 32 index + 31 generation: 4 * 10^9 objects, 2 * 10^9 lives each
//         handle<T, 32>         20 index + 12 generation: a million objects, 4095 lives each
//         handle<T, 16>         10 index + 6 generation
//         handle<T, 64, 24, 9>  24 index + 31 generation + 9 bits for you (a type, a team)
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <typeindex>  // the lightest standard header that declares std::hash

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

template <unsigned Bits>
struct handle_word;
template <>
struct handle_word<16> {
    using type = std::uint16_t;
};
template <>
struct handle_word<32> {
    using type = std::uint32_t;
};
template <>
struct handle_word<64> {
    using type = std::uint64_t;
};

constexpr unsigned default_index_bits(unsigned bits) noexcept {
    return bits == 64 ? 32 : bits == 32 ? 20 : 10;
}

}  // namespace detail

/// Names an object of type `Of`, which may be incomplete: it keeps handles of different stores
/// apart, and so does `Tag`, where two stores hold the same type.
template <class Of, unsigned Bits = 64, unsigned IndexBits = detail::default_index_bits(Bits),
          unsigned UserBits = 0, class Tag = void>
class handle {
    static_assert(Bits == 16 || Bits == 32 || Bits == 64, "a handle has 16, 32 or 64 bits");
    static_assert(IndexBits >= 1 && IndexBits <= 32, "an index has 1 to 32 bits");
    static_assert(IndexBits + UserBits < Bits, "at least one bit is left for the generation");

public:
    using object_type = Of;
    using tag_type = Tag;
    using word_type = typename detail::handle_word<Bits>::type;  // what raw() returns

    /// How the bits are shared: index at the bottom, generation above it, user bits on top.
    static constexpr unsigned index_bits = IndexBits;
    static constexpr unsigned user_bits = UserBits;
    static constexpr unsigned generation_bits =
        Bits - IndexBits - UserBits > 31 ? 31 : Bits - IndexBits - UserBits;

    /// Largest values that fit. No index reaches 2^32 - 2: the two values above mark list ends.
    static constexpr std::uint32_t index_max =
        IndexBits == 32 ? 0xffff'fffd : (std::uint32_t{1} << (IndexBits & 31)) - 1;
    static constexpr std::uint32_t generation_max =
        static_cast<std::uint32_t>((std::uint64_t{1} << generation_bits) - 1);
    static constexpr word_type user_max =
        static_cast<word_type>((std::uint64_t{1} << UserBits) - 1);

    /// The null handle: all bits zero; names nothing, ever.
    constexpr handle() noexcept = default;

    /// Requires: index <= index_max; 1 <= generation <= generation_max.
    [[nodiscard]] static constexpr handle make(std::uint32_t index,
                                               std::uint32_t generation) noexcept {
        CAIRN_ASSERT(index <= index_max, "an index fits its bits");
        CAIRN_ASSERT(generation != 0 && generation <= generation_max, "a generation fits its bits");
        return handle{
            static_cast<word_type>(index | static_cast<std::uint64_t>(generation) << IndexBits)};
    }

    /// The handle that raw() was taken from; bits that no handle has are dropped.
    [[nodiscard]] static constexpr handle from_raw(word_type raw) noexcept {
        return handle{static_cast<word_type>(raw & used_bits)};
    }

    /// All bits, for files, networks and void* user data; from_raw() is the way back.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] constexpr word_type raw() const noexcept { return raw_; }

    /// The slot that it names.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] constexpr std::uint32_t index() const noexcept {
        return static_cast<std::uint32_t>(raw_ & index_mask);
    }

    /// 0 for the null handle only. Cost: a shift where there are no user bits.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] constexpr std::uint32_t generation() const noexcept {
        const std::uint64_t shifted = static_cast<std::uint64_t>(raw_) >> IndexBits;
        return static_cast<std::uint32_t>(UserBits == 0 ? shifted : shifted & generation_max);
    }

    /// The bits that cairn keeps and never reads. Two handles that differ here are not equal, but
    /// find the same object.
    [[nodiscard]] constexpr word_type user() const noexcept {
        if constexpr (UserBits == 0) {
            return 0;
        } else {
            return static_cast<word_type>(raw_ >> (Bits - UserBits));
        }
    }

    /// Requires: value <= user_max.
    [[nodiscard]] constexpr handle with_user(word_type value) const noexcept
        requires(UserBits != 0)
    {
        CAIRN_ASSERT(value <= user_max, "a user value fits its bits");
        constexpr unsigned shift = Bits - UserBits;
        const auto others = static_cast<word_type>(raw_ & ~(std::uint64_t{user_max} << shift));
        return handle{static_cast<word_type>(others | static_cast<std::uint64_t>(value) << shift)};
    }

    /// True unless null. Says nothing about whether the object still lives: ask the store.
    [[nodiscard]] explicit constexpr operator bool() const noexcept { return raw_ != 0; }

    /// By index first where there are no user bits and equal generations; a total order in any
    /// case.
    friend constexpr auto operator<=>(handle, handle) noexcept = default;
    friend constexpr bool operator==(handle, handle) noexcept = default;
    template <class Null>
        requires std::is_same_v<Null, std::nullptr_t>
    friend bool operator==(handle h, Null) {
        static_assert(sizeof(Null) == 0, "a handle h is null where !h");
        return !h;
    }

private:
    static constexpr word_type index_mask =
        static_cast<word_type>((std::uint64_t{1} << IndexBits) - 1);
    static constexpr word_type used_bits = static_cast<word_type>(
        index_mask | std::uint64_t{generation_max} << IndexBits |
        (UserBits == 0 ? 0 : std::uint64_t{user_max} << ((Bits - UserBits) & 63)));

    explicit constexpr handle(word_type raw) noexcept : raw_{raw} {}

    word_type raw_ = 0;
};

/// Spreads index and generation over all bits (one multiplication, one xor-shift), so that tables
/// that use only the low or only the high bits of a hash work well.
template <class Of, unsigned Bits, unsigned IndexBits, unsigned UserBits, class Tag>
[[nodiscard]] constexpr std::size_t hash_value(
    handle<Of, Bits, IndexBits, UserBits, Tag> h) noexcept {
    const std::uint64_t mixed = (std::uint64_t{h.raw()} + 1) * 0x9e37'79b9'7f4a'7c15u;
    return mixed ^ (mixed >> 32);
}

namespace detail {

template <class T>
concept any_handle = requires {
    typename T::object_type;
    requires T::generation_bits >= 1;
};

/// What a stream is converted to where nothing else takes it.
struct any_stream {
    template <class Stream>
    any_stream(Stream&) noexcept;
};

}  // namespace detail

/// The text of handles is in a header of its own. Any other operator<< is preferred to this.
template <detail::any_handle Handle>
void operator<<(detail::any_stream, const Handle&) = delete;  // include <cairn/std/text.hpp>

static_assert(sizeof(handle<int>) == 8 && sizeof(handle<int, 32>) == 4 &&
              sizeof(handle<int, 16>) == 2);
static_assert(std::is_trivially_copyable_v<handle<int>>);
static_assert(!handle<int>{} && handle<int>::make(0, 1));
static_assert(handle<int>::make(7, 9).index() == 7 && handle<int>::make(7, 9).generation() == 9);
static_assert(handle<int, 32>::generation_bits == 12 && handle<int>::generation_bits == 31);

}}  // namespace cairn::CAIRN_FLAVOUR

template <class Of, unsigned Bits, unsigned IndexBits, unsigned UserBits, class Tag>
struct std::hash<cairn::handle<Of, Bits, IndexBits, UserBits, Tag>> {
    [[nodiscard]] constexpr std::size_t operator()(
        cairn::handle<Of, Bits, IndexBits, UserBits, Tag> h) const noexcept {
        return cairn::hash_value(h);
    }
};
