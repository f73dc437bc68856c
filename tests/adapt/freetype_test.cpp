// Sentences of cairn/adapt/freetype.hpp, with the real FreeType.
#include <cairn/adapt/freetype.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "support/refusals.hpp"

using namespace cairn;

namespace {

const char* const fonts[] = {"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
                             "/usr/share/fonts/opentype/urw-base35/NimbusSans-Regular.otf",
                             "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf"};

/// The first of the fonts that is here; nullptr: none.
const char* some_font() {
    for (const char* const name : fonts) {
        if (std::FILE* const f = std::fopen(name, "rb")) { return std::fclose(f), name; }
    }
    return nullptr;
}

/// Renders 60 letters of a font, where there is one.
template <class A>
outcome run(A& memory, const char* font) {
    freetype_memory in_memory{memory};
    FT_Library library = nullptr;
    if (in_memory.new_library(&library) != 0) {
        EXPECT_EQ(library, nullptr);
        return outcome::refused;
    }
    FT_Face face = nullptr;
    FT_Error error = 0;
    if (font != nullptr) {
        error = FT_New_Face(library, font, 0, &face);
        if (error == 0) { error = FT_Set_Pixel_Sizes(face, 0, 20); }
        for (FT_ULong letter = 'A'; error == 0 && letter < 'A' + 60; ++letter) {
            error = FT_Load_Char(face, letter, FT_LOAD_RENDER);
        }
    }
    if (face != nullptr) { FT_Done_Face(face); }
    FT_Done_Library(library);
    return error == 0 ? outcome::done : outcome::refused;
}

}  // namespace

TEST(freetype, has_the_properties_that_the_environment_sets) {
    failing<heap<>> memory;
    freetype_memory in_memory{memory};
    FT_Library library = nullptr;
    ::setenv("FREETYPE_PROPERTIES", "truetype:interpreter-version=35", 1);
    ASSERT_EQ(in_memory.new_library(&library), 0);
    ::unsetenv("FREETYPE_PROPERTIES");
    FT_UInt version = 0;
    EXPECT_EQ(FT_Property_Get(library, "truetype", "interpreter-version", &version), 0);
    EXPECT_EQ(version, 35u) << "as FT_Init_FreeType() makes it; 40 is the default";
    FT_Done_Library(library);
}

TEST(freetype, makes_no_library_where_a_request_was_refused_and_makes_one_after_it) {
    failing<heap<>> memory;
    freetype_memory in_memory{memory};
    FT_Library library = nullptr;
    ASSERT_EQ(in_memory.new_library(&library), 0);
    FT_Done_Library(library);
    const std::size_t count = memory.request_count();
    for (std::size_t n = 0; n < count; ++n) {
        memory.refuse_from(memory.request_count() + n, 1);
        EXPECT_NE(in_memory.new_library(&library), 0) << "request " << n << " was refused";
        memory.refuse_nothing();
    }
    ASSERT_EQ(in_memory.new_library(&library), 0);
    FT_Done_Library(library);
}

TEST(freetype, reports_each_refusal) {
    failing<heap<>> memory;
    const char* const font = some_font();
    run_with_refusals(memory, [&] { return run(memory, nullptr); });
    // FreeType 2.12 itself crashes when one request of FT_New_Face() for a TrueType font is refused
    // and the next one is not, also with functions around the C library's malloc().
    run_with_refusals(memory, [&] { return run(memory, font); }, refusals::for_good);
    if (font == nullptr) { GTEST_SKIP() << "no font is here: only the library itself was tried"; }
}
