// cairn/alloc/best_fit/size_trie.hpp - free blocks by exact size, without balancing.
//
//      sizes of 4 bits      8..15: [12]               a node may hold any size of its range
//                            |       |
//                   0..7: [5]         [9] :8..15      left: next bit 0, right: next bit 1
//                    |     |           |              (of the range that the node stands for)
//                  [1]     [6]=[6]    ...             equal sizes hang on a ring, newest first
//
// A digital search tree: the bits of the size say where to go, the node itself may hold any size of
// its range, so any leaf can take the place of any node that leaves. Depth is the number of bits,
// whatever order the blocks come in; there is nothing to rotate.
//
// Links lie in memory that users write to: none is followed before the node that it names links
// back.
//
// Cost:  insert and remove: at most `bits` + 1 nodes; find: at most twice that. Where one large
//        block is all there is, as in a heap that is not full, no walk at all.
// Source: dlmalloc's tree bins (Doug Lea); LLVM libc's freetrie.h.
#pragma once

#include <cstdint>

#include <cairn/alloc/fit.hpp>
#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Blocks must have at least two granules: six links.
class size_trie {
    using blocks = block_map;
    enum link : unsigned { next = 0, prev = 1, left = 2, right = 3, parent = 4 };
    static constexpr std::uint32_t none = no_block;

public:
    static constexpr unsigned key_bits = 30;

    void clear(link_code code) noexcept {
        root_ = none;
        code_ = code;
    }
    [[nodiscard]] bool empty() const noexcept { return root_ == none; }

    void insert(blocks b, std::uint32_t g, std::uint32_t size) noexcept {
        if (root_ == none) { return write_alone(b, g); }
        b.set_two_links(code_, g, next, g, g);  // a ring of its own
        b.set_two_links(code_, g, left, none, none);
        std::uint32_t node = root_;
        for (unsigned bit = key_bits;;) {
            CAIRN_DETAIL_STEP();
            if (b.header(node).size() == size) {  // newest right behind the node
                const std::uint32_t after = followed(b, node, next, prev);
                b.set_two_links(code_, g, next, after, node);
                b.set_link(code_, g, parent, ring_member);
                b.set_link(code_, node, next, g);
                b.set_link(code_, after, prev, g);
                return;
            }
            expect(bit != 0);
            --bit;
            const unsigned side = left + (size >> bit & 1);
            const std::uint32_t child = child_of(b, node, side);
            if (child == none) {
                b.set_link(code_, node, side, g);
                b.set_link(code_, g, parent, node);
                return;
            }
            node = child;
        }
    }

    void remove(blocks b, std::uint32_t g) noexcept {
        const std::uint32_t after = followed(b, g, next, prev);
        const std::uint32_t before = followed(b, g, prev, next);
        const std::uint32_t place = b.link(code_, g, parent);
        if (place == ring_member) {
            expect(after != g);
            b.set_link(code_, before, next, after);
            b.set_link(code_, after, prev, before);
            return;
        }
        expect_place(b, g, place);
        if (after != g) {  // the oldest of the ring takes the place: the others keep their order
            b.set_link(code_, before, next, after);
            b.set_link(code_, after, prev, before);
            // `before` is now the node; its ring is before -> after -> ... -> before
            take_place(b, before, g);
            return;
        }
        std::uint32_t leaf = g;
        for (unsigned bit = key_bits + 1;; --bit) {
            CAIRN_DETAIL_STEP();
            expect(bit != 0);
            const std::uint32_t r = child_of(b, leaf, right);
            const std::uint32_t child = r != none ? r : child_of(b, leaf, left);
            if (child == none) { break; }
            leaf = child;
        }
        const std::uint32_t above = b.link(code_, leaf, parent);
        if (above == none) {
            root_ = none;  // g was the only node
            return;
        }
        b.set_link(code_, above, b.link(code_, above, left) == leaf ? left : right, none);
        if (leaf != g) { take_place(b, leaf, g); }
    }

    /// True when `g` is the only block. Its links are read and compared like those that are
    /// followed.
    [[nodiscard]] bool is_alone(blocks b, std::uint32_t g) const noexcept {
        return root_ == g && b.links_to(code_, g, next, g) && b.links_to(code_, g, left, none) &&
               b.links_to(code_, g, right, none);
    }

    /// The only block `from` becomes `to`, of any size: the root may hold every size.
    /// Requires: is_alone(b, from).
    void replace_alone(blocks b, std::uint32_t from, std::uint32_t to) noexcept {
        expect(b.links_to(code_, from, prev, from) && b.links_to(code_, from, parent, none));
        write_alone(b, to);
    }

    /// The smallest block of at least `size` granules, the newest of equals; or no_block.
    [[nodiscard]] std::uint32_t find(blocks b, std::uint32_t size) const noexcept {
        std::uint32_t best = none;
        std::uint32_t best_size = none;
        std::uint32_t above_larger = none;  // above the deepest subtree of sizes beyond the path's
        std::uint32_t node = root_;
        for (unsigned bit = key_bits; node != none;) {
            CAIRN_DETAIL_STEP();
            const std::uint32_t node_size = b.header(node).size();
            if (node_size >= size && node_size < best_size) {
                best = node;
                best_size = node_size;
                if (node_size == size) { return newest(b, best); }
            }
            if (bit == 0) { break; }  // a leaf of the last level
            --bit;
            const bool one = (size >> bit & 1) != 0;
            if (!one && b.link(code_, node, right) != none) { above_larger = node; }
            node = child_of(b, node, one ? right : left);
        }
        // Its minimum is on the leftmost path.
        node = above_larger == none ? none : child_of(b, above_larger, right);
        for (unsigned bit = key_bits; node != none; --bit) {
            CAIRN_DETAIL_STEP();
            expect(bit != 0);
            const std::uint32_t node_size = b.header(node).size();
            if (node_size < best_size) {
                best = node;
                best_size = node_size;
            }
            const std::uint32_t l = child_of(b, node, left);
            node = l != none ? l : child_of(b, node, right);
        }
        return best == none ? none : newest(b, best);
    }

