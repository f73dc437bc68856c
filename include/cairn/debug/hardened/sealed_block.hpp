// cairn/debug/hardened/sealed_block.hpp - the layout of a hardened block, and its seals.
//
//      plain       | align - 16 | about | seal | size bytes | tail |
//      page guard  | front      | about | seal | size bytes | tail, < align | guard page |
//                                              ^ multiple of align, which is at least 16
//      about   8 bytes: size, alignment, guard page or not
//      seal    8 bytes: of the secret, the address and `about`; all bits turned in a freed block,
//              every second bit in one that went back to the allocator inside
//      tail    8 bytes: the seal once more, also of a freed block; in front of a guard page as many
//              of its bytes as fit
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cairn/core/alignment.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Size, alignment and kind of a block, and what follows from them.
struct sealed_block {
    static constexpr std::size_t head_size = 16;
    static constexpr std::size_t tail_size_max = 8;
    /// Larger blocks go back at once: they would keep much memory, and rarely hold links.
    static constexpr std::size_t waiting_size_max = 4096;
    /// Bytes of a freed block that are watched: links and tables of virtual functions lie there.
    static constexpr std::size_t filled_size_max = 64;

    std::size_t size;
    alignment align;  // at least 16
    bool page_guarded;

    sealed_block(std::size_t bytes, alignment a, bool has_guard) noexcept
        : size{bytes}, align{at_least_16(a)}, page_guarded{has_guard} {}
    /// The inverse of about().
    explicit sealed_block(std::uint64_t about) noexcept
        : size{about & size_mask},
          align{std::uint64_t{1} << (about >> 58)},
          page_guarded{(about >> 57 & 1) != 0} {}
    [[nodiscard]] std::uint64_t about() const noexcept {
        return std::uint64_t{align.log2()} << 58 | std::uint64_t{page_guarded} << 57 | size;
    }
    [[nodiscard]] bool was_asked_with(std::size_t bytes, alignment a) const noexcept {
        return size == bytes && align == at_least_16(a);
    }

    /// What the allocator inside is asked for. SIZE_MAX where it would wrap.
    [[nodiscard]] std::size_t whole_size() const noexcept {
        if (page_guarded) [[unlikely]] { return guarded_size(); }
        return saturating_add(saturating_add(size, tail_size_max), align.bytes());
    }
    /// A guard page must be a page of its own: then at least the alignment of pages.
    [[nodiscard]] alignment whole_align() const noexcept {
        return page_guarded ? guarded_align() : align;
    }
    /// Bytes in front of the user's.
    [[nodiscard]] std::size_t front_size() const noexcept {
        return page_guarded ? guarded_front() : align.bytes();
    }
    /// Bytes of the seal behind the user's: less than 8 only where a guard page follows.
    [[nodiscard]] std::size_t tail_size() const noexcept {
        return page_guarded ? guarded_tail() : tail_size_max;
    }
    /// Bytes that hold a pattern while the block is a freed one.
    [[nodiscard]] std::size_t filled_size() const noexcept {
        return size < filled_size_max ? size : filled_size_max;
    }
    /// True for a block that takes a place of the quarantine when it is freed.
    [[nodiscard]] bool waits() const noexcept { return size <= waiting_size_max; }

    /// The last page of `memory` faults, or no longer does. Returns: false: the system refuses.
    [[nodiscard]] bool protect(void* memory, bool faults) const noexcept;

private:
    static constexpr std::uint64_t size_mask = (std::uint64_t{1} << 57) - 1;

    static alignment at_least_16(alignment a) noexcept {
        return a > alignment{16} ? a : alignment{16};
    }
    [[nodiscard]] std::size_t guarded_size() const noexcept;
    [[nodiscard]] alignment guarded_align() const noexcept;
    [[nodiscard]] std::size_t guarded_front() const noexcept;
    [[nodiscard]] std::size_t guarded_tail() const noexcept;
};

/// Writes seals and compares them. Each allocator has a secret of its own, so that a block of
/// another one is foreign to it.
class sealer {
public:
    sealer() noexcept;
    /// For the order of slots: it says nothing about the seals. Never 0.
    [[nodiscard]] std::uint64_t another_secret() const noexcept;

