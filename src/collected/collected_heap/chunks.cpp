// Cold half of cairn/collected/collected_heap.hpp: where the memory of objects comes from.
//
//      type_record                    chunk: 16 KiB, slots of one size
//      free_bits 1001000000 ----+     +------+------+------+------+- - - -
//      word_begin --------------|---->| slot | slot | slot | slot |
//      starts    ..1001001      |     +------+------+------+------+- - - -
//                               v
//      live      1001001000000001     what begins a slot and is 0 in a word when it is opened goes
//                                     to free_bits, and is 1 from then on; make() takes from there
//                                     without looking at the chunk
#include "sharing.hpp"

#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

/// A bit for each beginning of a slot, the first at bit 0.
std::uint64_t starts_of(std::uint32_t slot_size) noexcept {
    std::uint64_t starts = 1;
    // Doubling: 1, then 2, 4, 8 ... beginnings, each time by one shift.
    for (std::size_t step = slot_size / slot_size_min; step < 64; step *= 2) {
        starts |= starts << step;
    }
    return starts;
}

/// The first of `count` free chunks in a row; no_chunk: there are none.
std::uint32_t find_free_chunks(collected_region& r, std::uint32_t count) noexcept {
    std::uint32_t in_row = 0;
    std::uint32_t i = r.search_from * 64;
    if (i < r.first_chunk) { i = r.first_chunk; }
    while (i < r.end_chunk) {
        if (i % 64 == 0 && r.free_chunks[i / 64] == 0) {
            in_row = 0;
            i += 64;
            continue;
        }
        in_row = is_free_chunk(r, i) ? in_row + 1 : 0;
        ++i;
        if (in_row == count) { return i - count; }
    }
    return no_chunk;
}

void open_word(collected_region& r, type_record& t, std::uint32_t word,
               std::uint64_t free) noexcept {
    chunk_record& c = r.chunks[t.current];
    // All slots of the word become black or white at once, so make() sets no mark for an object.
    if (births_are_marked(r, c)) { mark_births(r, mark_word(r, t.current, word), free); }
    // They count as live from here on: make() then touches neither the record of the chunk nor its
    // bits.
    live_bits(r, t.current, word) |= free;
    t.free_bits = free;
    t.word_begin = chunk_begin(r, t.current) + word * word_span;
    t.next_word = word + 1;
    const auto count = static_cast<std::uint32_t>(std::popcount(free));
    c.taken_count += count;
    count_as_used(r, std::size_t{count} * c.slot_size);
}

/// The bits of word `word` at which a slot begins.
std::uint64_t starts_of_word(const type_record& t, const chunk_record& c,
                             std::uint32_t word) noexcept {
    const auto begin = static_cast<std::uint32_t>(word * word_span);
    // slot = ceil(begin / slot_size), by a product with 2^32 / slot_size: exact below 2^16.
    const std::uint64_t before = begin + c.slot_size - 1;
    const auto slot = static_cast<std::uint32_t>(before * c.reciprocal >> 32);  // begins here, or
    const std::uint32_t first = (slot * c.slot_size - begin) / slot_size_min;
    const std::uint32_t end = (c.slot_count * c.slot_size - begin) / slot_size_min;
    if (slot >= c.slot_count || first >= 64) { return 0; }  // further behind
    const std::uint64_t starts = t.starts << first;
    return end >= 64 ? starts : starts & ((std::uint64_t{1} << end) - 1);
}

bool open_word_of_current(collected_region& r, type_record& t) noexcept {
    if (t.current == no_chunk) { return false; }
    const chunk_record& c = r.chunks[t.current];
    for (std::uint32_t w = t.next_word; w < words_per_chunk; ++w) {
        const std::uint64_t free = starts_of_word(t, c, w) & ~live_bits(r, t.current, w);
        if (free != 0) {
            open_word(r, t, w, free);
            return true;
        }
    }
    t.current = no_chunk;
    return false;
}

void unlist(collected_region& r, std::uint32_t number) noexcept {
    chunk_record& c = r.chunks[number];
    type_record& t = *c.type;
    // The two numbers that lead here: of the neighbours, or of the ends of the list.
    std::uint32_t& from_before = c.previous_with_room == no_chunk
                                     ? t.first_with_room
                                     : r.chunks[c.previous_with_room].next_with_room;
    std::uint32_t& from_behind = c.next_with_room == no_chunk
                                     ? t.last_with_room
                                     : r.chunks[c.next_with_room].previous_with_room;
    from_before = c.next_with_room;
    from_behind = c.previous_with_room;
    c.is_listed = false;
}

bool select_chunk(collected_region& r, type_record& t) noexcept {
    std::uint32_t number = t.first_with_room;
    if (number != no_chunk) {
        unlist(r, number);
    } else {
        number = take_chunk(r, t);
        if (number == no_chunk) { return false; }
    }
    t.current = number;
    t.next_word = 0;
    return true;
}

}  // namespace

