// cairn/containers/layout.hpp - where the fields of row i lie: the layouts of a table.
//
//      aos             | a0 b0 c0 | a1 b1 c1 | a2 b2 c2 | ...     one array of rows; row is a real T&
//
//      soa             | a0 a1 a2 ...  |~| b0 b1 b2 ...  |~| c0 c1 c2 ...  |     one column per field
//
//      split_soa       as soa, and a field that is a small vector has one column per component
//
//      aosoa<4>        | a0-3 b0-3 c0-3 | a4-7 b4-7 c4-7 | ...    blocks of N rows, soa inside
//
// Every layout lives in one allocation, and no column pointer is stored: with a capacity that is a
// multiple of 64 rows (16, 32 or 64 in small tables) each column fills whole cache lines, so
//
//      column k  =  base + capacity * (bytes per row of the columns before it) + k * skew
//
// The skew (~ above) is an odd number of cache lines. Without it, a power-of-two capacity puts row i
// of every column at the same address modulo 4096, in the same set of the cache: 17 to 22 % slower with
// 16 columns of 8192 rows (lab: aos-soa, 2026-11-21).
//
// Choosing: aos when most fields of a row are used together or rows are visited at random; soa when
// a loop reads a few fields of many rows; split_soa when those fields are vectors and the loop must
// be vectorised by every compiler; aosoa when a row's fields should share a page or a cache line
// pair and loops still use SIMD blocks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <cairn/containers/components.hpp>
#include <cairn/containers/field.hpp>
#include <cairn/containers/row_fields.hpp>
#include <cairn/core/alignment.hpp>

