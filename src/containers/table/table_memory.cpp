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

// clang 18 has no functions for AVX2 in the Microsoft ABI, unless all code is compiled for it; cl
// does not define __x86_64__.
#if defined(__x86_64__) && (!defined(_MSC_VER) || __clang_major__ >= 19)
#    define CLOSES_GAPS 1
#    include <immintrin.h>
#    if defined(_MSC_VER)
#        include <intrin.h>
#    endif
#else
#    define CLOSES_GAPS 0
#endif

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/storage/inside/growth.hpp>

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
    mark.set_holes(true);
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        // Both blocks have the same lanes, so a run of one is a run of the other.
        std::size_t done = 0;
        for_each_run(desc, base, pitch, c, 0, size, [&](std::byte* source, std::size_t n) {
            relocate(desc.columns[c], element_of(desc, fresh.base, fresh.capacity, c, done), source,
                     n);
            done += n;
        });
    }
    mark.set_holes(false);
    const block old{base, capacity};
    base = fresh.base;
    capacity = pitch = fresh.capacity;
    // The tail of each column behind the readable rows is poisoned, as it was in the old block.
    if (detail::poison_is_seen()) { repoison(desc, capacity, size); }
    free_block(desc, old);  // last: a deallocate() of the user may look at the rows
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
    if (rounded_capacity(desc, size) >= capacity) { return true; }
    if (is_reserved) {
        decommit_rows(desc, rounded_capacity(desc, size));
        return true;
    }
    if (size != 0) { return move_to_new_block(*this, desc, size); }
    pitch = 0;
    free_block(desc, {std::exchange(base, nullptr), std::exchange(capacity, 0)});
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
//
//      rows       a  -  c  d  -  -  g  h     eight answers make a mask of the rows that stay, and
//      mask       1  0  1  1  0  0  1  1     the numbers of its bits are read from a table, so that
//      numbers    0  2  3  6  7              no branch depends on an answer

namespace {

/// Of each mask: how many bits are 1, and their numbers in order.
struct bit_orders {
    alignas(64) std::uint8_t at[256][8];
    std::uint8_t count[256];
};
constexpr bit_orders orders = [] {
    bit_orders result{};
    for (unsigned mask = 0; mask < 256; ++mask) {
        for (std::uint8_t bit = 0; bit < 8; ++bit) {
            if ((mask >> bit & 1) != 0) { result.at[mask][result.count[mask]++] = bit; }
        }
    }
    return result;
}();
static_assert(orders.at[0b1100'1101][3] == 6 && orders.count[0b1100'1101] == 5);
static_assert(std::endian::native == std::endian::little, "a multiplication gathers the answers");

/// Numbers of rows of one question, in order.
struct row_numbers {
    std::uint8_t at[row_question::rows_max + 8];
    std::size_t count = 0;

