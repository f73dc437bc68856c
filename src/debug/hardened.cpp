// Cold half of cairn/debug/hardened.hpp: reports, guard pages, and the places of freed blocks.
#include <cairn/debug/hardened.hpp>

#include <bit>
#include <cstdint>
#include <new>

#include <cairn/os/inside/process_secret.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/os/system_allocator.hpp>

#include "misuse.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
namespace {

alignment page_alignment() noexcept { return alignment{page_memory::size()}; }

std::size_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

/// Another number at each call, also for what begins where something of its kind ended.
std::uint64_t new_secret(const void* address) noexcept {
    static constinit atomic<std::uint64_t> serial{0};
    // relaxed: the number is all there is to see.
    const std::uint64_t n = serial.fetch_add(1, memory_order::relaxed);
    const std::size_t place = address_of(address) + n * 0x9E37'79B9'7F4A'7C15;
    return secret_of(reinterpret_cast<const void*>(place));
}

}  // namespace

// ------------------------------------------------------------------------------------------------
// guard pages

std::size_t sealed_block::guarded_size() const noexcept {
    const std::size_t pages = page_memory::round_up_to_pages(saturating_add(size, align.bytes()));
    return saturating_add(pages, page_memory::size());
}

alignment sealed_block::guarded_align() const noexcept {
    return align > page_alignment() ? align : page_alignment();
}

std::size_t sealed_block::guarded_front() const noexcept {
    return round_down(guarded_size() - page_memory::size() - size, align);
}

std::size_t sealed_block::guarded_tail() const noexcept {
    const std::size_t behind = guarded_size() - page_memory::size() - guarded_front() - size;
    return behind < tail_size_max ? behind : tail_size_max;
}

bool sealed_block::protect(void* memory, bool faults) const noexcept {
    const std::size_t page = page_memory::size();
    return page_memory::protect(
        static_cast<std::byte*>(memory) + whole_size() - page, page,
        faults ? page_memory::access::none : page_memory::access::read_write);
}

// ------------------------------------------------------------------------------------------------
// seals

sealer::sealer() noexcept : secret_{new_secret(this)} {}

std::uint64_t sealer::another_secret() const noexcept { return new_secret(this + 1) | 1; }

void sealer::not_live(const void* p, std::uint64_t about, bool was_freed, call_site from) noexcept {
    if (was_freed) {
        misuse(misuse_kind::double_free, from, "a block is freed once",
               "0x%zx (%zu bytes) was freed before", address_of(p), sealed_block{about}.size);
    }
    misuse(misuse_kind::foreign_pointer, from,
           "a block that comes back was given out here, and the bytes in front of it are whole",
           "no live block begins at 0x%zx, or the bytes in front of it were overwritten",
           address_of(p));
}

void sealer::overrun(const void* p, std::size_t size, call_site from) noexcept {
    misuse(misuse_kind::corrupted, from, "the bytes behind a block stay as they are",
           "the bytes behind 0x%zx (%zu bytes) were overwritten", address_of(p), size);
}

void sealer::written_after_free(const void* p) noexcept {
    misuse(misuse_kind::corrupted, {}, "a block that was freed stays as it is",
           "0x%zx or the bytes beside it were overwritten after it was freed", address_of(p));
}

void sealer::wrong_size(const sealed_block& b, const void* p, std::size_t size, alignment align,
                        call_site from) noexcept {
    misuse(misuse_kind::wrong_size, from,
           "a block is freed with the size and the alignment it was allocated with",
           "0x%zx has %zu bytes, aligned to %zu, and is freed as %zu, aligned to %zu",
           address_of(p), b.size, b.align.bytes(), size, align.bytes());
}

// ------------------------------------------------------------------------------------------------
// places

random_places::random_places(std::size_t count) noexcept {
    if (count == 0 || count > PTRDIFF_MAX / sizeof *places_) { return; }
    const std::size_t wanted = std::bit_ceil(count);
    void* const memory =
        system_memory().allocate(wanted * sizeof *places_, alignment::of<atomic<void*>>());
    if (memory == nullptr) { return; }
    places_ = static_cast<atomic<void*>*>(memory);
    count_ = wanted;
    for (std::size_t i = 0; i < wanted; ++i) { ::new (&places_[i]) atomic<void*>{nullptr}; }
}

random_places::~random_places() {
    if (places_ == nullptr) { return; }
    system_memory().deallocate(places_, count_ * sizeof *places_, alignment::of<atomic<void*>>());
}

/// Marsaglia, "Xorshift RNGs", 2003; each thread begins with a number of its own.
std::size_t random_places::random() noexcept {
    static constinit thread_local std::uint64_t state = 0;
    std::uint64_t x = state;
    if (x == 0) [[unlikely]] { x = new_secret(&state) | 1; }
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    state = x;
    return static_cast<std::size_t>(x * 0x2545'F491'4F6C'DD1D >> 32);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
