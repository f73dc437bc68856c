// Cold half of cairn/containers/inside/sort_rows.hpp: the check of a permutation.
#include <cairn/containers/inside/sort_rows.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

bool names_each_once(std::uint32_t* order, std::size_t count) noexcept {
    constexpr std::uint32_t named = std::uint32_t{1} << 31;
    if (count > named) { return true; }
    for (std::size_t i = 0; i < count; ++i) {
        if (order[i] >= count) { return false; }
    }
    for (std::size_t i = 0; i < count; ++i) { order[order[i] & ~named] |= named; }
    bool all = true;
    for (std::size_t i = 0; i < count; ++i) {
        all = all && (order[i] & named) != 0;
        order[i] &= ~named;
    }
    return all;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