    /// Adds row 8 * group + k for each bit k of `mask`. Writes eight numbers, whatever the mask.
    void add(std::size_t group, std::uint8_t mask) noexcept {
        std::uint64_t numbers = 0;
        std::memcpy(&numbers, orders.at[mask], sizeof numbers);
        numbers += group * 8 * 0x0101'0101'0101'0101u;
        std::memcpy(at + count, &numbers, sizeof numbers);
        count += orders.count[mask];
    }
    /// How many are below `limit`.
    [[nodiscard]] std::size_t count_below(std::size_t limit) const noexcept {
        return static_cast<std::size_t>(std::lower_bound(at, at + count, limit) - at);
    }
};
constexpr row_numbers all_numbers = [] {
    row_numbers result{};
    for (std::size_t i = 0; i < row_question::rows_max; ++i) {
        result.at[i] = static_cast<std::uint8_t>(i);
    }
    return result;
}();

struct row_run {
    std::size_t first;
    std::size_t count;
};

/// The answers to one question.
class answers {
public:
    /// Asks for the rows [first, first + asked). Throws: what the question throws; nothing has
    /// changed then.
    void ask(const row_question& question, std::size_t first, std::size_t asked) {
        bool is_removed[row_question::rows_max];
        question.ask(question.context, first, asked, is_removed);
        for (std::size_t i = asked; i % 8 != 0; ++i) { is_removed[i] = true; }
        first_ = first;
        asked_ = asked;
        count_ = 0;
        for (std::size_t g = 0; g < groups(); ++g) {
            // The multiplication gathers the lowest bits of the eight bytes.
            std::uint64_t eight = 0;
            std::memcpy(&eight, is_removed + g * 8, sizeof eight);
            stay_[g] = static_cast<std::uint8_t>(~((eight * 0x0102'0408'1020'4080u) >> 56));
            count_ += orders.count[stay_[g]];
        }
    }
    [[nodiscard]] std::size_t first() const noexcept { return first_; }
    [[nodiscard]] std::size_t asked() const noexcept { return asked_; }
    [[nodiscard]] std::size_t groups() const noexcept { return (asked_ + 7) / 8; }
    /// How many rows stay.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// Bit k: row 8 * group + k stays.
    [[nodiscard]] std::uint8_t stay(std::size_t group) const noexcept { return stay_[group]; }

    void list_staying(row_numbers& list) const noexcept {
        list.count = 0;
        for (std::size_t g = 0; g < groups(); ++g) { list.add(g, stay_[g]); }
    }
    void list_removed(row_numbers& list) const noexcept {
        list.count = 0;
        for (std::size_t g = 0; g < groups() && count_ != asked_; ++g) {
            list.add(g, static_cast<std::uint8_t>(~stay_[g]));
        }
        list.count = asked_ - count_;  // without those behind the last row
    }
    /// visit(first row, rows) for each run of rows that stay, or of removed rows.
    template <class Visit>
    void for_each_run(bool staying, Visit visit) const {
        row_run run{0, 0};
        for (std::size_t i = 0; i < asked_; ++i) {
            if (staying && i % 8 == 0 && stay_[i / 8] == 0xFF) {
                run.count += 8;
                i += 7;
            } else if (((stay_[i / 8] >> i % 8 & 1) != 0) == staying) {
                ++run.count;
            } else {
                if (run.count != 0) { visit(first_ + run.first, run.count); }
                run = {i + 1, 0};
            }
        }
        if (run.count != 0) { visit(first_ + run.first, run.count); }
    }

private:
    std::size_t first_ = 0;
    std::size_t asked_ = 0;
    std::size_t count_ = 0;
    std::uint8_t stay_[row_question::rows_max / 8];
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
/// Copies one element. Large ones in steps of 16 bytes, the last of which may overlap another.
template <std::size_t Width>
void copy_element(std::byte* to, const std::byte* from, std::size_t width) noexcept {
    if constexpr (Width != 0) {
        std::memcpy(to, from, Width);
    } else if (width < 16) {
        std::memcpy(to, from, width);
    } else {
        for (std::size_t i = 0; i + 16 < width; i += 16) { std::memcpy(to + i, from + i, 16); }
        std::memcpy(to + width - 16, from + width - 16, 16);
    }
}

/// Columns side by side whose elements are bytes of one width.
struct equal_columns {
    static constexpr std::size_t count_max = 16;
    std::size_t width;
    std::size_t count = 0;
    std::byte* begin[count_max];  // where each column begins
};
/// use(columns) for all columns whose elements are bytes, other(number) for each other column.
template <class Use, class Other>
void for_each_equal(const table_memory& m, const layout_desc& desc, Use use, Other other) {
    for (std::size_t c = 0; c < desc.column_count;) {
        if (desc.columns[c].relocate != nullptr) {
            other(c++);
            continue;
        }
        equal_columns those{desc.columns[c].size, 0, {}};
        while (c < desc.column_count && those.count < equal_columns::count_max &&
               desc.columns[c].size == those.width && desc.columns[c].relocate == nullptr) {
            those.begin[those.count++] = element_of(desc, m.base, m.pitch, c++, 0);
        }
        use(those);
    }
}

/// Where the element of a row lies, in bytes behind the first element of its column.
template <bool InBlocks>
struct element_offset {
    std::size_t row_mask;  // lanes - 1
    unsigned lanes_log2;
    std::size_t block_size;
    std::size_t width;
    [[nodiscard]] std::size_t operator()(std::size_t row) const noexcept {
        return InBlocks ? (row >> lanes_log2) * block_size + (row & row_mask) * width : row * width;
    }
};
/// use.operator()<Width>(offset): Width is that of an element, as a constant where it is frequent.
template <class Use>
void with_offset(const layout_desc& desc, std::size_t width, Use use) {
    with_width(width, [&]<std::size_t Width>() {
        const std::size_t constant = Width != 0 ? Width : width;
        if (desc.lanes == 0) {
            use.template operator()<Width>(element_offset<false>{0, 0, 0, constant});
        } else {
            use.template operator()<Width>(element_offset<true>{
                desc.lanes - 1, static_cast<unsigned>(std::countr_zero(desc.lanes)),
                desc.block_size, constant});
        }
    });
}
template <std::size_t Width>
inline void copy_row(const equal_columns& columns, std::size_t count, std::size_t to,
                     std::size_t from, std::size_t width) noexcept {
    copy_element<Width>(columns.begin[0] + to, columns.begin[0] + from, width);
    for (std::size_t c = 1; c < count; ++c) {
        copy_element<Width>(columns.begin[c] + to, columns.begin[c] + from, width);
    }
}

/// Rows that move one by one: row to + to_numbers[k] becomes what row from + from_numbers[k] was,
/// for k = 0 ... count - 1.
struct row_moves {
    std::size_t to;
    const std::uint8_t* to_numbers;
    std::size_t from;
    const std::uint8_t* from_numbers;
    std::size_t count;
};
void move_each(const layout_desc& desc, const equal_columns& columns,
               const row_moves& moves) noexcept {
    with_offset(desc, columns.width, [&]<std::size_t Width>(auto offset) {
        // Copies, because a store of bytes could change what a reference leads to.
        const row_moves all = moves;
        const std::size_t column_count = columns.count;
        for (std::size_t k = 0; k < all.count; ++k) {
            copy_row<Width>(columns, column_count, offset(all.to + all.to_numbers[k]),
                            offset(all.from + all.from_numbers[k]), offset.width);
        }
    });
}
/// Rows first + numbers[k] move to row `to` and behind it.
void keep_each(const layout_desc& desc, const equal_columns& columns, std::size_t to,
               std::size_t first, const row_numbers& numbers) noexcept {
    with_offset(desc, columns.width, [&]<std::size_t Width>(auto offset) {
        const std::size_t count = numbers.count;
        const std::size_t column_count = columns.count;
        const std::uint8_t* const at = numbers.at;
        for (std::size_t k = 0; k < count; ++k) {
            copy_row<Width>(columns, column_count, offset(to + k), offset(first + at[k]),
                            offset.width);
        }
    });
}
/// The same in all columns. Requires: no row that moves is also a target, or numbers and targets
/// rise and each target is below its row.
void move_each(table_memory& m, const layout_desc& desc, const row_moves& moves) noexcept {
    if (moves.count == 0) { return; }
    const auto for_each_move = [&](auto use) {
        for (std::size_t k = 0; k < moves.count; ++k) {
            use(moves.to + moves.to_numbers[k], moves.from + moves.from_numbers[k]);
        }
    };
    for_each_equal(
        m, desc, [&](const equal_columns& columns) { detail::move_each(desc, columns, moves); },
        [&](std::size_t c) {
            for_each_move([&](std::size_t to, std::size_t from) {
                relocate(desc.columns[c], element_of(desc, m.base, m.pitch, c, to),
                         element_of(desc, m.base, m.pitch, c, from), 1);
            });
        });
    if (m.followers != nullptr) {
        for_each_move([&](std::size_t to, std::size_t from) { m.tell_moved(to, from, 1); });
    }
}

#if CLOSES_GAPS

//      column    a  -  c  d  -  -  g  h    one load, one permutation by the order of the mask, and
//                a  c  d  g  h  ?  ?  ?    one store, which the next group partly overwrites

#    if defined(_MSC_VER)  // __builtin_cpu_supports needs a library that clang-cl does not link
[[gnu::target("xsave")]] bool ask_for_avx2() noexcept {
    int leaf[4];
    __cpuid(leaf, 1);
    const unsigned saved = static_cast<unsigned>(leaf[2]) >> 27 & 3;  // OSXSAVE, AVX
    __cpuidex(leaf, 7, 0);
    return saved == 3 && (leaf[1] & 1 << 5) != 0 && (_xgetbv(0) & 6) == 6;
}
bool has_avx2() noexcept {
    static const bool has = ask_for_avx2();
    return has;
}
#    else
bool has_avx2() noexcept { return __builtin_cpu_supports("avx2") != 0; }
#    endif

/// True when close_gaps() can do it: the processor can, and eight rows may always be touched.
bool closes_gaps(const layout_desc& desc, std::size_t width) noexcept {
    return (width == 4 || width == 8) && desc.lanes == 0 && desc.tail >= 8 && has_avx2();
}
[[gnu::target("avx2")]] inline __m128i load_order(std::size_t mask) noexcept {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(orders.at[mask]));
}
/// In all columns, the eight words that begin `from` bytes behind the first element move in `order`
/// to the eight words that begin `to` bytes behind it.
[[gnu::target("avx2")]] inline void move_words(const equal_columns& columns, std::size_t to,
                                               std::size_t from, __m256i order) noexcept {
    for (std::size_t c = 0; c < columns.count; ++c) {
        std::byte* const begin = columns.begin[c];
        const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(begin + from));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(begin + to),
                            _mm256_permutevar8x32_epi32(words, order));
    }
}
/// The rows that stay move to row `to` and behind it. Requires: to <= those.first().
[[gnu::target("avx2")]] void close_gaps(const equal_columns& columns, std::size_t to,
                                        const answers& those) noexcept {
    for (std::size_t g = 0; g < those.groups(); ++g) {
        const std::size_t mask = those.stay(g);
        const std::size_t from = those.first() + g * 8;
        if (columns.width == 4) {
            move_words(columns, to * 4, from * 4, _mm256_cvtepu8_epi32(load_order(mask)));
            to += orders.count[mask];
            continue;
        }
        // 8 bytes: two words an element, 2r and 2r + 1 for each row r, and four rows a step.
        for (std::size_t half = 0; half < 2; ++half) {
            const std::size_t four = half == 0 ? mask & 15 : mask >> 4;
            const __m256i rows = _mm256_cvtepu8_epi64(load_order(four));
            const __m256i even = _mm256_add_epi64(rows, rows);
            const __m256i odd =
                _mm256_slli_epi64(_mm256_add_epi64(even, _mm256_set1_epi64x(1)), 32);
            move_words(columns, to * 8, (from + half * 4) * 8, _mm256_or_si256(even, odd));
            to += orders.count[four];
        }
    }
}

#else

bool closes_gaps(const layout_desc&, std::size_t) noexcept { return false; }
void close_gaps(const equal_columns&, std::size_t, const answers&) noexcept {}

#endif

/// Destroys the rows of a question that go. Rows that are only bytes have no destructor.
void destroy_removed(table_memory& m, const layout_desc& desc, const answers& those) noexcept {
    bool are_bytes = true;
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        are_bytes = are_bytes && desc.columns[c].destroy == nullptr;
    }
    if (are_bytes) { return; }
    if (those.count() != those.asked()) { m.mark.set_gap(true); }
    those.for_each_run(false,
                       [&](std::size_t first, std::size_t n) { m.destroy_rows(desc, first, n); });
}

/// The rows of a question that stay move to row `to` and behind it; the others are destroyed.
void keep_rows(table_memory& m, const layout_desc& desc, const row_question& question,
               std::size_t to, const answers& those) noexcept {
    if (those.count() == those.asked()) {
        if (to == those.first()) { return; }
        if (desc.lanes == 0) { return m.move_rows(desc, to, those.first(), those.count()); }
    }
    destroy_removed(m, desc, those);
    const auto in_runs = [&](auto move) {
        std::size_t at = to;
        those.for_each_run(true, [&](std::size_t first, std::size_t n) {
            if (at != first) { move(at, first, n); }
            at += n;
        });
    };
    // Few rows go: the runs between them are long, and each is one memmove a column.
    const bool are_long_runs =
        desc.lanes == 0 && those.asked() - those.count() <= those.asked() / 24;
    row_numbers staying;
    const auto keep_bytes = [&](const equal_columns& columns) {
        if (closes_gaps(desc, columns.width)) {
            close_gaps(columns, to, those);
        } else if (!are_long_runs) {
            if (staying.count == 0) { those.list_staying(staying); }
            keep_each(desc, columns, to, those.first(), staying);
        } else {
            in_runs([&](std::size_t at, std::size_t first, std::size_t n) {
                for (std::size_t c = 0; c < columns.count; ++c) {
                    std::memmove(columns.begin[c] + at * columns.width,
                                 columns.begin[c] + first * columns.width, n * columns.width);
                }
            });
        }
    };
    const auto keep_objects = [&](std::size_t c) {
        in_runs([&](std::size_t at, std::size_t first, std::size_t n) {
            move_in_column(m, desc, c, at, first, n);
        });
    };
    if (question.keep != nullptr) {
        those.list_staying(staying);
        question.keep(question.context, to, those.first(), staying.at, staying.count);
    } else {
        for_each_equal(m, desc, keep_bytes, keep_objects);
    }
    if (m.followers == nullptr) { return; }
    in_runs([&](std::size_t at, std::size_t first, std::size_t n) { m.tell_moved(at, first, n); });
}

}  // namespace

