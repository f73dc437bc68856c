// Pictures with SDL 2: 120 surfaces of many sizes are made, scaled, converted, saved and loaded.
#include <cairn/adapt/sdl2.hpp>

#define SDL_MAIN_HANDLED
#include <SDL.h>

#include <cstring>

#include "lab/middleware/run.hpp"

namespace {

char file[1 << 20];

std::uint64_t picture(int i) {
    const int side = 16 << i % 5;
    SDL_Surface* const drawn =
        SDL_CreateRGBSurfaceWithFormat(0, side, side, 32, SDL_PIXELFORMAT_RGBA32);
    SDL_Surface* const scaled =
        SDL_CreateRGBSurfaceWithFormat(0, side / 2, side / 2, 32, SDL_PIXELFORMAT_RGBA32);
    SDL_FillRect(drawn, nullptr, 0xff00ff00U + static_cast<Uint32>(i));
    SDL_BlitScaled(drawn, nullptr, scaled, nullptr);
    SDL_Surface* const packed = SDL_ConvertSurfaceFormat(scaled, SDL_PIXELFORMAT_RGB565, 0);
    SDL_RWops* const out = SDL_RWFromMem(file, sizeof file);
    SDL_SaveBMP_RW(drawn, out, 0);
    const auto size = static_cast<std::uint64_t>(SDL_RWtell(out));
    SDL_RWclose(out);
    SDL_Surface* const loaded = SDL_LoadBMP_RW(SDL_RWFromConstMem(file, static_cast<int>(size)), 1);
    const std::uint64_t sum =
        size + static_cast<std::uint64_t>(packed->pitch) + static_cast<std::uint64_t>(loaded->w);
    for (SDL_Surface* const s : {loaded, packed, scaled, drawn}) SDL_FreeSurface(s);
    return sum;
}

}  // namespace

int main(int count, char** words) {
    std::memset(file, 1, sizeof file);  // its pages are the program's, not the library's
    SDL_SetMainReady();
    if (lab::middleware::is_on_cairn(count, words)) cairn::set_sdl2_memory();
    return lab::middleware::run(count, words, [](bool, auto& call) -> std::uint64_t {
        std::uint64_t sum = 0;
        call([] { SDL_Init(SDL_INIT_EVENTS); });
        for (int i = 0; i != 120; ++i) {
            call([&] { sum += picture(i); });
        }
        call([] { SDL_Quit(); });
        return sum;
    });
}
