// cairn/alloc/tagged_arenas/open_blocks.hpp - blocks that wait half filled for the next view.
//
//      +-------+-------+-------+-------+-------+-------+-------+-------+     one cache line
//      | block |   -   | block |   -   |   -   |   -   |   -   |   -   |
//      +-------+-------+-------+-------+-------+-------+-------+-------+
//        take(): exchanges the word with null       give(): puts a block where null is
//
// A block changes hands by one exchange of a word, so no block is in two hands, and nothing of it
// is read before it was taken: there is no ABA. What the giver wrote into the block is published
// by the release of give() and seen by the acquire of take().
//
// Atoms: std_atoms, or those of the explorer (tests/support/explorer.hpp). Orders: weakened in a
// test, which shows that each of them is needed.
#pragma once

#include <cstddef>

#include <cairn/core/inside/atomic.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct open_block_orders {
    static constexpr auto give = memory_order::release;
    static constexpr auto take = memory_order::acquire;
};

template <class Block, class Atoms, class Orders = open_block_orders>
class open_blocks {
public:
    static constexpr std::size_t count_max = 8;

    /// Returns: a block that was given, which now belongs to the caller; nullptr: none was seen.
    [[nodiscard]] Block* take() noexcept {
        for (auto& word : words_) {
            if (word.load(memory_order::relaxed) == nullptr) { continue; }
            if (Block* const b = word.exchange(nullptr, Orders::take)) { return b; }
        }
        return nullptr;
    }

    /// Returns: false when all words are taken; `b` still belongs to the caller then.
    [[nodiscard]] bool give(Block* b) noexcept {
        for (auto& word : words_) {
            Block* none = nullptr;
            if (word.load(memory_order::relaxed) == nullptr &&
                word.compare_exchange_strong(none, b, Orders::give, memory_order::relaxed)) {
                return true;
            }
        }
        return false;
    }

    /// Forgets the blocks. Requires: no other thread uses this object.
    void clear() noexcept {
        for (auto& word : words_) { word.store(nullptr, memory_order::relaxed); }
    }

private:
    typename Atoms::template atomic<Block*> words_[count_max];
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