void table_memory::erase_if(const layout_desc& desc, row_question question) {
    //      | kept | moved or destroyed | not asked yet |
    //      0      kept                 first           size
    std::size_t kept = 0;
    std::size_t first = 0;
    // At the end, also when the question throws: the rows that were not asked close the gap.
    rollback finish{[&]() noexcept {
        mark.set_holes(true);
        if (kept != first) { move_rows(desc, kept, first, size - first); }
        forget_rows_from(desc, kept + size - first);
    }};
    while (first != size) {
        answers those;
        those.ask(question, first, std::min(size - first, row_question::rows_max));
        keep_rows(*this, desc, question, kept, those);
        kept += those.count();
        first += those.asked();
    }
}

// ------- rows that a predicate removes, where the order does not matter
//
//      | asked, some are holes | not asked yet | asked, some stay: late | destroyed |
//      0                       front           back                                 size

namespace {

/// The last late rows fill the first holes.
class hole_filling {
public:
    hole_filling(table_memory& m, const layout_desc& desc, const row_question& question) noexcept
        : m_{m}, desc_{desc}, question_{question}, back_{m.size} {}

    /// Throws: what the question throws. Call finish() in any case.
    void ask_for_all() {
        while (true) {
            fill_holes(std::min(holes_.left(), late_.left()));
            if (front_ == back_) { break; }
            const std::size_t count = std::min(back_ - front_, row_question::rows_max);
            if (holes_.left() == 0) {
                holes_.those.ask(question_, front_, count);
                holes_.begin = 0;
                destroy_removed(m_, desc_, holes_.those);
                holes_.those.list_removed(holes_.numbers);
                front_ += count;
            } else {
                late_.those.ask(question_, back_ - count, count);
                destroy_removed(m_, desc_, late_.those);
                late_.those.list_staying(late_.numbers);
                back_ -= count;
            }
        }
    }
    /// The last rows fill the holes that are left, or the late rows that are left move to `back`.
    void finish() noexcept {
        m_.mark.set_holes(true);
        const std::size_t not_asked = std::min(holes_.left(), back_ - front_);
        back_ -= not_asked;
        move(holes_.next(), {back_, all_numbers.at}, not_asked);
        holes_.begin += not_asked;
        row_numbers others;
        if (holes_.left() != 0) {
            back_ -= holes_.left();
            holes_.those.list_staying(others);
            const std::size_t kept = others.count_below(back_ - holes_.those.first());
            move(holes_.next(), {holes_.those.first(), others.at + kept}, others.count - kept);
        } else if (late_.left() != 0) {
            late_.those.list_removed(others);
            const std::size_t gaps = others.count_below(late_.left());
            const std::size_t kept = late_.left() - gaps;
            move({back_, others.at}, {back_, late_.numbers.at + kept}, gaps);
            back_ += late_.left();
        }
        m_.forget_rows_from(desc_, back_);
    }

private:
    /// Rows base + at[k].
    struct place {
        std::size_t base;
        const std::uint8_t* at;
    };
    /// Those of the rows of a question that are holes, or that are late.
    struct rows {
        answers those;
        row_numbers numbers;
        std::size_t begin = 0;
        [[nodiscard]] std::size_t left() const noexcept { return numbers.count - begin; }
        [[nodiscard]] place next() const noexcept { return {those.first(), numbers.at + begin}; }
    };

