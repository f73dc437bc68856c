// cairn/collected/collected_heap/graph.hpp - what collected_heap tells about its objects.
#pragma once

#include <cstddef>

#include <cairn/collected/collected_heap/stats.hpp>
#include <cairn/collected/region.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

using text_sink = void (*)(void* context, const char* text, std::size_t length);
using keeper_function = void (*)(void* context, const collected_keeper& keeper);

/// As collected_heap::who_keeps() and write_json(); `object` may be nullptr in the latter.
[[nodiscard]] bool visit_keepers(const collected_region& r, const void* object,
                                 keeper_function visit, void* context) noexcept;
void write_region(const collected_region& r, const void* object, text_sink sink,
                  void* context) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
