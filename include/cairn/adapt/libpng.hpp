// cairn/adapt/libpng.hpp - an image of libpng in a memory of its own, with the zlib inside.
//
//      cairn::growing_arena memory;
//      png_structp const png = cairn::new_png_reader(memory);
//      png_destroy_read_struct(&png, &info, nullptr);
//
// When the memory refuses, libpng calls png_error("Out of memory"), which jumps to the setjmp() of
// the program; before there is one, new_png_reader() returns nullptr.
//
// Memory:    blocks for one image, all given back at its end: an arena that is reset after each
//            image, or a heap<>.
// Lifetimes: the memory outlives the png_struct.
// Threads:   those of the memory. A png_struct is used by one thread at a time.
#pragma once

#include <cairn/adapt/hooks.hpp>
#include <cairn/core/inside/compiler.hpp>

#include <png.h>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What png_create_read_struct_2() and png_create_write_struct_2() take as functions.
template <byte_allocator A>
struct png_hooks {
    static void* allocate(png_structp png, png_alloc_size_t size) noexcept {
        return (context_hooks<A>::malloc)(png_get_mem_ptr(png), size);
    }
    static void deallocate(png_structp png, void* p) noexcept {
        (context_hooks<A>::free)(png_get_mem_ptr(png), p);
    }
};

/// As png_create_read_struct(), with `memory` for the struct, its info and the decompression.
/// Returns: nullptr when the memory refuses.
template <byte_allocator A>
[[nodiscard]] png_structp new_png_reader(A& memory CAIRN_LIFETIMEBOUND, void* context = nullptr,
                                         png_error_ptr error = nullptr,
                                         png_error_ptr warning = nullptr) {
    return png_create_read_struct_2(PNG_LIBPNG_VER_STRING, context, error, warning, &memory,
                                    &png_hooks<A>::allocate, &png_hooks<A>::deallocate);
}
/// As png_create_write_struct(), likewise.
template <byte_allocator A>
[[nodiscard]] png_structp new_png_writer(A& memory CAIRN_LIFETIMEBOUND, void* context = nullptr,
                                         png_error_ptr error = nullptr,
                                         png_error_ptr warning = nullptr) {
    return png_create_write_struct_2(PNG_LIBPNG_VER_STRING, context, error, warning, &memory,
                                     &png_hooks<A>::allocate, &png_hooks<A>::deallocate);
}

}}  // namespace cairn::CAIRN_FLAVOUR