    void fill_holes(std::size_t count) noexcept {
        late_.numbers.count -= count;
        move(holes_.next(), {late_.those.first(), late_.numbers.at + late_.numbers.count}, count);
        holes_.begin += count;
    }
    void move(place to, place from, std::size_t count) noexcept {
        move_each(m_, desc_, {to.base, to.at, from.base, from.at, count});
    }

    table_memory& m_;
    const layout_desc& desc_;
    const row_question& question_;
    rows holes_;
    rows late_;
    std::size_t front_ = 0;
    std::size_t back_;
};

}  // namespace

void table_memory::swap_erase_if(const layout_desc& desc, row_question question) {
    hole_filling removal{*this, desc, question};
    const rollback finish{[&]() noexcept { removal.finish(); }};
    removal.ask_for_all();
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
    destroy_rows(desc, 0, size);
    size = 0;
    // Before the memory goes back: a deallocate() of the user finds a table without rows.
    const block old{std::exchange(base, nullptr), std::exchange(capacity, 0)};
    const std::size_t old_pitch = std::exchange(pitch, 0);
    if (!std::exchange(is_reserved, false)) {
        free_block(desc, old);
        return;
    }
    const std::size_t bytes = allocation_size(desc, old_pitch);
    if constexpr (detail::poison_is_watched) { unpoison(old.base, bytes); }
    // All addresses, with and without memory: pitch, not capacity.
    page_memory::release(old.base, page_memory::round_up_to_pages(bytes));
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

namespace {

/// Calls visit(first, last) for the bytes of the rows [from, to) in each column, or in all blocks
/// of lanes, counted from the base. Returns: false, at once, when visit does.
template <class Visit>
bool visit_bytes_of_rows(const table_memory& m, const layout_desc& desc, std::size_t from,
                         std::size_t to, Visit visit) {
    if (desc.lanes != 0) {
        return visit(from / desc.lanes * desc.block_size, to / desc.lanes * desc.block_size);
    }
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        const column_desc& column = desc.columns[c];
        const std::size_t begin = m.pitch * column.before + c * desc.skew;
        if (!visit(begin + from * column.size, begin + to * column.size)) { return false; }
    }
    return true;
}

std::size_t page_size_of(const page_options& how) noexcept {
    return how.huge_pages ? page_memory::huge_size() : page_memory::size();
}

}  // namespace

