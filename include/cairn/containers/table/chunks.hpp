// cairn/containers/table/chunks.hpp - the rows of a table cut into pieces for workers.
//
//      rows     | 0 ........ 4095 | 4096 ...... 8191 | 8192 ... |      each boundary is a multiple of 64
//      columns  |=================|==================|====          rows, so a cache line in all of them
//
//      for (std::size_t k = 0; k < chunks.size(); ++k) { jobs.run([=] { update(chunks[k]); }); }
//
// Cost: the arithmetic of operator[]; nothing is stored per chunk. Threads: no two chunks share a line.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/alignment.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/index_iterator.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// A view cut into parts for workers that must not share a cache line; see table_view::chunks().
template <class View>
class table_chunks {
public:
    using value_type = View;

    constexpr table_chunks() noexcept = default;
    /// Requires: rows_per_chunk != 0; `rows` begins at a multiple of 64 rows of its table: others share
    /// a line at the ends.
    constexpr table_chunks(View rows, std::size_t rows_per_chunk) noexcept
        : rows_{rows},
          step_{rows_per_chunk <= boundary ? boundary
                : rows_per_chunk > SIZE_MAX / 2
                    ? SIZE_MAX / 2 + 1  // all of them
                    : (rows_per_chunk + boundary - 1) / boundary * boundary} {
        CAIRN_ASSERT(rows_per_chunk != 0, "a chunk has rows");
    }

    [[nodiscard]] std::size_t size() const noexcept {
        return rows_.size() / step_ + (rows_.size() % step_ != 0 ? 1 : 0);
    }
    [[nodiscard]] std::size_t rows_per_chunk() const noexcept { return step_; }
    /// Part `k`: rows k * rows_per_chunk() and on. Requires: k < size().
    [[nodiscard]] View operator[](std::size_t k) const noexcept {
        CAIRN_ASSERT(k < size(), "a chunk index is below size()",
                     detail::beyond_end(this, "table_chunks", k, size()));
        const std::size_t first = k * step_;
        const std::size_t left = rows_.size() - first;
        return rows_.subview(first, left < step_ ? left : step_);
    }
    [[nodiscard]] auto begin() const noexcept { return index_iterator{*this, 0}; }
    [[nodiscard]] auto end() const noexcept { return index_iterator{*this, size()}; }

private:
    // A column of bytes begins a new line so often: 64 rows, 128 on Apple's arm64.
    static constexpr std::size_t boundary = cache_line_size;

    View rows_{};
    std::size_t step_ = boundary;
};

}  // namespace cairn::inline CAIRN_FLAVOUR

template <class View>
inline constexpr bool std::ranges::enable_view<cairn::table_chunks<View>> = true;
template <class View>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::table_chunks<View>> = true;
