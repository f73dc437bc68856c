// cairn/core/slice.hpp - a pointer and a count: what make_array() and finish() hand out.
//
// A std::span in all but weight: <span> is 11,500 lines, this is 60. It converts to std::span by
// itself, and any span, array, vector or string of bytes converts to a byte buffer for an arena:
//
//      std::span<float> weights = arena.make_array<float>(100);
//
// Lifetimes: refers, never owns.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

template <class Range, class T>
concept contiguous_of = requires(Range& r) {
    { r.data() } -> std::convertible_to<T*>;
    { r.size() } -> std::convertible_to<std::size_t>;
};

/// True for views, as far as is known without <ranges>: a constant view leads to the same
/// elements as any other, and is copied as a pointer is.
template <class Range, class R = std::remove_cvref_t<Range>>
inline constexpr bool refers_to_elements =
    std::is_trivially_copyable_v<R> && std::is_copy_assignable_v<R> &&
    requires(R& r, const R& constant) {
        requires std::is_same_v<decltype(r.data()), decltype(constant.data())>;
    };

}  // namespace detail

template <class T>
class slice {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using size_type = std::size_t;
    using iterator = T*;

    constexpr slice() noexcept = default;
    constexpr slice(T* first, std::size_t count) noexcept : data_{first}, count_{count} {}
    constexpr slice(T* first, T* last) noexcept
        : data_{first}, count_{static_cast<std::size_t>(last - first)} {}

    /// From anything contiguous of T with a name: std::span, std::array, std::vector, a C array's
    /// std::span; and from a view without a name. Constant elements may be a temporary's, as with
    /// std::span: a slice of them is a parameter, and the temporary outlives the call.
    template <class Range>
        requires(detail::contiguous_of<Range, T> &&
                 !std::is_same_v<std::remove_cvref_t<Range>, slice> &&
                 (std::is_lvalue_reference_v<Range> || std::is_const_v<T> ||
                  detail::refers_to_elements<Range>))
    constexpr slice(Range&& r) noexcept : data_{r.data()}, count_{r.size()} {}
    template <class Range>
        requires(detail::contiguous_of<Range, T> &&
                 !std::is_same_v<std::remove_cvref_t<Range>, slice> &&
                 !(std::is_lvalue_reference_v<Range> || std::is_const_v<T> ||
                   detail::refers_to_elements<Range>))
    slice(Range&&) = delete;  // the temporary that owns these elements ends before the slice
    template <std::size_t N>
    constexpr slice(T (&array)[N]) noexcept : data_{array}, count_{N} {}

    /// To std::span, or any other type of the kind, without knowing it. (Lvalues convert through
    /// std::span's own constructor.)
    template <class Span>
        requires requires { typename Span::element_type; } &&
                 std::is_same_v<typename Span::element_type, T> &&
                 std::is_constructible_v<Span, T*, std::size_t>
    constexpr operator Span() && noexcept {
        return Span(data_, count_);
    }

    [[nodiscard]] constexpr T* data() const noexcept { return data_; }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }  // elements
    [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return count_ * sizeof(T); }
    [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
    [[nodiscard]] constexpr T* end() const noexcept { return data_ + count_; }
    [[nodiscard]] constexpr T& operator[](std::size_t index) const noexcept {
        CAIRN_ASSERT(index < count_, "the index is below size()",
                     detail::beyond_end(this, "slice", index, count_));
        return data_[index];
    }
    [[nodiscard]] constexpr T& front() const noexcept { return (*this)[0]; }
    [[nodiscard]] constexpr T& back() const noexcept { return (*this)[count_ - 1]; }

private:
    T* data_ = nullptr;
    std::size_t count_ = 0;
};

/// Bytes that belong to the caller: what an arena or a pool is built over.
using byte_slice = slice<std::byte>;

static_assert(sizeof(slice<int>) == 2 * sizeof(void*));

}}  // namespace cairn::CAIRN_FLAVOUR