namespace cairn {

/// An array of rows.
struct aos {
    static constexpr bool one_array = true;
    static constexpr bool splits = false;
    static constexpr std::size_t lanes = 0;
};

/// One column per field; fields marked split<T> have one per component.
struct soa {
    static constexpr bool one_array = false;
    static constexpr bool splits = false;
    static constexpr std::size_t lanes = 0;
};

/// One column per field, and one per component of every field that is a small vector.
struct split_soa {
    static constexpr bool one_array = false;
    static constexpr bool splits = true;
    static constexpr std::size_t lanes = 0;
};

/// Blocks of N rows, each a small soa. N is a power of two; 8 floats are one AVX register.
template <std::size_t N>
struct aosoa {
    static_assert(std::has_single_bit(N) && N >= 2, "a block has a power of two of rows");
    static constexpr bool one_array = false;
    static constexpr bool splits = false;
    static constexpr std::size_t lanes = N;
};

namespace detail {

/// Padding between columns, in cache lines: odd. 64-row capacities make columns of 4-byte elements
/// 4 * n lines long, so the distance of two columns is odd and no two of 64 share a cache set.
inline constexpr std::size_t column_skew_lines = 5;

/// Rows that kernels may touch beyond the last one: a register of 64 bytes of floats.
inline constexpr std::size_t tail_rows = 16;

/// One physical array, described for the code in src/ that does not know the types.
struct strip {
    std::size_t size;    // bytes of an element
    std::size_t align;   // of an element
    std::size_t before;  // bytes a row (soa) or bytes in the block (aosoa) of the strips before it
    // Null for trivially copyable elements: bytes are copied then.
    void (*construct)(void* to, void* from, std::size_t count);  // moves if that cannot throw
    void (*destroy)(void* first, std::size_t count) noexcept;
    // Element i becomes what order[i] was; spoils order. `lanes` and `block_bytes` as in shape.
    void (*permute)(void* column, std::size_t lanes, std::size_t block_bytes, std::uint32_t* order,
                    std::size_t count);
    bool may_throw;
};

/// A layout of a row type, described for the code in src/.
struct shape {
    const strip* strips;
    std::size_t strip_count;
    std::size_t lanes;        // rows a block; 0: all rows are one block
    std::size_t block_bytes;  // bytes of a block, or of a row where all rows are one block
    std::size_t line;         // alignment of the allocation and of each column
    std::size_t granule;      // capacities are multiples of this many rows
    std::size_t skew;         // bytes between columns
    std::size_t tail;         // rows readable beyond the last one, rounded: a power of two
};

[[nodiscard]] constexpr std::size_t largest_power_of_two_in(std::size_t value) noexcept {
    return value & (~value + 1);
}

template <class T>
void construct_range(void* to, void* from, std::size_t count) {
    T* const target = static_cast<T*>(to);
    T* const source = static_cast<T*>(from);
    struct undo {
        T* first;
        std::size_t count;
        ~undo() {
            for (std::size_t i = 0; i < count; ++i) { first[i].~T(); }
        }
    } made{target, 0};
    for (; made.count < count; ++made.count) {
        if constexpr (std::is_nothrow_move_constructible_v<T> || !std::is_copy_constructible_v<T>) {
            ::new (static_cast<void*>(target + made.count)) T(std::move(source[made.count]));
        } else {
            ::new (static_cast<void*>(target + made.count)) T(std::as_const(source[made.count]));
        }
    }
    made.count = 0;
}

template <class T>
void destroy_range(void* first, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) { (static_cast<T*>(first) + i)->~T(); }
}

/// Element i becomes what element order[i] was. Follows the cycles; marks visited places in order.
template <class T>
void permute_range(void* column, std::size_t lanes, std::size_t block_bytes, std::uint32_t* order,
                   std::size_t count) {
    const auto element = [=](std::size_t i) -> T& {
        auto* const bytes = static_cast<std::byte*>(column);
        return lanes == 0 ? reinterpret_cast<T*>(bytes)[i]
                          : reinterpret_cast<T*>(bytes + i / lanes * block_bytes)[i % lanes];
    };
    for (std::uint32_t start = 0; start < count; ++start) {
        if (order[start] == start) { continue; }
        T first = std::move(element(start));
        std::uint32_t hole = start;
        while (order[hole] != start) {
            const std::uint32_t next = order[hole];
            element(hole) = std::move(element(next));
            order[hole] = hole;
            hole = next;
        }
        element(hole) = std::move(first);
        order[hole] = hole;
    }
}

template <class T>
consteval strip strip_of(std::size_t before) {
    if constexpr (std::is_trivially_copyable_v<T>) {
        return {sizeof(T), alignof(T), before, nullptr, nullptr, nullptr, false};
    } else {
        return {sizeof(T),
                alignof(T),
                before,
                &construct_range<T>,
                &destroy_range<T>,
                &permute_range<T>,
                !std::is_nothrow_move_constructible_v<T>};
    }
}

/// What the fields of Row are declared as: a list of declared<T>.
template <class Row>
struct declared_fields {
    template <class... T>
    static type_list<declared<T>...> wrap(type_list<T...>);
    using type = decltype(wrap(field_types<Row>{}));
};
template <class Row>
    requires row_template<Row>::is_named
struct declared_fields<Row> {
    using declarations = typename row_template<Row>::template with<declaration_kind>;
    using type =
        decltype(with_fields<field_count<Row>>(std::declval<declarations&>(), list_types{}));
};

/// Everything about Row in Layout that is known at compile time.
template <class Row, class Layout>
struct arrangement {
    using fields = typename declared_fields<Row>::type;
    static constexpr std::size_t field_count = fields::size;
    static constexpr bool is_named = row_template<Row>::is_named;

    template <std::size_t F>
    using field_type = typename type_at<F, fields>::type;

    /// True when field F is stored as its components.
    template <std::size_t F>
    static consteval bool is_split() {
        if constexpr (Layout::one_array || Layout::lanes != 0) {
            return false;
        } else if constexpr (type_at<F, fields>::marked_split) {
            static_assert(splittable<field_type<F>>, "split<T> needs a T made of equal components");
            return true;
        } else if constexpr (Layout::splits) {
            return splittable<field_type<F>>;
        } else {
            return false;
        }
    }

    template <std::size_t F>
    static consteval std::size_t strips_in() {
        if constexpr (is_split<F>()) {
            return components_of<field_type<F>>::count;
        } else {
            return 1;
        }
    }

    /// The first strip of field F.
    template <std::size_t F>
    static consteval std::size_t first_strip() {
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return (std::size_t{0} + ... + strips_in<I>());
        }(std::make_index_sequence<F>{});
    }

