// tests/adapt/imgui_without_screen.hpp - Dear ImGui as tests need it: no file, no device.
#pragma once

#include <imgui.h>

/// A context that NewFrame() can begin frames in. The caller ends it: ImGui::DestroyContext().
inline void start_imgui_without_screen() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {1280, 720};
    io.DeltaTime = 1.0F / 60;
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
}
