// cairn/alloc/inside/heap_block.hpp - what stands in front of each block of a heap.
//
//      base                 a granule is 16 bytes; payloads are multiples of 16, headers 8 before
//      |
//      v 0         1         2         3         4         5         6
//      +----+-----------------+----+------------------------------------+----+---
//      | h  | payload, 24 B   | h  | free: next, prev, ...              | h  |
//      +----+-----------------+----+------------------------------------+----+---
//        |                      |  ^                                      |
//        |  size 2, prev 0      |  +---- size 4, prev 2, free             +-- size .., prev 4
//        |                      |
//      size       granules from this header to the next one     30 bits: 16 GiB in a region
//      free       in the index of the fit                        1 bit
//      deferred   given back, but not yet merged                 1 bit
//      previous   size of the block before this one, 0: none    30 bits
//
// Invariant: header(g + size(g)).previous == size(g), for every block. Both directions are a
//            subtraction away, and whatever overruns a block breaks the equation: validate() and,
//            in checked builds, the next deallocate of a neighbour notice.
//            Both bits mark a header that is none any more: its block became part of another one,
//            and a second free of it finds the mark.
// Links:     free blocks hold theirs exclusive-ored with a key of the region, so that what a
//            program writes there is no link: it decodes to a number beyond the region, or to a
//            block that does not link back.
// Checkers:  headers and links stay poisoned, so that a write past the end of a block or into a
//            freed one is an ASan report at its first byte. load_hidden() and store_hidden() lift
//            the poison for one access.
// Corrupt:   words that contradict each other are the trace of an overrun, of a write after a free
//            or of a second free. heap_is_corrupt() ends the program then, in every build; what is
//            noticed: docs/hardening.md.
// Position:  blocks are named by their granule, counted from `base`. Nothing here is an address,
//            so a region may be copied, saved, or mapped elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cairn/core/alignment.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// ---------------------------------------------------------------------------- hidden words

/// The eight bytes that `at` lies in may be read and written while this lives.
class uncovered_word {
public:
    explicit uncovered_word(const std::byte* at) noexcept
        : word_{at - reinterpret_cast<std::uintptr_t>(at) % 8} {
        detail::unpoison_defined(word_, 8);
    }
    ~uncovered_word() { poison(word_, 8); }
    uncovered_word(const uncovered_word&) = delete;
    uncovered_word& operator=(const uncovered_word&) = delete;

private:
    const std::byte* word_;
};

