// cairn/adapt/imgui_inspector.hpp - a panel of Dear ImGui that shows memory while the game runs.
//
//      +- Memory -----------------------------------------------+
//      | Overview | Frames | Map | Sites | Since the mark       |
//      | meshes  [=========|        ] 12.4 MiB of 16 MiB        |     a bar to the limit
//      | frame   [==|               ]  0.3 MiB   peak 0.9 MiB   |
//      +--------------------------------------------------------+
//
//      static cairn::imgui_inspector inspector;       // 361 KiB: no local variable
//      inspector.add_map("meshes", meshes);           // a heap<>; until remove(meshes)
//      inspector.add_sites("textures", textures);     // a tracked<>
//
//      cairn::registry::publish();                    // once a frame, in this order
//      inspector.next_frame(milliseconds);
//      inspector.draw();                              // between ImGui::NewFrame() and Render()
//
// Overview: each memory of the registry. Frames: the last 600 frames, which stand still while the
// mouse is over them; a click on one shows which memories grew in it, and a frame that takes longer
// than the limit can stop the recording. Map: the blocks of a heap in the order of addresses.
// Sites: which line requested what is live. Since the mark: what was requested after a click on
// "Mark", and is not freed.
//
// Cost:    no allocation but in the first frames (ImGui's, and the snapshot's). At most 4,000
//          rectangles. Each frame walks 600 blocks of the heap whose map is shown, or 4,000 slots
//          of the list whose sites are shown: 100,000 blocks are shown anew in 167 and 66 frames.
// Threads: that of the ImGui context, which owns the memories of maps and sites.
#pragma once

#include <cairn/alloc/heap.hpp>
#include <cairn/debug/registry.hpp>
#include <cairn/debug/tracked.hpp>

#include <imgui.h>

#include <cstdio>
#include <cstring>
#include <utility>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class imgui_inspector {
public:
    static constexpr std::size_t frame_count = 600;      // that are remembered
    static constexpr std::size_t memory_count_max = 64;  // further ones are not shown
    static constexpr std::size_t listed_count_max = 8;   // maps; sites

    /// `late_milliseconds`: frames above it are red, and stop the recording where that is chosen.
    explicit imgui_inspector(float late_milliseconds = 1000.0F / 90) noexcept
        : late_milliseconds_{late_milliseconds} {}
    imgui_inspector(const imgui_inspector&) = delete;
    imgui_inspector& operator=(const imgui_inspector&) = delete;

    /// Lists the blocks of `memory` under Map.
    /// Returns: false when eight are listed.
    template <class Fit>
    bool add_map(const char* name, heap<Fit>& memory) noexcept {
        return add(maps_, {name, &memory, [](void* a, imgui_inspector& to) {
                               to.walk_map(*static_cast<heap<Fit>*>(a));
                           }});
    }
    /// Lists the lines that requested the blocks of `memory`, which has a list, under Sites.
    /// Returns: false when eight are listed.
    template <class A>
    bool add_sites(const char* name, tracked<A>& memory) noexcept {
        return add(tracked_, {name, &memory, [](void* a, imgui_inspector& to) {
                                  to.read_sites(*static_cast<tracked<A>*>(a));
                              }});
    }
    /// Lists it no longer, by none of its names: before it ends.
    void remove(const void* memory) noexcept {
        remove_from(maps_, memory);
        remove_from(tracked_, memory);
        begin_map();  // the chosen one may be another now
        begin_sites(false);
    }

    /// Takes what the registry published last as the state at the end of a frame.
    void next_frame(float milliseconds) noexcept;
    /// Remembers what is live, for the page Since the mark.
    void mark() noexcept;
    /// A window with all pages.
    void draw(const char* title = "Memory");
    enum class page { none, overview, frames, map, sites, since_mark };
    /// The next draw() turns to this page.
    void show(page which) noexcept { wanted_ = which; }
    /// `true`: the recording stands after a late frame, as by a click on "Stop at a late frame".
    void stop_at_late_frames(bool stops = true) noexcept { stops_when_late_ = stops; }

    /// True while the recording stands: "Freeze", or a late frame with "Stop at a late frame".
    [[nodiscard]] bool is_frozen() const noexcept { return is_frozen_; }
    /// Frames above the limit, since the beginning.
    [[nodiscard]] std::size_t late_count() const noexcept { return late_count_; }

