// cairn/containers/batches.hpp - rows cut into parts for workers that must not share a cache line.
//
//      |<- batch 0 ->|<- batch 1 ->|<- batch 2 ->|<- 3 ->|
//      +-------------+-------------+-------------+-------+
//      | rows        | rows        | rows        | rest  |      at each boundary a line begins,
//      +-------------+-------------+-------------+-------+      in all columns of a table
//
//      auto batches = particles.batches(4096);
//      for (std::size_t k = 0; k < batches.size(); ++k) { jobs.run([=] { update(batches[k]); }); }
//
// Two cores that write within one 64-byte line take turns at owning it. These boundaries fall
// between lines whatever the size of a row is, so no two workers ever do.
//
// Cost: the arithmetic of operator[]: a multiplication and a minimum. Nothing is stored per batch.
// Threads: as std::span; disjoint batches may be written at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/alignment.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/inside/index_iterator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// Smallest number of rows after which rows of `row_size` bytes start a cache line again.
[[nodiscard]] constexpr std::size_t rows_per_line_boundary(std::size_t row_size) noexcept {
    std::size_t rows = cache_line_size;  // line / gcd(line, row_size), and a line is a power of two
    while (rows > 1 && (rows / 2 * row_size) % cache_line_size == 0) { rows /= 2; }
    return rows;
}

/// Rows from one common begin of a line to the next: of a table, which may have a column of bytes,
/// as many as a line has bytes; of a span, what its elements need.
template <class Rows>
inline constexpr std::size_t batch_boundary = cache_line_size;
template <class T>
inline constexpr std::size_t batch_boundary<std::span<T>> = rows_per_line_boundary(sizeof(T));

}  // namespace detail

/// `Rows` (a std::span or the view of a table) in parts; see batches(rows) of the containers.
template <class Rows>
class row_batches {
public:
    using value_type = Rows;

    constexpr row_batches() noexcept = default;
    /// `rows` in parts of about `rows_per_batch`: rounded up until a part ends with a cache line.
    /// Requires: rows_per_batch != 0; `rows` starts at a cache line (a view: at a multiple of 64
    /// rows of its table); others share a line at the ends.
    constexpr row_batches(Rows rows, std::size_t rows_per_batch) noexcept
        : rows_{rows},
          step_{rows_per_batch <= boundary ? boundary
                : rows_per_batch > SIZE_MAX / 2
                    ? SIZE_MAX / 2 + 1  // all of them
                    : (rows_per_batch + boundary - 1) / boundary * boundary} {
        CAIRN_ASSERT(rows_per_batch != 0, "a batch has rows");
    }

    /// How many batches there are.
    [[nodiscard]] constexpr std::size_t size() const noexcept {
        return rows_.size() / step_ + (rows_.size() % step_ != 0 ? 1 : 0);
    }
    /// Rows in each but the last.
    [[nodiscard]] constexpr std::size_t rows_per_batch() const noexcept { return step_; }

    /// Batch `k`, from row k * rows_per_batch() on. Requires: k < size().
    [[nodiscard]] constexpr Rows operator[](std::size_t k) const noexcept {
        CAIRN_ASSERT(k < size(), "a batch index is below size()",
                     detail::beyond_end(this, "row_batches", k, size()));
        const std::size_t first = k * step_;
        const std::size_t left = rows_.size() - first;
        const std::size_t count = left < step_ ? left : step_;
        if constexpr (requires { rows_.subview(first, count); }) {
            return rows_.subview(first, count);
        } else {
            return rows_.subspan(first, count);
        }
    }

    [[nodiscard]] auto begin() const noexcept { return detail::index_iterator{*this, 0}; }
    [[nodiscard]] auto end() const noexcept { return detail::index_iterator{*this, size()}; }

private:
    static constexpr std::size_t boundary = detail::batch_boundary<Rows>;

    Rows rows_{};
    std::size_t step_ = boundary;
};

static_assert(detail::rows_per_line_boundary(cache_line_size) == 1);
static_assert(detail::rows_per_line_boundary(24) == cache_line_size / 8);
static_assert(detail::rows_per_line_boundary(1) == cache_line_size);
static_assert(detail::rows_per_line_boundary(12) == cache_line_size / 4);

}}  // namespace cairn::CAIRN_FLAVOUR

template <class Rows>
inline constexpr bool std::ranges::enable_view<cairn::row_batches<Rows>> = true;
template <class Rows>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::row_batches<Rows>> = true;
