// Cold half of cairn/containers/table/table_memory.hpp: everything that happens once per growth,
// removal or sort, written over bytes so that it compiles once for all row types.
//
// Where element `row` of column c is, in bytes from base (`pitch` for `capacity` when reserved):
//
//     columns (soa)    capacity * before(c) + c * skew + row * size(c)
//     blocks (aosoa)   row / lanes * block_size + before(c) + row % lanes * size(c)
//
// A block of memory has blocks * block_size + (column_count - 1) * skew bytes, where blocks is
// capacity / lanes, or capacity in soa, whose block is a row.
#include <cairn/containers/table/table_memory.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#    include <immintrin.h>
#endif

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/storage/growth.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

/// The columns of a block, whatever the layout: `visit(first byte, rows)` for each run of rows
/// [first, first + count) that lies together in column c.
template <class Visit>
void for_each_run(const layout_desc& desc, std::byte* base, std::size_t capacity, std::size_t c,
                  std::size_t first, std::size_t count, Visit visit) {
    const column_desc& column = desc.columns[c];
    if (desc.lanes == 0) {
        if (count != 0) {
            visit(base + capacity * column.before + c * desc.skew + first * column.size, count);
        }
        return;
    }
    // A run ends where its block of lanes does.
    while (count != 0) {
        const std::size_t lane = first % desc.lanes;
        const std::size_t run = desc.lanes - lane < count ? desc.lanes - lane : count;
        visit(base + first / desc.lanes * desc.block_size + column.before + lane * column.size,
              run);
        first += run;
        count -= run;
    }
}

/// Element `row` of column c.
inline std::byte* element_of(const layout_desc& desc, std::byte* base, std::size_t capacity,
                             std::size_t c, std::size_t row) {
    const column_desc& column = desc.columns[c];
    if (desc.lanes == 0) {
        return base + capacity * column.before + c * desc.skew + row * column.size;
    }
    return base + row / desc.lanes * desc.block_size + column.before +
           row % desc.lanes * column.size;
}

void destroy_column(const layout_desc& desc, std::byte* base, std::size_t capacity, std::size_t c,
                    std::size_t first, std::size_t count) noexcept {
    const column_desc& column = desc.columns[c];
    if (column.destroy != nullptr) {
        for_each_run(desc, base, capacity, c, first, count,
                     [&](std::byte* at, std::size_t n) { column.destroy(at, n); });
    }
}

/// `count` elements move to `to`, whose objects have ended. Requires: to < from, or they are
/// disjoint.
void relocate(const column_desc& column, std::byte* to, std::byte* from,
              std::size_t count) noexcept {
    if (column.relocate != nullptr) {
        column.relocate(to, from, count);
    } else {
        std::memmove(to, from, count * column.size);
    }
}

}  // namespace

std::size_t allocation_size(const layout_desc& desc, std::size_t capacity) noexcept {
    if (capacity == 0) { return 0; }
    const std::size_t blocks = desc.lanes != 0 ? capacity / desc.lanes : capacity;
    return detail::saturating_add(detail::saturating_multiply(blocks, desc.block_size),
                                  (desc.column_count - 1) * desc.skew);
}

std::size_t rounded_capacity(const layout_desc& desc, std::size_t rows) noexcept {
    std::size_t multiple = desc.granule;
    // Small tables in granules of the layout, all others in 64 rows: then every column begins at a
    // cache line, and skew keeps columns apart (table_memory.hpp).
    if (rows > 64 && multiple < 64) { multiple = 64; }
    const std::size_t padded = detail::saturating_add(rows, multiple - 1);
    return padded == SIZE_MAX ? SIZE_MAX : padded / multiple * multiple;
}