private:
    static constexpr std::size_t cell_columns = 96;
    static constexpr std::size_t cell_count = cell_columns * 32;  // of a map
    static constexpr std::size_t site_count_max = 48;
    struct listed {
        const char* name = nullptr;
        void* memory = nullptr;
        void (*show)(void* memory, imgui_inspector& to) = nullptr;
        std::uint64_t mark = 0;  // requests when the mark was set
    };
    struct list {
        listed items[listed_count_max];
        int count = 0;
        int chosen = 0;
    };
    /// What lies in an equal part of a heap's bytes.
    struct cell {
        std::size_t used, waiting;  // bytes
    };
    static constexpr std::size_t blocks_in_a_frame = 600;
    static constexpr std::size_t slots_in_a_frame = 4'000;

    static bool add(list& to, listed item) noexcept {
        if (to.count == static_cast<int>(listed_count_max)) { return false; }
        to.items[to.count++] = item;
        return true;
    }
    static void remove_from(list& from, const void* memory) noexcept {
        const int count = from.count;
        from.count = 0;
        for (int i = 0; i < count; ++i) {
            if (from.items[i].memory != memory) { from.items[from.count++] = from.items[i]; }
        }
        if (from.count != count) { from.chosen = 0; }
    }
    static bool choose(const char* label, list& from);
    static void text_of_size(char (&to)[32], double bytes) noexcept;
    static const char* without_folder(const char* file) noexcept;
    static void show_size(double bytes);

    void begin_map() noexcept;
    void begin_walk(std::size_t capacity) noexcept;
    void clear_cells_before(std::size_t end) noexcept;
    void count_block(const heap_block& block, std::size_t offset) noexcept;
    void begin_sites(bool since_mark) noexcept;
    template <class A>
    void read_sites(tracked<A>& memory) noexcept;
    [[nodiscard]] std::size_t column_of(const char* name) noexcept;
    [[nodiscard]] std::size_t newest() const noexcept {
        return (next_ + frame_count - 1) % frame_count;
    }
    [[nodiscard]] double growth_in(std::size_t frame, std::size_t memory) const noexcept;

    void draw_page(const char* name, page which, void (imgui_inspector::*body)());
    void draw_overview();
    void draw_frames();
    void draw_bars(ImVec2 at, ImVec2 size);
    void draw_growth(std::size_t frame);
    void draw_map();
    void draw_cells();
    template <class Fit>
    void walk_map(heap<Fit>& memory) noexcept;
    void draw_sites() { draw_site_list(false); }
    void draw_site_list(bool since_mark);
    void draw_since_mark();

    memory_snapshot now_;
    char names_[memory_count_max][memory_node::name_size_max + 1] = {};
    std::size_t name_count_ = 0;
    float milliseconds_[frame_count] = {};
    bool is_after_pause_[frame_count] = {};  // what grew before the frame is not known
    std::size_t live_[frame_count][memory_count_max] = {};  // bytes of each memory after the frame
    std::size_t marked_[memory_count_max] = {};
    std::size_t next_ = 0;      // where the next frame is written
    std::size_t selected_ = 0;  // frame whose growth is shown
    std::size_t late_count_ = 0;
    float late_milliseconds_;
    bool is_frozen_ = false;
    bool stood_ = false;          // the frame before the next one was not recorded
    bool is_pointed_at_ = false;  // the mouse is over the bars, which then stand still
    bool stops_when_late_ = false;
    bool is_marking_ = false;
    page wanted_ = page::none;

    list maps_, tracked_;
    cell cells_[cell_count] = {};   // up to walked_cells_: of this walk; behind: of the last one
    std::size_t cell_size_ = 0;     // bytes; 0: no walk has begun
    std::size_t walked_cells_ = 0;  // cells that this walk has reached
    track_site sites_[site_count_max] = {};    // of the last whole list
    track_site counted_[site_count_max] = {};  // of the list that is being read
    std::size_t site_count_ = 0;
    track_sites_walk sites_walk_;
    bool since_mark_ = false;  // the sites are those of blocks since the mark
};