std::uint32_t take_chunks(collected_region& r, std::uint32_t count) noexcept {
    if (count > r.free_chunk_count) { return no_chunk; }
    const std::uint32_t first = find_free_chunks(r, count);
    if (first == no_chunk) { return no_chunk; }
    for (std::uint32_t i = first; i < first + count; ++i) {
        r.free_chunks[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    }
    r.free_chunk_count -= count;
    // All below are taken, as far as single chunks go; a run may have passed over some.
    if (count == 1) { r.search_from = first / 64; }
    if (r.highest_chunk < first + count) { r.highest_chunk = first + count; }
    return first;
}

void prepare_chunk(collected_region& r, std::uint32_t number, type_record& type,
                   std::uint32_t run) noexcept {
    chunk_record& c = r.chunks[number];
    std::memset(static_cast<void*>(&c), 0, sizeof(c));
    std::memset(&mark_word(r, number, 0), 0, run * words_per_chunk * sizeof(std::uint64_t));
    std::memset(&live_bits(r, number, 0), 0, run * words_per_chunk * sizeof(std::uint64_t));
    c.type = &type;
    c.run = run;
    c.slot_count = 1;
    if (type.type->size <= slot_size_max) {
        const std::uint32_t size = type.type->size;
        c.slot_size = static_cast<std::uint16_t>(size);
        c.slot_count = static_cast<std::uint32_t>(chunk_size / size);
        // 2^32 / size, rounded up.
        c.reciprocal = 0xFFFF'FFFF / size + 1;
    }
    set_way(c);
    for (std::uint32_t i = 1; i < run; ++i) {
        std::memset(static_cast<void*>(&r.chunks[number + i]), 0, sizeof(c));
        r.chunks[number + i].behind_first = i;
    }
    c.next_with_room = c.previous_with_room = no_chunk;
    c.swept_in = r.sweep_stamp;  // nothing in it is garbage of the running cycle
    ++type.chunk_count;
    type.chunks_behind += run - 1;
}

void set_way(chunk_record& c) noexcept {
    c.way = c.type->way;
    c.price = static_cast<std::uint32_t>(price_of(object_size(c), c.type->place_count));
}

bool births_are_marked(const collected_region& r, const chunk_record& c) noexcept {
    return r.is_marking || r.now == phase::before_collect ||
           (r.now == phase::sweep && c.swept_in != r.sweep_stamp);
}

void list_chunk_with_room(collected_region& r, std::uint32_t number) noexcept {
    chunk_record& c = r.chunks[number];
    type_record& t = *c.type;
    if (c.is_listed) { return; }
    c.is_listed = true;
    c.next_with_room = no_chunk;
    c.previous_with_room = t.last_with_room;
    // At the end: chunks are filled in the order in which they were swept, which goes with
    // addresses.
    (t.last_with_room == no_chunk ? t.first_with_room : r.chunks[t.last_with_room].next_with_room) =
        number;
    t.last_with_room = number;
}

std::uint32_t take_chunk(collected_region& r, type_record& type) noexcept {
    const std::uint32_t number = take_chunks(r, 1);
    if (number != no_chunk) { prepare_chunk(r, number, type, 1); }
    return number;
}

void give_back_chunks(collected_region& r, std::uint32_t first) noexcept {
    chunk_record& c = r.chunks[first];
    if (c.is_listed) { unlist(r, first); }
    --c.type->chunk_count;
    const std::uint32_t run = c.run;
    c.type->chunks_behind -= run - 1;
    for (std::uint32_t i = first; i < first + run; ++i) {
        r.free_chunks[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    r.free_chunk_count += run;
    if (r.search_from > first / 64) { r.search_from = first / 64; }
}

void close_open_word(collected_region& r, type_record& t) noexcept {
    if (t.current == no_chunk) { return; }
    chunk_record& c = r.chunks[t.current];
    const auto count = static_cast<std::uint32_t>(std::popcount(t.free_bits));
    if (count != 0) { r.live[name_of(t.word_begin) / word_span] &= ~t.free_bits; }
    c.taken_count -= count;
    r.used_size -= count * object_size(c);
    t.free_bits = 0;
    if (c.taken_count == 0) {
        give_back_chunks(r, t.current);
    } else if (c.taken_count < c.slot_count) {
        list_chunk_with_room(r, t.current);
    }
    t.current = no_chunk;
}

type_record* find_record(collected_region& r, const collected_type& type) noexcept {
    std::size_t i = record_number(type);
    while (r.types[i].type != &type) {
        if (r.types[i].type == nullptr) {
            // Half full at the most: a search for a type ends after two or three looks.
            if (r.type_count == type_record_count / 2) { return nullptr; }
            r.used_types[r.type_count++] = static_cast<std::uint8_t>(i);
            r.types[i].type = &type;
            r.types[i].way = type.way;
            r.types[i].starts = starts_of(type.size);
            break;
        }
        i = (i + 1) % type_record_count;
    }
    return &r.types[i];
}

void* take_from_next_word(collected_region& r, type_record& t) noexcept {
    if (r.is_ending) { return nullptr; }
    // Room in the order of its price: the next word of this chunk, a chunk with room, a free chunk,
    // and at last memory that the running cycle can still free.
    while (t.free_bits == 0 && !open_word_of_current(r, t)) {
        if (!select_chunk(r, t) && !help_make(r)) { return nullptr; }
    }
    const std::uint64_t free = t.free_bits;
    t.free_bits = free & (free - 1);
    std::byte* const slot =
        t.word_begin + static_cast<std::size_t>(std::countr_zero(free)) * slot_size_min;
    unpoison(slot, t.type->size);
    return slot;
}

/// A constructor threw: the slot is free again once its chunk is swept or its word opened anew.
void give_back_slot(collected_region& r, void* slot) noexcept {
    const object_name name = name_of(slot);
    const std::uint32_t number = name / chunk_size;
    chunk_record& c = r.chunks[number];
    // A worker may have read the name of an object that its constructor has shown. The record of a
    // large one is cleared for the next, so the worker ends its unit first. Slots keep their chunk.
    const bool is_seen_by_worker = r.is_shared && c.slot_size == 0;
    if (is_seen_by_worker) { (void)r.share->try_take_gate(true); }
    r.live[name / word_span] &= ~bit_of(name);
    --c.taken_count;
    r.used_size -= object_size(c);
    poison(slot, object_size(c));
    if (c.slot_size == 0) {
        give_back_chunks(r, number);
    } else if (c.type->current == number) {
        c.type->next_word = 0;
    } else {
        list_chunk_with_room(r, number);
    }
    if (is_seen_by_worker) { r.share->give_back_gate(); }
}

// ---- objects above 8 KiB have chunks of their own; buffers of ref_array are objects of a type for
//      each power of two
//
//      record    run 3 | behind_first 1 | behind_first 2 |
//                +---------------+---------------+---------------+
//                | object        | ...           | ...      .....|
//                +---------------+---------------+---------------+

namespace {

std::uint32_t array_class(std::size_t size) noexcept {
    return size <= slot_size_min ? 0 : static_cast<std::uint32_t>(std::bit_width(size - 1)) - 4;
}

constexpr collected_type array_type(std::uint32_t size) noexcept {
    collected_type t;
    t.size = size;
    t.way = tracing::all_words;
    t.is_movable = true;
    t.name = "ref_array";
    t.name_length = 9;
    return t;
}
constexpr collected_type array_types[] = {
    array_type(16),   array_type(32),   array_type(64),   array_type(128),
    array_type(256),  array_type(512),  array_type(1024), array_type(2048),
    array_type(4096), array_type(8192), array_type(16384)};  // the last one: whole chunks

}  // namespace

void* take_large(collected_region& r, const collected_type& type, std::size_t size) noexcept {
    type_record* const t = find_record(r, type);
    if (t == nullptr || size > capacity_of(r) || r.is_ending) { return nullptr; }
    const auto run = static_cast<std::uint32_t>((size + chunk_size - 1) / chunk_size);
    std::uint32_t number;
    while ((number = take_chunks(r, run)) == no_chunk) {
        if (!help_make(r)) { return nullptr; }
    }
    prepare_chunk(r, number, *t, run);
    chunk_record& c = r.chunks[number];
    c.taken_count = 1;
    live_bits(r, number, 0) = 1;
    if (births_are_marked(r, c)) { mark_births(r, mark_word(r, number, 0), 1); }
    count_as_used(r, object_size(c));
    std::byte* const object = chunk_begin(r, number);
    unpoison(object, size);
    return object;
}

void* take_array(collected_region& r, std::uint32_t& count) noexcept {
    const std::size_t wanted = std::size_t{count} * sizeof(object_name);
    void* array;
    std::size_t size;
    if (wanted > slot_size_max) {
        size = (wanted + chunk_size - 1) / chunk_size * chunk_size;
        array = take_large(r, array_types[10], size);
    } else {
        const collected_type& type = array_types[array_class(wanted)];
        size = type.size;
        type_record* const t = find_record(r, type);
        if (t == nullptr) { return nullptr; }
        array = take_from_next_word(r, *t);
    }
    if (array == nullptr) { return nullptr; }
    std::memset(array, 0, size);
    count = static_cast<std::uint32_t>(size / sizeof(object_name));
    return array;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