table_memory::block table_memory::allocate_block(const layout_desc& desc,
                                                 std::size_t rows) noexcept {
    block fresh{nullptr, rounded_capacity(desc, rows)};
    const std::size_t bytes = allocation_size(desc, fresh.capacity);
    if (fresh.capacity == SIZE_MAX || bytes > PTRDIFF_MAX) { return {}; }
    fresh.base = static_cast<std::byte*>(upstream.allocate(bytes, alignment{desc.line}));
    if (fresh.base == nullptr) { return {}; }
    // A follower that has made room for more rows than come has lost nothing but memory.
    // After the rows, which are nearly always larger: what a column has taken it keeps.
    for (table_follower* f = followers; f != nullptr; f = f->next) {
        if (!f->reserve(*f, fresh.capacity)) {
            upstream.deallocate(fresh.base, bytes, alignment{desc.line});
            return {};
        }
    }
    // Clear what will not be overwritten by the rows that move in: the tail that kernels may read.
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        if (desc.columns[c].relocate == nullptr) {
            for_each_run(desc, fresh.base, fresh.capacity, c, size, fresh.capacity - size,
                         [&](std::byte* at, std::size_t n) {
                             std::memset(at, 0, n * desc.columns[c].size);
                         });
        }
    }
    return fresh;
}

void table_memory::free_block(const layout_desc& desc, block b) noexcept {
    if (b.base != nullptr) {
        const std::size_t bytes = allocation_size(desc, b.capacity);
        if constexpr (detail::poison_is_watched) { unpoison(b.base, bytes); }
        upstream.deallocate(b.base, bytes, alignment{desc.line});
    }
}

void table_memory::move_into(const layout_desc& desc, block fresh) noexcept {
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        // Both blocks have the same lanes, so a run of one is a run of the other.
        std::size_t done = 0;
        for_each_run(desc, base, pitch, c, 0, size, [&](std::byte* source, std::size_t n) {
            relocate(desc.columns[c], element_of(desc, fresh.base, fresh.capacity, c, done), source,
                     n);
            done += n;
        });
    }
    free_block(desc, {base, capacity});
    base = fresh.base;
    capacity = pitch = fresh.capacity;
    // The tail of each column behind the readable rows is poisoned, as it was in the old block.
    if (detail::poison_is_seen()) { repoison(desc, capacity, size); }
}

table_memory::block table_memory::allocate_larger_block(const layout_desc& desc) noexcept {
    // size == capacity here: one row more, twice as many where they are to be had.
    const std::size_t doubled = detail::saturating_multiply(capacity, 2);
    block fresh;
    grow_by_halves(capacity, size + 1, doubled < desc.granule ? desc.granule : doubled,
                   [&](std::size_t rows) {
                       fresh = allocate_block(desc, rows);
                       return fresh.base != nullptr;
                   });
    return fresh;
}

namespace {

/// Moves all rows into a block for `rows` rows. Returns: false when there is no memory, or also()
/// returns false; nothing has changed then.
bool move_to_new_block(table_memory& m, const layout_desc& desc, std::size_t rows,
                       reserve_step also = {}) noexcept {
    const table_memory::block fresh = m.allocate_block(desc, rows);
    // also() once the memory is there, before a row moves: when it returns false, the block is
    // freed.
    if (fresh.base == nullptr || !also()) {
        m.free_block(desc, fresh);
        return false;
    }
    m.move_into(desc, fresh);
    return true;
}

}  // namespace

bool table_memory::reserve(const layout_desc& desc, std::size_t rows, reserve_step also) noexcept {
    if (rows <= capacity) { return also(); }
    // Reserved: also() comes first, because commit_rows() changes the table. If commit_rows() is
    // refused, the room that also() has made stays.
    return is_reserved ? rows <= pitch && also() && commit_rows(desc, rows)
                       : move_to_new_block(*this, desc, rows, also);
}

bool table_memory::shrink_to_fit(const layout_desc& desc) noexcept {
    // No smaller block would hold the rows: there is nothing to do.
    if (is_reserved || rounded_capacity(desc, size) == capacity) { return true; }
    if (size != 0) { return move_to_new_block(*this, desc, size); }
    free_block(desc, {base, capacity});
    base = nullptr;
    capacity = pitch = 0;
    return true;
}

void table_memory::destroy_rows(const layout_desc& desc, std::size_t first,
                                std::size_t count) noexcept {
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        destroy_column(desc, base, pitch, c, first, count);
    }
}

