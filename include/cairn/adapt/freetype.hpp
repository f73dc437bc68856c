// cairn/adapt/freetype.hpp - FreeType 2 in a memory of its own.
//
//      cairn::heap<> fonts;
//      cairn::freetype_memory memory{fonts};
//      FT_Error error = memory.new_library(&library);      // instead of FT_Init_FreeType()
//      FT_Done_Library(library);                           // instead of FT_Done_FreeType()
//
// FT_Done_FreeType() would free this memory's record with the C library's free().
// When the memory refuses, FreeType's functions return FT_Err_Out_Of_Memory.
//
// Memory:    heap<>, or a growing_arena for fonts that are loaded together and end together.
// Lifetimes: the object outlives the library, and the memory outlives both.
// Threads:   those of the memory. A library of FreeType is used by one thread at a time.
#pragma once

#include <cairn/adapt/hooks.hpp>
#include <cairn/core/inside/compiler.hpp>

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_MODULE_H

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <byte_allocator A>
class freetype_memory {
public:
    explicit freetype_memory(A& memory CAIRN_LIFETIMEBOUND) noexcept
        : memory_{&memory}, record_{this, &allocate, &deallocate, &reallocate} {}
    freetype_memory(const freetype_memory&) = delete;
    freetype_memory& operator=(const freetype_memory&) = delete;

    /// A library with all modules, as FT_Init_FreeType() makes it.
    /// Returns: 0, or FreeType's error; *library is then unchanged and nothing is left. A refusal
    ///          while the modules are added is an error, too: FreeType itself ignores it, and
    ///          crashes later where a module is missing.
    [[nodiscard]] FT_Error new_library(FT_Library* library) noexcept {
        was_refused_ = false;
        FT_Library made = nullptr;
        if (const FT_Error error = FT_New_Library(&record_, &made)) { return error; }
        FT_Add_Default_Modules(made);
        FT_Set_Default_Properties(made);
        if (was_refused_) {
            FT_Done_Library(made);
            return FT_Err_Out_Of_Memory;
        }
        *library = made;
        return 0;
    }

private:
    using in = context_hooks<A>;

    [[nodiscard]] static freetype_memory& own(FT_Memory memory) noexcept {
        return *static_cast<freetype_memory*>(memory->user);
    }
    static void* allocate(FT_Memory memory, long size) {
        void* const p = (in::malloc)(own(memory).memory_, static_cast<std::size_t>(size));
        if (p == nullptr) { own(memory).was_refused_ = true; }
        return p;
    }
    static void deallocate(FT_Memory memory, void* p) { (in::free)(own(memory).memory_, p); }
    static void* reallocate(FT_Memory memory, long, long size, void* p) {
        void* const moved = (in::realloc)(own(memory).memory_, p, static_cast<std::size_t>(size));
        if (moved == nullptr && size != 0) { own(memory).was_refused_ = true; }
        return moved;
    }

    A* memory_;
    FT_MemoryRec_ record_;
    bool was_refused_ = false;
};

}}  // namespace cairn::CAIRN_FLAVOUR
