// The game in a window: SDL opens it, OpenGL clears it, and Dear ImGui draws everything in it.
#include "window.hpp"

#include "frame_times.hpp"
#include "game.hpp"

#include <cairn/adapt/imgui.hpp>
#include <cairn/adapt/imgui_inspector.hpp>
#include <cairn/adapt/sdl2.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/registry.hpp>

#include <SDL.h>
#include <SDL_opengl.h>
#include <backends/imgui_impl_opengl2.h>
#if __has_include(<backends/imgui_impl_sdl2.h>)  // since Dear ImGui 1.89.3
#    include <backends/imgui_impl_sdl2.h>
#else
#    include <backends/imgui_impl_sdl.h>
#endif

#include <cstdio>
#include <string>

namespace demo {
namespace {

using namespace cairn::literals;

constexpr int width = 1280, height = 720;

/// An SDL window with an OpenGL context.
struct screen {
    SDL_Window* window = nullptr;
    SDL_GLContext context = nullptr;

    screen() {
        if (SDL_Init(SDL_INIT_VIDEO) != 0) { return; }
        window = SDL_CreateWindow("cairn demo", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED,
                                  width, height, SDL_WINDOW_OPENGL | SDL_WINDOW_RESIZABLE);
        if (window == nullptr) { return; }
        context = SDL_GL_CreateContext(window);
        SDL_GL_SetSwapInterval(1);
    }
    ~screen() {
        if (context != nullptr) { SDL_GL_DeleteContext(context); }
        if (window != nullptr) { SDL_DestroyWindow(window); }
        SDL_Quit();
    }
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;

    /// Writes what was drawn as a bitmap. Returns: false when the file cannot be written.
    [[nodiscard]] bool save(const char* file) const {
        SDL_Surface* const picture =
            SDL_CreateRGBSurfaceWithFormat(0, width, height, 24, SDL_PIXELFORMAT_RGB24);
        if (picture == nullptr) { return false; }
        glPixelStorei(GL_PACK_ALIGNMENT, 1);
        for (int row = 0; row < height; ++row) {  // OpenGL's first row is the lowest one
            auto* const to = static_cast<unsigned char*>(picture->pixels) + row * picture->pitch;
            glReadPixels(0, height - 1 - row, width, 1, GL_RGB, GL_UNSIGNED_BYTE, to);
        }
        const bool is_written = SDL_SaveBMP(picture, file) == 0;
        SDL_FreeSurface(picture);
        return is_written;
    }
};

/// Dear ImGui in a memory of its own, drawn into a screen.
struct interface {
    cairn::budget<cairn::heap<>> memory{64_MiB};
    cairn::imgui_memory<cairn::budget<cairn::heap<>>> for_imgui{memory, "interface"};
    cairn::registry::entry listed{"interface", memory};

    explicit interface(const screen& on) {
        ImGui::CreateContext();
        ImGui::GetIO().IniFilename = nullptr;
        ImGui_ImplSDL2_InitForOpenGL(on.window, on.context);
        ImGui_ImplOpenGL2_Init();
    }
    ~interface() {
        ImGui_ImplOpenGL2_Shutdown();
        ImGui_ImplSDL2_Shutdown();
        ImGui::DestroyContext();
    }
    static void begin_frame() {
        ImGui_ImplOpenGL2_NewFrame();
        ImGui_ImplSDL2_NewFrame();
        ImGui::NewFrame();
    }
    static void end_frame(const screen& on) {
        ImGui::Render();
        glClearColor(0.06f, 0.07f, 0.09f, 1);
        glClear(GL_COLOR_BUFFER_BIT);
        ImGui_ImplOpenGL2_RenderDrawData(ImGui::GetDrawData());
        SDL_GL_SwapWindow(on.window);
    }
};

/// The game that is played, and the switch between the two.
class stage {
public:
    stage(bool on_malloc, cairn::imgui_inspector& inspector) : inspector_{inspector} {
        choose(on_malloc);
    }
    void choose(bool on_malloc) {
        if (game_ != nullptr) { game_->hide_from(inspector_); }
        game_.reset();  // one game at a time
        const auto begin = clock::now();
        game_ = on_malloc ? new_malloc_game() : new_cairn_game();
        start_milliseconds_ = milliseconds_since(begin);
        game_->show_in(inspector_);
        on_malloc_ = on_malloc;
        frame_ = 100;
        late_count_ = 0;
        times_.milliseconds.clear();
    }

