// Sentences of cairn/adapt/imgui.hpp, with the real Dear ImGui.
#include <cairn/adapt/imgui.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/debug/failing.hpp>
#include <gtest/gtest.h>

#include "adapt/imgui_without_screen.hpp"
#include "support/death_words.hpp"

using namespace cairn;

namespace {

void draw_frames(int count) {
    for (int i = 0; i < count; ++i) {
        ImGui::NewFrame();
        ImGui::ShowDemoWindow();
        ImGui::Render();
    }
}

}  // namespace

TEST(imgui, allocates_nothing_in_a_thousand_frames_after_the_first_ones) {
    failing<heap<>> memory;
    {
        imgui_memory for_imgui{memory, "interface"};
        start_imgui_without_screen();
        EXPECT_GT(memory.live_size(), 1000u);
        draw_frames(100);
        const std::size_t before = memory.request_count();
        draw_frames(1000);
        EXPECT_EQ(memory.request_count(), before);
        ImGui::DestroyContext();
    }
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(imgui, asks_whom_it_asked_before_once_the_memory_ends) {
    failing<heap<>> memory;
    { imgui_memory for_imgui{memory}; }
    ImGui::MemFree(ImGui::MemAlloc(100));
    EXPECT_EQ(memory.request_count(), 0u);
}

TEST(imgui_death, names_the_memory_the_size_and_the_limit_of_a_refusal) {
    budget<heap<>> memory{5000};
    imgui_memory for_imgui{memory, "interface"};
    EXPECT_DEATH(start_imgui_without_screen(), in_this_order({"Dear ImGui asked for ",
                                                              " bytes, which its memory "
                                                              "'interface'",
                                                              "5000", "refused"}));
}

TEST(imgui_death, ends_at_each_of_the_first_refusals) {
    std::size_t count = 0;
    {
        failing<heap<>> memory;
        imgui_memory for_imgui{memory, "interface"};
        start_imgui_without_screen();
        draw_frames(100);
        count = memory.request_count();
        ImGui::DestroyContext();
    }
    EXPECT_GT(count, 50u);
    for (std::size_t n = 0; n < count; n += n < 200 ? 1u : 50u) {
        failing<heap<>> memory;
        imgui_memory for_imgui{memory, "interface"};
        memory.refuse_from(n);
        EXPECT_DEATH((start_imgui_without_screen(), draw_frames(100)),
                     "its memory 'interface' refused")
            << n;
    }
}
