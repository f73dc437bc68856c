// Tables inside reserved addresses (cairn/containers/table/memory.hpp): no row moves.
#include <cairn/containers/table/memory.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/bits.hpp>
#include <cairn/os/page_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

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
    const std::size_t wish = saturating_add(capacity, step);
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
    if (poison_is_seen()) { poison_rows(desc, before, target - before); }
    return true;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
