// cairn/alloc/inside/free_lists.hpp - free blocks in bins, one doubly linked list a bin.
//
//      bitmap   . . 1 . . . 1 .           which bins have a block
//      heads    . . 7 . . . 3 .           the block that came last
//                   |       |
//                   v       v
//                  [7]<->[12]<->[5]       links lie in the blocks (heap) or in nodes (offset_heap)
//
// Written once for both: Links says where next and prev of a block live. Where that is memory that
// users write to (Links::is_block), no link is followed before the block that it names links back.
//
// Invariant: a bin's bit is set exactly when its head is not `none`; the head has no prev.
// Cost:      insert, remove: the bitmap, the head and at most two other blocks. first: one load.
//            The look at a link is a compare with the end of the region, and one with a word that
//            is written next.
// Position:  `heads` follows this object in memory; nothing here is an address.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/heap_block.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/inside/two_level_bitmap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Where the lists of a heap in memory keep their links: in the first 8 payload bytes.
class links_in_blocks {
public:
    links_in_blocks(block_map blocks, link_code code) noexcept : blocks_{blocks}, code_{code} {}

    [[nodiscard]] std::uint32_t next(std::uint32_t id) const noexcept {
        return blocks_.link(code_, id, 0);
    }
    [[nodiscard]] std::uint32_t prev(std::uint32_t id) const noexcept {
        return blocks_.link(code_, id, 1);
    }
    [[nodiscard]] bool next_is(std::uint32_t id, std::uint32_t to) const noexcept {
        return blocks_.links_to(code_, id, 0, to);
    }
    [[nodiscard]] bool prev_is(std::uint32_t id, std::uint32_t to) const noexcept {
        return blocks_.links_to(code_, id, 1, to);
    }
    void set_next(std::uint32_t id, std::uint32_t to) const noexcept {
        blocks_.set_link(code_, id, 0, to);
    }
    void set_prev(std::uint32_t id, std::uint32_t to) const noexcept {
        blocks_.set_link(code_, id, 1, to);
    }
    void set_both(std::uint32_t id, std::uint32_t next, std::uint32_t prev) const noexcept {
        blocks_.set_two_links(code_, id, 0, next, prev);
    }
    [[nodiscard]] bool is_block(std::uint32_t id) const noexcept { return code_.has(id); }
    /// For the report of a link that is wrong: an address that each operation has at hand.
    [[nodiscard]] const void* memory() const noexcept { return blocks_.at(0); }

private:
    block_map blocks_;
    link_code code_;
};

template <std::uint32_t BinCountMax>
class free_lists {
public:
    static constexpr std::uint32_t none = no_block;

    /// `heads` holds one entry a bin and belongs to these lists.
    void clear(std::uint32_t* heads, std::uint32_t bin_count) noexcept {
        bitmap_ = {};
        for (std::uint32_t b = 0; b < bin_count; ++b) { heads[b] = none; }
    }

    template <class Links>
    [[CAIRN_FORCE_INLINE]] inline void insert(std::uint32_t* heads, const Links& links,
                                              std::size_t bin, std::uint32_t id) noexcept {
        const std::uint32_t old = heads[bin];
        links.set_both(id, old, none);
        if (old != none) {
            links.set_prev(old, id);
        } else {
            bitmap_.set(bin);
        }
        heads[bin] = id;
    }

    template <class Links>
    [[CAIRN_FORCE_INLINE]] inline void remove(std::uint32_t* heads, const Links& links,
                                              std::size_t bin, std::uint32_t id) noexcept {
        const std::uint32_t next = links.next(id);
        const std::uint32_t prev = links.prev(id);
        if (is_after(links, next, id)) { links.set_prev(next, prev); }
        if (is_before(links, prev, id)) {
            links.set_next(prev, next);
            return;
        }
        expect_head(links, heads[bin], id);
        heads[bin] = next;
        if (next == none) { bitmap_.clear(bin); }
    }

    /// Takes out `id`, the head of its bin: no block is before it.
    template <class Links>
    [[CAIRN_FORCE_INLINE]] inline void remove_head(std::uint32_t* heads, const Links& links,
                                                   std::size_t bin, std::uint32_t id) noexcept {
        CAIRN_ASSERT(heads[bin] == id, "the head of a bin is taken out as its head");
        const std::uint32_t next = links.next(id);
        heads[bin] = next;
        if (is_after(links, next, id)) {
            links.set_prev(next, none);
        } else {
            bitmap_.clear(bin);
        }
    }

    /// Puts `to` where `from` stands in the same bin: no bit changes.
    template <class Links>
    void replace(std::uint32_t* heads, const Links& links, std::size_t bin, std::uint32_t from,
                 std::uint32_t to) noexcept {
        const std::uint32_t next = links.next(from);
        links.set_next(to, next);
        if (is_after(links, next, from)) { links.set_prev(next, to); }
        const std::uint32_t prev = links.prev(from);
        links.set_prev(to, prev);
        if (is_before(links, prev, from)) {
            links.set_next(prev, to);
            return;
        }
        expect_head(links, heads[bin], from);
        heads[bin] = to;
    }

    /// As replace, where `from` is the head of its bin.
    template <class Links>
    [[CAIRN_FORCE_INLINE]] inline void replace_head(std::uint32_t* heads, const Links& links,
                                                    std::size_t bin, std::uint32_t from,
                                                    std::uint32_t to) noexcept {
        CAIRN_ASSERT(heads[bin] == from, "the head of a bin is replaced as its head");
        const std::uint32_t next = links.next(from);
        links.set_next(to, next);
        if (is_after(links, next, from)) { links.set_prev(next, to); }
        links.set_prev(to, none);
        heads[bin] = to;
    }

