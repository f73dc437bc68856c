// cairn/movable/relocatable_heap/object_map.hpp - which granules belong to whom: the map of a
// relocatable heap.
//
//      granules   0      3          7      9   10                                    capacity
//                 +------+----------+------+---+-------------------------------+--------+
//                 | o 4  |   hole   | o 2  |o 7|             hole              |  o 9   |
//                 +------+----------+------+---+-------------------------------+--------+
//                   |     size, 4     ^      ^    size, 7                        ^
//      entries      |                 |      |                                   |
//        4: place 0, 3 granules, after 2     |         a list of the objects in order of address;
//        2: place 7, ...         after 7 ----+         beside the memory, so that neighbours share
//        7: place 9, ...         after 9 --------------nothing with the bytes of an object-+
//
// A hole is what lies between two objects: it has no entry, its owner is the object before it (or
// none, at the bottom), and two holes can never be neighbours. Its first eight bytes hold its size
// and its owner, in the words of a heap's block header, so the heap's address-ordered index
// (first_fit) finds the lowest hole that fits, the first behind a place, and the highest.
//
// Invariant: places ascend along the list; the index holds exactly the gaps between neighbours.
// Cost:      each function is O(log n) in the region's size, validate() apart. 32 bytes an object
//            beside the region, and 10 bytes of index per KiB.
// Threads:   one.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/movable/relocation.hpp>
#include <cairn/storage/inside/growable_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

inline constexpr std::size_t object_granule = 16;  // bytes; every object and hole has some of them
inline constexpr std::uint32_t object_granules_max = (1u << 30) - 1;

/// Finds holes by their size and their place: first_fit's index of a heap.
class hole_index;

/// What is known about one object beside its address.
struct object_entry {
    const relocation* how;
    std::uint32_t place;     // its first granule
    std::uint32_t granules;  // at least 1
    std::uint32_t before;    // neighbours in order of address, or none
    std::uint32_t after;
    std::uint32_t pins;
    std::uint8_t unused;      // bytes of its last granule that were not asked for: 0 to 16
    std::uint8_t align_log2;  // of its address
    std::uint8_t round;       // of the compaction that moved it last
    bool is_fixed;            // too large to move
};
static_assert(sizeof(object_entry) == 32);

class object_map {
public:
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

    /// A place for an object: granule `at`, in the hole behind `owner`.
    struct spot {
        std::uint32_t owner = none;
        std::uint32_t at = none;
        [[nodiscard]] explicit operator bool() const noexcept { return at != none; }
    };

    explicit object_map(allocator_ref upstream) noexcept
        : entries_{cache_line_alignment, upstream} {}
    /// `other` is a map over nothing afterwards, which create() may use. Written out: its ends are
    /// written as the links of entries are, by one reference to either.
    object_map(object_map&& other) noexcept;
    object_map& operator=(object_map&& other) noexcept;
    ~object_map() { release(); }

    /// Manages `granules` from `base` on, all of them one hole. Requires: a new map; base is a
    /// multiple of 16. Returns: false when the index finds no memory; the map is empty then.
    [[nodiscard]] bool create(std::byte* base, std::uint32_t granules) noexcept;
    /// Forgets all objects. O(index).
    void clear() noexcept;
    /// Gives the index and the entries back.
    void release() noexcept;

    /// Makes entries for `count` objects. Returns: false when exhausted; nothing has changed then.
    [[nodiscard]] bool extend(std::size_t count) noexcept;
    /// Keeps the first `count` entries alone. Requires: no object has an entry behind them.
    /// Returns: the bytes that went back; 0 when there is no memory for the smaller table.
    std::size_t shrink(std::size_t count) noexcept;
    /// How many objects have an entry.
    [[nodiscard]] std::size_t entry_room() const noexcept {
        return entries_.size() / sizeof(object_entry);
    }

