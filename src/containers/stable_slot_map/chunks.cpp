// Cold half of cairn/containers/stable_slot_map/chunks.hpp: chunks come and go, and their trees.
// Compiled once for all maps: it reads the numbers of an element and its handle from the map.
#include <cairn/containers/stable_slot_map/chunks.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/inside/growth.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

void stable_chunk::note_free(const stable_rules& rules) noexcept {
    free_count = 0;
    open = 0;
    for (std::uint32_t w = 0; w < rules.word_count(); ++w) {
        free_count += static_cast<std::uint32_t>(std::popcount(free_bits(rules, w)));
        open |= static_cast<std::uint64_t>(free_bits(rules, w) != 0) << w;
    }
}

// ------- lists of plain values

namespace {

/// Moves a list to a block for `count` elements. Returns: false when `upstream` is exhausted.
template <class V>
bool move_to(plain_list<V>& list, std::size_t count, allocator_ref upstream) noexcept {
    auto* const block = static_cast<V*>(upstream.allocate(count * sizeof(V), alignment::of<V>()));
    if (block == nullptr) { return false; }
    const std::size_t size = list.size;
    if (size != 0) { std::memcpy(block, list.data, size * sizeof(V)); }
    plain_list<V> old = std::exchange(list, {block, size, count});
    old.release(upstream);  // last: a deallocate() of the user may look objects up
    return true;
}

}  // namespace

template <class V>
bool plain_list<V>::grow(allocator_ref upstream) noexcept {
    return grow_by_halves(size, size + 1, grown_count(size, size + 1),
                          [&](std::size_t n) { return move_to(*this, n, upstream); }) != 0;
}

template <class V>
bool plain_list<V>::shrink(allocator_ref upstream) noexcept {
    if (size == 0) { release(upstream); }
    return size == capacity || move_to(*this, size, upstream);
}

template <class V>
void plain_list<V>::release(allocator_ref upstream) noexcept {
    const plain_list old = std::exchange(*this, {});
    if (old.data != nullptr) {
        upstream.deallocate(old.data, old.capacity * sizeof(V), alignment::of<V>());
    }
}

template struct plain_list<stable_chunks::entry>;
template struct plain_list<waiting_slot>;

// ------- chunks

stable_chunks::stable_chunks(stable_chunks&& other) noexcept
    : table_{std::exchange(other.table_, {})},
      rules_{other.rules_},
      upstream_{other.upstream_},
      lives_{std::move(other.lives_)},
      worn_out_count_{std::exchange(other.worn_out_count_, 0)},
      memory_mark_{std::move(other.memory_mark_)},
      kept_count_{std::exchange(other.kept_count_, 0)},
      spare_chunk_{std::exchange(other.spare_chunk_, no_chunk)} {}

std::size_t stable_chunks::count_with_memory() const noexcept {
    std::size_t with_memory = 0;
    for (std::size_t p = 0; p < count(); ++p) { with_memory += table()[p].objects != nullptr; }
    return with_memory;
}

chunk_room stable_chunks::room_of(std::size_t p) const noexcept {
    const std::uint32_t free_count = table()[p].state->free_count;
    if (table()[p].objects == nullptr) {
        return free_count != 0 ? chunk_room::away : chunk_room::none_away;
    }
    return free_count >= rules_.batch_room() ? chunk_room::batch
           : free_count != 0                 ? chunk_room::few
                                             : chunk_room::none;
}

std::uint64_t& stable_chunks::room_word(std::size_t group, std::uint32_t level,
                                        chunk_room room) const noexcept {
    stable_chunk& first = *table()[group << (6 * (level + 1))].state;
    return first.room_words(rules_)[level * indexed_room_count + static_cast<std::uint32_t>(room)];
}