namespace {

/// Elements [from, from + count) of column c move to element `to` and behind it, in pieces that lie
/// together where they come from and where they go to. Requires: to < from, or they are disjoint.
void move_in_column(const table_memory& m, const layout_desc& desc, std::size_t c, std::size_t to,
                    std::size_t from, std::size_t count) noexcept {
    for_each_run(desc, m.base, m.pitch, c, from, count, [&](std::byte* source, std::size_t n) {
        for_each_run(desc, m.base, m.pitch, c, to, n, [&](std::byte* at, std::size_t piece) {
            relocate(desc.columns[c], at, source, piece);
            source += piece * desc.columns[c].size;
        });
        to += n;
    });
}

}  // namespace

void table_memory::move_rows(const layout_desc& desc, std::size_t to, std::size_t from,
                             std::size_t count) noexcept {
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        move_in_column(*this, desc, c, to, from, count);
    }
    tell_moved(to, from, count);
}

// ------- rows that a predicate removes

namespace {

struct nothing {
    void operator()(std::size_t, std::size_t) const noexcept {}
};

/// The rows of a question that stay.
class survivors {
public:
    /// Requires: is_removed has room for a multiple of eight answers.
    survivors(bool* is_removed, std::size_t asked) noexcept
        : is_removed_{is_removed}, asked_{asked} {
        for (std::size_t i = asked; i % 8 != 0; ++i) { is_removed[i] = true; }
        for (std::size_t i = 0; i < asked; i += 8) {
            // The multiplications gather the lowest bits of the eight bytes, and add the bytes.
            const std::uint64_t word = eight(i);
            masks_[i / 8] = static_cast<std::uint8_t>(~((word * 0x0102'0408'1020'4080u) >> 56));
            before_[i / 8] = static_cast<std::uint16_t>(count_);
            count_ += 8 - static_cast<std::size_t>((word * 0x0101'0101'0101'0101u) >> 56);
        }
    }
    [[nodiscard]] std::size_t asked() const noexcept { return asked_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] bool are_all() const noexcept { return count_ == asked_; }
    /// True when copying runs is cheaper than copying single elements.
    [[nodiscard]] bool are_long_runs() const noexcept { return asked_ - count_ <= asked_ / 24; }
    /// Bit k: row 8 * group + k stays.
    [[nodiscard]] std::uint8_t mask(std::size_t group) const noexcept { return masks_[group]; }
    /// How many of the rows before this group of eight stay.
    [[nodiscard]] std::size_t before(std::size_t group) const noexcept { return before_[group]; }

    [[nodiscard]] const bool* is_removed() const noexcept { return is_removed_; }

    /// visit(first row, rows) for each run of rows that stay, gap(first row, rows) for the others.
    template <class Visit, class Gap = nothing>
    void for_each_run(Visit visit, Gap gap = {}) const {
        for (std::size_t i = 0; i < asked_;) {
            const std::size_t removed = i;
            while (i < asked_ && is_removed_[i]) { ++i; }
            if (i != removed) { gap(removed, i - removed); }
            const std::size_t first = i;
            while (asked_ - i >= 8 && eight(i) == 0) { i += 8; }
            while (i < asked_ && !is_removed_[i]) { ++i; }
            if (i != first) { visit(first, i - first); }
        }
    }
    /// Writes `offset` plus the number of each row that stays, found without a branch.
    std::size_t list(std::size_t* rows, std::size_t offset) const noexcept {
        std::size_t n = 0;
        for (std::size_t i = 0; i < asked_; ++i) {
            rows[n] = offset + i;
            n += is_removed_[i] ? 0u : 1u;
        }
        return n;
    }
    /// The same for the rows that go.
    std::size_t list_removed(std::size_t* rows, std::size_t offset) const noexcept {
        std::size_t n = 0;
        for (std::size_t first = 0; first < asked_; first += 8) {
            if (eight(first) == 0) { continue; }
            const std::size_t last = asked_ - first < 8 ? asked_ : first + 8;
            for (std::size_t i = first; i < last; ++i) {
                rows[n] = offset + i;
                n += is_removed_[i] ? 1u : 0u;
            }
        }
        return n;
    }

private:
    /// Eight answers, a byte of 0 or 1 each; those behind the last row are 1.
    [[nodiscard]] std::uint64_t eight(std::size_t i) const noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, is_removed_ + i, sizeof word);
        return word;
    }
    const bool* is_removed_;
    std::size_t asked_;
    std::size_t count_ = 0;
    std::uint8_t masks_[row_question::rows_max / 8];
    std::uint16_t before_[row_question::rows_max / 8];
};

/// Calls use.operator()<Width>() with the width of an element as a constant, 0 for rare widths:
/// memcpy of a constant size is a load and a store.
template <class Use>
void with_width(std::size_t width, Use use) {
    switch (width) {
        case 1:
            return use.template operator()<1>();
        case 2:
            return use.template operator()<2>();
        case 4:
            return use.template operator()<4>();
        case 8:
            return use.template operator()<8>();
        case 12:
            return use.template operator()<12>();
        case 16:
            return use.template operator()<16>();
        case 24:
            return use.template operator()<24>();
        case 32:
            return use.template operator()<32>();
        default:
            return use.template operator()<0>();
    }
}

/// Row to[k] becomes what row from[k] was in column c, for k = 0 ... count - 1. Requires: to[k] <
/// from[k], and both rise; or no row is in both.
void move_each_in_column(const table_memory& m, const layout_desc& desc, std::size_t c,
                         const std::size_t* to, const std::size_t* from,
                         std::size_t count) noexcept {
    const column_desc& column = desc.columns[c];
    if (column.relocate != nullptr || desc.lanes != 0) {
        for (std::size_t k = 0; k < count; ++k) {
            relocate(column, element_of(desc, m.base, m.pitch, c, to[k]),
                     element_of(desc, m.base, m.pitch, c, from[k]), 1);
        }
        return;
    }
    std::byte* const begin = element_of(desc, m.base, m.pitch, c, 0);
    with_width(column.size, [&]<std::size_t Constant>() {
        const std::size_t width = Constant != 0 ? Constant : column.size;
        for (std::size_t k = 0; k < count; ++k) {
            std::memcpy(begin + to[k] * width, begin + from[k] * width, width);
        }
    });
}
/// The same in all columns.
void move_each(table_memory& m, const layout_desc& desc, const std::size_t* to,
               const std::size_t* from, std::size_t count) noexcept {
    if (count == 0) { return; }
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        move_each_in_column(m, desc, c, to, from, count);
    }
    for (std::size_t k = 0; k < count && m.followers != nullptr; ++k) {
        m.tell_moved(to[k], from[k], 1);
    }
}

#if defined(__x86_64__)

//      rows      a  -  c  d  -  -  g  h        in groups of eight: one load, one permutation by a
//      stay      1  0  1  1  0  0  1  1        table of 256 orders, and one store for each column
//      column    a  c  d  g  h  ?  ?  ?        the next group overwrites what is behind the last
//      one

/// orders[mask]: the numbers of the bits of `mask` that are 1, in order.
struct bit_orders {
    alignas(64) std::uint8_t at[256][8];
};
constexpr bit_orders orders = [] {
    bit_orders result{};
    for (unsigned mask = 0; mask < 256; ++mask) {
        std::size_t n = 0;
        for (std::uint8_t bit = 0; bit < 8; ++bit) {
            if ((mask >> bit & 1) != 0) { result.at[mask][n++] = bit; }
        }
    }
    return result;
}();

/// True when close_gaps() can do it: the processor can, and eight rows may always be touched.
bool closes_gaps(const layout_desc& desc, const column_desc& column) noexcept {
    return column.relocate == nullptr && (column.size == 4 || column.size == 8) &&
           desc.lanes == 0 && desc.tail >= 8 && __builtin_cpu_supports("avx2") != 0;
}
[[gnu::target("avx2")]] inline __m128i load_order(std::size_t mask) noexcept {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(orders.at[mask]));
}
[[gnu::target("avx2")]] inline void move_words(std::byte* to, const std::byte* from,
                                               __m256i order) noexcept {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(words, order));
}
/// Elements of 4 bytes that stay move from `from` to `to`. Requires: to <= from.
[[gnu::target("avx2")]] void close_gaps_of_4(std::byte* to, const std::byte* from,
                                             const survivors& those) noexcept {
    for (std::size_t g = 0; g * 8 < those.asked(); ++g) {
        move_words(to + those.before(g) * 4, from + g * 32,
                   _mm256_cvtepu8_epi32(load_order(those.mask(g))));
    }
}
/// The same for 8 bytes: two words an element, four elements a step.
[[gnu::target("avx2")]] void close_gaps_of_8(std::byte* to, const std::byte* from,
                                             const survivors& those) noexcept {
    for (std::size_t half = 0; half * 4 < those.asked(); ++half) {
        const std::size_t mask = those.mask(half / 2);
        const std::size_t low = mask & 15;
        const std::size_t before =
            those.before(half / 2) +
            (half % 2 != 0 ? static_cast<std::size_t>(std::popcount(low)) : 0);
        // Words 2r and 2r + 1 for each row r.
        const __m256i rows = _mm256_cvtepu8_epi64(load_order(half % 2 != 0 ? mask >> 4 : low));
        const __m256i even = _mm256_add_epi64(rows, rows);
        const __m256i odd = _mm256_slli_epi64(_mm256_add_epi64(even, _mm256_set1_epi64x(1)), 32);
        move_words(to + before * 8, from + half * 32, _mm256_or_si256(even, odd));
    }
}
void close_gaps(std::byte* to, const std::byte* from, std::size_t width,
                const survivors& those) noexcept {
    width == 4 ? close_gaps_of_4(to, from, those) : close_gaps_of_8(to, from, those);
}

#else

bool closes_gaps(const layout_desc&, const column_desc&) noexcept { return false; }
void close_gaps(std::byte*, const std::byte*, std::size_t, const survivors&) noexcept {}

#endif

/// Destroys the rows of a question that go. Rows that are only bytes have no destructor.
void destroy_removed(table_memory& m, const layout_desc& desc, std::size_t first,
                     const survivors& those) noexcept {
    bool are_bytes = true;
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        are_bytes = are_bytes && desc.columns[c].destroy == nullptr;
    }
    if (are_bytes) { return; }
    those.for_each_run(nothing{},
                       [&](std::size_t i, std::size_t n) { m.destroy_rows(desc, first + i, n); });
}

