// lab/families/flat_array.hpp - LibFlatArray's idea, written anew.
//
//      one block   | member 0, Count rows | member 1, Count rows | ...
//                  ^ a multiple of 64     ^ a multiple of 64: offsets that the compiler knows
#pragma once

#include <tuple>

#include "lab/harness/experiment.hpp"
#include "lab/system/aligned_memory.hpp"

namespace lab {

/// All members in one block, for a number of rows that is known to the compiler: the distance
/// between two members of a row is a constant, and an accessor is the block and an index.
template <std::size_t Count, class... Members>
class flat_array {
    static constexpr std::size_t member_count = sizeof...(Members);
    static constexpr std::array<std::size_t, member_count + 1> offsets = [] {
        constexpr std::size_t sizes[] = {sizeof(Members)...};
        std::array<std::size_t, member_count + 1> all{};
        for (std::size_t m = 0; m != member_count; ++m) {
            all[m + 1] = all[m] + (sizes[m] * Count + 63) / 64 * 64;
        }
        return all;
    }();
    template <std::size_t M>
    using member = std::tuple_element_t<M, std::tuple<Members...>>;

public:
    class accessor {
    public:
        accessor(std::byte* block, std::size_t index) noexcept : block_{block}, index_{index} {}
        template <std::size_t M>
        [[nodiscard]] member<M>& get() const noexcept {
            return reinterpret_cast<member<M>*>(block_ + offsets[M])[index_];
        }

    private:
        std::byte* block_;
        std::size_t index_;
    };

    flat_array() { make_all(std::make_index_sequence<member_count>{}); }
    [[nodiscard]] accessor operator[](std::size_t row) noexcept { return {block_.get(), row}; }

private:
    template <std::size_t... M>
    void make_all(std::index_sequence<M...>) {
        (make<M>(), ...);
    }
    template <std::size_t M>
    void make() {
        for (std::size_t i = 0; i != Count; ++i) {
            ::new (block_.get() + offsets[M] + i * sizeof(member<M>)) member<M>{};
        }
    }
    aligned_block block_{64, offsets[member_count]};
};

}  // namespace lab
