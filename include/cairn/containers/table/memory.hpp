// cairn/containers/table/memory.hpp - the untyped half of a table: one block, its growth, its tail.
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
// known, so they live in src/ and compile once. A table describes itself by a `layout_desc`; types
// that are not trivially copyable bring function pointers.
//
// Reserved: after reserve_address_space(max) the block is addresses for `max` rows, and growth
// gives memory to the next rows of every column. Nothing moves; capacity grows, pitch stays.
//
// Followers: columns of other owners (attached_column.hpp) are told when rows are added, moved or
// permuted, so that they stay in step.
//
// Cost: growing allocates one block, copies every column once and clears the rest of the block: the
//       tail that kernels may read then holds zeros or former values, never garbage.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/containers/table/layout_desc.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/os/system_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Per-row data of another owner that follows the rows of a table. A node of the table's list.
struct table_follower {
    table_follower* next = nullptr;
    /// Makes room for `capacity` rows. False: out of memory, nothing changed.
    bool (*reserve)(table_follower& self, std::size_t capacity) noexcept = nullptr;
    /// Rows [first, first + count) are new.
    void (*added)(table_follower& self, std::size_t first, std::size_t count) noexcept = nullptr;
    /// Row `to` is now what row `from` was.
    void (*moved)(table_follower& self, std::size_t to, std::size_t from) noexcept = nullptr;
    /// Rows a and b are each other now.
    void (*swapped)(table_follower& self, std::size_t a, std::size_t b) noexcept = nullptr;
    /// Row i is now what row order[i] was.
    void (*permuted)(table_follower& self, const std::uint32_t* order,
                     std::size_t count) noexcept = nullptr;
    /// The rows lie in another table object now (it was moved), or nowhere any more (nullptr).
    void (*rehomed)(table_follower& self, void* table) noexcept = nullptr;
};

/// What an owner of rows does once room for more of them is certain; none: true.
struct reserve_step {
    void* context = nullptr;
    bool (*run)(void* context) = nullptr;
    [[nodiscard]] bool operator()() const { return run == nullptr || run(context); }
};

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
    /// Throws: what an element's copy or move constructor throws. Elements that can only be moved
    ///         by a throwing constructor may be left moved-from then; otherwise nothing has
    ///         changed.
    void move_into(const layout_desc& desc, block fresh);

    /// Room for `rows` rows in all. Returns: false when the allocator is exhausted, or also() says
    /// so; nothing has changed then.
    [[nodiscard]] bool reserve(const layout_desc& desc, std::size_t rows, reserve_step also = {});
    /// Without effect inside reserved addresses.
    [[nodiscard]] bool shrink_to_fit(const layout_desc& desc);

    /// Takes addresses for `rows_max` rows and no memory yet. Requires: base is null.
    /// Returns: false when the system refuses; nothing has changed then.
    [[nodiscard]] bool reserve_address_space(const layout_desc& desc, std::size_t rows_max,
                                             page_options how) noexcept;
    /// Gives memory to at least `rows` rows inside the reserved addresses. Nothing moves.
    /// Returns: false when they are too few, or the system or a follower refuses.
    [[nodiscard]] bool commit_rows(const layout_desc& desc, std::size_t rows) noexcept;

    /// A block for one row more than there are: twice the rows, or what can be had of that
    /// (growth.hpp).
    /// Returns: a null base when the allocator or a follower is exhausted; nothing has changed
    ///          then.
    [[nodiscard]] block allocate_larger_block(const layout_desc& desc) noexcept;

    void destroy_rows(const layout_desc& desc, std::size_t first, std::size_t count) noexcept;

    /// Room for one row more: a block to which the rows are to move, or where they stand (base).
    /// The caller builds it there as row `size`, then finishes or cancels.
    /// Returns: a null base when exhausted.
    [[nodiscard]] [[gnu::cold]] block begin_growth(const layout_desc& desc) noexcept;
    [[gnu::cold]] void cancel_growth(const layout_desc& desc, block room) noexcept;
    /// The others move to the block, too, and it is one row more.
    /// Throws: what copying them throws; the new row and the block are gone then.
    void finish_growth(const layout_desc& desc, block room);

    /// Lets the followers go, destroys all rows and frees the block.
    void release(const layout_desc& desc) noexcept;
    /// Takes the rows, the memory and the followers of `other`, which is empty afterwards.
    /// Requires: nothing is here.
    void take(table_memory& other) noexcept;

    /// Row i becomes what row order[i] was, in every column; `order` is spoiled.
    /// Returns: false when there is no memory for the scratch copy of a column; nothing has
    ///          changed.
    [[nodiscard]] bool permute(const layout_desc& desc, std::uint32_t* order);

    /// Tells the memory checkers, before the number of rows becomes `rows`.
    void watch(const layout_desc& desc, std::size_t rows) noexcept;
    /// Tells the memory checkers that the number of rows changes.
    void repoison(const layout_desc& desc, std::size_t old_rows, std::size_t rows) noexcept;

    /// Poisons rows [first, first + count) in every column.
    void poison_rows(const layout_desc& desc, std::size_t first, std::size_t count) noexcept;

    void follow(table_follower& f) noexcept;
    void unfollow(table_follower& f) noexcept;
    /// Tells the followers what has happened to rows.
    void tell_added(std::size_t first, std::size_t count) noexcept {
        for (auto* f = followers; f != nullptr; f = f->next) { f->added(*f, first, count); }
    }
    void tell_moved(std::size_t to, std::size_t from) noexcept {
        for (auto* f = followers; f != nullptr; f = f->next) { f->moved(*f, to, from); }
    }
    void tell_swapped(std::size_t a, std::size_t b) noexcept {
        for (auto* f = followers; f != nullptr; f = f->next) { f->swapped(*f, a, b); }
    }
    /// They follow `home` from now on; nullptr: none any more.
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
    std::size_t pitch = 0;     // rows that the columns are laid out for: capacity, or the reserved
    allocator_ref upstream;
    bool is_reserved = false;  // the block is address space
    page_options how;          // of which pages
    table_follower* followers = nullptr;
};

[[nodiscard]] constexpr std::size_t padded_rows(const layout_desc& desc,
                                                std::size_t rows) noexcept {
    return (rows + desc.tail - 1) & ~(desc.tail - 1);
}

/// Bytes of a block for `capacity` rows; SIZE_MAX when they cannot be counted.
[[nodiscard]] std::size_t allocation_size(const layout_desc& desc, std::size_t capacity) noexcept;

/// `rows` rounded up to a capacity: a multiple of 64, smaller for small tables; SIZE_MAX: absurd.
[[nodiscard]] std::size_t rounded_capacity(const layout_desc& desc, std::size_t rows) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
