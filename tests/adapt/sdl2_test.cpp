// Sentences of cairn/adapt/sdl2.hpp, with the real SDL on its dummy driver.
#include <cairn/adapt/sdl2.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <gtest/gtest.h>

#include <cstdlib>

#include <SDL.h>

#include "support/refusals.hpp"

using namespace cairn;

namespace {

// SDL starts threads, so its memory is for any thread. What it keeps until the process ends (a
// list of environment variables, thread-local data) is live after the work, and stays the same.
failing<heap<>> memory;
locked<failing<heap<>>&> for_any_thread{memory};

outcome run() {
    SDL_Surface* const surface =
        SDL_CreateRGBSurfaceWithFormat(0, 64, 64, 32, SDL_PIXELFORMAT_RGBA32);
    SDL_Surface* converted = nullptr;
    SDL_RWops* const text = SDL_RWFromConstMem("some text", 9);
    void* loaded = nullptr;
    if (surface != nullptr && text != nullptr) {
        SDL_FillRect(surface, nullptr, 0xff00ff00);
        converted = SDL_ConvertSurfaceFormat(surface, SDL_PIXELFORMAT_RGB565, 0);
        loaded = SDL_LoadFile_RW(text, nullptr, 0);
    }
    const bool done = converted != nullptr && loaded != nullptr;
    if (text != nullptr) { SDL_RWclose(text); }
    SDL_free(loaded);
    SDL_FreeSurface(converted);
    SDL_FreeSurface(surface);
    return done ? outcome::done : outcome::refused;
}

}  // namespace

TEST(sdl2, reports_each_refusal) {
    ASSERT_EQ(set_sdl2_memory<for_any_thread>(), 0);
    SDL_SetError("%s", "once, because SDL keeps the buffer of its error messages");
    ASSERT_EQ(run(), outcome::done);
    run_with_refusals(memory, run);
}

// Without refusals: SDL 2.26 itself crashes where some requests of SDL_Init() and
// SDL_CreateWindow() are refused, also with functions around the C library's malloc().
TEST(sdl2, opens_a_window_of_the_dummy_driver) {
    setenv("SDL_VIDEODRIVER", "dummy", 1);
    ASSERT_EQ(set_sdl2_memory<for_any_thread>(), 0);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(SDL_Init(SDL_INIT_VIDEO | SDL_INIT_TIMER), 0) << SDL_GetError();
        const std::size_t before = memory.request_count();
        SDL_Window* const window = SDL_CreateWindow("test", 0, 0, 320, 200, SDL_WINDOW_HIDDEN);
        ASSERT_NE(window, nullptr) << SDL_GetError();
        EXPECT_NE(SDL_GetWindowSurface(window), nullptr);
        EXPECT_GT(memory.request_count(), before);
        SDL_DestroyWindow(window);
        SDL_Quit();
    }
}

TEST(sdl2, has_a_memory_for_any_thread_by_default) {
    ASSERT_EQ(set_sdl2_memory(), 0);
    void* const p = SDL_malloc(100);
    EXPECT_TRUE((detail::never_ended<concurrent_heap, detail::of_sdl2>().owns(p)));
    SDL_free(p);
}