static_assert(sizeof(imgui_inspector) <= 361 * 1024, "its size is as the head of this file says");

// ------------------------------------------------------------------------------------------------
// what is known

inline void imgui_inspector::next_frame(float milliseconds) noexcept {
    const bool is_late = milliseconds > late_milliseconds_;
    late_count_ += is_late ? 1 : 0;
    const bool stands = is_frozen_ || is_pointed_at_;
    is_pointed_at_ = false;  // until the bars are drawn
    if (stands || !registry::read(now_)) {
        stood_ = true;
        return;
    }
    std::size_t(&live)[memory_count_max] = live_[next_];
    std::memset(live, 0, sizeof live);  // also of a memory that ended
    for (const memory_node& n : now_.nodes()) {
        const std::size_t column = column_of(n.name);
        if (column == memory_count_max || n.facts.live_size == memory_facts::unknown) { continue; }
        live[column] += n.facts.live_size;  // memories of one name are one
    }
    milliseconds_[next_] = milliseconds;
    is_after_pause_[next_] = std::exchange(stood_, false);
    selected_ = next_;
    next_ = (next_ + 1) % frame_count;
    is_frozen_ = stops_when_late_ && is_late;
}

/// Returns: memory_count_max when too many names were seen.
inline std::size_t imgui_inspector::column_of(const char* name) noexcept {
    std::size_t i = 0;
    while (i < name_count_ && std::strcmp(names_[i], name) != 0) { ++i; }
    if (i == name_count_ && i < memory_count_max) {
        std::strcpy(names_[name_count_++], name);
        marked_[i] = 0;
    }
    return i;
}

/// 0 for the oldest frame and the first one after a pause: what was live before is not known.
inline double imgui_inspector::growth_in(std::size_t frame, std::size_t memory) const noexcept {
    if (frame == next_ || is_after_pause_[frame]) { return 0; }
    const std::size_t before = (frame + frame_count - 1) % frame_count;
    return static_cast<double>(live_[frame][memory]) - static_cast<double>(live_[before][memory]);
}

inline void imgui_inspector::mark() noexcept {
    std::memcpy(marked_, live_[newest()], sizeof marked_);
    const int chosen = tracked_.chosen;
    is_marking_ = true;
    for (tracked_.chosen = 0; tracked_.chosen < tracked_.count; ++tracked_.chosen) {
        const listed& t = tracked_.items[tracked_.chosen];
        t.show(t.memory, *this);
    }
    is_marking_ = false;
    tracked_.chosen = chosen;
    begin_sites(since_mark_);
}

//      cells_   | this walk: used, waiting ... | last walk ...        |
//                                              ^ walked_cells_

/// The next part of a walk shows another heap, of which nothing is known.
inline void imgui_inspector::begin_map() noexcept {
    cell_size_ = 0;
    std::memset(cells_, 0, sizeof cells_);
}

/// `capacity`: bytes of the blocks of the heap.
inline void imgui_inspector::begin_walk(std::size_t capacity) noexcept {
    clear_cells_before(cell_count);
    cell_size_ = capacity / cell_count + 1;
    walked_cells_ = 0;
}

/// What the last walk has found in these cells is forgotten.
inline void imgui_inspector::clear_cells_before(std::size_t end) noexcept {
    for (; walked_cells_ < end && walked_cells_ < cell_count; ++walked_cells_) {
        cells_[walked_cells_] = {};
    }
}

