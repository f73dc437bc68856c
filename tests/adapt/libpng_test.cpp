// Sentences of cairn/adapt/libpng.hpp, with the real libpng.
#include <cairn/adapt/libpng.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <csetjmp>
#include <cstring>

#include "support/refusals.hpp"

using namespace cairn;

namespace {

constexpr png_uint_32 side = 48;

struct file {
    unsigned char bytes[side * side * 4];
    std::size_t size;
    std::size_t at;
};
unsigned char image[side][side * 3];
unsigned char read_back[side][side * 3];
file written;
png_structp png;  // outside of the functions that libpng jumps into
png_infop info;

void quiet_warning(png_structp, png_const_charp) {}
[[noreturn]] void quiet_error(png_structp failed, png_const_charp) { png_longjmp(failed, 1); }

template <class A>
outcome write(A& memory) {
    info = nullptr;
    png = new_png_writer(memory, nullptr, &quiet_error, &quiet_warning);
    if (png == nullptr) { return outcome::refused; }
    if (setjmp(png_jmpbuf(png)) != 0) {
        png_destroy_write_struct(&png, &info);
        return outcome::refused;
    }
    info = png_create_info_struct(png);
    if (info == nullptr) { png_longjmp(png, 1); }
    png_set_write_fn(
        png, &written,
        [](png_structp p, png_bytep data, png_size_t size) {
            auto& f = *static_cast<file*>(png_get_io_ptr(p));
            std::memcpy(f.bytes + f.size, data, size);
            f.size += size;
        },
        nullptr);
    written.size = 0;
    png_set_IHDR(png, info, side, side, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (auto& row : image) { png_write_row(png, row); }
    png_write_end(png, nullptr);
    png_destroy_write_struct(&png, &info);
    return outcome::done;
}

template <class A>
outcome read(A& memory) {
    info = nullptr;
    png = new_png_reader(memory, nullptr, &quiet_error, &quiet_warning);
    if (png == nullptr) { return outcome::refused; }
    if (setjmp(png_jmpbuf(png)) != 0) {
        png_destroy_read_struct(&png, &info, nullptr);
        return outcome::refused;
    }
    info = png_create_info_struct(png);
    if (info == nullptr) { png_longjmp(png, 1); }
    written.at = 0;
    png_set_read_fn(png, &written, [](png_structp p, png_bytep data, png_size_t size) {
        auto& f = *static_cast<file*>(png_get_io_ptr(p));
        std::memcpy(data, f.bytes + f.at, size);
        f.at += size;
    });
    png_read_info(png, info);
    for (auto& row : read_back) { png_read_row(png, row, nullptr); }
    png_read_end(png, nullptr);
    png_destroy_read_struct(&png, &info, nullptr);
    return outcome::done;
}

void paint() {
    for (png_uint_32 y = 0; y < side; ++y) {
        for (png_uint_32 x = 0; x < side * 3; ++x) {
            image[y][x] = static_cast<unsigned char>(x * y + x);
        }
    }
}

}  // namespace

TEST(libpng, writes_and_reads_an_image) {
    paint();
    growing_arena memory;
    ASSERT_EQ(write(memory), outcome::done);
    memory.reset();
    ASSERT_EQ(read(memory), outcome::done);
    EXPECT_EQ(std::memcmp(image, read_back, sizeof image), 0);
}

TEST(libpng, reports_each_refusal) {
    paint();
    failing<heap<>> memory;
    run_with_refusals(memory, [&] { return write(memory); });
    run_with_refusals(memory, [&] { return read(memory); });
}
