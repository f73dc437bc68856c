// cairn/debug/inside/block_table.hpp - what a debugging wrapper knows about each live block.
//
//      slots_   | . | r3 | r7 | . | . | r1 | . | . |      open addressing, at most half full
//                                        |
//                 { data, size, align, serial, label, where }
//
// Beside the blocks, not in headers in front of them: a wild write cannot damage it, the layout of
// the blocks stays the same, and a foreign pointer is not found.
//
// Cost:    insert, find, erase O(1) on average; the slots come from `upstream`, 40 bytes and a
//          source_location for each.
// Threads: none, like the wrappers.
// Source:  linear probing with deletion by backward shift, Knuth 6.4, algorithm R.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include <cairn/os/system_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct block_record {
    std::byte* data = nullptr;  // nullptr: the slot is empty
    std::size_t size = 0;
    std::uint64_t serial = 0;  // in order of allocation
    const char* label = nullptr;
    std::source_location where{};
    alignment align{1};
    bool page_guarded = false;
    unsigned description = 0;  // Valgrind's number, for forget_description()
};

class block_table {
public:
    explicit block_table(allocator_ref upstream = system_memory()) noexcept : upstream_{upstream} {}
    ~block_table();
    block_table(const block_table&) = delete;
    block_table& operator=(const block_table&) = delete;

    /// Requires: no record has the same data.
    /// Returns: false when the table would have to grow and `upstream` is exhausted; unchanged
    ///          then.
    [[nodiscard]] bool insert(const block_record& record) noexcept;

    /// Returns: nullptr when no live block begins at `data`. Stays valid until the next change.
    [[nodiscard]] block_record* find(const void* data) noexcept;

    /// Requires: `record` came from find().
    void erase(block_record* record) noexcept;

    void clear() noexcept;

    /// Gives back the slots that the records do not need; without records all, else there are 64
    /// at least. Cost: O(slots). Returns: the bytes that went back; 0 when `upstream` is exhausted.
    std::size_t shrink() noexcept;

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Full and empty ones.
    [[nodiscard]] std::size_t slot_count() const noexcept { return capacity_; }

    /// Calls f(const block_record&) for each, in no particular order.
    template <class F>
    void for_each(F&& f) const {
        for_each_in(0, capacity_, f);
    }
    /// As for_each, for the slots from `first` to `end`, which is at most slot_count().
    template <class F>
    void for_each_in(std::size_t first, std::size_t end, F&& f) const {
        for (std::size_t i = first; i < end; ++i) {
            if (slots_[i].data != nullptr) { f(slots_[i]); }
        }
    }

    /// Erases each record with record.serial >= serial, after f(record).
    template <class F>
    void erase_since(std::uint64_t serial, F&& f) {
        for (std::size_t i = 0; i < capacity_;) {
            if (slots_[i].data != nullptr && slots_[i].serial >= serial) {
                f(slots_[i]);
                erase(&slots_[i]);  // may shift another record here: look again
            } else {
                ++i;
            }
        }
    }

private:
    [[nodiscard]] std::size_t home_of(const void* data) const noexcept;
    [[nodiscard]] bool move_to(std::size_t new_capacity) noexcept;
    void place(const block_record& record) noexcept;

    allocator_ref upstream_;
    block_record* slots_ = nullptr;
    std::size_t capacity_ = 0;  // slots, a power of two
    std::size_t count_ = 0;     // records, at most capacity_ / 2
};

// gcc and clang store a source_location as one pointer, Microsoft's library as three words.
static_assert(sizeof(block_record) == 40 + sizeof(std::source_location));

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
