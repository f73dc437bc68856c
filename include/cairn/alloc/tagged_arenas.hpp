// cairn/alloc/tagged_arenas.hpp - memory that many jobs fill, and that one call ends.
//
//      tag "frame 812, rendering"                            pool of blocks
//      +-------+   +-------+   +-------+   +------------+    +-------+   +-------+
//      | block |-->| block |-->| block |   | large one  |    | free  |-->| free  |
//      +---^---+   +---^---+   +-------+   +------------+    +-------+   +-------+
//          |           |                         ends with the tag
//      view of      view of                end(tag): its blocks go to the pool of blocks
//      job 1        job 2
//
//      cairn::tagged_arenas frames;
//      const auto rendering = frames.begin("frame 812, rendering");
//
//      auto memory = frames.local(rendering);        // in each job, on any thread
//      draw* const d = memory.make<draw>(mesh);      // nullptr when memory is exhausted
//
//      frames.end(rendering);                        // all of it, also what other threads made
//
// A view allocates from a block of its own, without a lock and without an atomic operation. It is
// an object that travels with its job: nothing depends on the thread, so fibres may move. A view
// that ends gives its half-filled block back to the tag, and the next view of the tag continues
// it: 1,000 short jobs in turn on two workers take the blocks of two.
//
// Use it for: the memory of a frame in a job system; stages that hand data to the next stage.
// Look elsewhere for: one thread (frame_arena.hpp); blocks that are freed one by one
//             (concurrent_pool.hpp).
//
// Cost:     allocate: as an arena's. A view's first request: an exchange of one word, or a lock and
//           a block of the pool. end(): a lock; O(large blocks), O(blocks) where a memory checker
//           watches. No lock is held while the upstream is called.
// Overhead: 32 bytes a block, 48 in checked builds; what a request of up to a quarter of a block
//           leaves at a block's end.
// Threads:  any, and the upstream is called from any. A view: one thread at a time.
// Source:   Christian Gyrling, "Parallelizing the Naughty Dog Engine Using Fibers", GDC 2015.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/bump_region.hpp>
#include <cairn/alloc/inside/makes_objects.hpp>
#include <cairn/alloc/tagged_arenas/open_blocks.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/atoms.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// The first bytes of each block that a tag has.
struct tag_block {
    tag_block* next;       // of the tag's blocks, or of the free ones
    tag_block* next_open;  // of the open blocks for which open_blocks had no word
    std::uintptr_t top;    // where the next view continues
    std::size_t size;      // of the block in bytes, this header included
#if CAIRN_ASSERTS
    alignas(16) unsigned description;  // of a named one's block, for forget_description()
#endif
};
static_assert(sizeof(tag_block) == (asserts_enabled ? 48 : 32));

/// What the pool of blocks keeps for each tag.
struct alignas(64) tag_record {
    open_blocks<tag_block, std_atoms> open;
    // From here on under the mutex, but for the life.
    atomic<std::uint64_t> life{0};  // odd while the tag lives
    tag_block* blocks = nullptr;    // newest first
    tag_block* oldest = nullptr;
    tag_block* large = nullptr;
    tag_block* more_open = nullptr;
    const char* name = nullptr;
    tag_record* next_free = nullptr;
    std::uint32_t block_count = 0;        // in `blocks`
    atomic<std::uint32_t> view_count{0};  // checked builds count
};
static_assert(sizeof(tag_record) == 128);

}  // namespace detail

class tagged_arenas {
public:
    struct options {
        /// Bytes that a block takes from the upstream, its header included.
        std::size_t block_size = 64_KiB;
        /// Bytes that all blocks may take from the upstream.
        std::size_t limit_size = static_cast<std::size_t>(-1);
        /// For reports of checked builds; not copied. nullptr: none.
        const char* name = nullptr;
    };

    /// Names what begin() began, until end(). Default: no tag.
    class tag {
    public:
        tag() noexcept = default;
        [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }
        friend bool operator==(tag, tag) noexcept = default;

    private:
        friend class tagged_arenas;
        tag(detail::tag_record* record, std::uint64_t life) noexcept
            : record_{record}, life_{life} {}
        detail::tag_record* record_ = nullptr;
        std::uint64_t life_ = 0;
    };

    struct stats_type {
        std::size_t tag_count;    // that live
        std::size_t block_count;  // of tags that live, large ones not counted
        std::size_t free_count;   // blocks in the pool of blocks
        std::size_t taken_size;   // bytes from the upstream, for tags and in the pool of blocks
    };

    class view;

    /// Takes nothing until the first tag begins.
    tagged_arenas() noexcept : tagged_arenas{options{}} {}
    explicit tagged_arenas(const options& how) noexcept : tagged_arenas{system_memory(), how} {}
    /// Requires: `upstream` may be called by several threads at once; a block has at least 1 KiB.
    explicit tagged_arenas(allocator_ref upstream, const options& how) noexcept;
    explicit tagged_arenas(allocator_ref upstream) noexcept : tagged_arenas{upstream, options{}} {}

    /// Gives all memory back. Requires: every tag has ended; checked builds name one that has not.
    ~tagged_arenas();

    tagged_arenas(const tagged_arenas&) = delete;
    tagged_arenas& operator=(const tagged_arenas&) = delete;

    /// A new tag. `name` is for reports of checked builds; it is not copied.
    /// Returns: no tag when the upstream refuses the record of one (32 at a time, 4 KiB).
    [[nodiscard]] tag begin(const char* name = nullptr) noexcept;