//      column k   | rows that stay |  rows without a use  |  addresses only  |  column k + 1 ...
//      pages      +----+----+----+----+----+----+----+----+----+----+----+
//                                ^ first        ^ last: rounded inwards
void table_memory::decommit_rows(const layout_desc& desc, std::size_t rows) noexcept {
    const std::size_t page = page_size_of(how);
    (void)visit_bytes_of_rows(*this, desc, rows, capacity,
                              [&](std::size_t first, std::size_t last) {
                                  first = round_up(first, alignment{page});
                                  last = last / page * page;
                                  if (first < last) {
                                      page_memory::decommit(base + first, last - first);
                                  }
                                  return true;
                              });
    capacity = rows;
}

//      column k   | rows with memory |  new rows  |  addresses only  |  column k + 1 ...
//      pages      +----+----+----+----+----+----+----+----+----+----+----+
//                                ^ first       ^ last: rounded outwards; a page may be given twice
bool table_memory::commit_rows(const layout_desc& desc, std::size_t rows) noexcept {
    // One step is about 256 KiB in all columns together: rare, and short; or a huge page.
    const std::size_t page = page_size_of(how);
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
    if (!visit_bytes_of_rows(*this, desc, capacity, target, commit)) { return false; }
    const std::size_t before = capacity;
    capacity = target;
    if (detail::poison_is_seen()) { poison_rows(desc, before, target - before); }
    return true;
}

bool table_memory::permute(const layout_desc& desc, std::uint32_t* order,
                           reserve_step follow) noexcept {
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
    if (size < 2) { return follow(); }
    auto* const scratch =
        static_cast<std::byte*>(upstream.allocate(scratch_bytes, default_alignment));
    if (scratch == nullptr) { return false; }
    mark.set_holes(true);
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
    mark.set_holes(false);
    const bool follows = follow();
    // Last: a deallocate() of the user may look at the rows.
    upstream.deallocate(scratch, scratch_bytes, default_alignment);
    return follows;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
