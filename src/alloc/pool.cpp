// Cold half of cairn/alloc/pool.hpp: growth, trimming and what checked builds look at.
#include <cairn/alloc/pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include <cairn/core/bits.hpp>
#include <cairn/core/null_allocator.hpp>

namespace cairn {
namespace {

constexpr std::size_t first_chunk_size = std::size_t{16} << 10;
constexpr std::size_t first_chunk_capacity = 4;
constexpr auto freed_byte = std::byte{0xDD};  // checked builds: what a free slot is filled with

std::size_t stride_of(std::size_t slot_size, alignment align) noexcept {
    const std::size_t size = slot_size != 0 ? slot_size : 1;
    // A slot that wraps when rounded is kept absurd: the upstream refuses it.
    return size > SIZE_MAX - align.mask() ? round_down(SIZE_MAX, align) : round_up(size, align);
}

/// Slots never begin below a cache line boundary of their own chunk.
alignment chunk_alignment(alignment align) noexcept {
    return align < cache_line_alignment ? cache_line_alignment : align;
}

std::size_t words_for(std::size_t slot_count) noexcept { return slot_count / 64 + 1; }

}  // namespace

// ------------------------------------------------------------------------------------------------
// what checked builds remember: one bit a slot, outside the memory of the pool, so that checked and
// release builds ask the upstream for the same blocks. Without memory for it, nothing is checked.

struct pool_checks {
    static std::uint64_t* make_bits(std::size_t slot_count) noexcept {
        if constexpr (asserts_enabled) {
            return static_cast<std::uint64_t*>(
                std::calloc(words_for(slot_count), sizeof(std::uint64_t)));
        }
        return nullptr;
    }
    static void clear_bits(const pool::chunk& c) noexcept {
        if (c.live != nullptr) {
            std::memset(c.live, 0, words_for(c.slot_count) * sizeof(std::uint64_t));
        }
    }
    static std::size_t count(const pool::chunk& c) noexcept {
        std::size_t live = 0;
        for (std::size_t i = 0; i < words_for(c.slot_count); ++i) {
            live += static_cast<std::size_t>(std::popcount(c.live[i]));
        }
        return live;
    }
    static std::size_t index(const pool& p, const pool::chunk& c, const void* slot) noexcept {
        return static_cast<std::size_t>(static_cast<const std::byte*>(slot) - c.first) / p.stride_;
    }
    static bool is_live(const pool::chunk& c, std::size_t i) noexcept {
        return (c.live[i / 64] >> (i % 64) & 1) != 0;
    }
};

void pool::check_taken(void* p, bool recycled) noexcept {
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a free slot lies in a chunk of its pool");
    if (recycled) {
        unpoison_defined(p, stride_);
        [[maybe_unused]] const auto* bytes = static_cast<const std::byte*>(p);
        CAIRN_ASSERT(bytes[0] == freed_byte && std::memcmp(bytes, bytes + 1, stride_ - 1) == 0,
                     "a free slot is not written to");
    }
    if (c->live != nullptr) {
        const std::size_t i = pool_checks::index(*this, *c, p);
        CAIRN_ASSERT(!pool_checks::is_live(*c, i), "a slot is given out once");
        c->live[i / 64] |= std::uint64_t{1} << (i % 64);
    }
}

void pool::check_freed(void* p) noexcept {
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a slot comes back to the pool that gave it out");
    const std::size_t i = pool_checks::index(*this, *c, p);
    CAIRN_ASSERT(c->first + i * stride_ == p,
                 "a slot comes back by the address it was given out with");
    if (c->live != nullptr) {
        CAIRN_ASSERT(pool_checks::is_live(*c, i), "a slot is freed once");
        c->live[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    }
    std::memset(p, std::to_integer<int>(freed_byte), stride_);
}

// ------------------------------------------------------------------------------------------------
// birth, moves and death

pool::pool(std::size_t slot_size, alignment align, allocator_ref upstream,
           pool_options options) noexcept
    : stride_{stride_of(slot_size, align)}, options_{options}, upstream_{upstream}, align_{align} {
    if (options_.slots_per_chunk == 0) {
        options_.slots_per_chunk = std::max<std::size_t>(1, first_chunk_size / stride_);
    }
    next_chunk_slots_ = options_.slots_per_chunk;
}

pool::pool(slice<std::byte> buffer, std::size_t slot_size, alignment align) noexcept
    : stride_{stride_of(slot_size, align)},
      next_chunk_slots_{0},
      upstream_{no_memory()},
      align_{align},
      fixed_{true} {
    options_.slot_count_max = 0;
    const alignment begin_align = std::max(align, alignment::of<void*>());
    const std::size_t lost =
        padding_to(reinterpret_cast<std::uintptr_t>(buffer.data()), begin_align);
    constexpr std::size_t overhead = sizeof(chunk) + lookahead * sizeof(void*);
    if (buffer.size() < lost + overhead) { return; }
    const std::size_t size = buffer.size() - lost;
    if (stride_ > size) { return; }
    std::size_t count = (size - overhead) / (stride_ + sizeof(void*));
    if (count != 0 && required_size(count, slot_size, align) > size) {
        --count;  // the 7 bytes in front of the side block did not fit
    }
    if (count == 0) { return; }
    std::byte* const first = buffer.data() + lost;
    std::byte* const side = first + round_up(count * stride_, alignment::of<void*>());
    chunks_ = reinterpret_cast<chunk*>(side);
    chunk_count_ = chunk_capacity_ = 1;
    floor_ = top_ = reinterpret_cast<void**>(side + sizeof(chunk)) + lookahead;
    std::memset(floor_ - lookahead, 0, lookahead * sizeof(void*));
    stack_capacity_ = slot_count_ = options_.slot_count_max = count;
    chunks_[0] = {first, first, count, pool_checks::make_bits(count)};
    poison(first, count * stride_);
    select(0);
}

pool::pool(pool&& other) noexcept
    : top_{other.top_},
      floor_{other.floor_},
      carve_{other.carve_},
      carve_end_{other.carve_end_},
      stride_{other.stride_},
      chunks_{other.chunks_},
      chunk_count_{other.chunk_count_},
      chunk_capacity_{other.chunk_capacity_},
      stack_capacity_{other.stack_capacity_},
      embedded_side_{other.embedded_side_},
      embedded_size_{other.embedded_size_},
      slot_count_{other.slot_count_},
      selected_{other.selected_},
      next_chunk_slots_{other.next_chunk_slots_},
      options_{other.options_},
      upstream_{other.upstream_},
      align_{other.align_},
      fixed_{other.fixed_} {
    other.forget();
}

pool& pool::operator=(pool&& other) noexcept {
    if (this != &other) {
        this->~pool();
        ::new (static_cast<void*>(this)) pool{std::move(other)};
    }
    return *this;
}

pool::~pool() {
    if (chunk_count_ == 1) {  // its block may hold the side block, where this record lies
        const chunk only = chunks_[0];
        give_side_back();
        give_chunk_back(only);
        return;
    }
    for (std::size_t i = 0; i < chunk_count_; ++i) { give_chunk_back(chunks_[i]); }
    give_side_back();
}

/// Empty and valid; what was held has been taken over or given back.
void pool::forget() noexcept {
    top_ = floor_ = nullptr;
    carve_ = carve_end_ = nullptr;
    chunks_ = nullptr;
    chunk_count_ = chunk_capacity_ = stack_capacity_ = slot_count_ = embedded_size_ = 0;
    embedded_side_ = nullptr;
    selected_ = none;
    next_chunk_slots_ = options_.slots_per_chunk;
    if (fixed_) { options_.slot_count_max = 0; }
}

// ------------------------------------------------------------------------------------------------
// growth

void* pool::allocate_in_next_chunk() noexcept {
    park_selected();
    // Untouched chunks exist after reset() and reserve(): take the next one by address.
    for (std::size_t step = 1; step <= chunk_count_; ++step) {
        const std::size_t i = ((selected_ == none ? 0 : selected_) + step) % chunk_count_;
        if (chunks_[i].carved_end == chunks_[i].first) {
            select(i);
            return allocate();
        }
    }
    if (slot_count_ >= options_.slot_count_max) { return nullptr; }
    if (!add_chunk(std::min(next_chunk_slots_, options_.slot_count_max - slot_count_))) {
        return nullptr;
    }
    const std::size_t cap = std::max(options_.slots_per_chunk, options_.chunk_size_max / stride_);
    next_chunk_slots_ = std::min(saturating_multiply(next_chunk_slots_, 2), cap);
    return allocate();
}

/// A chunk of `slot_count` slots, put in its place by address. It is selected when nothing else is
/// being carved. Returns: false, with nothing changed, when the upstream refuses.
bool pool::add_chunk(std::size_t slot_count) noexcept {
    const std::size_t slots_size = saturating_multiply(slot_count, stride_);
    if (slots_size > PTRDIFF_MAX || slot_count > (PTRDIFF_MAX / sizeof(void*)) - slot_count_) {
        return false;
    }
    // The first chunk brings the side block along: one request instead of two. (The next one makes
    // it move out: the stack must have room for every slot.)
    const bool brings_side = chunks_ == nullptr;
    const std::size_t side_begin = round_up(slots_size, alignment::of<void*>());
    const std::size_t size =
        brings_side ? side_begin + side_size_for(first_chunk_capacity, slot_count) : slots_size;
    if (size > PTRDIFF_MAX) { return false; }
    auto* const first = static_cast<std::byte*>(upstream_.allocate(size, chunk_alignment(align_)));
    if (first == nullptr) { return false; }
    if (brings_side) {
        embedded_side_ = first + side_begin;
        embedded_size_ = size - slots_size;
        move_side_to(embedded_side_, first_chunk_capacity, slot_count);
    } else if (!make_room_in_side(chunk_count_ + 1, slot_count_ + slot_count)) {
        upstream_.deallocate(first, size, chunk_alignment(align_));
        return false;
    }
    std::size_t place = chunk_count_;
    for (; place != 0 && std::less<>{}(first, chunks_[place - 1].first); --place) {
        chunks_[place] = chunks_[place - 1];
    }
    chunks_[place] = {first, first, slot_count, pool_checks::make_bits(slot_count)};
    ++chunk_count_;
    slot_count_ += slot_count;
    poison(first, slots_size);
    if (selected_ != none && place <= selected_) { ++selected_; }
    if (carve_ == carve_end_) {
        park_selected();
        select(place);
    }
    return true;
}

/// Grows the side block. Returns: false, with nothing changed, when the upstream refuses.
bool pool::make_room_in_side(std::size_t chunk_count, std::size_t slot_count) noexcept {
    if (chunk_count <= chunk_capacity_ && slot_count <= stack_capacity_) { return true; }
    // The first one is exact, as is the last one of a bounded pool; in between they double.
    std::size_t slots = std::max(slot_count, saturating_multiply(stack_capacity_, 2));
    slots = std::max(slot_count, std::min(slots, options_.slot_count_max));
    const std::size_t chunks = std::max({chunk_count, chunk_capacity_ * 2, first_chunk_capacity});
    auto* const side = static_cast<std::byte*>(
        upstream_.allocate(side_size_for(chunks, slots), default_alignment));
    if (side == nullptr) { return false; }
    move_side_to(side, chunks, slots);
    return true;
}

/// The side block is `side` from now on, with room for `chunks` and `slots`; the old one goes back.
void pool::move_side_to(std::byte* side, std::size_t chunks, std::size_t slots) noexcept {
    auto* const new_chunks = reinterpret_cast<chunk*>(side);
    auto** const new_floor = reinterpret_cast<void**>(side + chunks * sizeof(chunk)) + lookahead;
    const auto free_count = static_cast<std::size_t>(top_ - floor_);
    if (chunk_count_ != 0) { std::memcpy(new_chunks, chunks_, chunk_count_ * sizeof(chunk)); }
    std::memset(new_floor - lookahead, 0, lookahead * sizeof(void*));
    if (free_count != 0) { std::memcpy(new_floor, floor_, free_count * sizeof(void*)); }
    give_side_back();
    chunks_ = new_chunks;
    floor_ = new_floor;
    top_ = new_floor + free_count;
    chunk_capacity_ = chunks;
    stack_capacity_ = slots;
}

bool pool::reserve(std::size_t count) noexcept {
    const std::size_t ready = untouched_count() + static_cast<std::size_t>(top_ - floor_);
    if (count <= ready) { return true; }
    const std::size_t missing = count - ready;
    return missing <= options_.slot_count_max - slot_count_ && add_chunk(missing);
}

// ------------------------------------------------------------------------------------------------
// giving back

std::size_t pool::side_size_for(std::size_t chunks, std::size_t slots) noexcept {
    return chunks * sizeof(chunk) + (lookahead + slots) * sizeof(void*);
}

std::size_t pool::side_size() const noexcept {
    return side_size_for(chunk_capacity_, stack_capacity_);
}

/// Bytes that came from the upstream with this chunk.
std::size_t pool::block_size(const chunk& c) const noexcept {
    const std::size_t slots_size = c.slot_count * stride_;
    const std::byte* const behind = c.first + round_up(slots_size, alignment::of<void*>());
    return slots_size + (behind == embedded_side_ ? embedded_size_ : 0);
}

void pool::give_chunk_back(const chunk& c) noexcept {
    std::free(c.live);
    if (fixed_) {
        unpoison(c.first, c.slot_count * stride_);
        return;
    }
    const std::size_t size = block_size(c);
    if (size != c.slot_count * stride_) {
        embedded_side_ = nullptr;
        embedded_size_ = 0;
    }
    unpoison(c.first, c.slot_count * stride_);
    upstream_.deallocate(c.first, size, chunk_alignment(align_));
}

void pool::give_side_back() noexcept {
    if (chunks_ != nullptr && !fixed_ && !side_is_embedded()) {
        upstream_.deallocate(chunks_, side_size(), default_alignment);
    }
}

void pool::reset() noexcept {
    top_ = floor_;
    carve_ = carve_end_ = nullptr;
    selected_ = none;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        chunks_[i].carved_end = chunks_[i].first;
        pool_checks::clear_bits(chunks_[i]);
        poison(chunks_[i].first, chunks_[i].slot_count * stride_);
    }
    if (chunk_count_ != 0) { select(0); }
}

std::size_t pool::trim() noexcept {
    if (fixed_ || chunk_count_ == 0) { return 0; }
    const std::size_t before = stats().upstream_size;
    const std::size_t free_count = sort_free();
    park_selected();
    carve_ = carve_end_ = nullptr;
    const std::size_t was_selected = std::exchange(selected_, none);
    const std::byte* const carving = was_selected != none ? chunks_[was_selected].first : nullptr;

    // Free slots are sorted descending, so each chunk's are one run: from the highest chunk down,
    // keep the runs of the chunks that stay.
    std::size_t read = 0;
    std::size_t kept = 0;
    std::size_t place = chunk_count_;  // kept chunks collect at the end, still sorted
    const bool all_is_one_block = side_is_embedded();  // then there is one chunk
    chunk last{};
    for (std::size_t i = chunk_count_; i-- != 0;) {
        const chunk c = chunks_[i];
        std::size_t run = 0;
        while (read + run < free_count && std::greater_equal<>{}(floor_[read + run], c.first)) {
            ++run;
        }
        if (run * stride_ == static_cast<std::size_t>(c.carved_end - c.first)) {
            if (all_is_one_block) {
                last = c;
            } else {
                give_chunk_back(c);
            }
            slot_count_ -= c.slot_count;
        } else {
            std::memmove(floor_ + kept, floor_ + read, run * sizeof(void*));
            kept += run;
            chunks_[--place] = c;
        }
        read += run;
    }
    chunk_count_ -= place;
    std::memmove(chunks_, chunks_ + place, chunk_count_ * sizeof(chunk));
    top_ = floor_ + kept;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        if (chunks_[i].first == carving) { select(i); }
    }
    if (chunk_count_ == 0) {
        give_side_back();
        if (all_is_one_block) { give_chunk_back(last); }
        forget();
    }
    return before - stats().upstream_size;
}

