// Cold half of cairn/containers/table/memory.hpp: everything that happens once per growth or copy,
// written over bytes so that it compiles once for all row types. Where rows lie: runs.hpp.
#include <cairn/containers/table/memory.hpp>

#include <cstring>
#include <utility>

#include <cairn/core/bits.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/storage/growth.hpp>

#include "runs.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

void destroy_column(const layout_desc& desc, std::byte* base, std::size_t capacity, std::size_t c,
                    std::size_t first, std::size_t count) noexcept {
    const column_desc& column = desc.columns[c];
    if (column.destroy != nullptr) {
        for_each_run(desc, base, capacity, c, first, count,
                     [&](std::byte* at, std::size_t n) { column.destroy(at, n); });
    }
}

/// Copies or moves column c of `from` into `to`; runs have equal lengths in both.
void construct_column(const layout_desc& desc, table_memory::block to, std::byte* from,
                      std::size_t from_capacity, std::size_t c, std::size_t count) {
    const column_desc& column = desc.columns[c];
    // What was made goes when a later run throws. (Within a run `construct` does that itself.)
    std::size_t made = 0;
    rollback undo{[&]() noexcept { destroy_column(desc, to.base, to.capacity, c, 0, made); }};
    for_each_run(desc, from, from_capacity, c, 0, count, [&](std::byte* source, std::size_t n) {
        // Both blocks have the same lanes, so a run of one is a run of the other, wherever it
        // begins.
        std::byte* const target = element_of(desc, to.base, to.capacity, c, made);
        if (column.construct != nullptr) {
            column.construct(target, source, n);
        } else {
            std::memcpy(target, source, n * column.size);
        }
        made += n;
    });
    undo.cancel();
}

}  // namespace

std::size_t allocation_size(const layout_desc& desc, std::size_t capacity) noexcept {
    if (capacity == 0) { return 0; }
    const std::size_t blocks = desc.lanes != 0 ? capacity / desc.lanes : capacity;
    return saturating_add(saturating_multiply(blocks, desc.block_size),
                          (desc.column_count - 1) * desc.skew);
}

std::size_t rounded_capacity(const layout_desc& desc, std::size_t rows) noexcept {
    std::size_t multiple = desc.granule;
    // Small tables in granules of the layout, all others in 64 rows: then every column begins at a
    // cache line, and skew keeps columns apart (layout_desc.hpp).
    if (rows > 64 && multiple < 64) { multiple = 64; }
    const std::size_t padded = saturating_add(rows, multiple - 1);
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
        if (desc.columns[c].construct == nullptr) {
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
        if constexpr (poison_is_watched) { unpoison(b.base, bytes); }
        upstream.deallocate(b.base, bytes, alignment{desc.line});
    }
}

void table_memory::move_into(const layout_desc& desc, block fresh) {
    std::size_t reached = 0;  // columns before this one are made, if they may throw
    rollback undo{[&]() noexcept {
        while (reached != 0) {
            if (desc.columns[--reached].may_throw) {
                destroy_column(desc, fresh.base, fresh.capacity, reached, 0, size);
            }
        }
    }};
    // Columns whose construction may throw come first: they copy, and the old rows stay whole until
    // nothing can fail any more.
    for (; reached < desc.column_count; ++reached) {
        if (desc.columns[reached].may_throw) {
            construct_column(desc, fresh, base, pitch, reached, size);
        }
    }
    undo.cancel();
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        if (!desc.columns[c].may_throw) { construct_column(desc, fresh, base, pitch, c, size); }
    }
    // Nothing has thrown, and nothing will: the old rows, moved from or copied, may go.
    if (base != nullptr) {
        destroy_rows(desc, 0, size);
        free_block(desc, {base, capacity});
    }
    base = fresh.base;
    capacity = pitch = fresh.capacity;
    // The tail of each column behind the readable rows is poisoned, as it was in the old block.
    if (poison_is_seen()) { repoison(desc, capacity, size); }
}

table_memory::block table_memory::allocate_larger_block(const layout_desc& desc) noexcept {
    // size == capacity here: one row more, twice as many where they are to be had.
    const std::size_t doubled = saturating_multiply(capacity, 2);
    block fresh;
    grow_by_halves(capacity, size + 1, doubled < desc.granule ? desc.granule : doubled,
                   [&](std::size_t rows) {
                       fresh = allocate_block(desc, rows);
                       return fresh.base != nullptr;
                   });
    return fresh;
}

namespace {

/// Moves all rows into a block for `rows` rows. False: no memory, or also() says so; nothing has
/// changed then.
bool move_to_new_block(table_memory& m, const layout_desc& desc, std::size_t rows,
                       reserve_step also = {}) {
    const table_memory::block fresh = m.allocate_block(desc, rows);
    rollback undo{[&]() noexcept { m.free_block(desc, fresh); }};
    // also() once the memory is there, before a row moves: when it says no, the block goes back.
    if (fresh.base == nullptr || !also()) { return false; }
    m.move_into(desc, fresh);
    undo.cancel();
    return true;
}

}  // namespace

bool table_memory::reserve(const layout_desc& desc, std::size_t rows, reserve_step also) {
    if (rows <= capacity) { return also(); }
    // Reserved: also() comes first, for commit_rows() changes what can be seen. If that is refused,
    // what also() made room for stays.
    return is_reserved ? rows <= pitch && also() && commit_rows(desc, rows)
                       : move_to_new_block(*this, desc, rows, also);
}

bool table_memory::shrink_to_fit(const layout_desc& desc) {
    // No smaller block would hold the rows: nothing to do is done.
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

table_memory::block table_memory::begin_growth(const layout_desc& desc) noexcept {
    if (size != capacity || (is_reserved && commit_rows(desc, size + 1))) {
        if (poison_is_seen()) { watch(desc, size + 1); }
        return {base, pitch};
    }
    return is_reserved ? block{} : allocate_larger_block(desc);
}

void table_memory::cancel_growth(const layout_desc& desc, block room) noexcept {
    if (room.base != base) { free_block(desc, room); }
}

void table_memory::finish_growth(const layout_desc& desc, block room) {
    if (room.base != base) {
        rollback undo{[&]() noexcept {
            for (std::size_t c = 0; c < desc.column_count; ++c) {
                destroy_column(desc, room.base, room.capacity, c, size, 1);
            }
            free_block(desc, room);
        }};
        move_into(desc, room);
        undo.cancel();
    }
    if (poison_is_seen()) { watch(desc, size + 1); }
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
            if constexpr (poison_is_watched) { unpoison(base, bytes); }
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
        for_each_run(
            desc, base, pitch, c, before, readable - before,
            [&](std::byte* at, std::size_t n) { unpoison_defined(at, n * desc.columns[c].size); });
    }
}

void table_memory::follow(table_follower& f) noexcept {
    f.next = followers;
    followers = &f;
}

/// One that is not in the list is not missed.
void table_memory::unfollow(table_follower& f) noexcept {
    for (table_follower** at = &followers; *at != nullptr; at = &(*at)->next) {
        if (*at == &f) {
            *at = f.next;
            return;
        }
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