/// The rows of a question that stay move to row `to` and behind it; the others are destroyed.
void keep_rows(table_memory& m, const layout_desc& desc, const row_question& question,
               std::size_t to, std::size_t first, const survivors& those) noexcept {
    if (those.are_all()) {
        if (to != first) { m.move_rows(desc, to, first, those.count()); }
        return;
    }
    destroy_removed(m, desc, first, those);
    bool all_close = true;
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        all_close = all_close && closes_gaps(desc, desc.columns[c]);
    }
    const bool by_runs = all_close || those.are_long_runs();
    const bool by_rows = question.keep != nullptr && (desc.lanes != 0 || !by_runs);
    if (by_rows) { question.keep(question.context, to, first, those.asked(), those.is_removed()); }
    std::size_t from[row_question::rows_max];
    std::size_t target[row_question::rows_max];
    std::size_t still = 0;  // rows at the front that do not move
    if (!by_runs && !by_rows) {
        those.list(from, first);
        for (std::size_t k = 0; k < those.count(); ++k) { target[k] = to + k; }
        while (still < those.count() && from[still] == target[still]) { ++still; }
    }
    for (std::size_t c = 0; c < desc.column_count && !by_rows; ++c) {
        if (closes_gaps(desc, desc.columns[c])) {
            close_gaps(element_of(desc, m.base, m.pitch, c, to),
                       element_of(desc, m.base, m.pitch, c, first), desc.columns[c].size, those);
        } else if (!by_runs) {
            move_each_in_column(m, desc, c, target + still, from + still, those.count() - still);
        } else {
            those.for_each_run([&, at = to](std::size_t i, std::size_t n) mutable {
                if (at != first + i) { move_in_column(m, desc, c, at, first + i, n); }
                at += n;
            });
        }
    }
    if (m.followers == nullptr) { return; }
    those.for_each_run([&, at = to](std::size_t i, std::size_t n) mutable {
        if (at != first + i) { m.tell_moved(at, first + i, n); }
        at += n;
    });
}

}  // namespace