inline void imgui_inspector::count_block(const heap_block& block, std::size_t offset) noexcept {
    const std::size_t end = offset + block.size + heap<>::header_size;
    clear_cells_before((end - 1) / cell_size_ + 1);
    if (block.state == block_state::free) { return; }
    std::size_t cell::* const kind =
        block.state == block_state::used ? &cell::used : &cell::waiting;
    for (std::size_t at = offset / cell_size_; offset < end && at < cell_count; ++at) {
        const std::size_t cell_end = (at + 1) * cell_size_;
        cells_[at].*kind += (end < cell_end ? end : cell_end) - offset;
        offset = cell_end;
    }
}

/// A part of the walk in each frame. The heap may change between two of them, and may have been
/// walked in part before its map was chosen.
template <class Fit>
void imgui_inspector::walk_map(heap<Fit>& memory) noexcept {
    const std::size_t capacity = memory.stats().capacity;
    if (cell_size_ == 0) { begin_walk(capacity); }
    const bool goes_on = memory.for_some_blocks(
        blocks_in_a_frame, [this, capacity](const heap_block& b, std::size_t offset) {
            if (offset == 0) { begin_walk(capacity); }
            count_block(b, offset);
        });
    if (!goes_on) { clear_cells_before(cell_count); }
}

inline void imgui_inspector::begin_sites(bool since_mark) noexcept {
    since_mark_ = since_mark;
    site_count_ = 0;
    sites_walk_ = {};
}

/// A part of the list in each frame, or the mark.
template <class A>
void imgui_inspector::read_sites(tracked<A>& memory) noexcept {
    listed& item = tracked_.items[tracked_.chosen];
    if (is_marking_) {
        item.mark = memory.stats().allocated_count;
        return;
    }
    const std::uint64_t since = since_mark_ ? item.mark : 0;
    if (!memory.some_sites({counted_, site_count_max}, sites_walk_, slots_in_a_frame, since)) {
        site_count_ = sites_walk_.site_count;
        std::memcpy(sites_, counted_, sizeof sites_);
        sites_walk_ = {};
    }
}

// ------------------------------------------------------------------------------------------------
// pages

inline void imgui_inspector::draw(const char* title) {
    ImGui::SetNextWindowSize({620, 460}, ImGuiCond_FirstUseEver);
    if (ImGui::Begin(title) && ImGui::BeginTabBar("pages")) {
        draw_page("Overview", page::overview, &imgui_inspector::draw_overview);
        draw_page("Frames", page::frames, &imgui_inspector::draw_frames);
        if (maps_.count != 0) { draw_page("Map", page::map, &imgui_inspector::draw_map); }
        if (tracked_.count != 0) { draw_page("Sites", page::sites, &imgui_inspector::draw_sites); }
        draw_page("Since the mark", page::since_mark, &imgui_inspector::draw_since_mark);
        wanted_ = page::none;
        ImGui::EndTabBar();
    }
    ImGui::End();
}

inline void imgui_inspector::draw_page(const char* name, page which,
                                       void (imgui_inspector::*body)()) {
    const ImGuiTabItemFlags flags =
        wanted_ == which ? ImGuiTabItemFlags_SetSelected : ImGuiTabItemFlags_None;
    if (!ImGui::BeginTabItem(name, nullptr, flags)) { return; }
    (this->*body)();
    ImGui::EndTabItem();
}

inline void imgui_inspector::text_of_size(char (&to)[32], double bytes) noexcept {
    const double size = bytes < 0 ? -bytes : bytes;
    if (size < 10'000) {
        std::snprintf(to, sizeof to, "%.0f B", bytes);
    } else if (size < 10'000'000) {
        std::snprintf(to, sizeof to, "%.1f KiB", bytes / 1024);
    } else {
        std::snprintf(to, sizeof to, "%.1f MiB", bytes / (1024 * 1024));
    }
}

inline const char* imgui_inspector::without_folder(const char* file) noexcept {
    const char* name = file;
    for (; *file != 0; ++file) {
        if (*file == '/' || *file == '\\') { name = file + 1; }
    }
    return name;
}

inline void imgui_inspector::show_size(double bytes) {
    char text[32];
    text_of_size(text, bytes);
    ImGui::TextUnformatted(text);
}