    [[nodiscard]] object_entry& entry(std::uint32_t i) noexcept { return entries()[i]; }
    [[nodiscard]] const object_entry& entry(std::uint32_t i) const noexcept { return entries()[i]; }
    [[nodiscard]] std::uint32_t lowest() const noexcept { return lowest_; }
    [[nodiscard]] std::uint32_t highest() const noexcept { return highest_; }
    [[nodiscard]] std::uint32_t granules() const noexcept { return granules_; }
    [[nodiscard]] std::uint32_t free_granules() const noexcept { return free_granules_; }
    [[nodiscard]] std::uint32_t hole_count() const noexcept { return hole_count_; }
    [[nodiscard]] std::uint32_t largest_hole() const noexcept;
    /// One past the last granule of `i`; 0 for none.
    [[nodiscard]] std::uint32_t end_of(std::uint32_t i) const noexcept {
        return i == none ? 0 : entry(i).place + entry(i).granules;
    }
    /// The first granule of `i`; the end of the region for none.
    [[nodiscard]] std::uint32_t start_of(std::uint32_t i) const noexcept {
        return i == none ? granules_ : entry(i).place;
    }
    /// Granules from `at` to the next multiple of the alignment.
    [[nodiscard]] std::uint32_t gap_for(std::uint32_t at, alignment align) const noexcept {
        return static_cast<std::uint32_t>(
            detail::padding_to(reinterpret_cast<std::uintptr_t>(base_) + at * object_granule,
                               align) /
            object_granule);
    }

    /// The lowest spot for `size` granules. (Over-aligned: in the lowest hole that holds the size,
    /// else in the lowest that certainly holds both.)
    [[nodiscard]] spot find_low(std::uint32_t size, alignment align) const noexcept;
    /// A spot at the upper end of the highest such hole.
    [[nodiscard]] spot find_high(std::uint32_t size, alignment align) const noexcept;
    /// Where the first hole at granule `from` or above begins, or none; and who owns it.
    [[nodiscard]] spot hole_from(std::uint32_t from) const noexcept;

    /// Object `i` of `size` granules stands at `s` from now on. Its other fields are the caller's.
    void insert(std::uint32_t i, spot s, std::uint32_t size) noexcept;
    /// Its granules are a hole, joined with those beside it.
    void remove(std::uint32_t i) noexcept;
    /// A move: lift(), then the caller copies the bytes, then put(). In between the map is open.
    /// (By reference: the planner wrote `to` as two words, and one load of both would wait until
    /// all stores before them are in the cache; 2.2 of 6.2 us a frame.)
    void lift(std::uint32_t i, const spot& to) noexcept;
    void put(std::uint32_t i, const spot& to) noexcept;

    /// Writes the words of the hole behind `owner` again: its bytes were used for a moment.
    void rewrite_hole(std::uint32_t owner) noexcept;

    /// Stops a checked build when an invariant is broken. O(n).
    void validate() const noexcept;

private:
    [[nodiscard]] object_entry* entries() const noexcept {
        return reinterpret_cast<object_entry*>(entries_.data());
    }
    [[nodiscard]] std::uint32_t hole_after(std::uint32_t owner) const noexcept {
        return start_of(owner == none ? lowest_ : entry(owner).after) - end_of(owner);
    }
    void open(std::uint32_t owner) noexcept;   // the hole behind it enters the index
    void close(std::uint32_t owner) noexcept;  // and leaves it
    void link(std::uint32_t i, std::uint32_t owner) noexcept;
    void unlink(std::uint32_t i) noexcept;

    //  granules_ = sum of granules over the objects + free_granules_
    //  hole behind i = start_of(after i) - end_of(i), in granules; hole_count_ of them are not 0
    std::byte* base_ = nullptr;
    hole_index* index_ = nullptr;  // its arrays follow it
    std::uint32_t granules_ = 0;
    std::uint32_t free_granules_ = 0;
    std::uint32_t lowest_ = none;
    std::uint32_t highest_ = none;
    std::uint32_t hole_count_ = 0;
    growable_memory entries_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
