// Cold half of cairn/collected/collected_heap.hpp: from the roots to everything that is reachable.
//
//      see(name): marked? else mark it, push
//          |
//          v               pop                          oldest
//      +-------+     +-------------+     +---------------------+     its references
//      | stack |---->| prefetch it |---->| queue of at most 16 |---->  see(each)
//      +-------+     +-------------+     +---------------------+
//          | full                              its line has arrived meanwhile
//          v
//      a bit in set_aside                (Cher, Hosking and Vijaykumar 2004)
//
// An object is pushed or set aside at most once, where its mark is set, so the stack may have any
// size: what does not fit is found again by its bit. Nothing is ever looked at for a second time.
#include "engine.hpp"

#include <cstring>

namespace cairn::inline CAIRN_FLAVOUR::detail {

namespace {

/// An object that the full stack has no room for: a bit for it, and one for its chunk.
[[gnu::noinline]] void set_aside(collected_region& r, std::uint32_t chunk,
                                 std::uint32_t slot) noexcept {
    std::uint64_t* const bits = r.set_aside + (chunk - r.first_chunk) * words_per_chunk;
    std::uint64_t& chunks = r.chunks_set_aside[chunk / 64];
    const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
    if ((chunks & bit) == 0) {
        std::memset(bits, 0, words_per_chunk * sizeof(*bits));
        chunks |= bit;
        ++r.chunks_set_aside_count;
    }
    bits[slot / 64] |= std::uint64_t{1} << (slot % 64);
    ++r.set_aside_count;
}

/// From the next chunk with objects that were set aside, as many as the empty stack holds.
[[gnu::noinline]] void take_back(collected_region& r) noexcept {
    std::uint32_t word = r.next_set_aside;
    while (r.chunks_set_aside[word] == 0) { word = (word + 1) % (r.end_chunk / 64 + 1); }
    r.next_set_aside = word;
    const std::uint64_t chunks = r.chunks_set_aside[word];
    const std::uint32_t chunk = word * 64 + static_cast<std::uint32_t>(std::countr_zero(chunks));
    const chunk_record& c = r.chunks[chunk];
    std::uint64_t* const bits = r.set_aside + (chunk - r.first_chunk) * words_per_chunk;
    for (std::uint32_t w = 0; w < word_count(c); ++w) {
        for (; bits[w] != 0; bits[w] &= bits[w] - 1) {
            if (r.stack_count == r.stack_capacity) { return; }
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits[w]));
            r.stack[r.stack_count++] = slot_name(c, chunk, w, bit);
        }
    }
    r.chunks_set_aside[word] = chunks & (chunks - 1);
    --r.chunks_set_aside_count;
}

/// What the region keeps between two calls, in registers. Everything here is inlined, and what is
/// not is called between save() and load().
class marking_loop {
public:
    explicit marking_loop(collected_region& r) noexcept
        : region_{r}, base_{base_of(r)}, chunks_{r.chunks}, end_{r.stack + r.stack_capacity} {
        load();
    }
    void load() noexcept {
        top_ = region_.stack + region_.stack_count;
        queue_first_ = region_.queue_first;
        queue_count_ = region_.queue_count;
    }
    void save() noexcept {
        region_.stack_count = static_cast<std::uint32_t>(top_ - region_.stack);
        region_.queue_first = queue_first_;
        region_.queue_count = queue_count_;
    }

    /// Marks the object that `name` lies in; 0 is nothing.
    [[gnu::always_inline]] void see(object_name name) noexcept {
        if (name == 0) { return; }
        chunk_record& c = chunks_[name / chunk_size];
        const std::uint32_t slot = slot_of(c, name);
        const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
        std::uint64_t& word = c.mark[slot / 64];
        const std::uint64_t marks = word;
        if ((marks & bit) != 0) { return; }
        word = marks | bit;
        if (c.way == tracing::nothing) { return; }
        if (top_ == end_) [[unlikely]] {
            set_aside(region_, name / chunk_size, slot);
            return;
        }
        const object_name first = name & ~static_cast<object_name>(chunk_size - 1);
        *top_++ = first + slot * c.slot_size;
    }