inline void imgui_inspector::draw_overview() {
    if (!ImGui::BeginTable("memories", 4, ImGuiTableFlags_RowBg)) { return; }
    for (const char* head : {"memory", "live", "peak", "refused"}) {
        ImGui::TableSetupColumn(head);
    }
    ImGui::TableHeadersRow();
    for (const memory_node& n : now_.nodes()) {
        const memory_facts& f = n.facts;
        const auto known = [](std::size_t size) { return size != memory_facts::unknown; };
        const std::size_t all = known(f.limit_size) ? f.limit_size
                                : known(f.capacity) ? f.capacity
                                                    : 0;
        char text[32] = "not known";
        if (known(f.live_size)) { text_of_size(text, static_cast<double>(f.live_size)); }
        ImGui::TableNextColumn();
        ImGui::TextUnformatted(n.name);
        ImGui::TableNextColumn();
        ImGui::ProgressBar(all == 0 || !known(f.live_size)
                               ? 0.0F
                               : static_cast<float>(f.live_size) / static_cast<float>(all),
                           {-1, 0}, text);
        ImGui::TableNextColumn();
        if (known(f.peak_size)) {
            text_of_size(text, static_cast<double>(f.peak_size));
            ImGui::Text("%s%s", text, n.is_sampled ? " sampled" : "");
        }
        ImGui::TableNextColumn();
        if (known(f.refused_count)) { ImGui::Text("%zu", f.refused_count); }
    }
    ImGui::EndTable();
}

inline void imgui_inspector::draw_frames() {
    ImGui::Checkbox("Freeze", &is_frozen_);
    ImGui::SameLine();
    ImGui::Checkbox("Stop at a late frame", &stops_when_late_);
    ImGui::SameLine();
    ImGui::Text("%zu late above %.1f ms", late_count_, static_cast<double>(late_milliseconds_));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 size{ImGui::GetContentRegionAvail().x, 150};
    if (ImGui::InvisibleButton("frames", size)) {
        const float part = (ImGui::GetIO().MousePos.x - at.x) / size.x;
        const auto clicked = static_cast<std::size_t>(part * float{frame_count});
        selected_ = (next_ + (clicked < frame_count ? clicked : frame_count - 1)) % frame_count;
        is_frozen_ = true;
    }
    is_pointed_at_ = ImGui::IsItemHovered();
    draw_bars(at, size);
    draw_growth(selected_);
}

/// A bar for each frame, the oldest on the left, and a line at the limit.
inline void imgui_inspector::draw_bars(ImVec2 at, ImVec2 size) {
    ImDrawList& out = *ImGui::GetWindowDrawList();
    const float scale = size.y / (1.5F * late_milliseconds_);
    const float width = size.x / float{frame_count};
    for (std::size_t i = 0; i < frame_count; ++i) {
        const std::size_t frame = (next_ + i) % frame_count;
        const float full = milliseconds_[frame] * scale;
        const float height = full < size.y ? full : size.y;
        const ImU32 color = frame == selected_ ? IM_COL32(255, 255, 255, 255)
                            : milliseconds_[frame] > late_milliseconds_
                                ? IM_COL32(230, 80, 60, 255)
                                : IM_COL32(90, 160, 220, 255);
        const float x = at.x + width * static_cast<float>(i);
        out.AddRectFilled({x, at.y + size.y - height}, {x + width, at.y + size.y}, color);
    }
    const float y = at.y + size.y - late_milliseconds_ * scale;
    out.AddLine({at.x, y}, {at.x + size.x, y}, IM_COL32(230, 200, 60, 255));
}

/// The ten memories that grew most in a frame.
inline void imgui_inspector::draw_growth(std::size_t frame) {
    ImGui::Text("A frame of %.3f ms. Memories that grew in it:",
                static_cast<double>(milliseconds_[frame]));
    bool is_shown[memory_count_max] = {};
    for (int shown = 0; shown < 10; ++shown) {
        std::size_t most = memory_count_max;
        for (std::size_t m = 0; m < name_count_; ++m) {
            const double grown = growth_in(frame, m);
            if (grown > 0 && !is_shown[m] &&
                (most == memory_count_max || grown > growth_in(frame, most))) {
                most = m;
            }
        }
        if (most == memory_count_max) { break; }
        is_shown[most] = true;
        char text[32];
        text_of_size(text, growth_in(frame, most));
        ImGui::BulletText("%s grew by %s", names_[most], text);
    }
}