// ------------------------------------------------------------------------------------------------
// batches and questions

std::size_t pool::allocate_n(slice<void*> out) noexcept {
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = allocate();
        if (out[i] == nullptr) { return i; }
    }
    return out.size();
}

void pool::deallocate_n(slice<void* const> slots) noexcept {
    for (void* const p : slots) { deallocate(p); }
}

/// Carving goes on where chunk `index` was left.
void pool::select(std::size_t index) noexcept {
    selected_ = index;
    carve_ = chunks_[index].carved_end;
    carve_end_ = chunks_[index].first + chunks_[index].slot_count * stride_;
}

void pool::park_selected() noexcept {
    if (selected_ != none) { chunks_[selected_].carved_end = carve_; }
}

/// Sorts the stack, the lowest address on top. Returns: how many are free.
std::size_t pool::sort_free() noexcept {
    std::sort(floor_, top_, std::greater<>{});
    return static_cast<std::size_t>(top_ - floor_);
}

std::size_t pool::untouched_count() const noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        count += chunks_[i].slot_count -
                 static_cast<std::size_t>(carved_end(i) - chunks_[i].first) / stride_;
    }
    return count;
}

/// Returns: the chunk that `p` lies in, or nullptr.
const pool::chunk* pool::find_chunk(const void* p) const noexcept {
    const chunk* const after =
        std::upper_bound(chunks_, chunks_ + chunk_count_, p,
                         [](const void* q, const chunk& c) { return std::less<>{}(q, c.first); });
    if (after == chunks_) { return nullptr; }
    const chunk& c = after[-1];
    const auto offset =
        reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(c.first);
    return offset < c.slot_count * stride_ ? &c : nullptr;
}