    /// The live block at `p`. Stops the program when there is none.
    [[nodiscard]] sealed_block live(const void* p, call_site from) const noexcept {
        const head h = read_head(p);
        const std::uint64_t seal = seal_of(p, h.about);
        if (h.seal != seal) [[unlikely]] {
            not_live(p, h.about, h.seal == ~seal || h.seal == left(seal), from);
        }
        const sealed_block b{h.about};
        if (!has_its_tail(b, p, seal)) [[unlikely]] { overrun(p, b.size, from); }
        return b;
    }
    /// The freed block at `p`. Stops the program when it was written to.
    [[nodiscard]] sealed_block freed(const void* p) const noexcept {
        const head h = read_head(p);
        return freed(p, h, seal_of(p, h.about));
    }
    /// As above, for a block that goes back: one that two threads freed at once cannot do so twice.
    [[nodiscard]] sealed_block make_left(void* p) const noexcept {
        const head h = read_head(p);
        const std::uint64_t seal = seal_of(p, h.about);
        const sealed_block b = freed(p, h, seal);
        const std::uint64_t now = left(seal);
        std::memcpy(static_cast<std::byte*>(p) - sizeof now, &now, sizeof now);
        return b;
    }
    /// Stops the program when the live block at `p` has another size or alignment.
    static void expect(const sealed_block& b, const void* p, std::size_t size, alignment align,
                       call_site from) noexcept {
        if (!b.was_asked_with(size, align)) [[unlikely]] { wrong_size(b, p, size, align, from); }
    }

    /// Makes a live block of memory of whole_size(). Returns: where the user's bytes begin.
    [[nodiscard]] std::byte* make_live(const sealed_block& b, void* memory) const noexcept {
        std::byte* const p = static_cast<std::byte*>(memory) + b.front_size();
        const head h{b.about(), seal_of(p, b.about())};
        std::memcpy(p - sizeof h, &h, sizeof h);
        write_tail(b, p, h.seal);
        close(b, p);
        return p;
    }
    /// The live block becomes a freed one, of which no byte may be used.
    void make_freed(const sealed_block& b, void* p) const noexcept {
        const head h{b.about(), ~seal_of(p, b.about())};
        std::memcpy(static_cast<std::byte*>(p) - sizeof h, &h, sizeof h);
        fill(p, b.filled_size());
        close_freed(b, p);
    }
    /// The block becomes memory of the allocator inside.
    /// Returns: its begin; nullptr when the system leaves the guard page as it is: then no
    ///          allocator can use the block any more.
    [[nodiscard]] static std::byte* open(const sealed_block& b, void* p) noexcept {
        std::byte* const memory = static_cast<std::byte*>(p) - b.front_size();
        if (b.page_guarded && !b.protect(memory, false)) [[unlikely]] { return nullptr; }
        unpoison_defined(memory, b.whole_size());
        return memory;
    }
    // Memory checkers, again: the seals were read.
    static void close(const sealed_block& b, const void* p) noexcept {
        const auto* const data = static_cast<const std::byte*>(p);
        poison(data - sizeof(head), sizeof(head));
        if (poison_is_seen()) [[unlikely]] { poison(data + b.size, b.tail_size()); }
    }
    static void close_freed(const sealed_block& b, const void* p) noexcept {
        // At once: of an address that is no multiple of 8 AddressSanitizer begins at the next one.
        if (!poison_is_seen()) [[likely]] { return; }
        poison(p, b.size + b.tail_size());
        poison(static_cast<const std::byte*>(p) - sizeof(head), sizeof(head));
    }

private:
    static constexpr int freed_byte = 0xDD;
    struct head {
        std::uint64_t about;
        std::uint64_t seal;
    };
    static_assert(sizeof(head) == sealed_block::head_size);