    static constexpr std::size_t strip_count = [] {
        if constexpr (Layout::one_array) {
            return std::size_t{1};
        } else {
            return first_strip<field_count>();
        }
    }();

    struct strip_table {
        strip at[strip_count];
        std::size_t block_bytes = 0;
        std::size_t line = cache_line_size;
        std::size_t granule = 1;
    };

    static constexpr strip_table table = [] {
        strip_table result{};
        std::size_t next = 0;
        std::size_t before = 0;
        const auto add = [&](strip s) {
            if (Layout::lanes != 0) {  // each strip of a block starts as aligned as its size allows
                const std::size_t bytes = s.size * Layout::lanes;
                std::size_t align = largest_power_of_two_in(bytes);
                align = align > cache_line_size ? cache_line_size : align;
                align = align < s.align ? s.align : align;
                before = (before + align - 1) / align * align;
                s.before = before;
                before += bytes;
            } else {
                s.before = before;
                before += s.size;
            }
            result.line = s.align > result.line ? s.align : result.line;
            result.at[next++] = s;
        };
        if constexpr (Layout::one_array) {
            add(strip_of<Row>(0));
        } else {
            const auto add_field = [&]<std::size_t F>() {
                if constexpr (is_split<F>()) {
                    for (std::size_t c = 0; c < strips_in<F>(); ++c) {
                        add(strip_of<typename components_of<field_type<F>>::type>(0));
                    }
                } else {
                    add(strip_of<field_type<F>>(0));
                }
            };
            [&]<std::size_t... F>(std::index_sequence<F...>) {
                (add_field.template operator()<F>(), ...);
            }(std::make_index_sequence<field_count>{});
        }
        result.block_bytes =
            Layout::lanes != 0 ? (before + result.line - 1) / result.line * result.line : before;
        if constexpr (Layout::lanes != 0) {
            result.granule = Layout::lanes > tail_rows ? Layout::lanes : tail_rows;
        } else if constexpr (!Layout::one_array) {
            result.granule = tail_rows;
            for (const strip& s : result.at) {
                const std::size_t pieces =
                    result.line / largest_power_of_two_in(s.size | result.line);
                result.granule = pieces > result.granule ? pieces : result.granule;
            }
        }
        return result;
    }();

    static constexpr std::size_t skew =
        Layout::one_array || Layout::lanes != 0 ? 0 : column_skew_lines * table.line;

    static constexpr shape form{
        table.at,      strip_count,
        Layout::lanes, table.block_bytes,
        table.line,    table.granule,
        skew,          Layout::one_array ? 1 : (Layout::lanes != 0 ? table.granule : tail_rows)};

    /// The first byte of row 0 of strip S. The block is not null.
    template <std::size_t S>
    [[nodiscard]] static std::byte* strip_begin(std::byte* base, std::size_t capacity) noexcept {
        if constexpr (Layout::lanes != 0) {
            return base + table.at[S].before;
        } else {
            return base + capacity * table.at[S].before + S * skew;
        }
    }

    /// Element i of strip S.
    template <std::size_t S, class T>
    [[nodiscard]] static T* element(std::byte* base, std::size_t capacity, std::size_t i) noexcept {
        std::byte* const begin = strip_begin<S>(base, capacity);
        if constexpr (Layout::lanes != 0) {
            return reinterpret_cast<T*>(begin + i / Layout::lanes * table.block_bytes) +
                   i % Layout::lanes;
        } else {
            return reinterpret_cast<T*>(begin) + i;
        }
    }

    /// Field F of row i: a T*, or a split_ref. Not for aos.
    template <std::size_t F, bool IsConst>
    [[nodiscard]] static auto field_at(std::byte* base, std::size_t capacity,
                                       std::size_t i) noexcept {
        using T = field_type<F>;
        if constexpr (is_split<F>()) {
            using C = typename split_ref<T, IsConst>::component_type;
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return split_ref<T, IsConst>{
                    element<first_strip<F>() + I, C>(base, capacity, i)...};
            }(std::make_index_sequence<strips_in<F>()>{});
        } else {
            using E = std::conditional_t<IsConst, const T, T>;
            return element<first_strip<F>(), E>(base, capacity, i);
        }
    }
};

}  // namespace detail
}  // namespace cairn
