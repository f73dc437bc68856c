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

#include <cstring>
#include <utility>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>
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

void table_memory::move_rows(const layout_desc& desc, std::size_t to, std::size_t from,
                             std::size_t count) noexcept {
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        // In pieces that lie together where they come from and where they go to.
        std::size_t target = to;
        for_each_run(desc, base, pitch, c, from, count, [&](std::byte* source, std::size_t n) {
            for_each_run(desc, base, pitch, c, target, n, [&](std::byte* at, std::size_t piece) {
                relocate(desc.columns[c], at, source, piece);
                source += piece * desc.columns[c].size;
            });
            target += n;
        });
    }
    tell_moved(to, from, count);
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
