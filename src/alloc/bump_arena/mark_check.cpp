// Cold half of cairn/alloc/bump_arena/mark_check.hpp.
#include <cairn/alloc/bump_arena/mark_check.hpp>

#include <atomic>

namespace cairn::inline CAIRN_FLAVOUR::detail {

std::uint64_t next_arena_id() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    // Begins at an address that is no other module's: markers of two plugins do not get mixed up.
    const std::uint64_t base = reinterpret_cast<std::uintptr_t>(&last) / alignof(decltype(last))
                               << 10;
    // relaxed: only uniqueness is wanted, nothing is published through the number.
    return base + last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
