// Cold half of cairn/storage/inside/growable_memory.hpp: two ways to grow, which never mix.
//
//     reserved_ == 0   one block of upstream_; to grow it is resized, or copied to another one
//     reserved_ != 0   addresses of the system; to grow, the next pages get memory, nothing moves
#include <cairn/storage/inside/growable_memory.hpp>

#include <cstring>
#include <utility>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/storage/inside/growth.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

// One commit: large enough to be rare, small enough that its system call stays in microseconds.
constexpr std::size_t small_commit_step = std::size_t{256} << 10;

// From here on pages are moved where they can be: a copy of so much takes longer than two system
// calls, and the new pages would be touched for it.
constexpr std::size_t moved_min = std::size_t{128} << 10;

// What a caller has put behind its bytes meanwhile, at most: a larger row is copied with them.
constexpr std::size_t made_max = 512;

}  // namespace

growable_memory::growable_memory(growable_memory&& other) noexcept
    : data_{std::exchange(other.data_, nullptr)},
      size_{std::exchange(other.size_, 0)},
      reserved_{std::exchange(other.reserved_, 0)},
      upstream_{other.upstream_},
      align_{other.align_},
      how_{other.how_} {}

growable_memory& growable_memory::operator=(growable_memory&& other) noexcept {
    return begin_anew(*this, other);
}

/// Huge pages come whole, into committed ranges that hold them whole.
std::size_t growable_memory::commit_step() const noexcept {
    return how_.huge_pages ? page_memory::huge_size() : small_commit_step;
}

bool growable_memory::reserve_address_space(std::size_t size_max, page_options how) noexcept {
    CAIRN_ASSERT(size_ == 0, "addresses are reserved before the first growth");
    // The new addresses before the old ones go: when the system refuses, an earlier reservation is
    // still there.
    const std::size_t bytes = page_memory::round_up_to_pages(size_max);
    const std::size_t huge = page_memory::huge_size();
    how.huge_pages = how.huge_pages && bytes >= huge;  // less than one has no use for them
    const bool raises = how.huge_pages && align_.bytes() < huge;
    void* const first = page_memory::reserve(bytes, raises ? alignment{huge} : align_);
    if (first == nullptr) { return false; }
    if (how.name != nullptr) { page_memory::set_name(first, bytes, how.name); }
    if (how.huge_pages) { page_memory::advise_huge(first, bytes); }
    release();  // an earlier reservation
    data_ = static_cast<std::byte*>(first);
    reserved_ = bytes;
    how_ = how;
    return true;
}

bool growable_memory::try_grow_in_place(std::size_t size) noexcept {
    if (size <= size_) { return true; }
    // A resize needs a block. Without one begin_move() takes the first.
    if (reserved_ == 0) {
        if (data_ == nullptr || !upstream_.try_resize(data_, size_, size, align_)) { return false; }
        size_ = size;
        return true;
    }
    // More than was reserved is refused for good: begin_move() refuses it, too.
    if (size > reserved_) { return false; }
    // [data_, size_ committed | target - size_ | ... reserved_)
    // size_ is a multiple of the step, which is a multiple of the page (4 to 64 KiB), or
    // it is reserved_ and this line is not reached. So a commit always begins at a page. A commit
    // that fails may leave memory behind size_; the next one asks for the same pages again, which
    // is allowed.
    const std::size_t stepped = round_up(size, alignment{commit_step()});
    const std::size_t target = stepped < reserved_ ? stepped : reserved_;
    if (!page_memory::commit(data_ + size_, target - size_)) { return false; }
    if (how_.prefault) { page_memory::prefault(data_ + size_, target - size_); }
    size_ = target;
    return true;
}

growable_memory::room growable_memory::find_room(std::size_t count,
                                                 std::size_t element_size) noexcept {
    const std::size_t size = saturating_multiply(count, element_size);
    if (try_grow_in_place(size)) { return {nullptr, size_}; }
    std::byte* const block = begin_move(size);
    return {block, block != nullptr ? size : 0};
}

growable_memory::room growable_memory::find_room_for_more(std::size_t count,
                                                          std::size_t element_size) noexcept {
    room found;
    const auto attempt = [&](std::size_t wish) {
        found = find_room(wish, element_size);
        return found.size != 0;
    };
    // The last elements of all come one by one only where they need no copy.
    if (!grow_room(count, count + 1, SIZE_MAX, is_reserved(), attempt) &&
        try_grow_in_place(saturating_multiply(count + 1, element_size))) {
        found = {nullptr, size_};
    }
    return found;
}

