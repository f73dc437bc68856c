// cairn/containers/table/table_memory.hpp - the untyped half of a table: one block, its growth, its
// tail.
//
//      base                                                     one allocation
//      v
//      +-------------------------+~+-------------------------+~+--------------
//      | column 0                |~| column 1                |~| column 2 ...
//      +------------------+--+---+~+------------------+--+---+~+--------------
//      0             size padded  capacity
//                         \__/ \___/
//             readable, never    poisoned: an access is an ASan report
//             signalling values
//
// Growth, relocation, permutation and the tail are the same for every row type once the sizes are
// known, so they live in src/ and compile once. A table describes its row type by a `layout_desc`:
// one column_desc for each physical array, whose elements are a field, a component of a field, or
// rows (aos). Columns whose elements are not trivially copyable bring function pointers.
//
// Reserved: after reserve_address_space(max) the block is addresses for `max` rows, and growth
// gives memory to the next rows of every column. No row moves; capacity grows, pitch stays.
//
// Followers: columns of other owners (attached_column.hpp) are called when rows are added, moved or
// permuted, so that they stay in step.
//
// Moves of elements are taken as noexcept: a move that throws ends the program.
//
// Cost: growing allocates one block, moves every column once and clears the rest of the block: the
//       tail that kernels may read then holds zeros or former values, never garbage. One indirect
//       call per column where elements are not trivially copyable.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/alignment.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/os/system_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Padding between columns, in cache lines: odd. 64-row capacities make columns of 4-byte elements
/// 4 * n lines long, so the distance of two columns is odd and no two of 64 share a cache set.
inline constexpr std::size_t column_skew_lines = 5;

/// Rows that kernels may touch beyond the last one: a register of 64 bytes of floats.
inline constexpr std::size_t tail_rows = 16;

/// One physical array, described for the code in src/ that does not know the types.
struct column_desc {
    std::size_t size;    // bytes of an element
    std::size_t align;   // of an element
    std::size_t before;  // bytes a row (soa) or bytes in the block (aosoa) of the columns before it
    // Null for trivially copyable elements, which are copied as bytes.
    void (*relocate)(void* to, void* from, std::size_t count) noexcept;  // to < from, or disjoint
    void (*destroy)(void* first, std::size_t count) noexcept;
    // Element i becomes what order[i] was; `order` is spoiled. `lanes` and `block_size` as in
    // layout_desc.
    void (*permute)(void* column, std::size_t lanes, std::size_t block_size, std::uint32_t* order,
                    std::size_t count) noexcept;
};

/// The columns of a row type in a layout, described for the code in src/.
struct layout_desc {
    const column_desc* columns;
    std::size_t column_count;
    std::size_t lanes;       // rows a block; 0: all rows are one block
    std::size_t block_size;  // bytes of a block, or of a row where all rows are one block
    std::size_t line;        // alignment of the allocation and of each column
    std::size_t granule;     // capacities are multiples of this many rows
    std::size_t skew;        // bytes between columns
    std::size_t tail;        // rows readable beyond the last one, rounded: a power of two
};

/// Per-row data of another owner that follows the rows of a table. A node of the table's list.
struct table_follower {
    table_follower* next = nullptr;
    /// Makes room for `capacity` rows. False: out of memory, nothing changed.
    bool (*reserve)(table_follower& self, std::size_t capacity) noexcept = nullptr;
    /// Rows [first, first + count) are new.
    void (*added)(table_follower& self, std::size_t first, std::size_t count) noexcept = nullptr;
    /// Rows [to, to + count) are now what rows [from, from + count) were; the two may overlap.
    void (*moved)(table_follower& self, std::size_t to, std::size_t from,
                  std::size_t count) noexcept = nullptr;
    /// Rows a and b are each other now.
    void (*swapped)(table_follower& self, std::size_t a, std::size_t b) noexcept = nullptr;
    /// Row i is now what row order[i] was.
    void (*permuted)(table_follower& self, const std::uint32_t* order,
                     std::size_t count) noexcept = nullptr;
    /// The rows lie in another table object now (the table was moved), or the table has ended
    /// (nullptr).
    void (*rehomed)(table_follower& self, void* table) noexcept = nullptr;
};

