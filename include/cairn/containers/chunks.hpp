// cairn/containers/chunks.hpp - rows cut into pieces for workers that must not share a cache line.
//
//      |<- chunk 0 ->|<- chunk 1 ->|<- chunk 2 ->|<- 3 ->|
//      +-------------+-------------+-------------+-------+
//      | rows        | rows        | rows        | rest  |      each boundary is a multiple of 64 bytes
//      +-------------+-------------+-------------+-------+
//
//      for (std::size_t k = 0; k < chunks.size(); ++k) { jobs.run([=] { update(chunks[k]); }); }
//
// Two cores that write within one 64-byte line take turns at owning it. These boundaries fall between
// lines whatever the size of a row is, so no two workers ever do.
//
// Cost: the arithmetic of operator[]: a multiplication and a minimum. Nothing is stored per chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/alignment.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/index_iterator.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// Smallest number of rows after which rows of `row_size` bytes start a cache line again.
[[nodiscard]] constexpr std::size_t rows_per_line_boundary(std::size_t row_size) noexcept {
    std::size_t rows = cache_line_size;  // line / gcd(line, row_size), and a line is a power of two
    while (rows > 1 && (rows / 2 * row_size) % cache_line_size == 0) { rows /= 2; }
    return rows;
}

template <class T>
class chunked_rows {
public:
    constexpr chunked_rows() noexcept = default;
    /// `rows` in pieces of about `rows_per_chunk`: rounded up until a piece ends with a cache line.
    /// Requires: `rows` starts at a cache line; rows_per_chunk != 0.
    constexpr chunked_rows(std::span<T> rows, std::size_t rows_per_chunk) noexcept
        : rows_{rows},
          step_{rows_per_chunk > SIZE_MAX / 2
                    ? SIZE_MAX / 2 + 1  // all of them
                    : (rows_per_chunk + boundary - 1) / boundary * boundary} {
        CAIRN_ASSERT(rows_per_chunk != 0, "a chunk has rows");
    }

    /// How many chunks there are.
    [[nodiscard]] constexpr std::size_t size() const noexcept {
        return rows_.size() / step_ + (rows_.size() % step_ != 0 ? 1 : 0);
    }

    /// Chunk `k`, from row k * rows_per_chunk() on. Requires: k < size().
    [[nodiscard]] constexpr std::span<T> operator[](std::size_t k) const noexcept {
        CAIRN_ASSERT(k < size(), "a chunk index is below size()",
                     detail::beyond_end(this, "chunked_rows", k, size()));
        const std::size_t first = k * step_;
        const std::size_t left = rows_.size() - first;
        return rows_.subspan(first, left < step_ ? left : step_);
    }

    [[nodiscard]] constexpr std::size_t rows_per_chunk() const noexcept { return step_; }

    using value_type = std::span<T>;
    [[nodiscard]] auto begin() const noexcept { return index_iterator{*this, 0}; }
    [[nodiscard]] auto end() const noexcept { return index_iterator{*this, size()}; }

private:
    static constexpr std::size_t boundary = rows_per_line_boundary(sizeof(T));

    std::span<T> rows_{};
    std::size_t step_ = boundary;
};

static_assert(rows_per_line_boundary(cache_line_size) == 1);
static_assert(rows_per_line_boundary(24) == cache_line_size / 8);
static_assert(rows_per_line_boundary(1) == cache_line_size);
static_assert(rows_per_line_boundary(12) == cache_line_size / 4);

}  // namespace cairn::inline CAIRN_FLAVOUR

template <class T>
inline constexpr bool std::ranges::enable_view<cairn::chunked_rows<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::chunked_rows<T>> = true;
