// Cold half of cairn/collected/collected_heap.hpp: what marking has not reached, ends.
//
//      live  1 1 0 1 1 1        condemned: live and not marked, in a chunk that is not swept yet
//      mark  1 0 0 1 0 1
//            | x   | x |        before_collect for each x of all chunks, while they are whole
//      live  1 0 0 1 0 1        then, chunk by chunk: destructors of x, live &= mark, mark = 0
//
// Memory of types without destructors is not touched: 64 objects are swept by three instructions.
#include "engine.hpp"

#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

/// The object's references are null before its destructor runs: it reaches nothing that is gone.
void end_object(collected_region& r, const collected_type& type, void* object) noexcept {
    if (type.trace != nullptr) {
        call_trace(r, type, object, [](object_name* first, std::size_t count) {
            std::memset(first, 0, count * sizeof(object_name));
        });
    }
    const user_code runs{r};
    type.destroy(object);
}

/// The slots of `dead` in `word` belong to nothing now: lives end, checkers know.
void end_lives(collected_region& r, std::uint32_t number, std::uint32_t word,
               std::uint64_t dead) noexcept {
    const chunk_record& c = r.chunks[number];
    const bool tells_checker = detail::poison_is_seen() || r.collects_always;
    // No weak_ref has ever looked at this chunk: no life needs an end, and no memory is touched.
    if (!c.has_weak && !tells_checker) { return; }
    for_each_bit(dead, [&](std::uint32_t bit) {
        const object_name name = name_at(number, word, bit);
        if (c.has_weak) { ++r.lives[(name - r.begin) / slot_size_min]; }
        if (tells_checker) { destroy_bytes(r, base_of(r) + name, object_size(c)); }
    });
}

void count_as_freed(collected_region& r, chunk_record& c, std::uint32_t count) noexcept {
    const std::size_t size = count * object_size(c);
    c.taken_count -= count;
    r.used_size -= size;
    r.cycle.freed_count += count;
    r.cycle.freed_size += size;
}

/// Its dead slots are free, its marks are gone, its room is offered.
void finish_chunk(collected_region& r, std::uint32_t number) noexcept {
    chunk_record& c = r.chunks[number];
    std::uint32_t dead_count = 0;
    for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
        const std::uint64_t dead = condemned_of_word(r, number, w);
        mark_word(r, number, w) = 0;
        if (dead == 0) { continue; }
        live_bits(r, number, w) &= ~dead;
        dead_count += static_cast<std::uint32_t>(std::popcount(dead));
        end_lives(r, number, w, dead);
    }
    count_as_freed(r, c, dead_count);
    c.swept_in = r.sweep_stamp;
    type_record& t = *c.type;
    // The word that make() has open counts as taken as a whole; its rest holds no
    // objects.
    const auto open_count = static_cast<std::uint32_t>(std::popcount(t.free_bits));
    const std::uint32_t kept = c.taken_count - (t.current == number ? open_count : 0);
    r.cycle.kept_count += kept;
    r.cycle.kept_size += kept * object_size(c);
    // The chunk that objects are made in stays with its type; an empty one goes back for any type.
    if (t.current == number) {
        t.next_word = 0;  // words below may have room again
    } else if (kept == 0) {
        give_back_chunks(r, number);
    } else if (kept < c.slot_count) {
        list_chunk_with_room(r, number);
    }
}

/// The first chunk from `from` on that is to be swept; highest_chunk: none.
std::uint32_t next_unswept(const collected_region& r, std::uint32_t from) noexcept {
    while (from < r.highest_chunk) {
        if (is_free_chunk(r, from)) {
            // 64 free chunks are passed over by one comparison: an empty region costs O(chunks /
            // 64).
            const bool are_all = from % 64 == 0 && r.free_chunks[from / 64] == ~std::uint64_t{0};
            from += are_all ? 64 : 1;
        } else if (r.chunks[from].swept_in == r.sweep_stamp) {
            from += r.chunks[from].run;
        } else {
            return from;
        }
    }
    return r.highest_chunk;
}

/// Ends one dead object of the chunk. Returns: false when there is none.
bool destroy_one(collected_region& r, std::uint32_t number) noexcept {
    chunk_record& c = r.chunks[number];
    for (; r.next_word < words_per_chunk; ++r.next_word) {
        const std::uint64_t dead = condemned_of_word(r, number, r.next_word);
        if (dead == 0) { continue; }
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(dead));
        const std::uint32_t word = r.next_word;
        // Its bit falls after its destructor, so that the object counts as live while that runs.
        end_object(r, *c.type->type, base_of(r) + name_at(number, word, bit));
        live_bits(r, number, word) &= ~(std::uint64_t{1} << bit);
        count_as_freed(r, c, 1);
        end_lives(r, number, word, std::uint64_t{1} << bit);
        ++r.cycle.destructor_count;
        return true;
    }
    return false;
}

}  // namespace