void table_memory::erase_if(const layout_desc& desc, row_question question) {
    //      | kept | moved or destroyed | not asked yet |
    //      0      kept                 first           size
    std::size_t kept = 0;
    std::size_t first = 0;
    // At the end, also when the question throws: the rows that were not asked close the gap.
    rollback finish{[&]() noexcept {
        if (kept != first) { move_rows(desc, kept, first, size - first); }
        forget_rows_from(desc, kept + size - first);
    }};
    bool is_removed[row_question::rows_max];
    while (first != size) {
        const std::size_t asked =
            size - first < row_question::rows_max ? size - first : row_question::rows_max;
        question.ask(question.context, first, asked, is_removed);
        const survivors those{is_removed, asked};
        keep_rows(*this, desc, question, kept, first, those);
        kept += those.count();
        first += asked;
    }
}

void table_memory::swap_erase_if(const layout_desc& desc, row_question question) {
    //      | asked, some are holes | not asked yet | asked, some stay: `late` | destroyed |
    //      0                       front           back
    struct rows {
        std::size_t at[row_question::rows_max];
        std::size_t begin = 0;
        std::size_t end = 0;
        [[nodiscard]] std::size_t count() const noexcept { return end - begin; }
    };
    rows holes;
    rows late;  // from the last to the first
    std::size_t front = 0;
    std::size_t back = size;
    // At the end, also when the question throws: `late` moves to `back`, and the last rows fill the
    // holes.
    rollback finish{[&]() noexcept {
        std::size_t to[row_question::rows_max];
        std::size_t from[row_question::rows_max];
        std::size_t end = back;
        while (late.count() != 0) {
            from[end - back] = late.at[--late.end];
            to[end - back] = end;
            ++end;
        }
        std::size_t still = 0;
        while (still < end - back && from[still] == to[still]) { ++still; }
        move_each(*this, desc, to + still, from + still, end - back - still);
        std::size_t count = 0;
        while (holes.count() != 0) {
            --end;
            if (holes.at[holes.end - 1] == end) {
                --holes.end;
            } else {
                to[count] = holes.at[holes.begin++];
                from[count++] = end;
            }
        }
        move_each(*this, desc, to, from, count);
        forget_rows_from(desc, end);
    }};
    bool is_removed[row_question::rows_max];
    while (true) {
        const std::size_t count = holes.count() < late.count() ? holes.count() : late.count();
        move_each(*this, desc, holes.at + holes.begin, late.at + late.begin, count);
        holes.begin += count;
        late.begin += count;
        if (front == back) { break; }
        const std::size_t asked =
            back - front < row_question::rows_max ? back - front : row_question::rows_max;
        rows& list = holes.count() == 0 ? holes : late;
        const std::size_t first = holes.count() == 0 ? front : back - asked;
        question.ask(question.context, first, asked, is_removed);
        const survivors those{is_removed, asked};
        destroy_removed(*this, desc, first, those);
        list.begin = 0;
        if (&list == &holes) {
            holes.end = those.list_removed(holes.at, first);
            front += asked;
        } else {
            late.end = those.list(late.at, first);
            std::reverse(late.at, late.at + late.end);
            back -= asked;
        }
    }
}

