// cairn/core/cache_line.hpp - one value, alone on its cache line.
//
//      |<------ 64 bytes ------>|<------ 64 bytes ------>|
//      +-------+----------------+-------+----------------+
//      | value |    padding     | value |    padding     |     array of cache_line_padded<int>
//      +-------+----------------+-------+----------------+
//
// Two threads that write neighbouring values on one line take turns at owning the line: false
// sharing, a factor of 10 and more (thesis section 7.1). Padding cures it at the price of memory.
#pragma once

#include <cstddef>

#include <cairn/core/alignment.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// A T on cache lines of its own.
template <class T>
struct alignas(alignof(T) > cache_line_size ? alignof(T) : cache_line_size) cache_line_padded {
    /// The object.
    T value{};

    [[nodiscard]] T& operator*() noexcept { return value; }
    [[nodiscard]] const T& operator*() const noexcept { return value; }
    [[nodiscard]] T* operator->() noexcept { return compiler::address_of(value); }
    [[nodiscard]] const T* operator->() const noexcept { return compiler::address_of(value); }
};

static_assert(sizeof(cache_line_padded<char>) == cache_line_size);
static_assert(sizeof(cache_line_padded<char[cache_line_size + 1]>) == 2 * cache_line_size);

}}  // namespace cairn::CAIRN_FLAVOUR