void destroy_bytes(collected_region& r, void* object, std::size_t size) noexcept {
    if (r.collects_always) {
        unpoison(object, size);  // bytes behind a large object were never unpoisoned
        constexpr int swept_byte = 0xF0;
        std::memset(object, swept_byte, size);
    }
    poison(object, size);
}

bool is_condemned(const collected_region& r, object_name object) noexcept {
    const bool is_after_mark = r.now == phase::before_collect || r.now == phase::sweep;
    object = start_of(r, object);
    const chunk_record& c = r.chunks[object / chunk_size];
    // A swept chunk holds only marked objects; its marks are cleared and mean nothing.
    if (!is_after_mark || (r.now == phase::sweep && c.swept_in == r.sweep_stamp)) { return false; }
    return !is_marked(r, object);
}

bool call_before_collect(collected_region& r, allowance& left) noexcept {
    while (!left.is_used_up()) {
        while (r.next_chunk < r.highest_chunk && is_free_chunk(r, r.next_chunk)) { ++r.next_chunk; }
        if (r.next_chunk >= r.highest_chunk) { return true; }
        const chunk_record& c = r.chunks[r.next_chunk];
        const auto call = c.type->type->before_collect;
        const std::uint64_t dead =
            call == nullptr || r.next_word == words_per_chunk
                ? 0
                // Bits below next_bit were called: shifted out, and back to their places.
                : condemned_of_word(r, r.next_chunk, r.next_word) >> r.next_bit << r.next_bit;
        if (dead != 0) {
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(dead));
            const object_name name = name_at(r.next_chunk, r.next_word, bit);
            r.next_bit = (bit + 1) % 64;
            if (r.next_bit == 0) { ++r.next_word; }
            const user_code runs{r};
            call(base_of(r) + name);
            left.pay(call_price);
        } else if (call != nullptr && r.next_word < words_per_chunk) {
            ++r.next_word;
            r.next_bit = 0;
        } else {
            r.next_chunk += c.run;
            r.next_word = r.next_bit = 0;
            left.pay(root_price);
        }
    }
    return false;
}

bool sweep(collected_region& r, allowance& left) noexcept {
    while (!left.is_used_up()) {
        const std::uint32_t number = next_unswept(r, r.next_chunk);
        if (number != r.next_chunk) { r.next_word = 0; }
        r.next_chunk = number;
        if (number == r.highest_chunk) { return true; }
        if (r.chunks[number].type->type->destroy != nullptr && destroy_one(r, number)) {
            left.pay(call_price);
            continue;
        }
        finish_chunk(r, number);
        left.pay(chunk_price);
    }
    return false;
}

bool sweep_one_for_make(collected_region& r) noexcept {
    for (;;) {
        const std::uint32_t number = next_unswept(r, r.make_chunk);
        if (number == r.highest_chunk) { return false; }
        r.make_chunk = number + r.chunks[number].run;
        // Destructors run at safe points only: such a chunk is left to step().
        if (r.chunks[number].type->type->destroy == nullptr) {
            finish_chunk(r, number);
            return true;
        }
    }
}

void end_all_objects(collected_region& r) noexcept {
    const auto for_each_live = [&r](auto function_of, auto end) {
        visit_chunks(r, r.first_chunk, [&](std::uint32_t number, const chunk_record& c) {
            const collected_type& type = *c.type->type;
            if (function_of(type) == nullptr) { return true; }
            for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
                for_each_bit(objects_of_word(r, number, w), [&](std::uint32_t bit) {
                    end(type, base_of(r) + name_at(number, w, bit));
                });
            }
            return true;
        });
    };
    const user_code runs{r};
    for_each_live([](const collected_type& t) { return t.before_collect; },
                  [](const collected_type& t, std::byte* object) { t.before_collect(object); });
    // From here on make() returns null: a destructor makes nothing in a heap that ends.
    r.is_ending = true;
    for (std::uint32_t i = 0; i < r.type_count; ++i) {
        close_open_word(r, r.types[r.used_types[i]]);
    }
    for_each_live([](const collected_type& t) { return t.destroy; },
                  [&r](const collected_type& t, std::byte* object) { end_object(r, t, object); });
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