table_memory::block table_memory::begin_growth(const layout_desc& desc) noexcept {
    if (size != capacity || (is_reserved && commit_rows(desc, size + 1))) {
        if (detail::poison_is_seen()) { watch(desc, size + 1); }
        return {base, pitch};
    }
    return is_reserved ? block{} : allocate_larger_block(desc);
}

void table_memory::cancel_growth(const layout_desc& desc, block room) noexcept {
    if (room.base != base) { free_block(desc, room); }
}

void table_memory::finish_growth(const layout_desc& desc, block room) noexcept {
    if (room.base != base) { move_into(desc, room); }
    if (detail::poison_is_seen()) { watch(desc, size + 1); }
    ++size;
    tell_added(size - 1, 1);
}

void table_memory::take(table_memory& other) noexcept {
    base = std::exchange(other.base, nullptr);
    size = std::exchange(other.size, 0);
    capacity = std::exchange(other.capacity, 0);
    pitch = std::exchange(other.pitch, 0);
    is_reserved = std::exchange(other.is_reserved, false);
    how = other.how;
    followers = std::exchange(other.followers, nullptr);
    rehome_followers(this);
}

void table_memory::release(const layout_desc& desc) noexcept {
    rehome_followers(nullptr);
    if (base != nullptr) {
        destroy_rows(desc, 0, size);
        if (is_reserved) {
            const std::size_t bytes = allocation_size(desc, pitch);
            if constexpr (detail::poison_is_watched) { unpoison(base, bytes); }
            // All addresses, with and without memory: pitch, not capacity.
            page_memory::release(base, page_memory::round_up_to_pages(bytes));
        } else {
            free_block(desc, {base, capacity});
        }
    }
    base = nullptr;
    size = capacity = pitch = 0;
    is_reserved = false;
}

