// An interface of Dear ImGui: 100 frames of its demo window, and windows that come and go.
#include <cairn/adapt/imgui.hpp>
#include <cairn/alloc/heap.hpp>

#include <optional>

#include "lab/middleware/run.hpp"
#include "tests/adapt/imgui_without_screen.hpp"

namespace {

void draw(int frame) {
    ImGui::NewFrame();
    ImGui::ShowDemoWindow();
    char title[32];
    std::snprintf(title, sizeof title, "report %d", frame / 5 % 12);
    ImGui::Begin(title);
    for (int i = 0; i != 200; ++i) ImGui::Text("row %d of frame %d", i, frame);
    ImGui::End();
    ImGui::Render();
}

}  // namespace

int main(int count, char** words) {
    cairn::heap<> memory;
    return lab::middleware::run(count, words, [&](bool on_cairn, auto& call) -> std::uint64_t {
        std::optional<cairn::imgui_memory<cairn::heap<>>> in_memory;
        if (on_cairn) in_memory.emplace(memory, "interface");
        std::uint64_t sum = 0;
        call([] { start_imgui_without_screen(); });
        for (int frame = 0; frame != 100; ++frame) {
            call([&] { draw(frame); });
            sum += static_cast<std::uint64_t>(ImGui::GetDrawData()->TotalVtxCount);
        }
        call([] { ImGui::DestroyContext(); });
        return sum;
    });
}