pool_stats pool::stats() const noexcept {
    pool_stats s;
    const std::size_t free_count = static_cast<std::size_t>(top_ - floor_);
    s.slot_count = slot_count_;
    s.live_count = slot_count_ - untouched_count() - free_count;
    s.chunk_count = chunk_count_;
    s.upstream_size = fixed_ || chunks_ == nullptr ? 0
                                                   : slot_count_ * stride_ + embedded_size_ +
                                                         (side_is_embedded() ? 0 : side_size());
    return s;
}

void pool::validate() const noexcept {
    CAIRN_ASSERT(floor_ <= top_ && top_ <= floor_ + stack_capacity_,
                 "the stack of free slots has room for every slot");
    std::size_t slots = 0;
    std::size_t live = 0;
    bool every_bit_known = true;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        const chunk& c = chunks_[i];
        CAIRN_ASSERT(i == 0 || std::less<>{}(chunks_[i - 1].first, c.first), "chunks are sorted");
        CAIRN_ASSERT(is_aligned(c.first, align_), "slots are aligned");
        CAIRN_ASSERT(c.first <= carved_end(i) && carved_end(i) <= c.first + c.slot_count * stride_,
                     "carving stays inside its chunk");
        slots += c.slot_count;
        every_bit_known = every_bit_known && c.live != nullptr;
        live += c.live != nullptr ? pool_checks::count(c) : 0;
    }
    CAIRN_ASSERT(slots == slot_count_, "slot_count_ counts the slots of all chunks");
    for (std::size_t i = 0; i < lookahead && floor_ != nullptr; ++i) {
        CAIRN_ASSERT(floor_[-1 - static_cast<std::ptrdiff_t>(i)] == nullptr,
                     "below the stack lie null entries");
    }
    for (void* const* free = floor_; free != top_; ++free) {
        const chunk* const c = find_chunk(*free);
        CAIRN_ASSERT(c != nullptr && static_cast<std::byte*>(*free) <
                                         carved_end(static_cast<std::size_t>(c - chunks_)),
                     "a free slot lies among the carved slots of its pool");
        CAIRN_ASSERT(
            c->live == nullptr || !pool_checks::is_live(*c, pool_checks::index(*this, *c, *free)),
            "a free slot is not live");
    }
    CAIRN_ASSERT(!every_bit_known || live == stats().live_count,
                 "each carved slot is live or free, once");
    (void)live;
}

}  // namespace cairn
