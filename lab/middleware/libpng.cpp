// Images with libpng and the zlib inside: 24 images of 16 to 256 pixels are written and read back.
#include <cairn/adapt/libpng.hpp>
#include <cairn/alloc/growing_arena.hpp>

#include <cstring>
#include <vector>

#include "lab/middleware/run.hpp"

namespace {

struct file {
    std::vector<unsigned char> bytes = std::vector<unsigned char>(1 << 20);
    std::size_t size = 0;
    std::size_t at = 0;
};

void write(png_structp png, png_infop info, file& to, png_uint_32 side,
           std::vector<unsigned char>& row) {
    to.size = 0;
    png_set_write_fn(
        png, &to,
        [](png_structp p, png_bytep data, png_size_t size) {
            auto& f = *static_cast<file*>(png_get_io_ptr(p));
            std::memcpy(f.bytes.data() + f.size, data, size);
            f.size += size;
        },
        nullptr);
    png_set_IHDR(png, info, side, side, 8, PNG_COLOR_TYPE_RGBA, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 1);
    png_write_info(png, info);
    for (png_uint_32 y = 0; y != side; ++y) {
        for (png_uint_32 x = 0; x != side * 4; ++x) {
            row[x] = static_cast<unsigned char>(x * y / 64);
        }
        png_write_row(png, row.data());
    }
    png_write_end(png, nullptr);
}

std::uint64_t read(png_structp png, png_infop info, file& from, std::vector<unsigned char>& row) {
    std::uint64_t sum = 0;
    from.at = 0;
    png_set_read_fn(png, &from, [](png_structp p, png_bytep data, png_size_t size) {
        auto& f = *static_cast<file*>(png_get_io_ptr(p));
        std::memcpy(data, f.bytes.data() + f.at, size);
        f.at += size;
    });
    png_read_info(png, info);
    const png_uint_32 side = png_get_image_height(png, info);
    for (png_uint_32 y = 0; y != side; ++y) {
        png_read_row(png, row.data(), nullptr);
        sum += row[y];
    }
    png_read_end(png, nullptr);
    return sum;
}

}  // namespace

int main(int count, char** words) {
    cairn::growing_arena memory;
    file image;
    std::vector<unsigned char> row(256 * 4);
    return lab::middleware::run(count, words, [&](bool on_cairn, auto& call) -> std::uint64_t {
        std::uint64_t sum = 0;
        for (int i = 0; i != 24; ++i) {
            call([&] {
                png_structp png = on_cairn ? cairn::new_png_writer(memory)
                                           : png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr,
                                                                     nullptr, nullptr);
                png_infop info = png_create_info_struct(png);
                write(png, info, image, 16U << i % 5, row);
                png_destroy_write_struct(&png, &info);
                if (on_cairn) memory.reset();
            });
            call([&] {
                png_structp png = on_cairn ? cairn::new_png_reader(memory)
                                           : png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr,
                                                                    nullptr, nullptr);
                png_infop info = png_create_info_struct(png);
                sum += read(png, info, image, row) + image.size;
                png_destroy_read_struct(&png, &info, nullptr);
                if (on_cairn) memory.reset();
            });
        }
        return sum;
    });
}