/// Lets one of a list be chosen. Returns: true when another one is.
inline bool imgui_inspector::choose(const char* label, list& from) {
    const int before = from.chosen;
    ImGui::Combo(
        label, &from.chosen,
        [](void* items, int i, const char** name) {
            *name = static_cast<listed*>(items)[i].name;
            return true;
        },
        from.items, from.count);
    return from.chosen != before;
}

inline void imgui_inspector::draw_map() {
    if (choose("heap", maps_)) { begin_map(); }
    const listed& map = maps_.items[maps_.chosen];
    map.show(map.memory, *this);
    char text[32];
    text_of_size(text, static_cast<double>(cell_size_));
    ImGui::Text("%s a cell; blue: live, orange: waits unmerged, dark: free", text);
    draw_cells();
}

inline void imgui_inspector::draw_cells() {
    ImDrawList& out = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float w = room.x / float{cell_columns};
    const float h = room.y / float{cell_count / cell_columns};
    for (std::size_t i = 0; i < cell_count; ++i) {
        const cell& c = cells_[i];
        const auto share = [&](std::size_t size) {  // more than all when a region went in mid-walk
            return static_cast<int>(200 * (size < cell_size_ ? size : cell_size_) / cell_size_);
        };
        const int used = share(c.used);
        const int waiting = share(c.waiting);
        const ImU32 color = IM_COL32(30 + waiting, 30 + used / 2 + waiting / 2, 40 + used, 255);
        const float x = at.x + w * static_cast<float>(i % cell_columns);
        const float y = at.y + h * static_cast<float>(i / cell_columns);
        out.AddRectFilled({x, y}, {x + w - 1, y + h - 1}, color);
    }
}

inline void imgui_inspector::draw_site_list(bool since_mark) {
    if (choose("memory", tracked_) || since_mark != since_mark_) { begin_sites(since_mark); }
    const listed& t = tracked_.items[tracked_.chosen];
    t.show(t.memory, *this);
    if (!ImGui::BeginTable("sites", 4, ImGuiTableFlags_RowBg)) { return; }
    for (const char* head : {"live", "blocks", "label", "line"}) { ImGui::TableSetupColumn(head); }
    ImGui::TableHeadersRow();
    for (std::size_t i = 0; i < site_count_; ++i) {
        const track_site& s = sites_[i];
        ImGui::TableNextColumn();
        show_size(static_cast<double>(s.size));
        ImGui::TableNextColumn();
        ImGui::Text("%zu", s.count);
        ImGui::TableNextColumn();
        ImGui::TextUnformatted(s.label != nullptr ? s.label : "");
        ImGui::TableNextColumn();
        if (s.where.line() == 0) {
            ImGui::TextUnformatted("known in checked builds");
        } else {
            ImGui::Text("%s:%u", without_folder(s.where.file_name()),
                        static_cast<unsigned>(s.where.line()));
        }
    }
    ImGui::EndTable();
}

inline void imgui_inspector::draw_since_mark() {
    if (ImGui::Button("Mark")) { mark(); }
    for (std::size_t m = 0; m < name_count_; ++m) {
        const double grown =
            static_cast<double>(live_[newest()][m]) - static_cast<double>(marked_[m]);
        if (grown == 0) { continue; }
        char text[32];
        text_of_size(text, grown);
        ImGui::BulletText("%s: %s%s", names_[m], grown > 0 ? "+" : "", text);
    }
    if (tracked_.count == 0) { return; }
    ImGui::TextUnformatted("Blocks requested since the mark:");
    draw_site_list(true);
}

}}  // namespace cairn::CAIRN_FLAVOUR
