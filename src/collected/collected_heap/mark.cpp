// Cold half of cairn/collected/collected_heap.hpp: the program's thread marks.
//
//      roots, the log, names that were handed over --> see() --> stack --> places, arrays, trace()
//
// What the stack cannot hold is set aside: an object is pushed or set aside at most once, where its
// mark is set, so the stack may have any size. The loop itself: marking_loop.hpp.
#include "marking_loop.hpp"

#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

void see_one(collected_region& r, object_name name) noexcept {
    marking_loop<marks_alone> loop{r};
    loop.see(name);
    loop.save();
}

void call_trace(collected_region& r, void* object, const chunk_record& c, visitor& v) noexcept {
    const user_code runs{r};
    r.is_in_trace = true;
    c.type->type->trace(object, v);
    r.is_in_trace = false;
}

/// The references of this type are at fixed places: this object shows where.
void learn(collected_region& r, object_name object, chunk_record& c) noexcept {
    struct places : visitor {
        places(type_record& t, const std::byte* o) noexcept
            : visitor{[](visitor& v, object_name* first, std::size_t count) {
                  for (std::size_t i = 0; i < count; ++i) {
                      static_cast<places&>(v).add(reinterpret_cast<std::byte*>(first + i));
                  }
              }},
              type{t},
              object{o} {}
        void add(const std::byte* place) noexcept {
            const auto offset = static_cast<std::size_t>(place - object);
            // Places beyond 64 KiB, or more of them than a record holds: such a type is traced by
            // its function.
            is_too_large = is_too_large || type.place_count == places_max || offset > 0xFFFF;
            if (is_too_large) { return; }
            type.places[type.place_count++] = static_cast<std::uint16_t>(offset);
        }
        type_record& type;
        const std::byte* object;
        bool is_too_large = false;
    };
    type_record& t = *c.type;
    // An older chunk of the type may have learned it since this one was prepared.
    if (t.way == tracing::unlearned) {
        t.place_count = 0;
        places v{t, base_of(r) + object};
        call_trace(r, base_of(r) + object, c, v);
        t.way = v.is_too_large ? tracing::by_call : tracing::places;
    }
    set_way(c);
}

/// Returns: how many references were seen.
std::size_t trace_by_call(collected_region& r, object_name object, const chunk_record& c) noexcept {
    struct marks : visitor {
        explicit marks(collected_region& of) noexcept
            : visitor{[](visitor& v, object_name* first, std::size_t count) {
                  auto& self = static_cast<marks&>(v);
                  marking_loop<marks_alone> loop{self.region};
                  for (std::size_t i = 0; i < count; ++i) { loop.see(first[i]); }
                  loop.save();
                  self.seen_count += count;
              }},
              region{of} {}
        collected_region& region;
        std::size_t seen_count = 0;
    };
    marks v{r};
    call_trace(r, base_of(r) + object, c, v);
    return v.seen_count;
}

/// An object whose references are not at places that are known. Returns: bytes of work.
[[gnu::noinline]] std::size_t trace_otherwise(collected_region& r, object_name object) noexcept {
    chunk_record& c = r.chunks[object / chunk_size];
    if (c.way == tracing::all_words) {
        r.piece = object;
        r.piece_end = object + static_cast<object_name>(object_size(c));
        return 0;  // its pieces are paid for
    }
    if (c.way == tracing::unlearned) { learn(r, object, c); }
    const std::size_t price = price_of(object_size(c), trace_by_call(r, object, c));
    // What references cost beyond the size of their object is known now, and the next cycle planned
    // with it.
    r.work_beyond_slots += price - object_size(c);
    return price;
}

/// Returns: true when nothing is left.
bool trace_all(collected_region& r, allowance& left) noexcept {
    marking_loop<marks_alone> loop{r};
    bool is_done = false;
    while (!left.is_used_up()) {
        if (r.piece != r.piece_end) {
            left.pay(loop.trace_piece());
            continue;
        }
        const object_name object = loop.next();
        if (object == 0) {
            is_done = true;
            break;
        }
        const chunk_record& c = r.chunks[object / chunk_size];
        if (c.way == tracing::places) [[likely]] {
            loop.trace_places(object, *c.type);
            left.pay(c.price);
        } else {
            loop.save();
            left.pay(trace_otherwise(r, object));
            loop.load();
        }
    }
    loop.save();
    return is_done;
}

}  // namespace

void set_object_aside(collected_region& r, object_name object) noexcept {
    const auto chunk = static_cast<std::uint32_t>(object / chunk_size);
    std::uint64_t* const bits = r.set_aside + (chunk - r.first_chunk) * words_per_chunk;
    std::uint64_t& chunks = r.chunks_set_aside[chunk / 64];
    const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
    // Its words were used for another cycle, or never: cleared by the first that needs them.
    if ((chunks & bit) == 0) {
        std::memset(bits, 0, words_per_chunk * sizeof(*bits));
        chunks |= bit;
        ++r.chunks_set_aside_count;
    }
    bits[object % chunk_size / word_span] |= bit_of(object);
    // stats() reads it while a worker marks.
    in_place{r.set_aside_count}.store(r.set_aside_count + 1, memory_order::relaxed);
}

void take_objects_back(collected_region& r) noexcept {
    std::uint32_t word = r.next_set_aside;
    // The search goes on where the last one ended, so that each word is passed once a round.
    while (r.chunks_set_aside[word] == 0) { word = (word + 1) % (r.end_chunk / 64 + 1); }
    r.next_set_aside = word;
    const std::uint64_t chunks = r.chunks_set_aside[word];
    const std::uint32_t chunk = word * 64 + static_cast<std::uint32_t>(std::countr_zero(chunks));
    std::uint64_t* const bits = r.set_aside + (chunk - r.first_chunk) * words_per_chunk;
    for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
        for (; bits[w] != 0; bits[w] &= bits[w] - 1) {
            // What does not fit stays set aside: its bits and its chunk are found again by the next
            // call.
            if (r.stack_count == room_on_stack(r)) { return; }
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits[w]));
            r.stack[r.stack_count++] = name_at(chunk, w, bit);
        }
    }
    r.chunks_set_aside[word] = chunks & (chunks - 1);
    --r.chunks_set_aside_count;
}

void empty_log(collected_region& r) noexcept {
    if (r.is_shared) [[unlikely]] {
        hand_over_log(r);
        return;
    }
    marking_loop<marks_alone> loop{r};
    for (std::uint32_t i = 0; i < r.log_count; ++i) { loop.see(r.log[i]); }
    r.log_count = 0;
    loop.save();
}

void scan_roots(collected_region& r, allowance& left) noexcept {
    while (r.next_root != &r.roots && !left.is_used_up()) {
        see_one(r, name_of(r.next_root->object));
        r.next_root = r.next_root->next;
        __builtin_prefetch(r.next_root->next);
        left.pay(root_price);
    }
}

bool trace_marked(collected_region& r, allowance& left) noexcept {
    if (r.log_count != 0) { empty_log(r); }
    return trace_all(r, left);
}

bool see_names(collected_region& r, name_set& names, allowance& left) noexcept {
    marking_loop<marks_alone> loop{r};
    while (!names.is_empty() && !left.is_used_up()) { left.pay(see_word(loop, names.take())); }
    loop.save();
    return names.is_empty();
}

bool trace_deferred(collected_region& r, allowance& left) noexcept {
    while (r.deferred_count != 0 && !left.is_used_up()) {
        const object_name object = r.stack[room_on_stack(r)];
        --r.deferred_count;
        left.pay(trace_otherwise(r, object));
    }
    return r.deferred_count == 0;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