    /// Ends every block of `t` at once; no destructor runs. Its blocks go to the pool of blocks,
    /// large ones to the upstream.
    /// Requires: `t` is of this object and lives, and its views have ended; no tag does nothing.
    void end(tag t, call_site from = call_site::current()) noexcept;

    /// Memory of `t` for one job. A view of no tag, or of one that has ended, refuses every
    /// request. Cost: none; its first request takes a block.
    [[nodiscard]] view local(tag t, call_site from = call_site::current()) noexcept;

    /// True between begin() and end(). Requires: `t` is of this object.
    [[nodiscard]] bool is_live(tag t) const noexcept {
        return t.record_ != nullptr &&
               t.record_->life.load(detail::memory_order::relaxed) == t.life_;
    }

    /// Takes blocks until the pool of blocks has at least `size` bytes free for requests.
    /// Returns: false when the upstream or the limit refuses; what was taken stays.
    bool reserve(std::size_t size) noexcept;

    /// Gives the free blocks back to the upstream. O(free blocks). Returns: bytes given back.
    std::size_t trim() noexcept;

    [[nodiscard]] stats_type stats() const noexcept;

    /// A request above this many bytes, padding for its alignment included, that does not fit into
    /// the view's block takes a block of its own from the upstream.
    [[nodiscard]] std::size_t small_size_max() const noexcept { return how_.block_size / 4; }

private:
    using block = detail::tag_block;
    using record = detail::tag_record;

    [[nodiscard]] block* take_block(record& r) noexcept;
    [[nodiscard]] block* take_open_block(record& r) noexcept;
    [[nodiscard]] void* allocate_large(record& r, std::size_t size, alignment align) noexcept;
    void give_open_block(record& r, block& b) noexcept;
    [[nodiscard]] block* block_from_upstream(std::size_t size) noexcept;
    void give_to_upstream(block* first) noexcept;
    [[nodiscard]] bool make_records() noexcept;
    /// Checked builds: stops the program unless `t` is no tag, or one of this object.
    void expect_own(tag t, call_site from) const noexcept;

    struct record_group;
    static detail::address_place place_of(const void* object, const void* address) noexcept;

    allocator_ref upstream_;
    options how_;
    mutable mutex mutex_;
    // Under the mutex:
    block* free_ = nullptr;
    std::size_t free_count_ = 0;
    std::size_t block_count_ = 0;
    std::size_t tag_count_ = 0;
    std::size_t taken_size_ = 0;
    record* free_records_ = nullptr;
    record_group* groups_ = nullptr;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::allocator_watch watch_;
};

/// Memory of a tag, for one job. It may move to another thread with its job.
class tagged_arenas::view : public detail::makes_objects<view> {
public:
    /// A view of no tag: it refuses every request of more than 0 bytes.
    view() noexcept = default;
    /// Gives its block to the next view of the tag. Requires: the tag has not ended.
    ~view() { finish(); }

    view(view&& from) noexcept { take(from); }
    view& operator=(view&& from) noexcept {
        if (this != &from) {
            finish();
            take(from);
        }
        return *this;
    }

    /// `size` bytes at a multiple of `align`, uninitialized, until the end() of the tag.
    /// Returns: nullptr when the pool of blocks and the upstream refuse; nothing has changed then.
    /// Size 0:  a non-null pointer that may be freed and not read through.
    /// Requires: the tag has not ended; checked builds name a request after its end.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] void* allocate(
        std::size_t size, alignment align = default_alignment) noexcept {
        if constexpr (asserts_enabled) { expect_live(); }
        return region_.allocate_or(size, align, [this](std::size_t s, alignment a) noexcept {
            return allocate_elsewhere(s, a);
        });
    }

    /// Gives the bytes back at once when `p` is the newest block; otherwise at the end of the tag.
    /// Requires: `p` is nullptr or came from a view of this tag, with `size`, and was not freed.
    void deallocate(void* p, std::size_t size, alignment = default_alignment,
                    call_site from = call_site::current()) noexcept {
        if constexpr (asserts_enabled) {
            // A checked build looks closer at a block that is not the newest one.
            if (!region_.is_last_block(p, size)) { expect_block(p, size, from); }
        }
        region_.deallocate(p, size);
    }

    /// Grows the newest block, or shrinks any block, where it is. Returns: false when it cannot.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment = default_alignment) noexcept {
        return region_.try_resize(p, old_size, new_size);
    }

    /// `size` rounded to the granule of 16 bytes: that much costs no more than `size`.
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment) const noexcept {
        return detail::bump_region::good_size(size);
    }

private:
    friend class tagged_arenas;

    view(tagged_arenas& owner, tag t, call_site from) noexcept;
    [[nodiscard]] void* allocate_elsewhere(std::size_t size, alignment align) noexcept;
    void finish() noexcept;
    void take(view& from) noexcept;
    void expect_live() const noexcept;
    /// Checked builds: stops the program unless `p` is a block of `size` bytes of the tag, as far
    /// as the edges of its blocks can tell. nullptr and size 0 pass. O(blocks of the tag) where `p`
    /// is not in the view's own block.
    void expect_block(const void* p, std::size_t size, call_site from) const noexcept;

    detail::bump_region region_;
    tagged_arenas* owner_ = nullptr;  // nullptr: of no tag
    detail::tag_block* block_ = nullptr;
    tag tag_;
};

static_assert(byte_allocator<tagged_arenas::view> && resizes_in_place<tagged_arenas::view>);

inline tagged_arenas::view tagged_arenas::local(tag t, call_site from) noexcept {
    return view{*this, t, from};
}

}}  // namespace cairn::CAIRN_FLAVOUR