    // The words of an index whose blocks are in bins; `bin_of(size)` is the bin of a size.

    /// The hole `h` is used: as the head of its bin where `where` says so.
    template <class Links, class BinOf>
    [[CAIRN_FORCE_INLINE]] inline void take(std::uint32_t* heads, const Links& links, BinOf bin_of,
                                            hole h) noexcept {
        if (h.where != none) [[likely]] { return remove_head(heads, links, h.where, h.block); }
        remove(heads, links, bin_of(h.size), h.block);
    }

    /// The first `used` granules of `h` are used, the rest stays free.
    template <class Links, class BinOf>
    [[CAIRN_FORCE_INLINE]] inline void keep_rest(std::uint32_t* heads, const Links& links,
                                                 BinOf bin_of, hole h,
                                                 std::uint32_t used) noexcept {
        const std::uint32_t rest_bin = bin_of(h.size - used);
        if (h.where != none) [[likely]] {
            if (h.where == rest_bin) {
                return replace_head(heads, links, rest_bin, h.block, h.block + used);
            }
            remove_head(heads, links, h.where, h.block);
        } else {
            const std::uint32_t bin = bin_of(h.size);
            if (bin == rest_bin) { return replace(heads, links, bin, h.block, h.block + used); }
            remove(heads, links, bin, h.block);
        }
        insert(heads, links, rest_bin, h.block + used);
    }

    /// The block of `size` at `at` and its free neighbours (0: not free) become one free block.
    template <class Links, class BinOf>
    [[CAIRN_FORCE_INLINE]] inline void give(std::uint32_t* heads, const Links& links, BinOf bin_of,
                                            std::uint32_t left_size, std::uint32_t at,
                                            std::uint32_t size, std::uint32_t right_size) noexcept {
        const std::uint32_t start = at - left_size;
        size += left_size;
        if (right_size != 0) {
            remove(heads, links, bin_of(right_size), start + size);
            size += right_size;
        }
        const std::uint32_t bin = bin_of(size);
        if (left_size != 0) {
            const std::uint32_t left_bin = bin_of(left_size);
            if (left_bin == bin) { return; }
            remove(heads, links, left_bin, start);
        }
        insert(heads, links, bin, start);
    }

    /// The block after `id`, or none: for a walk that changes nothing.
    template <class Links>
    [[nodiscard]] std::uint32_t next_of(const Links& links, std::uint32_t id) const noexcept {
        const std::uint32_t next = links.next(id);
        return is_after(links, next, id) ? next : none;
    }

    /// The lowest bin >= `bin` that has a block, or none.
    [[nodiscard]] std::uint32_t bin_from(std::uint32_t bin) const noexcept {
        return bitmap_.find_from(bin);
    }
    [[nodiscard]] std::uint32_t highest_bin() const noexcept { return bitmap_.highest(); }

    /// Calls visit(bin, id) for every block and checks the links on the way. O(blocks).
    template <class Links, class Visit>
    void validate(const std::uint32_t* heads, const Links& links, std::uint32_t bin_count,
                  Visit visit) const noexcept {
        bitmap_.validate();
        for (std::uint32_t b = 0; b < bin_count; ++b) {
            CAIRN_ASSERT(bitmap_.test(b) == (heads[b] != none), "a bin's bit says it has a block");
            std::uint32_t prev = none;
            for (std::uint32_t id = heads[b]; id != none; id = links.next(id)) {
                visit(b, id);  // first: it checks that `id` is a block at all
                CAIRN_ASSERT(links.prev(id) == prev, "a block's prev is the block before it");
                prev = id;
            }
        }
    }

private:
    // Inlined by force: what else is in a unit decides otherwise whether gcc does.

    /// Returns: false when no block comes after `id`.
    template <class Links>
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool is_after(
        const Links& links, std::uint32_t next, [[maybe_unused]] std::uint32_t id) const noexcept {
        if constexpr (requires { links.is_block(next); }) {
            if (links.is_block(next)) [[likely]] {
                if (!links.prev_is(next, id)) [[unlikely]] {
                    heap_is_corrupt(heap_promise::links, links.memory());
                }
                return true;
            }
            if (next != none) [[unlikely]] { heap_is_corrupt(heap_promise::links, links.memory()); }
            return false;
        } else {
            return next != none;
        }
    }
    /// Returns: false when no block comes before `id`.
    template <class Links>
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool is_before(
        const Links& links, std::uint32_t prev, [[maybe_unused]] std::uint32_t id) const noexcept {
        if constexpr (requires { links.is_block(prev); }) {
            if (links.is_block(prev)) {
                if (!links.next_is(prev, id)) [[unlikely]] {
                    heap_is_corrupt(heap_promise::links, links.memory());
                }
                return true;
            }
            if (prev != none) [[unlikely]] { heap_is_corrupt(heap_promise::links, links.memory()); }
            return false;
        } else {
            return prev != none;
        }
    }
    /// `id`, which has no block before it, is the head of its bin.
    template <class Links>
    void expect_head(const Links& links, std::uint32_t head, std::uint32_t id) const noexcept {
        if constexpr (requires { links.is_block(id); }) {
            if (head != id) [[unlikely]] { heap_is_corrupt(heap_promise::links, links.memory()); }
        } else {
            CAIRN_ASSERT(head == id, "the first block of a bin has no block before it");
        }
    }

    two_level_bitmap<BinCountMax> bitmap_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
