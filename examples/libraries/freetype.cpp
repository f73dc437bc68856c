// How does FreeType get its memory from cairn?
#include <cairn/adapt/freetype.hpp>
#include <cairn/alloc/heap.hpp>
#include <cstdio>

int main() {
    // [use]
    cairn::heap<> fonts;
    cairn::freetype_memory memory{fonts};
    FT_Library library = nullptr;
    const FT_Error error = memory.new_library(&library);  // instead of FT_Init_FreeType()
    // [/use]
    std::printf("FreeType is made: %s\n", error == 0 ? "yes" : "no");
    FT_Done_Library(library);  // instead of FT_Done_FreeType()
    return error;
}
