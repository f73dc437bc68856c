// cairn/storage/inside/growable_memory.hpp - bytes that grow, by copying or where they stand.
//
//      through an upstream (default)             inside reserved addresses
//      +--------+                                |<------- reserve_address_space(max) ------->|
//      | old    |--- copied --+                  +--------+-----------------------------------+
//      +--------+             v                  | in use |  next commit  |  addresses only   |
//                     +----------------+         +--------+-----------------------------------+
//                     | old    |  new  |           nothing moves: pages are committed behind
//                     +----------------+           the end, 256 KiB at a time (huge pages: one)
//
// The memory under packed_array, slot_map and slot_directory. It knows bytes only; a container that
// keeps objects in it moves them between begin_move() and finish_move(). A container keeps the
// address of its elements in a member of its own, so that its hot paths do not pass through here.
//
// Use it for: the storage of a container that takes an allocator_ref.
// Look elsewhere for: single blocks (allocator_ref), bump allocation (virtual_arena).
//
// Invariant: [data(), data() + size()) belongs to the user; data() is nullptr while size() is 0,
//            except after reserve_address_space().
// Cost:      data() and size() are loads. Growth is a call to the upstream or to the system.
// Threads:   one at a time.
#pragma once

#include <cstddef>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/os/system_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class growable_memory {
public:
    explicit growable_memory(alignment align = cache_line_alignment,
                             allocator_ref upstream = system_memory()) noexcept
        : upstream_{upstream}, align_{align} {}

    /// `other` is empty afterwards, and may grow again from the same upstream.
    growable_memory(growable_memory&& other) noexcept;
    growable_memory& operator=(growable_memory&& other) noexcept;
    ~growable_memory() { release(); }

    [[nodiscard]] [[CAIRN_FORCE_INLINE]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return upstream_; }

    /// True after reserve_address_space(): growth never moves.
    [[nodiscard]] bool is_reserved() const noexcept { return reserved_ != 0; }

    /// Takes addresses for `size_max` bytes from the system and no memory yet. From now on the
    /// bytes grow in place up to `size_max` and never come from the upstream.
    /// Requires: size() == 0.
    /// Returns: false when the system refuses; nothing has changed then.
    [[nodiscard]] bool reserve_address_space(std::size_t size_max, page_options how = {}) noexcept;

    /// Grows to at least `size` bytes without moving, where that is possible: always inside
    /// reserved addresses, sometimes through an upstream with try_resize().
    /// Returns: false when it is not; nothing has changed then.
    [[nodiscard]] bool try_grow_in_place(std::size_t size) noexcept;

    /// A block that the bytes have left. It goes back to the upstream when this ends: after the
    /// owner points at the new block, because a deallocate() of the user may look at the owner.
    class left_block {
    public:
        left_block() noexcept = default;
        left_block(const left_block&) = delete;
        ~left_block() {
            if (block_ != nullptr) { from_->give_back(block_, size_); }
        }

    private:
        friend growable_memory;
        growable_memory* from_ = nullptr;
        std::byte* block_ = nullptr;
        std::size_t size_ = 0;
    };

    /// What growth found: memory where the bytes stand, or a block to which they are to move.
    struct room {
        std::byte* block = nullptr;  // nullptr: the bytes stay where they are
        std::size_t size = 0;        // of the block, or size(); 0: exhausted
    };
    /// Room for `count` elements of `element_size` bytes, in place where possible. Every room with
    /// a block ends in finish_move(), finish_copy() or cancel_move().
    /// Returns: size 0 when exhausted; inside reserved addresses nothing moves, so that there what
    ///          does not fit is refused. Nothing has changed then.
    [[nodiscard]] room find_room(std::size_t count, std::size_t element_size) noexcept;
    /// The same for one element more than the `count` that have room, and for as many more as
    /// grow_room() (growth.hpp) gets.
    [[nodiscard]] room find_room_for_more(std::size_t count, std::size_t element_size) noexcept;
    /// A fresh block of `size` bytes from the upstream, to grow or to shrink.
    /// Returns: nullptr when exhausted, and inside reserved addresses.
    [[nodiscard]] std::byte* begin_move(std::size_t size) noexcept;
    /// The old block goes into `old`, or back at once.
    void finish_move(std::byte* block, std::size_t size, left_block* old = nullptr) noexcept;
    /// The bytes stay where they are: the new block goes back.
    void cancel_move(std::byte* block, std::size_t size) noexcept { give_back(block, size); }

    /// finish_move() for bytes that may be copied: the first `used` bytes of the old block become
    /// those of `block`, where the caller has already written the `made` bytes behind them.
    /// Cost: a copy; from 128 KiB on, where the upstream is system_pages(), a system call instead:
    ///       pages move.
    void finish_copy(std::byte* block, std::size_t size, std::size_t used, std::size_t made = 0,
                     left_block* old = nullptr) noexcept;

    /// For bytes that may be copied: in place where possible, else to a new block with the first
    /// `used` bytes.
    /// Returns: false when exhausted; nothing has changed then.
    [[nodiscard]] bool grow(std::size_t size, std::size_t used, left_block* old = nullptr) noexcept;
    /// The same for one element more than the `count` that have room: find_room_for_more().
    [[nodiscard]] bool grow_for_more(std::size_t count, std::size_t element_size,
                                     left_block* old = nullptr) noexcept;

    /// Gives back what lies behind the first `size` bytes, which do not move: inside reserved
    /// addresses whole steps of pages (the addresses stay reserved), else what the upstream takes
    /// by try_resize(), or the block when `size` is 0.
    /// Returns: false when the bytes must move for it, to a block of begin_move(size).
    [[nodiscard]] bool try_shrink_in_place(std::size_t size) noexcept;
    /// The same for bytes that may be copied: in place, else to a smaller block.
    /// Returns: false when exhausted; the bytes have the memory that they had then.
    [[nodiscard]] bool shrink(std::size_t size, left_block* old = nullptr) noexcept;

    /// Gives everything back, reserved addresses too.
    void release() noexcept;

private:
    [[nodiscard]] std::size_t commit_step() const noexcept;
    void give_back(std::byte* block, std::size_t size) noexcept;

    //  reserved_ == 0   [data_, data_ + size_) is one block of upstream_, or there is none
    //  reserved_ != 0   [data_, data_ + size_) has memory, up to data_ + reserved_ are addresses;
    //                   size_ is a multiple of commit_step(), or reserved_
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;      // bytes that may be used
    std::size_t reserved_ = 0;  // bytes of address space, 0: through the upstream
    allocator_ref upstream_;
    alignment align_;
    page_options how_;  // reserved addresses alone
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
