// Cold half of cairn/debug/tracked.hpp: the list and the report.
//
//     records in blocks_ = live blocks - unlisted_count
//
// unlisted_count: blocks that found no memory for a record, or whose record was overwritten by that
// of a block with the same address. While there are any, a pointer without a record, or one whose
// figures differ, may be such a block: then nothing can be said of it, and nothing is. Each of them
// that comes back takes one off the count; with the last one every block is known again.
#include <cairn/debug/tracked.hpp>

#include <cstdint>
#include <cstdio>

#include <cairn/storage/inside/address_place.hpp>

#include "misuse.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
namespace {

/// True when the block was requested by the line of this site.
bool is_of(const track_site& s, const block_record& r) noexcept {
    return s.label == r.label && s.where.line() == r.where.line() &&
           s.where.column() == r.where.column() && s.where.file_name() == r.where.file_name();
}

/// Adds a block to the site of its line, which becomes one of `out` where there is room for it.
void add_to_site(slice<track_site> out, std::size_t& count, const block_record& r) noexcept {
    std::size_t i = 0;
    while (i < count && !is_of(out[i], r)) { ++i; }
    if (i == out.size()) { return; }
    if (i == count) { out[count++] = {r.label, r.where, 0, 0}; }
    ++out[i].count;
    out[i].size += r.size;
}

/// The largest first; few, so insertion sort.
void sort_by_size(slice<track_site> sites, std::size_t count) noexcept {
    for (std::size_t i = 1; i < count; ++i) {
        const track_site s = sites[i];
        std::size_t j = i;
        for (; j != 0 && sites[j - 1].size < s.size; --j) { sites[j] = sites[j - 1]; }
        sites[j] = s;
    }
}

constexpr std::size_t site_max = 32;  // lines of a report; on the stack: memory may be short

/// "1 block", "2 blocks"
const char* plural(std::size_t count) noexcept { return count == 1 ? "" : "s"; }

}  // namespace

tracker::tracker(track_options options) noexcept : options_{options} {
    // Without a list no address can be looked up, so the name is not made known either.
    if (options_.list) {
        static constexpr allocator_type type{"tracked", &place_of};
        watch_.set_name(options_.name, this, type);
    }
}

address_place tracker::place_of(const void* object, const void* address) noexcept {
    // Blocks do not overlap, so at most one of them answers.
    const auto* const at = static_cast<const std::byte*>(address);
    address_place place;
    static_cast<const tracker*>(object)->blocks_.for_each([&](const block_record& r) {
        if (at < r.data || at >= r.data + r.size) { return; }
        place = {.inside = true,
                 .unit = "block",
                 .index = static_cast<std::size_t>(r.serial),
                 .offset = static_cast<std::size_t>(at - r.data),
                 .size = r.size,
                 .state = "live",
                 .by = "allocated by",
                 .who = r.where};
    });
    return place;
}

tracker::~tracker() {
    if (options_.report_leaks) { report(true); }
}

void tracker::list(void* p, std::size_t size, alignment align, const char* label,
                   const std::source_location& where) noexcept {
    // The caller has counted this block already: serials are from 0.
    const block_record record{.data = static_cast<std::byte*>(p),
                              .size = size,
                              .serial = stats_.allocated_count - 1,
                              .label = label,
                              .where = where,
                              .align = align};
    if (block_record* const known = blocks_.find(p)) {
        // Some allocators give size 0 the address of the next block: one record, the newer one.
        *known = record;
        ++stats_.unlisted_count;
    } else if (!blocks_.insert(record)) {
        ++stats_.unlisted_count;
    }
}

void tracker::unlist(void* p, std::size_t size, alignment align,
                     const std::source_location& where) noexcept {
    block_record* const known = blocks_.find(p);
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (known == nullptr) {
        if (stats_.unlisted_count == 0) {
            misuse(misuse_kind::foreign_pointer, where, "a block that comes back is live",
                   "0x%zx, freed with %zu bytes, is no live block of '%s'", address, size,
                   options_.name);
        }
        --stats_.unlisted_count;
        return;
    }
    // With unlisted blocks this may be the record of another one at the same address.
    if (stats_.unlisted_count == 0 && (known->size != size || known->align != align)) {
        misuse(
            misuse_kind::wrong_size, where,
            "a block is freed with the size and alignment it was allocated with",
            "0x%zx has %zu bytes aligned to %zu (from %s:%u), and is freed as %zu aligned to %zu",
            address, known->size, known->align.bytes(), file_of(known->where),
            static_cast<unsigned>(known->where.line()), size, align.bytes());
    }
    blocks_.erase(known);
}

