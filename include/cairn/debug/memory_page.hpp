// cairn/debug/memory_page.hpp - a static HTML page that shows what lies in memory.
//
//      cairn::memory_page page{&to_file, file};      // the head
//      page.add(snapshot);                           // a table of all memories, with bars
//      page.add("meshes", meshes);                   // heap:     a map of its blocks
//      page.add("sparks", sparks);                   // pool:     how full its pages are
//      page.add("particles", particles);             // table:    bytes of each column
//      page.add("enemies", enemies);                 // slot_map: generations that are left
//                                                    // the end, when `page` ends
//
// The page is one file without scripts. Pictures are SVG.
//
// Use it for: a state that is looked at later: a bug report, a nightly run.
// Look elsewhere for: the running game (adapt/imgui_inspector.hpp), figures alone (registry.hpp).
//
// Cost:    no memory. The texts go through the sink piece by piece; O(blocks, slots, handles).
// Threads: that of each memory that is added.
#pragma once

#include <cstddef>

#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/debug/registry.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class memory_page {
public:
    /// Receives the page in pieces, which are not ended by 0.
    using sink = memory_snapshot::sink;

    /// Writes the head of the page to `to`, and its end when this object ends.
    explicit memory_page(sink to, void* context) noexcept;
    ~memory_page();
    memory_page(const memory_page&) = delete;
    memory_page& operator=(const memory_page&) = delete;

    /// A row for each memory of the registry.
    void add(const memory_snapshot& all) noexcept;

    /// A map of the blocks in the order of addresses: live, waiting unmerged, free.
    template <class Fit>
    void add(const char* name, const heap<Fit>& memory) noexcept {
        const auto s = memory.stats();
        begin_map(name, s.capacity / cell_count_max + 1, cell_count_max);
        memory.for_each_block([this](const heap_block& b) {
            const std::size_t size = b.size + heap<Fit>::header_size;
            add_bytes(size, b.state == block_state::used       ? &cell::used
                            : b.state == block_state::deferred ? &cell::waiting
                                                               : &cell::free);
        });
        end_map();
        say("%zu bytes in %zu regions, %zu free, %zu wait unmerged", s.capacity, s.region_count,
            s.free_size, s.deferred_size);
    }
    /// The pages of 4 KiB that have a live slot, each by its live bytes.
    void add(const char* name, pool& memory) noexcept;

    /// The bytes of each column.
    template <class Row, class Layout>
    void add(const char* name, const table<Row, Layout>& rows) noexcept {
        const detail::layout_desc& layout = detail::layout_for<Row, Layout>::desc;
        begin_bars(name);
        for (std::size_t i = 0; i < layout.column_count; ++i) {
            add_bar(i, layout.columns[i].size * rows.capacity(),
                    layout.columns[i].size * rows.size());
        }
        end_bars();
        say("%zu rows of %zu", rows.size(), rows.capacity(), 0, 0);
    }
    /// How many objects have how many generations left, in ten parts of all generations. A slot
    /// whose generations are used up is not used again.
    template <class T, class Policy>
    void add(const char* name, const slot_map<T, Policy>& objects) noexcept {
        using handle_type = typename slot_map<T, Policy>::handle_type;
        constexpr std::size_t most = handle_type::generation_max;
        std::size_t counts[10] = {};
        std::size_t least = most;
        for (const handle_type h : objects.handles()) {
            const std::size_t left = objects.generations_left(h);
            least = left < least ? left : least;
            ++counts[left * 10 / (most + 1)];
        }
        begin_bars(name);
        for (std::size_t i = 0; i < 10; ++i) { add_bar(i, objects.size(), counts[i]); }
        end_bars();
        say("%zu objects; at least %zu of %zu generations are left", objects.size(), least, most,
            0);
    }

private:
    static constexpr std::size_t cell_columns = 96;
    static constexpr std::size_t cell_count_max = cell_columns * 16;
    struct cell {
        std::size_t used, waiting, free;  // bytes
    };

    /// `cell_count`: cells of the map at most.
    void begin_map(const char* name, std::size_t cell_size, std::size_t cell_count) noexcept;
    void add_bytes(std::size_t size, std::size_t cell::* kind) noexcept;
    void write_cell() noexcept;
    void end_map() noexcept;
    void begin_bars(const char* name) noexcept;
    void add_bar(std::size_t number, std::size_t all, std::size_t part) noexcept;
    void end_bars() noexcept;
    /// A paragraph; `format` has up to four %zu.
    void say(const char* format, std::size_t a, std::size_t b, std::size_t c,
             std::size_t d) noexcept;
    void heading(const char* name) noexcept;
    void put(const char* text) noexcept;
    void put_escaped(const char* text) noexcept;

    sink to_;
    void* context_;
    cell cell_{};                // bytes of the cell that is being filled
    std::size_t cell_size_ = 1;  // bytes of a full one
    std::size_t cell_count_ = 0;
};

}}  // namespace cairn::CAIRN_FLAVOUR