void table_memory::poison_rows(const layout_desc& desc, std::size_t first,
                               std::size_t count) noexcept {
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        for_each_run(desc, base, pitch, c, first, count,
                     [&](std::byte* at, std::size_t n) { poison(at, n * desc.columns[c].size); });
    }
}

void table_memory::watch(const layout_desc& desc, std::size_t rows) noexcept {
    if (padded_rows(desc, rows) != padded_rows(desc, size)) { repoison(desc, size, rows); }
}

void table_memory::repoison(const layout_desc& desc, std::size_t old_rows,
                            std::size_t rows) noexcept {
    if (base == nullptr) { return; }
    //   0 ... rows | tail, up to padded_rows(rows) | ... capacity
    //   readable   | readable                      | poisoned
    const std::size_t before = old_rows < capacity ? padded_rows(desc, old_rows) : capacity;
    const std::size_t readable = padded_rows(desc, rows);
    if (readable <= before) {
        poison_rows(desc, readable, before - readable);
        return;
    }
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        for_each_run(desc, base, pitch, c, before, readable - before,
                     [&](std::byte* at, std::size_t n) {
                         detail::unpoison_defined(at, n * desc.columns[c].size);
                     });
    }
}

void table_memory::follow(table_follower& f) noexcept {
    f.next = followers;
    followers = &f;
}

/// A follower that is not in the list is ignored.
void table_memory::unfollow(table_follower& f) noexcept {
    for (table_follower** at = &followers; *at != nullptr; at = &(*at)->next) {
        if (*at == &f) {
            *at = f.next;
            return;
        }
    }
}

bool table_memory::reserve_address_space(const layout_desc& desc, std::size_t rows_max,
                                         page_options pages) noexcept {
    CAIRN_ASSERT(base == nullptr, "addresses are reserved before the first row");
    const std::size_t rows = rounded_capacity(desc, rows_max);
    const std::size_t bytes = allocation_size(desc, rows);
    if (rows == SIZE_MAX || bytes > PTRDIFF_MAX) { return false; }
    const std::size_t huge = page_memory::huge_size();
    pages.huge_pages = pages.huge_pages && bytes >= huge;  // less than one has no use for them
    const bool raises = pages.huge_pages && desc.line < huge;
    const std::size_t reserved = page_memory::round_up_to_pages(bytes);
    void* const begin = page_memory::reserve(reserved, alignment{raises ? huge : desc.line});
    if (begin == nullptr) { return false; }
    if (pages.name != nullptr) { page_memory::set_name(begin, reserved, pages.name); }
    if (pages.huge_pages) { page_memory::advise_huge(begin, reserved); }
    // base   | column 0: rows_max | column 1: rows_max | ...     capacity 0: no row has memory yet
    // The columns are laid out for all rows at once (pitch), so growth moves none of them.
    base = static_cast<std::byte*>(begin);
    pitch = rows;
    is_reserved = true;
    how = pages;
    return true;
}

