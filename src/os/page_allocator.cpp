// Cold half of cairn/os/page_allocator.hpp: all of it, since each call is a system call anyway.
#include <cairn/os/page_allocator.hpp>

#include <cstdint>

#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

void* page_allocator::allocate(std::size_t size, alignment align) noexcept {
    if (size > PTRDIFF_MAX) { return nullptr; }
    // Whole pages, so that deallocate() finds the same number from the same size.
    const std::size_t bytes = good_size(size);
    const std::size_t huge = page_memory::huge_size();
    if (options_.huge_pages && bytes >= huge && align.bytes() < huge) {
        align = alignment{huge};  // the system only backs whole, aligned huge pages with one
    }
    void* const first = page_memory::reserve_committed(bytes, align);
    if (first == nullptr) { return nullptr; }
    if (options_.name != nullptr) { page_memory::set_name(first, bytes, options_.name); }
    apply_options(first, bytes);
    return first;
}

void page_allocator::deallocate(void* p, std::size_t size, alignment) noexcept {
    if (p == nullptr) { return; }
    // The system may give the same addresses to a thread's stack next: no poison may stay.
    unpoison(p, good_size(size));
    page_memory::release(p, good_size(size));
}

bool page_allocator::try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                alignment) noexcept {
    if (new_size > PTRDIFF_MAX) { return false; }
    const std::size_t old_bytes = good_size(old_size);
    const std::size_t new_bytes = good_size(new_size);
    if (old_bytes == new_bytes) { return true; }
    auto* const first = static_cast<std::byte*>(p);
    // Before they go, and also where the system then refuses to take them: bytes that are open too
    // early are no mistake, those that stay poisoned are.
    if (new_bytes < old_bytes) { unpoison(first + new_bytes, old_bytes - new_bytes); }
    if (!page_memory::try_resize(p, old_bytes, new_bytes)) { return false; }
    if (new_bytes > old_bytes) { apply_options(first + old_bytes, new_bytes - old_bytes); }
    return true;
}

bool page_allocator::try_move(void* from, std::size_t from_size, void* to, std::size_t to_size,
                              alignment) noexcept {
    // What `to` held is lost, and its pages with it: touched ahead of need, they would be touched
    // again. Then a copy costs less.
    if (options_.prefault) { return false; }
    const std::size_t from_bytes = good_size(from_size);
    const std::size_t to_bytes = good_size(to_size);
    unpoison(from, from_bytes);  // its addresses go back
    if (!page_memory::try_move(from, from_bytes, to, to_bytes)) { return false; }
    // The mapping of `from` lies there now: it was given the options when it was smaller.
    if (options_.name != nullptr) { page_memory::set_name(to, to_bytes, options_.name); }
    if (options_.huge_pages) { page_memory::advise_huge(to, to_bytes); }
    return true;
}

void page_allocator::apply_options(void* first, std::size_t bytes) const noexcept {
    if (options_.huge_pages) {
        page_memory::advise_huge(first, bytes);  // before the first touch, or it comes too late
    }
    if (options_.prefault) { page_memory::prefault(first, bytes); }
}

}}  // namespace cairn::CAIRN_FLAVOUR