    /// The object that entered the queue first, once the queue is full or the stack empty. 0: none.
    [[gnu::always_inline]] object_name next() noexcept {
        if (top_ == region_.stack && queue_count_ == 0 && region_.chunks_set_aside_count != 0)
            [[unlikely]] {
            save();
            take_back(region_);
            load();
        }
        while (queue_count_ < queue_size && top_ != region_.stack) {
            const object_name object = *--top_;
            __builtin_prefetch(base_ + object);
            region_.queue[(queue_first_ + queue_count_++) % queue_size] = object;
        }
        if (queue_count_ == 0) { return 0; }
        const object_name object = region_.queue[queue_first_];
        queue_first_ = (queue_first_ + 1) % queue_size;
        --queue_count_;
        return object;
    }

    /// Returns: bytes of work.
    [[gnu::always_inline]] std::size_t trace_places(object_name object,
                                                    const chunk_record& c) noexcept {
        const type_record& t = *c.type;
        const std::byte* const from = base_ + object;
        const std::uint16_t* const end = t.places + t.place_count;
        for (const std::uint16_t* place = t.places; place != end; ++place) {
            object_name child;
            std::memcpy(&child, from + *place, sizeof(child));
            see(child);
        }
        return object_size(c);
    }

    /// The next part of the array that is on. Returns: bytes of work.
    [[gnu::always_inline]] std::size_t trace_piece() noexcept {
        const object_name left = region_.piece_end - region_.piece;
        const object_name size = left < piece_size ? left : piece_size;
        const auto* const words = reinterpret_cast<const object_name*>(base_ + region_.piece);
        for (std::size_t i = 0; i < size / sizeof(object_name); ++i) { see(words[i]); }
        region_.piece += size;
        return size;
    }

private:
    collected_region& region_;
    std::byte* base_;
    chunk_record* chunks_;
    object_name* top_;
    object_name* end_;
    std::uint32_t queue_first_;
    std::uint32_t queue_count_;
};

void see_one(collected_region& r, object_name name) noexcept {
    marking_loop loop{r};
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
            is_too_large = is_too_large || type.place_count == places_max || offset > 0xFFFF;
            if (is_too_large) { return; }
            type.places[type.place_count++] = static_cast<std::uint16_t>(offset);
        }
        type_record& type;
        const std::byte* object;
        bool is_too_large = false;
    };
    type_record& t = *c.type;
    if (t.way == tracing::unlearned) {
        t.place_count = 0;
        places v{t, base_of(r) + object};
        call_trace(r, base_of(r) + object, c, v);
        t.way = v.is_too_large ? tracing::by_call : tracing::places;
    }
    c.way = t.way;
}

/// Returns: how many references were seen.
std::size_t trace_by_call(collected_region& r, object_name object, const chunk_record& c) noexcept {
    struct marks : visitor {
        explicit marks(collected_region& of) noexcept
            : visitor{[](visitor& v, object_name* first, std::size_t count) {
                  auto& self = static_cast<marks&>(v);
                  marking_loop loop{self.region};
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
    if (c.way == tracing::behind) {
        const object_name whole = start_of(r, object);
        r.chunks[whole / chunk_size].was_seen_behind = true;
        see_one(r, whole);
        return root_price;
    }
    if (c.way == tracing::all_words) {
        r.piece = object;
        r.piece_end = object + static_cast<object_name>(object_size(c));
        return 0;  // its pieces are paid for
    }
    if (c.way == tracing::unlearned) { learn(r, object, c); }
    const std::size_t by_references = trace_by_call(r, object, c) * sizeof(object_name);
    return by_references > object_size(c) ? by_references : object_size(c);
}

/// Returns: true when nothing is left.
bool trace_all(collected_region& r, allowance& left) noexcept {
    marking_loop loop{r};
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
            left.pay(loop.trace_places(object, c));
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

void empty_log(collected_region& r) noexcept {
    marking_loop loop{r};
    for (std::uint32_t i = 0; i < r.log_count; ++i) { loop.see(r.log[i]); }
    r.log_count = 0;
    loop.save();
}

void overwrite_while_marking(object_name& place, object_name name) noexcept {
    keep_for_this_cycle(region_of(&place), place);
    place = name;
}

/// A root that has not been looked at was reachable when the cycle began.
void forget_root_while_marking(collected_region& r, root_link& root) noexcept {
    keep_for_this_cycle(r, name_of(root.object));
    if (r.next_root == &root) { r.next_root = root.next; }
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

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
