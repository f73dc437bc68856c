// How does Dear ImGui get its memory from cairn?
#include <cairn/adapt/imgui.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/heap.hpp>
#include <cstdio>

int main() {
    // [use]
    cairn::budget<cairn::heap<>> memory{16 << 20};
    cairn::imgui_memory for_imgui{memory, "interface"};  // before the context, and ends after it
    ImGui::CreateContext();
    // [/use]
    std::printf("%zu bytes for the context\n", memory.live_size());
    ImGui::DestroyContext();
    return memory.live_size() == 0 ? 0 : 1;
}