    /// Size of the largest block, 0 when empty: the maximum is on the rightmost path.
    [[nodiscard]] std::uint32_t largest(blocks b) const noexcept {
        std::uint32_t best = 0;
        for (std::uint32_t node = root_; node != none;) {
            const std::uint32_t node_size = b.header(node).size();
            if (node_size > best) { best = node_size; }
            const std::uint32_t r = child_of(b, node, right);
            node = r != none ? r : child_of(b, node, left);
        }
        return best;
    }

    /// Calls visit(g) for every block. Depth is bounded by key_bits, and so is the recursion.
    template <class Visit>
    void validate(blocks b, Visit visit) const noexcept {
        if (root_ != none) { validate_below(b, visit, root_, none, 0, key_bits); }
    }

private:
    static constexpr std::uint32_t ring_member = no_block - 1;

    [[nodiscard]] std::uint32_t newest(blocks b, std::uint32_t node) const noexcept {
        return followed(b, node, next, prev);  // the node itself when it is alone on its ring
    }

    /// `g` is the root, and nothing is below it.
    void write_alone(blocks b, std::uint32_t g) noexcept {
        b.set_two_links(code_, g, next, g, g);
        b.set_two_links(code_, g, left, none, none);
        b.set_link(code_, g, parent, none);
        root_ = g;
    }

    void expect(bool holds) const noexcept {
        if (!holds) [[unlikely]] { heap_is_corrupt(heap_promise::links, this); }
    }
    /// The block that link `which` of `g` names, which names `g` by its link `back`.
    [[nodiscard]] std::uint32_t followed(blocks b, std::uint32_t g, link which,
                                         link back) const noexcept {
        const std::uint32_t to = b.link(code_, g, which);
        expect(to == g || (code_.has(to) && b.links_to(code_, to, back, g)));
        return to;
    }
    /// The node below `node` on this side, or none.
    [[nodiscard]] std::uint32_t child_of(blocks b, std::uint32_t node,
                                         unsigned side) const noexcept {
        const std::uint32_t child = b.link(code_, node, side);
        if (child == none) { return none; }
        expect(code_.has(child) && b.links_to(code_, child, parent, node) &&
               (b.size_and_bits(child) & block_header::free_bit) != 0);
        return child;
    }
    /// `g`, which is a node, is the root or a child of the node above.
    void expect_place(blocks b, std::uint32_t g, std::uint32_t above) const noexcept {
        if (above == none) { return expect(root_ == g); }
        expect(code_.has(above) &&
               (b.links_to(code_, above, left, g) || b.links_to(code_, above, right, g)));
    }

    /// `heir` stands where `old` stood in the tree.
    void take_place(blocks b, std::uint32_t heir, std::uint32_t old) noexcept {
        const std::uint32_t above = b.link(code_, old, parent);
        const std::uint32_t l = child_of(b, old, left);
        const std::uint32_t r = child_of(b, old, right);
        expect_place(b, old, above);
        b.set_two_links(code_, heir, left, l, r);
        b.set_link(code_, heir, parent, above);
        if (l != none) { b.set_link(code_, l, parent, heir); }
        if (r != none) { b.set_link(code_, r, parent, heir); }
        if (above == none) {
            root_ = heir;
        } else {
            b.set_link(code_, above, b.link(code_, above, left) == old ? left : right, heir);
        }
    }

    template <class Visit>
    void validate_below(blocks b, Visit& visit, std::uint32_t node, std::uint32_t above,
                        std::uint32_t low, unsigned bits) const noexcept {
        visit(node);
        const std::uint32_t size = b.header(node).size();
        CAIRN_ASSERT(b.link(code_, node, parent) == above, "a node's parent is the node above it");
        CAIRN_ASSERT(size >= low && size - low < (std::uint64_t{1} << bits),
                     "a node's size lies in the range of its place");
        std::uint32_t before = node;
        for (std::uint32_t g = b.link(code_, node, next); g != node; g = b.link(code_, g, next)) {
            visit(g);
            CAIRN_ASSERT(b.header(g).size() == size, "a ring is of one size");
            CAIRN_ASSERT(b.link(code_, g, prev) == before, "a ring's prev is the block before it");
            before = g;
        }
        const std::uint32_t l = b.link(code_, node, left);
        const std::uint32_t r = b.link(code_, node, right);
        CAIRN_ASSERT(bits != 0 || (l == none && r == none), "the trie is as deep as its keys");
        if (l != none) { validate_below(b, visit, l, node, low, bits - 1); }
        if (r != none) { validate_below(b, visit, r, node, low + (1u << (bits - 1)), bits - 1); }
    }

    std::uint32_t root_ = none;
    link_code code_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
