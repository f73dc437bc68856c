// Cold half of cairn/debug/memory_page.hpp: the texts of the page.
#include <cairn/debug/memory_page.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

constexpr const char* head =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Memory</title>\n"
    "<style>body{font:14px sans-serif;margin:2em;max-width:60em}table{border-spacing:1em .2em}"
    "td+td{text-align:right}svg{background:#222;display:block}</style></head><body>\n"
    "<h1>Memory</h1>\n";

constexpr std::size_t drawn_page_size = 4096;  // bytes of a page in the picture of a pool

std::uintptr_t page_of(const void* p) noexcept {
    return reinterpret_cast<std::uintptr_t>(p) / drawn_page_size;
}
/// Pages in which a live slot begins.
std::size_t count_pages(pool& memory) noexcept {
    std::uintptr_t last = 0;
    std::size_t count = 0;
    memory.for_each_live([&](const void* p) {
        if (page_of(p) != last) { ++count; }
        last = page_of(p);
    });
    return count;
}

}  // namespace

memory_page::memory_page(sink to, void* context) noexcept : to_{to}, context_{context} {
    put(head);
}

memory_page::~memory_page() { put("</body></html>\n"); }

void memory_page::put(const char* text) noexcept { to_(text, std::strlen(text), context_); }

void memory_page::put_escaped(const char* text) noexcept {
    for (; *text != 0; ++text) {
        switch (*text) {
            case '<':
                put("&lt;");
                break;
            case '&':
                put("&amp;");
                break;
            default:
                to_(text, 1, context_);
        }
    }
}

void memory_page::heading(const char* name) noexcept {
    put("<h2>");
    put_escaped(name);
    put("</h2>\n");
}

void memory_page::say(const char* format, std::size_t a, std::size_t b, std::size_t c,
                      std::size_t d) noexcept {
    char text[200];
    std::snprintf(text, sizeof text, format, a, b, c, d);
    put("<p>");
    put(text);
    put("</p>\n");
}

// ------------------------------------------------------------------------------------------------
// the registry

void memory_page::add(const memory_snapshot& all) noexcept {
    put("<table><tr><td>memory<td>live<td>capacity<td>limit<td>peak<td>refused</tr>\n");
    for (const memory_node& n : all.nodes()) {
        put("<tr><td>");
        put_escaped(n.name);
        const memory_facts& f = n.facts;
        for (const std::size_t value :
             {f.live_size, f.capacity, f.limit_size, f.peak_size, f.refused_count}) {
            char text[32] = "<td>";
            if (value != memory_facts::unknown) {
                std::snprintf(text, sizeof text, "<td>%zu", value);
            }
            put(text);
        }
        put("</tr>\n");
    }
    put("</table>\n");
}

// ------------------------------------------------------------------------------------------------
// maps: a row of cells, each by what its bytes are

void memory_page::begin_map(const char* name, std::size_t cell_size,
                            std::size_t cell_count) noexcept {
    heading(name);
    cell_ = {};
    cell_size_ = cell_size;
    cell_count_ = 0;
    char text[64];
    std::snprintf(text, sizeof text, "<svg width=\"960\" height=\"%zu\">\n",
                  (cell_count + cell_columns - 1) / cell_columns * 10);
    put(text);
}

void memory_page::add_bytes(std::size_t size, std::size_t cell::* kind) noexcept {
    while (size != 0) {
        const std::size_t room = cell_size_ - (cell_.used + cell_.waiting + cell_.free);
        const std::size_t part = size < room ? size : room;
        cell_.*kind += part;
        size -= part;
        if (part == room) { write_cell(); }
    }
}

/// Blue: live; orange: waits unmerged; dark: free.
void memory_page::write_cell() noexcept {
    const auto share = [this](std::size_t bytes) {
        return static_cast<unsigned>(200 * bytes / cell_size_);
    };
    const unsigned used = share(cell_.used);
    const unsigned waiting = share(cell_.waiting);
    char text[120];
    std::snprintf(text, sizeof text,
                  "<rect x=\"%zu\" y=\"%zu\" width=\"9\" height=\"9\" fill=\"#%02x%02x%02x\"/>\n",
                  cell_count_ % cell_columns * 10, cell_count_ / cell_columns * 10, 40 + waiting,
                  40 + used / 2 + waiting / 2, 40 + used);
    put(text);
    cell_ = {};
    ++cell_count_;
}

void memory_page::end_map() noexcept {
    if (cell_.used + cell_.waiting + cell_.free != 0) { write_cell(); }
    put("</svg>\n");
}

void memory_page::add(const char* name, pool& memory) noexcept {
    const auto s = memory.stats();
    const std::size_t live = s.live_count * memory.slot_size();
    const std::size_t pages = count_pages(memory);
    begin_map(name, drawn_page_size, pages);
    std::uintptr_t last_page = 0;
    memory.for_each_live([&](void* p) {
        const std::uintptr_t here = page_of(p);
        if (here != last_page && last_page != 0) { write_cell(); }
        last_page = here;
        const std::size_t size = cell_.used + memory.slot_size();
        cell_.used = size < drawn_page_size ? size : drawn_page_size;
    });
    end_map();
    say("%zu bytes live in %zu chunks, %zu bytes in all; %zu pages have a live slot", live,
        s.chunk_count, s.upstream_size, pages);
}

// ------------------------------------------------------------------------------------------------
// bars

void memory_page::begin_bars(const char* name) noexcept {
    heading(name);
    put("<table>\n");
}

void memory_page::add_bar(std::size_t number, std::size_t all, std::size_t part) noexcept {
    char text[120];
    std::snprintf(text, sizeof text,
                  "<tr><td>%zu<td><meter max=\"%zu\" value=\"%zu\"></meter><td>%zu of %zu</tr>\n",
                  number, all, part, part, all);
    put(text);
}

void memory_page::end_bars() noexcept { put("</table>\n"); }

}}  // namespace cairn::CAIRN_FLAVOUR