/// A function that an owner of rows has called once room for more rows is certain, or once rows
/// have changed places. Without a function the answer is true.
struct reserve_step {
    void* context = nullptr;
    bool (*run)(void* context) = nullptr;
    [[nodiscard]] bool operator()() const { return run == nullptr || run(context); }
};

/// Which rows are to be removed, and how rows in blocks of lanes move.
struct row_question {
    static constexpr std::size_t rows_max = 256;
    void* context;
    /// Answers for the rows [first, first + count). Requires: count <= rows_max.
    void (*ask)(void* context, std::size_t first, std::size_t count, bool* is_removed);
    /// Rows first + numbers[k] move to row `to` and behind it, for k = 0 ... count - 1: here, where
    /// the blocks are known to the compiler. Null: they move column by column.
    void (*keep)(void* context, std::size_t to, std::size_t first, const std::uint8_t* numbers,
                 std::size_t count);
};

/// The rows of one table: a block of memory and the number of rows in it.
struct table_memory {
    explicit table_memory(allocator_ref memory) noexcept : upstream{memory} {}
    table_memory(const table_memory&) = delete;
    table_memory& operator=(const table_memory&) = delete;

    struct block {
        std::byte* base = nullptr;
        std::size_t capacity = 0;
    };

    /// A block for at least `rows` rows, its trivially copyable columns cleared.
    /// Returns: a null base when the allocator or a follower is exhausted; nothing has changed
    ///          then.
    [[nodiscard]] block allocate_block(const layout_desc& desc, std::size_t rows) noexcept;
    void free_block(const layout_desc& desc, block b) noexcept;

    /// Moves all rows into `fresh` and frees the old block.
    void move_into(const layout_desc& desc, block fresh) noexcept;

    /// Room for `rows` rows in all. Returns: false when the allocator is exhausted, or also()
    /// returns false; nothing has changed then.
    [[nodiscard]] bool reserve(const layout_desc& desc, std::size_t rows,
                               reserve_step also = {}) noexcept;
    /// As table::shrink_to_fit().
    [[nodiscard]] bool shrink_to_fit(const layout_desc& desc) noexcept;

    /// Takes addresses for `rows_max` rows and no memory yet. Requires: base is null.
    /// Returns: false when the system refuses; nothing has changed then.
    [[nodiscard]] bool reserve_address_space(const layout_desc& desc, std::size_t rows_max,
                                             page_options how) noexcept;
    /// Gives memory to at least `rows` rows inside the reserved addresses. Nothing moves.
    /// Returns: false when they are too few, or the system or a follower refuses.
    [[nodiscard]] bool commit_rows(const layout_desc& desc, std::size_t rows) noexcept;
    /// Only the first `rows` rows keep their memory; whole pages go. Requires: it is reserved;
    /// rows >= size, and is a rounded_capacity().
    void decommit_rows(const layout_desc& desc, std::size_t rows) noexcept;

    /// A block for one row more than there are: twice the rows, or what can be had of that
    /// (growth.hpp).
    /// Returns: a null base when the allocator or a follower is exhausted; nothing has changed
    ///          then.
    [[nodiscard]] block allocate_larger_block(const layout_desc& desc) noexcept;

    void destroy_rows(const layout_desc& desc, std::size_t first, std::size_t count) noexcept;
    /// Rows [from, from + count) move to rows [to, to + count), whose objects have ended. Followers
    /// do the same. Requires: to < from.
    void move_rows(const layout_desc& desc, std::size_t to, std::size_t from,
                   std::size_t count) noexcept;

    /// Removes rows; each row is asked once. The order of the others stays.
    /// Throws: what the question throws; rows of earlier questions that were to be removed are
    ///         gone.
    void erase_if(const layout_desc& desc, row_question question);
    /// The same, but rows from the end take the places of the removed rows.
    void swap_erase_if(const layout_desc& desc, row_question question);

