// Sentences of cairn/adapt/imgui_inspector.hpp, with the real Dear ImGui.
#include <cairn/adapt/imgui.hpp>
#include <cairn/adapt/imgui_inspector.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/tagged_arenas.hpp>
#include <cairn/debug/failing.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "adapt/imgui_without_screen.hpp"

using namespace cairn;

namespace {

using page = imgui_inspector::page;

/// ImGui without a screen, and an inspector.
struct panel {
    failing<heap<>> memory;
    imgui_memory<failing<heap<>>> for_imgui{memory, "interface"};
    std::unique_ptr<imgui_inspector> inspector = std::make_unique<imgui_inspector>();

    panel() { start_imgui_without_screen(); }
    ~panel() { ImGui::DestroyContext(); }

    void frame(float milliseconds = 1) {
        registry::publish();
        inspector->next_frame(milliseconds);
        ImGui::NewFrame();
        inspector->draw();
        ImGui::Render();
    }
    void click(ImVec2 at) {
        ImGuiIO& io = ImGui::GetIO();
        io.MousePos = at;
        frame();
        for (const bool is_down : {true, false}) {
            io.MouseDown[0] = is_down;
            frame();
        }
    }
    /// The words of a page, once it is in front.
    std::string words(page which) {
        inspector->show(which);
        frame();
        frame();
        return words();
    }
    /// The words of the page in front.
    std::string words() {
        ImGui::NewFrame();
        ImGui::LogToClipboard();
        inspector->draw();
        ImGui::LogFinish();
        ImGui::Render();
        return ImGui::GetClipboardText();
    }
};

/// A panel that stops at late frames, and two memories that it lists.
struct late_panel : panel {
    budget<heap<>> meshes{16 << 20}, sounds{16 << 20};
    registry::entry listed[2] = {{"meshes", meshes}, {"sounds", sounds}};
    void* of_meshes = nullptr;
    void* of_sounds = nullptr;

    /// A frame of 12 ms, in which both memories gave out so many bytes.
    late_panel(std::size_t meshes_size, std::size_t sounds_size) {
        inspector->stop_at_late_frames();
        frame();
        of_meshes = meshes.allocate(meshes_size);
        of_sounds = sounds.allocate(sounds_size);
        frame(12);
    }
};

bool has(const std::string& text, const char* words) { return text.find(words) != text.npos; }

/// Corners on the screen that have this colour.
std::vector<ImVec2> corners_of(ImU32 color) {
    std::vector<ImVec2> corners;
    const ImDrawData& all = *ImGui::GetDrawData();
    for (int i = 0; i < all.CmdListsCount; ++i) {
        for (const ImDrawVert& v : all.CmdLists[i]->VtxBuffer) {
            if (v.col == color) { corners.push_back(v.pos); }
        }
    }
    return corners;
}

/// Cells of the map that are live as a whole.
std::size_t live_cell_count() { return corners_of(IM_COL32(30, 130, 240, 255)).size() / 4; }

}  // namespace