    /// Returns: milliseconds.
    float play() {
        const auto begin = clock::now();
        (void)game_->frame(frame_++);
        const auto took = static_cast<float>(milliseconds_since(begin));
        if (times_.milliseconds.size() == 1'000) { times_.milliseconds.clear(); }
        times_.milliseconds.push_back(took);
        late_count_ += took > late_milliseconds ? 1 : 0;
        return took;
    }

    void draw() {
        draw_world();
        ImGui::SetNextWindowPos({20, 20}, ImGuiCond_FirstUseEver);
        ImGui::SetNextWindowSize({580, 205}, ImGuiCond_FirstUseEver);
        if (ImGui::Begin("One game, two memories")) {
            if (ImGui::RadioButton("malloc, as games use it", on_malloc_)) { choose(true); }
            ImGui::SameLine();
            if (ImGui::RadioButton("cairn", !on_malloc_)) { choose(false); }
            ImGui::Text("%u particles, %u enemies; started in %.0f ms", particle_count, enemy_count,
                        start_milliseconds_);
            ImGui::Text("median %.2f ms, 99.9 %% %.2f ms, worst %.2f ms of %zu frames",
                        times_.at(0.5), times_.at(0.999), times_.at(1), times_.milliseconds.size());
            ImGui::Text("%zu frames were late at 90 Hz (yellow line)%s", late_count_,
                        on_malloc_ ? "; malloc tells no map" : "");
            draw_graph();
        }
        ImGui::End();
    }

private:
    void draw_world() const {
        ImDrawList& out = *ImGui::GetBackgroundDrawList();
        const ImVec2 size = ImGui::GetIO().DisplaySize;
        const camera c{frame_ - 1};
        const auto dot = [&](const draw_item& i, float radius, ImU32 color) {
            const float x = (i.x - c.left) * 2 * size.x;
            const float y = (i.y - c.top) * 2 * size.y;
            out.AddRectFilled({x - radius, y - radius}, {x + radius, y + radius}, color);
        };
        for (const auto& part : game_->seen().particles) {
            for (const draw_item& i : part) {
                dot(i, 1, IM_COL32(120, 130, 160, 40 + (i.number < 150 ? i.number : 150)));
            }
        }
        for (const draw_item& i : game_->seen().enemies) { dot(i, 3, IM_COL32(220, 120, 60, 255)); }
        float y = size.y - 90;
        for (const std::string_view label : game_->seen().labels.first(5)) {
            out.AddText({20, y += 14}, IM_COL32(200, 200, 200, 255), label.data(),
                        label.data() + label.size());
        }
    }
    /// The frames of the game alone, with the line of 90 Hz.
    void draw_graph() const {
        ImDrawList& out = *ImGui::GetWindowDrawList();
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const ImVec2 room = ImGui::GetContentRegionAvail();
        const float scale = room.y / (1.2f * static_cast<float>(late_milliseconds));
        const std::size_t count = times_.milliseconds.size();
        for (std::size_t i = 0; i < count; ++i) {
            const float x = at.x + room.x * static_cast<float>(i) / 1'000;
            const float top = std::max(at.y, at.y + room.y - times_.milliseconds[i] * scale);
            out.AddLine({x, top}, {x, at.y + room.y}, IM_COL32(90, 160, 220, 255));
        }
        const float y = at.y + room.y - static_cast<float>(late_milliseconds) * scale;
        out.AddLine({at.x, y}, {at.x + room.x, y}, IM_COL32(230, 200, 60, 255));
    }

    cairn::imgui_inspector& inspector_;
    std::unique_ptr<game> game_;
    frame_times times_;
    std::size_t late_count_ = 0;
    double start_milliseconds_ = 0;
    std::uint32_t frame_ = 0;
    bool on_malloc_ = false;
};

cairn::imgui_inspector::page page_of(std::string_view word) {
    using page = cairn::imgui_inspector::page;
    return word == "overview" ? page::overview
           : word == "frames" ? page::frames
           : word == "sites"  ? page::sites
           : word == "mark"   ? page::since_mark
                              : page::map;
}

/// Returns: false when the window is to be closed.
bool handle_events() {
    SDL_Event e;
    while (SDL_PollEvent(&e) != 0) {
        ImGui_ImplSDL2_ProcessEvent(&e);
        if (e.type == SDL_QUIT || (e.type == SDL_KEYDOWN && e.key.keysym.sym == SDLK_ESCAPE)) {
            return false;
        }
    }
    return true;
}

}  // namespace

int run_window(const window_options& how) {
    cairn::set_sdl2_memory();  // before anything else of SDL
    const screen on;
    if (on.context == nullptr) {
        std::fprintf(stderr, "demo: no window: %s\n", SDL_GetError());
        return 3;
    }
    const interface shown{on};
    const auto inspector = std::make_unique<cairn::imgui_inspector>();
    stage s{how.begins_with_malloc, *inspector};
    if (how.screenshot != nullptr) { inspector->show(page_of(how.page)); }
    for (std::uint32_t frame = 0; handle_events(); ++frame) {
        const float took = s.play();
        cairn::registry::publish();
        inspector->next_frame(took);
        interface::begin_frame();
        s.draw();
        ImGui::SetNextWindowPos({640, 20}, ImGuiCond_FirstUseEver);
        inspector->draw();
        interface::end_frame(on);
        if (how.screenshot != nullptr && frame == how.screenshot_frame) {
            return on.save(how.screenshot) ? 0 : 4;
        }
    }
    return 0;
}

}  // namespace demo