    /// Room for one row more: a larger block, or the block in which the rows lie (base). The caller
    /// builds row `size` in that block, then finishes or cancels.
    /// Returns: a null base when the allocator or a follower is exhausted.
    [[nodiscard]] [[CAIRN_COLD]] block begin_growth(const layout_desc& desc) noexcept;
    [[CAIRN_COLD]] void cancel_growth(const layout_desc& desc, block room) noexcept;
    /// Moves the other rows to the block and counts the new row.
    void finish_growth(const layout_desc& desc, block room) noexcept;

    /// Ends the link to each follower, destroys all rows and frees the block.
    void release(const layout_desc& desc) noexcept;
    /// Takes the rows, the memory and the followers of `other`, which is empty afterwards.
    /// Requires: nothing is here.
    void take(table_memory& other) noexcept;

    /// Row i becomes what row order[i] was, in every column; `order` is spoiled. `follow` runs
    /// then, before the upstream is called again.
    /// Returns: false when there is no memory for the scratch copy of a column; nothing has
    ///          changed. Else what `follow` returns.
    [[nodiscard]] bool permute(const layout_desc& desc, std::uint32_t* order,
                               reserve_step follow = {}) noexcept;

    /// Marks what memory checkers report, before the number of rows becomes `rows`.
    void watch(const layout_desc& desc, std::size_t rows) noexcept;
    /// The number of rows becomes `rows`, which is less than it was: the objects behind have ended.
    void forget_rows_from(const layout_desc& desc, std::size_t rows) noexcept {
        if (poison_is_seen()) { watch(desc, rows); }
        size = rows;
    }
    /// The same for a change from `old_rows` rows to `rows`, whatever `size` is.
    void repoison(const layout_desc& desc, std::size_t old_rows, std::size_t rows) noexcept;

    /// Poisons rows [first, first + count) in every column.
    void poison_rows(const layout_desc& desc, std::size_t first, std::size_t count) noexcept;

    void follow(table_follower& f) noexcept;
    void unfollow(table_follower& f) noexcept;
    // What has happened to rows, for the followers (table_follower).
    void tell_added(std::size_t first, std::size_t count) noexcept {
        for (auto* f = followers; f != nullptr; f = f->next) { f->added(*f, first, count); }
    }
    void tell_moved(std::size_t to, std::size_t from, std::size_t count) noexcept {
        for (auto* f = followers; f != nullptr; f = f->next) { f->moved(*f, to, from, count); }
    }
    void tell_swapped(std::size_t a, std::size_t b) noexcept {
        for (auto* f = followers; f != nullptr; f = f->next) { f->swapped(*f, a, b); }
    }
    /// The followers follow `home` from now on; nullptr: the rows end.
    void rehome_followers(table_memory* home) noexcept {
        for (auto* f = followers; f != nullptr;) {
            auto* const next = f->next;
            f->rehomed(*f, home);
            f = next;
        }
        if (home == nullptr) { followers = nullptr; }
    }

    std::byte* base = nullptr;
    std::size_t size = 0;      // rows
    std::size_t capacity = 0;  // rows that have memory
    std::size_t pitch = 0;  // rows that the columns are laid out for: capacity, or what is reserved
    allocator_ref upstream;
    bool is_reserved = false;  // the block is address space
    page_options how;          // the pages of reserved addresses
    table_follower* followers = nullptr;
    [[CAIRN_NO_UNIQUE_ADDRESS]] callback_mark mark;  // a change or a loop of the table
};

[[nodiscard]] constexpr std::size_t padded_rows(const layout_desc& desc,
                                                std::size_t rows) noexcept {
    return (rows + desc.tail - 1) & ~(desc.tail - 1);
}

/// Bytes of a block for `capacity` rows; SIZE_MAX when they cannot be counted.
[[nodiscard]] std::size_t allocation_size(const layout_desc& desc, std::size_t capacity) noexcept;

/// `rows` rounded up to a capacity: a multiple of 64 rows, or of fewer rows in small tables.
/// Returns: SIZE_MAX when the sum overflows.
[[nodiscard]] std::size_t rounded_capacity(const layout_desc& desc, std::size_t rows) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
