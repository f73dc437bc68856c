// A table's rows in another order: once per sort, over bytes, for all row types.
#include <cairn/containers/table/memory.hpp>

#include <cstring>

#include <cairn/core/bits.hpp>

#include "runs.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

bool table_memory::permute(const layout_desc& desc, std::uint32_t* order) {
    // The widest column is gathered into scratch and copied back: sequential writes twice, random
    // reads once. Following the cycles in place would be random both ways. Columns of other types,
    // and blocks of lanes, follow the cycles.
    std::size_t widest = 0;
    bool follows_cycles = false;
    // One scratch block for all columns, as large as the widest needs: asked for once, before
    // anything moves, so a refusal changes nothing.
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        if (desc.columns[c].permute == nullptr) {
            widest = desc.columns[c].size > widest ? desc.columns[c].size : widest;
        } else {
            follows_cycles = true;
        }
    }
    // scratch   | the widest column, gathered | order, as long as a column may spoil it |
    const std::size_t order_bytes = follows_cycles ? size * sizeof(std::uint32_t) : 0;
    const std::size_t scratch_bytes = round_up(size * widest, default_alignment) + order_bytes;
    if (size < 2) { return true; }
    auto* const scratch =
        static_cast<std::byte*>(upstream.allocate(scratch_bytes, default_alignment));
    if (scratch == nullptr) { return false; }
    for (std::size_t c = 0; c < desc.column_count; ++c) {
        const column_desc& column = desc.columns[c];
        if (column.permute == nullptr) {
            const auto gather = [&]<std::size_t Constant>() {
                const std::size_t width = Constant != 0 ? Constant : column.size;
                for (std::size_t i = 0; i < size; ++i) {
                    std::memcpy(scratch + i * width, element_of(desc, base, pitch, c, order[i]),
                                width);
                }
            };
            // memcpy of a constant size is a load and a store.
            column.size == 4    ? gather.operator()<4>()
            : column.size == 8  ? gather.operator()<8>()
            : column.size == 12 ? gather.operator()<12>()
            : column.size == 16 ? gather.operator()<16>()
                                : gather.operator()<0>();
            // Back in runs: in blocks of lanes a column is not in one piece.
            std::size_t done = 0;
            for_each_run(desc, base, pitch, c, 0, size, [&](std::byte* at, std::size_t n) {
                std::memcpy(at, scratch + done * column.size, n * column.size);
                done += n;
            });
        }
    }
    if (follows_cycles) {
        auto* const copy = reinterpret_cast<std::uint32_t*>(scratch + scratch_bytes - order_bytes);
        for (std::size_t c = 0; c < desc.column_count; ++c) {
            const column_desc& column = desc.columns[c];
            if (column.permute != nullptr) {
                std::memcpy(copy, order, order_bytes);
                column.permute(element_of(desc, base, pitch, c, 0), desc.lanes, desc.block_size,
                               copy, size);
            }
        }
    }
    // `order` itself is whole to the end: cycles are followed in the copy.
    for (table_follower* f = followers; f != nullptr; f = f->next) { f->permuted(*f, order, size); }
    upstream.deallocate(scratch, scratch_bytes, default_alignment);
    return true;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
