// How does SDL 2 get its memory from cairn?
#include <cairn/adapt/sdl2.hpp>
#include <cstdio>

#define SDL_MAIN_HANDLED
#include <SDL.h>

int main() {
    // [use]
    cairn::set_sdl2_memory();  // the first call of SDL in the program
    SDL_Init(SDL_INIT_TIMER);
    // [/use]
    std::printf("%d blocks of SDL live in cairn's heap\n", SDL_GetNumAllocations());
    SDL_Quit();
    return 0;
}