void stable_chunks::set_room(std::size_t p, chunk_room room) noexcept {
    const chunk_room before = table()[p].state->room;
    if (room == before) { return; }
    table()[p].state->room = room;
    table()[p].state->next_room_at = room < chunk_room::none ? rules_.batch_room() : 1;
    std::size_t at = p;
    // Out of its tree: on the next level only when the word runs empty.
    for (std::uint32_t level = 0; before < chunk_room::none && level < rules_.level_count();
         ++level) {
        CAIRN_DETAIL_STEP();
        std::uint64_t& word = room_word(at >> 6, level, before);
        word &= ~(std::uint64_t{1} << (at & 63));
        if (word != 0) { break; }
        at >>= 6;
    }
    at = p;
    // Into its new one: on the next level only when the word was empty.
    for (std::uint32_t level = 0; room < chunk_room::none && level < rules_.level_count();
         ++level) {
        CAIRN_DETAIL_STEP();
        std::uint64_t& word = room_word(at >> 6, level, room);
        const std::uint64_t others = word;
        word |= std::uint64_t{1} << (at & 63);
        if (others != 0) { break; }
        at >>= 6;
    }
}

std::size_t stable_chunks::lowest(chunk_room room) const noexcept {
    if (count() == 0) { return no_chunk; }
    // Levels above the one whose first word covers all chunks lead to that word.
    std::uint32_t level = 1;
    while ((count() - 1) >> (6 * level) != 0) { ++level; }
    std::size_t p = 0;
    for (; level != 0; --level) {
        CAIRN_DETAIL_STEP();
        const std::uint64_t word = room_word(p, level - 1, room);
        if (word == 0) { return no_chunk; }
        p = p * 64 + static_cast<std::size_t>(std::countr_zero(word));
    }
    return p;
}

bool stable_chunks::reserve(std::size_t chunk_count) noexcept {
    if (chunk_count > rules_.chunk_count_max()) { return false; }
    [[maybe_unused]] const auto change = begin_memory_change();
    const std::size_t had = count();
    std::size_t p = 0;
    // Blocks that came back are entered in the trees only when all are there: until then
    // give_back_reserved() knows them by their old kind.
    while (p < chunk_count && (p < count() ? get_objects(p) : add())) { ++p; }
    if (p < chunk_count) {
        give_back_reserved(had);
        return false;
    }
    for (p = 0; p < had && p < chunk_count; ++p) { note_room(p); }
    kept_count_ = chunk_count > kept_count_ ? chunk_count : kept_count_;
    return true;
}

// Undoes a reservation that failed, from when there were `had` chunks.
void stable_chunks::give_back_reserved(std::size_t had) noexcept {
    for (std::size_t p = 0; p < had; ++p) {
        const chunk_room was = table()[p].state->room;
        if (table()[p].objects != nullptr &&
            (was == chunk_room::away || was == chunk_room::none_away)) {
            return_objects(p);
        }
    }
    while (count() > had) { remove_last(); }
}

// Out of its tree before its state goes; from the end down, because the first chunk of a group
// holds the words of the group.
void stable_chunks::remove_last() noexcept {
    set_room(count() - 1, chunk_room::none);
    const entry last = table()[--table_.size];
    free_chunk(last);
}

bool stable_chunks::add() noexcept {
    if (count() == rules_.chunk_count_max() || !table_.make_room(upstream_)) { return false; }
    // State, then objects: a refusal gives back what came before, but not the longer table.
    const std::size_t size = stable_chunk::size_of(rules_);
    void* const memory = upstream_.allocate(size, alignment::of<stable_chunk>());
    if (memory == nullptr) { return false; }
    std::memset(memory, 0, size);
    auto* const state = ::new (memory) stable_chunk{};
    state->room = chunk_room::none;
    state->next_room_at = 1;
    const std::size_t p = count();
    table_.data[p] = {state, nullptr};
    if (!get_objects(p)) {
        upstream_.deallocate(memory, size, alignment::of<stable_chunk>());
        return false;
    }
    lives_.begin();
    // The last chunk may have more slots than a handle has indices: these are blocked for ever.
    const std::uint64_t first = std::uint64_t{p} << rules_.slots_log2;
    std::fill_n(state->lives(rules_), rules_.slot_count(), stable_chunk::vacant | lives_.added());
    const std::uint64_t usable = rules_.index_max - first + 1;
    for (std::uint64_t slot = usable; slot < rules_.slot_count(); ++slot) {
        stable_chunk::set(state->blocked(rules_), static_cast<std::uint32_t>(slot));
    }
    state->note_free(rules_);
    ++table_.size;
    note_room(p);
    return true;
}