    [[nodiscard]] static sealed_block freed(const void* p, const head& h,
                                            std::uint64_t seal) noexcept {
        if (h.seal != ~seal) [[unlikely]] {
            if (h.seal == left(seal)) { not_live(p, h.about, true, {}); }
            written_after_free(p);
        }
        const sealed_block b{h.about};
        if (!has_its_tail(b, p, seal) || !is_filled(b, p)) [[unlikely]] { written_after_free(p); }
        return b;
    }
    /// Two rounds of the mixer of SplitMix64 (Steele, Lea and Flood 2014): other addresses and
    /// sizes have other seals. Each step can be undone: a program that lets an attacker read a
    /// seal and its address gives the secret away. Its first byte is never 0, which a string that
    /// is too long would write there.
    [[nodiscard]] std::uint64_t seal_of(const void* p, std::uint64_t about) const noexcept {
        std::uint64_t x = reinterpret_cast<std::uintptr_t>(p) ^ secret_;
        x = (x ^ x >> 32) * 0x9E37'79B9'7F4A'7C15;
        x = (x ^ x >> 29 ^ about) * 0xBF58'476D'1CE4'E5B9;
        return (x ^ x >> 32) | 1;
    }
    /// The seal of a block that went back.
    [[nodiscard]] static std::uint64_t left(std::uint64_t seal) noexcept {
        return seal ^ 0xAAAA'AAAA'AAAA'AAAA;
    }
    static void write_tail(const sealed_block& b, std::byte* p, std::uint64_t seal) noexcept {
        if (b.page_guarded) [[unlikely]] {
            std::memcpy(p + b.size, &seal, b.tail_size());
        } else {
            std::memcpy(p + b.size, &seal, sizeof seal);
        }
    }
    /// Readable for memory checkers from now on, until close().
    [[nodiscard]] static head read_head(const void* p) noexcept {
        head h;
        const std::byte* const at = static_cast<const std::byte*>(p) - sizeof h;
        unpoison_defined(at, sizeof h);
        std::memcpy(&h, at, sizeof h);
        return h;
    }
    [[nodiscard]] static bool has_its_tail(const sealed_block& b, const void* p,
                                           std::uint64_t seal) noexcept {
        std::uint64_t found;
        const std::byte* const at = static_cast<const std::byte*>(p) + b.size;
        if (b.page_guarded) [[unlikely]] {
            const std::size_t count = b.tail_size();
            unpoison_defined(at, count);
            return std::memcmp(at, &seal, count) == 0;
        }
        unpoison_defined(at, sizeof found);
        std::memcpy(&found, at, sizeof found);
        return found == seal;
    }
    // Of most blocks the size is the constant: no loop remains.
    static void fill(void* p, std::size_t size) noexcept {
        if (size == sealed_block::filled_size_max) [[likely]] {
            std::memset(p, freed_byte, sealed_block::filled_size_max);
            return;
        }
        auto* const data = static_cast<std::byte*>(p);
        if (size < 8) {
            for (std::size_t i = 0; i < size; ++i) { data[i] = std::byte{freed_byte}; }
            return;
        }
        for (std::size_t i = 0; i < size - 8; i += 8) { std::memset(data + i, freed_byte, 8); }
        std::memset(data + size - 8, freed_byte, 8);  // may overlap the word before it
    }
    [[nodiscard]] static bool is_filled(const sealed_block& b, const void* p) noexcept {
        const auto* const data = static_cast<const std::byte*>(p);
        const std::size_t size = b.filled_size();
        unpoison_defined(data, size);
        std::uint64_t others = 0;
        if (size == sealed_block::filled_size_max) [[likely]] {
            for (std::size_t i = 0; i < sealed_block::filled_size_max; i += 8) {
                others |= other_bits(data + i);
            }
        } else if (size >= 8) {
            for (std::size_t i = 0; i < size - 8; i += 8) { others |= other_bits(data + i); }
            others |= other_bits(data + size - 8);
        } else {
            for (std::size_t i = 0; i < size; ++i) {
                others |= std::to_integer<std::uint64_t>(data[i] ^ std::byte{freed_byte});
            }
        }
        return others == 0;
    }
    [[nodiscard]] static std::uint64_t other_bits(const std::byte* p) noexcept {
        std::uint64_t word;
        std::memcpy(&word, p, sizeof word);
        return word ^ 0xDDDD'DDDD'DDDD'DDDD;
    }

    // In every build.
    [[noreturn]] static void not_live(const void* p, std::uint64_t about, bool was_freed,
                                      call_site from) noexcept;
    [[noreturn]] static void overrun(const void* p, std::size_t size, call_site from) noexcept;
    [[noreturn]] static void written_after_free(const void* p) noexcept;
    [[noreturn]] static void wrong_size(const sealed_block& b, const void* p, std::size_t size,
                                        alignment align, call_site from) noexcept;

    std::uint64_t secret_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
