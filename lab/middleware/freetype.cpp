// Letters with FreeType: a font is opened, 94 letters are rendered in six sizes, and it is closed.
#include <cairn/adapt/freetype.hpp>
#include <cairn/alloc/heap.hpp>

#include "lab/middleware/run.hpp"

namespace {

const char* const fonts[] = {"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
                             "/usr/share/fonts/opentype/urw-base35/NimbusSans-Regular.otf",
                             "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf"};

FT_Face open_font(FT_Library library) {
    FT_Face face = nullptr;
    for (const char* const font : fonts) {
        if (FT_New_Face(library, font, 0, &face) == 0) return face;
    }
    std::fputs("none of three usual fonts is here: Debian package fonts-dejavu-core\n", stderr);
    std::exit(77);  // to the tests: skipped
}

}  // namespace

int main(int count, char** words) {
    cairn::heap<> memory;
    cairn::freetype_memory in_memory{memory};
    return lab::middleware::run(count, words, [&](bool on_cairn, auto& call) -> std::uint64_t {
        FT_Library library = nullptr;
        FT_Face face = nullptr;
        std::uint64_t sum = 0;
        call([&] {
            if ((on_cairn ? in_memory.new_library(&library) : FT_Init_FreeType(&library)) != 0) {
                std::abort();
            }
            face = open_font(library);
        });
        for (FT_UInt size = 12; size != 36; size += 4) {
            call([&] { FT_Set_Pixel_Sizes(face, 0, size); });
            for (FT_ULong letter = '!'; letter <= '~'; ++letter) {
                call([&] {
                    if (FT_Load_Char(face, letter, FT_LOAD_RENDER) != 0) std::abort();
                    sum += face->glyph->bitmap.rows * face->glyph->bitmap.width;
                });
            }
        }
        call([&] {
            FT_Done_Face(face);
            if (on_cairn) {
                FT_Done_Library(library);
            } else {
                FT_Done_FreeType(library);
            }
        });
        return sum;
    });
}