bool stable_chunks::get_objects(std::size_t p) noexcept {
    if (table()[p].objects != nullptr) { return true; }
    const std::size_t size = rules_.object_size << rules_.slots_log2;
    void* const objects = upstream_.allocate(size, rules_.object_alignment);
    if (objects == nullptr) { return false; }
    cairn::poison(objects, size);
    table()[p].objects = static_cast<std::byte*>(objects);
    return true;
}

void stable_chunks::return_objects(std::size_t p) noexcept {
    free_objects(std::exchange(table()[p].objects, nullptr));
}

void stable_chunks::free_objects(std::byte* objects) noexcept {
    const std::size_t size = rules_.object_size << rules_.slots_log2;
    cairn::unpoison(objects, size);
    upstream_.deallocate(objects, size, rules_.object_alignment);
}

/// Requires: the chunk is not in the table any more.
void stable_chunks::free_chunk(entry chunk) noexcept {
    if (chunk.objects != nullptr) { free_objects(chunk.objects); }
    upstream_.deallocate(chunk.state, stable_chunk::size_of(rules_), alignment::of<stable_chunk>());
}

// True when the block of chunk `p` has no object in it and no reason to stay.
bool stable_chunks::is_idle(std::size_t p) const noexcept {
    const entry& chunk = table()[p];
    return chunk.objects != nullptr && chunk.state->live_count == 0 && !chunk.state->keeps_memory();
}

std::size_t stable_chunks::superfluous(std::size_t p) noexcept {
    // At most one empty chunk beyond the reserved ones keeps its block: the lower of this one and
    // the spare, since slots are taken from the lowest. A spare that is in use again, or whose
    // block has gone, is none.
    if (p < kept_count_ || !is_idle(p) || p == spare_chunk_) { return no_chunk; }
    const std::size_t other = spare_chunk_;
    const bool is_alone = other == no_chunk || !is_idle(other);
    spare_chunk_ = is_alone || p < other ? p : other;
    return is_alone ? no_chunk : p < other ? other : p;
}

void stable_chunks::send_back(std::size_t p) noexcept {
    std::byte* const objects = std::exchange(table()[p].objects, nullptr);
    note_room(p);
    free_objects(objects);
}

bool stable_chunks::shrink() noexcept {
    kept_count_ = 0;
    spare_chunk_ = no_chunk;
    for (std::size_t p = 0; p < count(); ++p) {
        if (is_idle(p)) { send_back(p); }
    }
    for (; count() != 0 && may_go(count() - 1); remove_last()) {
        std::uint32_t* const lives = table()[count() - 1].state->lives(rules_);
        for (std::uint32_t slot = 0; slot < rules_.slot_count(); ++slot) {
            lives_.part_with(lives[slot] & ~stable_chunk::vacant);
        }
    }
    return table_.shrink(upstream_);
}

// True when chunk `p` has no object, none that waits or is promised, and no slot with many lives.
bool stable_chunks::may_go(std::size_t p) const noexcept {
    stable_chunk& state = *table()[p].state;
    const std::uint32_t* const lives = state.lives(rules_);
    return table()[p].objects == nullptr &&
           std::all_of(lives, lives + rules_.slot_count(), [this](std::uint32_t life) {
               return lives_.may_part_with(life & ~stable_chunk::vacant);
           });
}

