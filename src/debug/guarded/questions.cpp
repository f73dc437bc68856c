// What a guard answers: whose an address is or was, and whether all patterns stand.
#include <cairn/debug/guarded.hpp>
#include <cairn/storage/inside/address_place.hpp>

#include "fences.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Live blocks, those in quarantine, and the last ones that were freed, whose bytes may be in use
/// again.
address_place guard::place_of(const void* object, const void* address) noexcept {
    const auto& g = *static_cast<const guard*>(object);
    const auto* const at = static_cast<const std::byte*>(address);
    address_place place;
    // The first that has the address: live blocks, then the quarantine, then the last frees, whose
    // bytes may belong to another block by now.
    const auto look = [&](const block_record& r, const char* state, const char* by) {
        if (place.inside || r.data == nullptr) { return; }
        const block_parts b = parts_of(r);
        if (at < b.base || at >= b.block_end) { return; }
        place = {.inside = true,
                 .unit = "block",
                 .index = static_cast<std::size_t>(r.serial),
                 .offset = static_cast<std::size_t>(at < b.data ? b.data - at : at - b.data),
                 .in_front = at < b.data,
                 .size = r.size,
                 .state = state,
                 .by = by,
                 .who = r.where};
    };
    g.blocks_.for_each([&](const block_record& r) { look(r, "live", "allocated by"); });
    for (std::size_t i = 0; i < g.quarantined_count_; ++i) {
        look(g.quarantine_[(g.quarantine_oldest_ + i) % g.options_.quarantine_count], "freed",
             "freed by");
    }
    for (std::size_t i = 0; i < recent_max; ++i) {  // the newest first
        look(g.recent_[(g.recent_next_ + recent_max - 1 - i) % recent_max], "freed", "freed by");
    }
    return place;
}

void guard::validate() const noexcept {
    blocks_.for_each([](const block_record& r) {
        const block_parts b = parts_of(r);
        unpoison_fences(b);
        check_fences(r, b);
        raise_fences(b);
    });
    for (std::size_t i = 0; i < quarantined_count_; ++i) {
        const block_record& r = quarantine_[(quarantine_oldest_ + i) % options_.quarantine_count];
        if (r.data != nullptr) {
            const block_parts b = parts_of(r);
            open_block(r, b);
            check_fences(r, b);
            check_freed(r);
            close_block(r, b);
        }
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