//      column k   | rows with memory |  new rows  |  addresses only  |  column k + 1 ...
//      pages      +----+----+----+----+----+----+----+----+----+----+----+
//                                ^ first       ^ last: rounded outwards; a page may be given twice
bool table_memory::commit_rows(const layout_desc& desc, std::size_t rows) noexcept {
    // One step is about 256 KiB in all columns together: rare, and short; or a huge page.
    const std::size_t page = how.huge_pages ? page_memory::huge_size() : page_memory::size();
    const std::size_t step_bytes = how.huge_pages ? page : std::size_t{256} << 10;
    const std::size_t row_bytes = desc.lanes != 0 ? desc.block_size / desc.lanes : desc.block_size;
    const std::size_t step = rounded_capacity(desc, step_bytes / row_bytes + 64);
    const std::size_t wish = detail::saturating_add(capacity, step);
    std::size_t target = rounded_capacity(desc, rows < wish ? wish : rows);
    target = target < pitch ? target : pitch;
    if (rows > target) { return false; }
    // Followers first. A refusal here or below leaves memory behind rows that are not counted:
    // capacity has not changed, and the next call commits the same pages again.
    for (table_follower* f = followers; f != nullptr; f = f->next) {
        if (!f->reserve(*f, target)) { return false; }
    }
    const std::size_t reserved = page_memory::round_up_to_pages(allocation_size(desc, pitch));
    const auto commit = [&](std::size_t first, std::size_t last) {  // bytes from base
        first = first / page * page;
        last = round_up(last, alignment{page});
        last = last < reserved ? last : reserved;
        if (!page_memory::commit(base + first, last - first)) { return false; }
        if (how.prefault) { page_memory::prefault(base + first, last - first); }
        return true;
    };
    if (desc.lanes != 0) {
        if (!commit(capacity / desc.lanes * desc.block_size,
                    target / desc.lanes * desc.block_size)) {
            return false;
        }
    } else {
        for (std::size_t c = 0; c < desc.column_count; ++c) {
            const column_desc& column = desc.columns[c];
            const std::size_t begin = pitch * column.before + c * desc.skew;
            if (!commit(begin + capacity * column.size, begin + target * column.size)) {
                return false;
            }
        }
    }
    const std::size_t before = capacity;
    capacity = target;
    if (detail::poison_is_seen()) { poison_rows(desc, before, target - before); }
    return true;
}

bool table_memory::permute(const layout_desc& desc, std::uint32_t* order) noexcept {
    // The widest column is gathered into scratch and copied back: sequential writes twice, random
    // reads once. Following the cycles in place would be random both ways. Columns of other types,
    // and blocks of lanes, follow the cycles.
    std::size_t widest = 0;
    bool follows_cycles = false;
    // One scratch block for all columns, as large as the widest needs: asked for once, before
    // anything moves, so a refusal changes nothing.
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        if (desc.columns[c].permute == nullptr) {
            widest = desc.columns[c].size > widest ? desc.columns[c].size : widest;
        } else {
            follows_cycles = true;
        }
    }
    // scratch   | the widest column, gathered | order, as long as a column may spoil it |
    const std::size_t order_bytes = follows_cycles ? size * sizeof(std::uint32_t) : 0;
    const std::size_t scratch_bytes = round_up(size * widest, default_alignment) + order_bytes;
    if (size < 2) { return true; }
    auto* const scratch =
        static_cast<std::byte*>(upstream.allocate(scratch_bytes, default_alignment));
    if (scratch == nullptr) { return false; }
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        const column_desc& column = desc.columns[c];
        if (column.permute == nullptr) {
            const auto gather = [&]<std::size_t Constant>() {
                const std::size_t width = Constant != 0 ? Constant : column.size;
                for (std::size_t i = 0; i < size; ++i) {
                    std::memcpy(scratch + i * width, element_of(desc, base, pitch, c, order[i]),
                                width);
                }
            };
            // memcpy of a constant size is a load and a store.
            column.size == 4    ? gather.operator()<4>()
            : column.size == 8  ? gather.operator()<8>()
            : column.size == 12 ? gather.operator()<12>()
            : column.size == 16 ? gather.operator()<16>()
                                : gather.operator()<0>();
            // Back in runs: in blocks of lanes a column is not in one piece.
            std::size_t done = 0;
            for_each_run(desc, base, pitch, c, 0, size, [&](std::byte* at, std::size_t n) {
                std::memcpy(at, scratch + done * column.size, n * column.size);
                done += n;
            });
        }
    }
    if (follows_cycles) {
        auto* const copy = reinterpret_cast<std::uint32_t*>(scratch + scratch_bytes - order_bytes);
        for (std::size_t c = 0; c < desc.column_count; ++c) {
            const column_desc& column = desc.columns[c];
            if (column.permute != nullptr) {
                std::memcpy(copy, order, order_bytes);
                column.permute(element_of(desc, base, pitch, c, 0), desc.lanes, desc.block_size,
                               copy, size);
            }
        }
    }
    // `order` itself is whole to the end: cycles are followed in the copy.
    for (table_follower* f = followers; f != nullptr; f = f->next) { f->permuted(*f, order, size); }
    upstream.deallocate(scratch, scratch_bytes, default_alignment);
    return true;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