void tracker::relist(void* p, std::size_t size) noexcept {
    if (block_record* const known = blocks_.find(p)) { known->size = size; }
}

void tracker::too_much_came_back(void* p, std::size_t size,
                                 const std::source_location& where) noexcept {
    misuse(misuse_kind::foreign_pointer, where, "no more comes back than was given out",
           "0x%zx is freed with %zu bytes; '%s' has %zu blocks with %zu bytes live",
           reinterpret_cast<std::uintptr_t>(p), size, options_.name, stats_.live_count,
           stats_.live_size);
}

void tracker::forget_since(std::uint64_t serial, std::size_t live_count,
                           std::size_t live_size) noexcept {
    // A mark remembers what was live; what the allocator inside forgets is forgotten here, by its
    // serial.
    blocks_.erase_since(serial, [](const block_record&) {});
    stats_.live_count = live_count;
    stats_.live_size = live_size;
    // Which of the unlisted ones went is not known, unless all of them did.
    if (live_count == 0) { stats_.unlisted_count = 0; }
}

void tracker::say(const char* sentence) const noexcept {
    // A line at a time, ended by 0 and without a newline, which only stderr gets.
    if (options_.sink != nullptr) {
        options_.sink(sentence, options_.sink_context);
    } else {
        std::fprintf(stderr, "%s\n", sentence);
    }
}

std::size_t tracker::sites(slice<track_site> out, std::uint64_t since) const noexcept {
    track_sites_walk walk;
    (void)some_sites(out, walk, blocks_.slot_count(), since);
    return walk.site_count;
}

bool tracker::some_sites(slice<track_site> out, track_sites_walk& walk, std::size_t slot_count,
                         std::uint64_t since) const noexcept {
    const std::size_t all = blocks_.slot_count();
    if (walk.slot_count != all) { walk = {.slot_count = all}; }
    const std::size_t left = all - walk.next_slot;
    const std::size_t end = slot_count < left ? walk.next_slot + slot_count : all;
    blocks_.for_each_in(walk.next_slot, end, [&](const block_record& r) {
        if (r.serial >= since) { add_to_site(out, walk.site_count, r); }
    });
    walk.next_slot = end;
    if (end != all) { return true; }
    sort_by_size(out, walk.site_count);
    return false;
}

void tracker::report(bool at_end) const noexcept {
    if (stats_.live_count == 0) { return; }
    const bool one = stats_.live_count == 1;
    char line[512];
    std::snprintf(
        line, sizeof line, "%s: %zu block%s with %zu bytes %s (at most %zu bytes were live)",
        options_.name, stats_.live_count, plural(stats_.live_count), stats_.live_size,
        at_end ? (one ? "was never freed" : "were never freed") : (one ? "is live" : "are live"),
        stats_.peak_size);
    say(line);

    // By the line that asked, the first 32 lines that are met; blocks of all others are added up.
    track_site found[site_max];
    const std::size_t site_count = sites({found, site_max}, 0);
    std::size_t other_count = blocks_.count();
    std::size_t other_bytes = 0;
    blocks_.for_each([&](const block_record& r) { other_bytes += r.size; });
    for (std::size_t i = 0; i < site_count; ++i) {
        other_count -= found[i].count;
        other_bytes -= found[i].size;
    }
    for (std::size_t i = 0; i < site_count; ++i) {
        const track_site& s = found[i];
        if (s.where.line() == 0) {
            std::snprintf(
                line, sizeof line,
                "    %zu block%s with %zu bytes: from a line that only checked builds name",
                s.count, plural(s.count), s.size);
        } else {
            std::snprintf(line, sizeof line, "    %zu block%s with %zu bytes: %s%sfrom %s:%u in %s",
                          s.count, plural(s.count), s.size, s.label != nullptr ? s.label : "",
                          s.label != nullptr ? ", " : "", s.where.file_name(),
                          static_cast<unsigned>(s.where.line()), s.where.function_name());
        }
        say(line);
    }
    if (other_count != 0) {
        std::snprintf(line, sizeof line, "    %zu block%s with %zu bytes: from other places",
                      other_count, plural(other_count), other_bytes);
        say(line);
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