bool stable_chunks::copy_vacant(const stable_chunks& other) noexcept {
    lives_.copy_from(other.lives_);
    for (std::size_t p = 0; p < other.count(); ++p) {
        if (!add()) { return false; }
        stable_chunk& to = *table()[p].state;
        stable_chunk& from = *other.table()[p].state;
        // blocked, promised and generations lie in a row.
        std::memcpy(to.blocked(rules_), from.blocked(rules_),
                    16 * rules_.word_count() + 4 * rules_.slot_count());
        std::uint32_t* lives = to.lives(rules_);
        for (std::uint32_t w = rules_.word_count(); w != 0; --w, lives += 64) {
            for (std::uint32_t i = 0; i < 64; ++i) { lives[i] |= stable_chunk::vacant; }
        }
        to.promised_count = from.promised_count;
        to.waiting_count = from.waiting_count;
        to.note_free(rules_);
        if (other.table()[p].objects == nullptr) { return_objects(p); }
        note_room(p);
    }
    kept_count_ = other.kept_count_;
    spare_chunk_ = other.spare_chunk_;
    worn_out_count_ = other.worn_out_count_;
    return true;
}

void stable_chunks::release() noexcept {
    plain_list<entry> chunks = std::exchange(table_, {});
    // The next chunks begin their lives elsewhere: handles of these find nothing in them.
    lives_.end();
    worn_out_count_ = kept_count_ = 0;
    spare_chunk_ = no_chunk;
    // Last: a deallocate() of the user finds a map without chunks.
    for (std::size_t p = 0; p < chunks.size; ++p) { free_chunk(chunks.data[p]); }
    chunks.release(upstream_);
}

void stable_chunks::validate() const noexcept {
    for (std::size_t p = 0; asserts_enabled && p < count(); ++p) {
        stable_chunk& state = *table()[p].state;
        std::uint32_t free_count = 0;
        std::uint32_t live_count = 0;
        for (std::uint32_t w = 0; w < rules_.word_count(); ++w) {
            const std::uint64_t free = state.free_bits(rules_, w);
            const std::uint64_t live = state.live()[w];
            const std::uint64_t blocked = state.blocked(rules_)[w];
            free_count += static_cast<std::uint32_t>(std::popcount(free));
            live_count += static_cast<std::uint32_t>(std::popcount(state.objects_in(rules_, w)));
            CAIRN_ASSERT((live & blocked) == 0, "a slot is live or blocked, not both");
            CAIRN_ASSERT((state.held(rules_)[w] & ~live) == 0, "held slots are not free");
            CAIRN_ASSERT((state.promised(rules_)[w] & ~blocked) == 0, "promised slots are blocked");
            CAIRN_ASSERT((live != 0) == (((state.used >> w) & 1) != 0),
                         "the summary of a chunk has a bit for each word with live slots");
            CAIRN_ASSERT(free == 0 || ((state.open >> w) & 1) != 0,
                         "the summary of a chunk has a bit for each word with free slots");
        }
        CAIRN_ASSERT(state.free_count == free_count, "a chunk counts its free slots");
        CAIRN_ASSERT(state.live_count == live_count, "a chunk counts its objects");
        CAIRN_ASSERT(state.room == room_of(p), "a chunk is of the kind that its counts say");
        CAIRN_ASSERT(table()[p].objects != nullptr || state.used == 0,
                     "a chunk with live objects has memory for them");
        for (std::uint32_t r = 0; r < indexed_room_count; ++r) {
            const auto room = static_cast<chunk_room>(r);
            CAIRN_ASSERT(
                ((room_word(p >> 6, 0, room) >> (p & 63) & 1) != 0) == (room == state.room),
                "a chunk is in the tree of its kind, and in no other");
            std::size_t group = p;
            for (std::uint32_t level = 0; level + 1 < rules_.level_count() && group % 64 == 0;
                 ++level) {
                group /= 64;
                CAIRN_ASSERT(
                    (room_word(group, level, room) != 0) ==
                        ((room_word(group / 64, level + 1, room) >> (group % 64) & 1) != 0),
                    "a word of a tree has a bit for each word below that is not 0");
            }
        }
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
