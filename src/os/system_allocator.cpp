// Cold half of cairn/os/system_allocator.hpp.
#include <cairn/os/system_allocator.hpp>

#include <cstdint>
#include <cstdlib>
#if defined(_WIN32)
#    include <malloc.h>
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR {

void* system_allocator::allocate(std::size_t size, alignment align) noexcept {
    if (size > PTRDIFF_MAX) {
        return nullptr;  // absurd: also keeps ASan from stopping the program over it
    }
    const std::size_t asked = size != 0 ? size : 1;  // malloc(0) may return nullptr
#if defined(_WIN32)
    return ::_aligned_malloc(asked, align.bytes());
#else
    // Both come back through free(), so deallocate() need not know which it was.
    if (align <= default_alignment) { return (std::malloc)(asked); }
    // aligned_alloc wants a multiple of the alignment; rounding cannot wrap below PTRDIFF_MAX
    // unless the alignment itself is absurd.
    const std::size_t rounded = detail::round_up(asked, align);
    return rounded < asked ? nullptr : std::aligned_alloc(align.bytes(), rounded);
#endif
}

void system_allocator::deallocate(void* p, std::size_t, alignment) noexcept {
#if defined(_WIN32)
    ::_aligned_free(p);
#else
    (std::free)(p);
#endif
}

}}  // namespace cairn::CAIRN_FLAVOUR