TEST(imgui_inspector, shows_each_memory_of_the_registry) {
    panel p;
    budget<heap<>> meshes{16 << 20};
    const registry::entry listed{"render/meshes", meshes};
    void* const block = meshes.allocate(5'000);
    heap<> sounds;
    const registry::entry sampled{"sounds", sounds};
    tagged_arenas jobs;
    const registry::entry unknown{"jobs", jobs, registry::entry::any_thread};
    const std::string text = p.words(page::overview);
    EXPECT_TRUE(has(text, "render/meshes") && has(text, "5000 B")) << text;
    EXPECT_TRUE(has(text, "0 B sampled") && !has(text, "5000 B sampled")) << text;
    EXPECT_TRUE(has(text, "not known")) << "what is live in jobs:" << text;
    EXPECT_TRUE(has(text, "peak") && has(text, "refused")) << "the heads of the columns: " << text;
    meshes.deallocate(block, 5'000);
}

TEST(imgui_inspector, tells_who_grew_in_a_frame_after_two_clicks) {
    panel p;
    budget<heap<>> meshes{16 << 20}, sounds{16 << 20};
    const registry::entry listed[] = {{"meshes", meshes}, {"sounds", sounds}};
    p.frame();
    void* const block = sounds.allocate(7'000);
    p.frame(12);
    void* const other = meshes.allocate(3'000);
    for (int i = 0; i < 5; ++i) { p.frame(); }
    // The tabs that are not in front begin with that of Frames.
    const std::vector<ImVec2> tabs = corners_of(ImGui::GetColorU32(ImGuiCol_Tab));
    ASSERT_FALSE(tabs.empty());
    ImVec2 first = tabs[0];
    for (const ImVec2 c : tabs) { first = {std::min(first.x, c.x), std::min(first.y, c.y)}; }
    p.click({first.x + 20, first.y + 10});
    const ImU32 red = IM_COL32(230, 80, 60, 255);  // the bar of 12 ms
    ASSERT_EQ(corners_of(red).size(), 4u);
    EXPECT_GT(corners_of(red)[2].x, corners_of(red)[0].x);
    EXPECT_GT(corners_of(red)[2].y, corners_of(red)[0].y) << "a bar stands on the lower edge";
    ImGui::GetIO().MousePos = corners_of(red)[0];
    p.frame();
    p.frame();
    const ImVec2 late = corners_of(red)[0];
    p.frame();
    EXPECT_EQ(corners_of(red)[0].x, late.x) << "the bars stand while the mouse is over them";
    p.click({late.x + 0.5F, late.y + 5});
    const std::string text = p.words();
    EXPECT_TRUE(has(text, "12.000 ms") && has(text, "sounds grew by 7000 B")) << text;
    EXPECT_FALSE(has(text, "meshes grew")) << text;
    sounds.deallocate(block, 7'000);
    meshes.deallocate(other, 3'000);
}

TEST(imgui_inspector, names_the_memories_that_grew_in_the_late_frame_it_stops_at) {
    late_panel p{3'000, 7'000};
    EXPECT_TRUE(p.inspector->is_frozen());
    EXPECT_EQ(p.inspector->late_count(), 1u);
    p.meshes.deallocate(p.of_meshes, 3'000);
    const std::string text = p.words(page::frames);
    EXPECT_TRUE(has(text, "12.000 ms") && has(text, "1 late above 11.1 ms")) << text;
    EXPECT_LT(text.find("sounds grew by 7000 B"), text.find("meshes grew by 3000 B")) << text;
    EXPECT_TRUE(has(text, "meshes grew by 3000 B")) << text;
    p.sounds.deallocate(p.of_sounds, 7'000);
}

TEST(imgui_inspector, names_the_lines_that_requested_what_is_live_and_what_is_new_since_the_mark) {
    panel p;
    tracked<heap<>> textures{{.name = "textures", .list = true}};
    EXPECT_TRUE(p.inspector->add_sites("textures", textures));
    auto mips = textures.at("mips");
    auto icons = textures.at("icons");
    void* const old = mips.allocate(100);
    p.inspector->mark();
    void* const young = icons.allocate(200);
    const std::string all = p.words(page::sites);
    EXPECT_TRUE(has(all, "mips") && has(all, "icons") && has(all, "imgui_inspector_test.cpp"))
        << all;
    EXPECT_FALSE(has(all, "known in checked builds")) << "two lines, and no third: " << all;
    const std::string since = p.words(page::since_mark);
    EXPECT_TRUE(has(since, "icons") && !has(since, "mips")) << since;
    EXPECT_TRUE(has(since, "icons | imgui_inspector_test.cpp:")) << since;
    void* const from_nowhere = textures.allocate(300, default_alignment, std::source_location{});
    EXPECT_TRUE(has(p.words(page::sites), "known in checked builds"));
    textures.deallocate(from_nowhere, 300);
    p.inspector->remove(&textures);
    EXPECT_FALSE(has(p.words(page::overview), "Sites"));
    icons.deallocate(young, 200);
    mips.deallocate(old, 100);
}

TEST(imgui_inspector, allocates_nothing_in_a_frame_and_draws_at_most_4000_rectangles) {
    panel p;
    heap<> meshes;
    const registry::entry listed{"meshes", meshes};
    p.inspector->add_map("meshes", meshes);
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < 100'000; ++i) { blocks.push_back(meshes.allocate(16 + i % 500)); }
    for (std::size_t i = 0; i < blocks.size(); i += 3) { meshes.deallocate(blocks[i]); }
    for (const page which : {page::overview, page::frames, page::map, page::since_mark}) {
        p.inspector->show(which);
        for (int i = 0; i < 40; ++i) { p.frame(); }
        const std::size_t before = p.memory.request_count();
        for (int i = 0; i < 40; ++i) {
            p.frame();
            ASSERT_LE(ImGui::GetDrawData()->TotalVtxCount / 4, 4'000)
                << "letters are rectangles, too";
        }
        EXPECT_EQ(p.memory.request_count(), before);
    }
    EXPECT_GE(ImGui::GetDrawData()->TotalVtxCount, 4);
}

TEST(imgui_inspector, lists_eight_maps_and_no_more) {
    panel p;
    heap<> memories[9];
    for (int i = 0; i < 8; ++i) { EXPECT_TRUE(p.inspector->add_map("heap", memories[i])); }
    EXPECT_FALSE(p.inspector->add_map("heap", memories[8]));
    p.inspector->remove(&memories[3]);
    EXPECT_TRUE(p.inspector->add_map("heap", memories[8]));
}

TEST(imgui_inspector, lists_a_removed_memory_by_none_of_its_names) {
    panel p;
    heap<> memory;
    EXPECT_TRUE(p.inspector->add_map("one", memory) && p.inspector->add_map("other", memory));
    p.inspector->remove(&memory);
    EXPECT_FALSE(has(p.words(page::overview), "Map"));
}

TEST(imgui_inspector, begins_the_map_anew_after_a_memory_was_removed) {
    panel p;
    heap<> blocks{std::size_t{1} << 22};
    heap<> one{std::size_t{1} << 22};
    for (int i = 0; i < 5'000; ++i) { ASSERT_NE(blocks.allocate(100), nullptr); }
    ASSERT_NE(one.allocate(1 << 20), nullptr);
    p.inspector->add_map("blocks", blocks);
    p.inspector->add_map("one", one);
    p.inspector->show(page::map);
    p.frame();
    p.frame();
    p.inspector->remove(&blocks);
    p.frame();
    EXPECT_NEAR(static_cast<double>(live_cell_count()), 3072 / 4, 10)
        << "a quarter of the heap is live";
}

TEST(imgui_inspector, walks_600_blocks_of_a_map_in_a_frame_and_is_whole_after_some_frames) {
    panel p;
    heap<> blocks{std::size_t{100'000} * 64};
    std::vector<void*> live;
    while (void* const b = blocks.allocate(56)) { live.push_back(b); }
    ASSERT_GT(live.size(), 90'000u);
    ASSERT_TRUE(p.inspector->add_map("blocks", blocks));
    p.inspector->show(page::map);
    p.frame();
    p.frame();  // the page is in front now
    const auto walked = [&] { return static_cast<double>(live_cell_count() * live.size()) / 3072; };
    for (int i = 0; i < 10; ++i) {
        const double before = walked();
        p.frame();
        EXPECT_NEAR(walked() - before, 600, 100);
    }
    for (int i = 0; i < 200; ++i) { p.frame(); }
    EXPECT_NEAR(walked(), static_cast<double>(live.size()), 100);
    for (std::size_t i = 0; i < live.size() / 2; ++i) { blocks.deallocate(live[i]); }
    blocks.trim();
    for (int i = 0; i < 200; ++i) { p.frame(); }
    EXPECT_NEAR(walked(), static_cast<double>(live.size() / 2), 100) << "the free half is dark";
}

TEST(imgui_inspector, goes_on_with_a_map_where_another_one_left_it) {
    panel p;
    heap<> small{std::size_t{1} << 20};
    heap<> large{std::size_t{1} << 22};
    ASSERT_NE(small.allocate(1 << 19), nullptr);
    std::vector<void*> live;
    while (void* const b = large.allocate(56)) { live.push_back(b); }
    ASSERT_TRUE(large.for_some_blocks(live.size() / 2, [](const heap_block&, std::size_t) {}));
    p.inspector->add_map("small", small);
    p.inspector->add_map("large", large);
    p.inspector->show(page::map);
    for (int i = 0; i < 3; ++i) { p.frame(); }
    EXPECT_NEAR(static_cast<double>(live_cell_count()), 3072 / 2, 20);
    p.inspector->remove(&small);
    p.frame();
    EXPECT_NEAR(static_cast<double>(live_cell_count()),
                600.0 * 3072 / static_cast<double>(live.size()), 10)
        << "nothing of the small heap is left, and 600 blocks are walked";
    for (int i = 0; i < 200; ++i) { p.frame(); }
    EXPECT_NEAR(static_cast<double>(live_cell_count()), 3072, 20);
}

TEST(imgui_inspector, shows_the_first_map_once_the_chosen_one_is_removed) {
    panel p;
    heap<> quarter{std::size_t{1} << 20}, half{std::size_t{1} << 20};
    ASSERT_NE(quarter.allocate(1 << 18), nullptr);
    ASSERT_NE(half.allocate(1 << 19), nullptr);
    p.inspector->add_map("quarter", quarter);
    p.inspector->add_map("half", half);
    p.inspector->show(page::map);
    p.frame();
    p.frame();
    const std::vector<ImVec2> choice = corners_of(ImGui::GetColorU32(ImGuiCol_FrameBg));
    ASSERT_FALSE(choice.empty());
    p.click({choice[0].x + 10, choice[0].y + 5});
    p.frame();
    const ImDrawData& all = *ImGui::GetDrawData();  // the names are in the window drawn last
    const auto& box = all.CmdLists[all.CmdListsCount - 1]->VtxBuffer;
    ImVec2 low = box[0].pos, high = box[0].pos;
    for (const ImDrawVert& v : box) {
        low = {std::min(low.x, v.pos.x), std::min(low.y, v.pos.y)};
        high = {std::max(high.x, v.pos.x), std::max(high.y, v.pos.y)};
    }
    p.click({low.x + 15, low.y + (high.y - low.y) * 0.75F});
    for (int i = 0; i < 3; ++i) { p.frame(); }
    EXPECT_NEAR(static_cast<double>(live_cell_count()), 3072 / 2, 20);
    p.inspector->remove(&half);
    p.frame();
    EXPECT_NEAR(static_cast<double>(live_cell_count()), 3072 / 4, 20);
}

TEST(imgui_inspector, shows_64_memories_and_no_further_ones) {
    panel p;
    heap<> memory;
    std::vector<std::string> names;
    for (int i = 0; i < 70; ++i) { names.push_back("memory " + std::to_string(i)); }
    std::vector<std::unique_ptr<registry::entry>> listed;
    for (const std::string& name : names) {
        listed.push_back(std::make_unique<registry::entry>(name.c_str(), memory));
    }
    p.frame();
    p.inspector->mark();
    const std::string text = p.words(page::since_mark);
    EXPECT_FALSE(has(text, ": ")) << "no memory changed: " << text;
}

TEST(imgui_inspector, adds_memories_of_one_name_and_knows_when_one_ended) {
    panel p;
    budget<heap<>> meshes{16 << 20}, more_meshes{16 << 20};
    const registry::entry listed[] = {{"meshes", meshes}, {"meshes", more_meshes}};
    p.frame();
    void* const one = meshes.allocate(3'000);
    void* const other = more_meshes.allocate(4'000);
    {
        budget<heap<>> level{16 << 20};
        const registry::entry entry{"level", level};
        void* const block = level.allocate(5'000);
        p.inspector->stop_at_late_frames();
        p.frame(12);
        const std::string text = p.words(page::frames);
        EXPECT_TRUE(has(text, "meshes grew by 7000 B") && has(text, "level grew by 5000 B"))
            << text;
        level.deallocate(block, 5'000);
    }
    p.inspector = std::make_unique<imgui_inspector>();
    {
        heap<> level;
        const registry::entry entry{"level", level};
        ASSERT_NE(level.allocate(5'000), nullptr);
        p.frame();
        p.inspector->mark();
    }
    const std::string text = p.words(page::since_mark);
    EXPECT_TRUE(has(text, "level: -")) << text;
    meshes.deallocate(one, 3'000);
    more_meshes.deallocate(other, 4'000);
}

TEST(imgui_inspector, does_not_compare_the_oldest_frame_with_the_newest) {
    panel p;
    budget<heap<>> meshes{16 << 20};
    const registry::entry listed{"meshes", meshes};
    void* const block = meshes.allocate(5'000);
    p.inspector->show(page::frames);
    for (int i = 0; i < 650; ++i) { p.frame(); }
    meshes.deallocate(block, 5'000);
    for (int i = 0; i < 3; ++i) { p.frame(); }
    const std::vector<ImVec2> limit = corners_of(IM_COL32(230, 200, 60, 255));
    ASSERT_FALSE(limit.empty());
    EXPECT_EQ(corners_of(IM_COL32(90, 160, 220, 255)).size(),
              4u * (imgui_inspector::frame_count - 1))
        << "a bar for each frame; that of the newest one is white";
    p.click({limit[0].x + 0.5F, limit[0].y + 5});  // in the column of the oldest frame
    EXPECT_TRUE(p.inspector->is_frozen()) << "the click met";
    const std::string text = p.words(page::frames);
    EXPECT_FALSE(has(text, "grew by")) << text;
}

TEST(imgui_inspector, charges_what_grew_in_a_pause_to_no_frame) {
    panel p;
    budget<heap<>> meshes{16 << 20};
    const registry::entry listed{"meshes", meshes};
    p.words(page::frames);
    const ImVec2 away = ImGui::GetIO().MousePos;
    const std::vector<ImVec2> limit = corners_of(IM_COL32(230, 200, 60, 255));
    ASSERT_FALSE(limit.empty());
    ImGui::GetIO().MousePos = {limit[0].x + 0.5F, limit[0].y + 5};  // the bars stand now
    p.frame();
    p.frame(2);
    void* const block = meshes.allocate(5'000);
    p.frame(3);
    ImGui::GetIO().MousePos = away;
    p.frame(4);
    p.frame(5);
    const std::string first = p.words();
    EXPECT_TRUE(has(first, "A frame of 5.000 ms")) << first;
    EXPECT_FALSE(has(first, "grew by")) << first;
    void* const other = meshes.allocate(6'000);
    p.frame(6);
    EXPECT_TRUE(has(p.words(), "meshes grew by 6000 B")) << p.words();
    meshes.deallocate(block, 5'000);
    meshes.deallocate(other, 6'000);
}

TEST(imgui_inspector, names_each_of_the_memories_that_grew_by_the_same) {
    late_panel p{3'000, 3'000};
    const std::string text = p.words(page::frames);
    EXPECT_TRUE(has(text, "meshes grew by 3000 B") && has(text, "sounds grew by 3000 B")) << text;
    p.meshes.deallocate(p.of_meshes, 3'000);
    p.sounds.deallocate(p.of_sounds, 3'000);
}