// Out of line: Valgrind is not there, nearly always.
template <class T>
[[CAIRN_NOINLINE, CAIRN_COLD]] T load_under_valgrind(const std::byte* at) noexcept {
    const uncovered_word open{at};
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

template <class T>
[[CAIRN_NOINLINE, CAIRN_COLD]] void store_under_valgrind(std::byte* at, T value) noexcept {
    const uncovered_word open{at};
    std::memcpy(at, &value, sizeof(T));
}

/// Requires: `at` is a multiple of sizeof(T) from an address that is a multiple of 8. Watched:
///           false where the caller has asked poison_is_seen(), which said no.
template <class T, bool Watched = detail::poison_is_watched>
[[nodiscard, CAIRN_FORCE_INLINE]] inline T load_hidden(const std::byte* at) noexcept {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    T value;
    if constexpr (detail::poison_is_queryable) {
        const uncovered_word open{at};
        std::memcpy(&value, at, sizeof(T));
        return value;
    }
    if (Watched && detail::poison_is_seen()) [[unlikely]] {
        return detail::load_under_valgrind<T>(at);
    }
    std::memcpy(&value, at, sizeof(T));
    return value;
}

template <class T, bool Watched = detail::poison_is_watched>
[[CAIRN_FORCE_INLINE]] inline void store_hidden(std::byte* at, T value) noexcept {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (detail::poison_is_queryable) {
        const uncovered_word open{at};
        std::memcpy(at, &value, sizeof(T));
        return;
    }
    if (Watched && detail::poison_is_seen()) [[unlikely]] {
        return detail::store_under_valgrind<T>(at, value);
    }
    std::memcpy(at, &value, sizeof(T));
}

// ---------------------------------------------------------------------------- corrupt words

/// Calls the assert handler with `sentence`, in unchecked builds too, then aborts. Takes no memory.
/// `memory`: an address in front of the blocks of the region that is corrupt, for the report.
[[noreturn, CAIRN_COLD, CAIRN_NOINLINE]] void heap_is_corrupt(const char* sentence,
                                                              const void* memory) noexcept;

/// What should have been true. Arrays, which have one address in the program: kinds go by it.
struct heap_promise {
    static constexpr char waiting[] =
        "a block that waits is as the heap wrote it: nothing overran it, nothing wrote into it "
        "after "
        "it was freed, and what was freed was a block of this heap, with the size it was asked "
        "with";
    static constexpr char links[] =
        "a free block is as the heap wrote it: nothing wrote into it after it was freed";
    static constexpr char free_header[] =
        "a free block is as the heap wrote it: nothing overran it, and no block in it was freed "
        "again";
    static constexpr char header[] =
        "a block's header is as the heap wrote it: nothing overran it, and what is freed is a "
        "block "
        "of this heap, with the size that it was asked with";
    static constexpr char freed_once[] = "a block is freed once";
    static constexpr char freed_start[] = "a pointer to the start of a block is freed";
    static constexpr char freed_here[] = "a block is freed to the heap it came from";
    static constexpr char freed_size[] = "a block is freed with the size that it was asked with";
    static constexpr char stretch[] = "a stretch's maximum is the size of one of its blocks";
};

// ---------------------------------------------------------------------------- blocks

inline constexpr std::size_t granule_size = 16;
inline constexpr std::size_t block_header_size = 8;
inline constexpr std::uint32_t granule_count_max = (1u << 30) - 1;
inline constexpr std::uint32_t no_block = 0xFFFF'FFFF;

/// Granules that a block of `size` bytes takes, header included.
/// Requires: size <= SIZE_MAX - 24.
[[nodiscard]] constexpr std::size_t granules_for(std::size_t size) noexcept {
    // 0 bytes still want a granule: (0 + 23) / 16 = 1.
    return (size + block_header_size + granule_size - 1) / granule_size;
}

[[nodiscard]] constexpr std::size_t payload_size(std::size_t granules) noexcept {
    return granules * granule_size - block_header_size;
}

/// Both halves are read and written as halves: a load of eight bytes behind a store of four waits
/// until the store is in the cache (15 cycles of an operation that takes 80).
class block_header {
public:
    constexpr block_header() = default;
    constexpr block_header(std::uint32_t size_and_bits, std::uint32_t previous) noexcept
        : size_and_bits_{size_and_bits}, previous_{previous} {}

    [[nodiscard]] static constexpr block_header used(std::uint32_t size,
                                                     std::uint32_t previous) noexcept {
        return {size, previous};
    }
    [[nodiscard]] static constexpr block_header unused(std::uint32_t size,
                                                       std::uint32_t previous) noexcept {
        return {size | free_bit, previous};
    }

    [[nodiscard]] constexpr std::uint32_t size() const noexcept {
        return size_and_bits_ & granule_count_max;
    }
    [[nodiscard]] constexpr std::uint32_t previous() const noexcept { return previous_; }
    [[nodiscard]] constexpr bool is_free() const noexcept {
        return (size_and_bits_ & free_bit) != 0;
    }
    [[nodiscard]] constexpr bool is_deferred() const noexcept {
        return (size_and_bits_ & deferred_bit) != 0;
    }
    /// Below `free_bit` when the block is in use.
    [[nodiscard]] constexpr std::uint32_t size_and_bits() const noexcept { return size_and_bits_; }

    friend constexpr bool operator==(const block_header&, const block_header&) = default;

    static constexpr std::uint32_t free_bit = 1u << 30;
    static constexpr std::uint32_t deferred_bit = 1u << 31;
    static constexpr std::uint32_t gone = free_bit | deferred_bit;

private:
    std::uint32_t size_and_bits_ = 0;
    std::uint32_t previous_ = 0;
};

static_assert(sizeof(block_header) == block_header_size);
static_assert(granules_for(0) == 1 && granules_for(8) == 1 && granules_for(9) == 2);
static_assert(payload_size(granules_for(24)) == 24);

/// How the links of free blocks are written, and what they may name. It lies in the index, in front
/// of the blocks.
class link_code {
public:
    link_code() = default;
    link_code(std::uint32_t granules, std::uint32_t key) noexcept
        : granules_{granules}, key_{key} {}

    /// There and back: a link as it stands in a block, or as a number.
    [[nodiscard]] std::uint32_t turned(std::uint32_t link) const noexcept { return link ^ key_; }
    /// True when the region has a granule `g`.
    [[nodiscard]] bool has(std::uint32_t g) const noexcept { return g < granules_; }
    [[nodiscard]] std::uint32_t granules() const noexcept { return granules_; }

private:
    std::uint32_t granules_ = 0;
    std::uint32_t key_ = 0;
};

/// A free block as the index of a fit knows it.
struct hole {
    std::uint32_t block = no_block;  // no_block: there is none
    std::uint32_t where = no_block;  // the fit's own: a bin at whose head it stands; not known
    std::uint32_t size = 0;          // granules; find() leaves it to its caller
};

/// The blocks of one region: the address of granule 0, and nothing else.
class block_map {
public:
    explicit block_map(std::byte* base) noexcept : base_{base} {}

    [[nodiscard]] std::byte* at(std::uint32_t g) const noexcept { return base_ + g * granule_size; }
    [[nodiscard]] std::byte* payload(std::uint32_t g) const noexcept {
        return at(g) + block_header_size;
    }
    [[nodiscard]] std::uint32_t block_of(const void* payload) const noexcept {
        return static_cast<std::uint32_t>(
            static_cast<std::size_t>(static_cast<const std::byte*>(payload) - base_) /
            granule_size);
    }

    [[nodiscard]] block_header header(std::uint32_t g) const noexcept {
        CAIRN_DETAIL_STEP();
        return {load_hidden<std::uint32_t>(at(g)), load_hidden<std::uint32_t>(at(g) + 4)};
    }
    /// One half of the header each, for an operation that needs no more.
    [[nodiscard]] std::uint32_t size_and_bits(std::uint32_t g) const noexcept {
        CAIRN_DETAIL_STEP();
        return load_hidden<std::uint32_t>(at(g));
    }
    [[nodiscard]] std::uint32_t previous(std::uint32_t g) const noexcept {
        CAIRN_DETAIL_STEP();
        return load_hidden<std::uint32_t>(at(g) + 4);
    }
    void set_header(std::uint32_t g, block_header h) const noexcept {
        CAIRN_DETAIL_STEP();
        store_hidden(at(g), h.size_and_bits());
        store_hidden(at(g) + 4, h.previous());
    }
    /// The block before `g` is now `size` granules long. Leaves size and bits alone.
    void set_previous(std::uint32_t g, std::uint32_t size) const noexcept {
        CAIRN_DETAIL_STEP();
        store_hidden(at(g) + 4, size);
    }
    /// Size and bits of `g`, as one half of the header. Leaves `previous` alone.
    void set_size_and_bits(std::uint32_t g, std::uint32_t size_and_bits) const noexcept {
        CAIRN_DETAIL_STEP();
        store_hidden(at(g), size_and_bits);
    }

    /// Free blocks hold up to six links of 32 bits in their payload; two fit the smallest block.
    /// What link() returns need not be a block: a stray write may have been there.
    [[nodiscard]] std::uint32_t link(link_code code, std::uint32_t g,
                                     unsigned which) const noexcept {
        CAIRN_DETAIL_STEP();
        return code.turned(load_hidden<std::uint32_t>(payload(g) + which * 4u));
    }
    /// As link(code, g, which) == to. Compares the words as they are written: where one block is
    /// looked for twice, its number is turned once.
    [[nodiscard]] bool links_to(link_code code, std::uint32_t g, unsigned which,
                                std::uint32_t to) const noexcept {
        CAIRN_DETAIL_STEP();
        return load_hidden<std::uint32_t>(payload(g) + which * 4u) == code.turned(to);
    }
    void set_link(link_code code, std::uint32_t g, unsigned which,
                  std::uint32_t value) const noexcept {
        CAIRN_DETAIL_STEP();
        store_hidden(payload(g) + which * 4u, code.turned(value));
    }
    void set_two_links(link_code code, std::uint32_t g, unsigned which, std::uint32_t first,
                       std::uint32_t second) const noexcept {
        CAIRN_DETAIL_STEP();
        store_hidden(payload(g) + which * 4u, code.turned(first));
        store_hidden(payload(g) + which * 4u + 4, code.turned(second));
    }

private:
    std::byte* base_;  // 8 below a multiple of 16
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