std::byte* growable_memory::begin_move(std::size_t size) noexcept {
    CAIRN_ASSERT(size != size_, "memory moves only to grow or to shrink");
    // What was promised inside reserved addresses is that no byte moves.
    if (reserved_ != 0) { return nullptr; }
    return static_cast<std::byte*>(upstream_.allocate(size, align_));
}

void growable_memory::finish_move(std::byte* block, std::size_t size, left_block* old) noexcept {
    std::byte* const left = std::exchange(data_, block);
    const std::size_t left_size = std::exchange(size_, size);
    if (old != nullptr) {
        old->from_ = this;
        old->block_ = left;
        old->size_ = left_size;
    } else if (left != nullptr) {
        give_back(left, left_size);
    }
}

void growable_memory::give_back(std::byte* block, std::size_t size) noexcept {
    // Containers poison the room behind their last element; upstream gets all bytes accessible.
    unpoison(block, size);
    upstream_.deallocate(block, size, align_);
}

bool growable_memory::grow(std::size_t size, std::size_t used, left_block* old) noexcept {
    CAIRN_ASSERT(used <= size_, "the used bytes lie inside");
    if (try_grow_in_place(size)) { return true; }
    // Only the `used` bytes hold anything: the room behind them is not read. The old block goes
    // last, so a refusal above has changed nothing.
    std::byte* const block = begin_move(size);
    if (block == nullptr) { return false; }
    finish_copy(block, size, used, 0, old);
    return true;
}

bool growable_memory::grow_for_more(std::size_t count, std::size_t element_size,
                                    left_block* old) noexcept {
    const room found = find_room_for_more(count, element_size);
    if (found.block != nullptr) {
        finish_copy(found.block, found.size, count * element_size, 0, old);
    }
    return found.size != 0;
}

void growable_memory::finish_copy(std::byte* block, std::size_t size, std::size_t used,
                                  std::size_t made, left_block* old) noexcept {
    if (used >= moved_min && made <= made_max && size >= size_ && upstream_ == system_pages()) {
        std::byte kept[made_max];  // moving takes away what `block` holds
        if (made != 0) { std::memcpy(kept, block + used, made); }
        unpoison(data_, size_);
        const bool has_moved = page_allocator{}.try_move(data_, size_, block, size, align_);
        if (made != 0) { std::memcpy(block + used, kept, made); }
        if (has_moved) {
            data_ = block;
            size_ = size;
            return;
        }
    }
    if (used != 0) { std::memcpy(block, data_, used); }
    finish_move(block, size, old);
}

bool growable_memory::try_shrink_in_place(std::size_t size) noexcept {
    if (size >= size_) { return true; }
    if (reserved_ != 0) {
        const std::size_t kept = round_up(size, alignment{commit_step()});
        if (kept < size_) {
            unpoison(data_ + kept, size_ - kept);
            page_memory::decommit(data_ + kept, size_ - kept);
            size_ = kept;
        }
        return true;
    }
    unpoison(data_ + size, size_ - size);  // the upstream gets accessible bytes
    if (size == 0) {
        release();
    } else if (upstream_.try_resize(data_, size_, size, align_)) {
        size_ = size;
    }
    return size_ == size;
}

bool growable_memory::shrink(std::size_t size, left_block* old) noexcept {
    if (size == 0 && reserved_ == 0) {
        finish_move(nullptr, 0, old);
        return true;
    }
    if (try_shrink_in_place(size)) { return true; }
    std::byte* const block = begin_move(size);
    if (block == nullptr) { return false; }
    finish_copy(block, size, size, 0, old);
    return true;
}

void growable_memory::release() noexcept {
    std::byte* const left = std::exchange(data_, nullptr);
    const std::size_t left_size = std::exchange(size_, 0);
    const std::size_t left_reserved = std::exchange(reserved_, 0);
    if (left_reserved != 0) {
        unpoison(left, left_size);  // the addresses may be mapped for other code next
        page_memory::release(left, left_reserved);
    } else if (left != nullptr) {
        give_back(left, left_size);
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
