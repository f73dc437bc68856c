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

/// Entries below those of objects that only the program's thread traces.
std::uint32_t room_on_stack(const collected_region& r) noexcept {
    return r.stack_capacity - r.deferred_count;
}

/// An object that the full stack has no room for: a bit for it, and one for its chunk.
[[gnu::noinline]] void set_aside(collected_region& r, object_name object) noexcept {
    const auto chunk = static_cast<std::uint32_t>(object / chunk_size);
    std::uint64_t* const bits = r.set_aside + (chunk - r.first_chunk) * words_per_chunk;
    std::uint64_t& chunks = r.chunks_set_aside[chunk / 64];
    const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
    if ((chunks & bit) == 0) {
        std::memset(bits, 0, words_per_chunk * sizeof(*bits));
        chunks |= bit;
        ++r.chunks_set_aside_count;
    }
    bits[object % chunk_size / word_span] |= bit_of(object);
    // stats() reads it while a worker marks.
    in_place{r.set_aside_count}.store(r.set_aside_count + 1, memory_order::relaxed);
}

/// From the next chunk with objects that were set aside, as many as the empty stack holds.
[[gnu::noinline]] void take_back(collected_region& r) noexcept {
    std::uint32_t word = r.next_set_aside;
    while (r.chunks_set_aside[word] == 0) { word = (word + 1) % (r.end_chunk / 64 + 1); }
    r.next_set_aside = word;
    const std::uint64_t chunks = r.chunks_set_aside[word];
    const std::uint32_t chunk = word * 64 + static_cast<std::uint32_t>(std::countr_zero(chunks));
    std::uint64_t* const bits = r.set_aside + (chunk - r.first_chunk) * words_per_chunk;
    for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
        for (; bits[w] != 0; bits[w] &= bits[w] - 1) {
            if (r.stack_count == room_on_stack(r)) { return; }
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits[w]));
            r.stack[r.stack_count++] = name_at(chunk, w, bit);
        }
    }
    r.chunks_set_aside[word] = chunks & (chunks - 1);
    --r.chunks_set_aside_count;
}

/// The heap is this thread's alone.
struct alone {
    [[gnu::always_inline]] static std::uint64_t marks(const std::uint64_t& word) noexcept {
        return word;
    }
    /// `bit` was not in `seen`. Returns: true when it is this call that sets it.
    [[gnu::always_inline]] static bool mark(std::uint64_t& word, std::uint64_t seen,
                                            std::uint64_t bit) noexcept {
        word = seen | bit;
        return true;
    }
    [[gnu::always_inline]] static object_name read(const object_name& place) noexcept {
        return place;
    }
};
/// The program runs meanwhile.
struct beside_program {
    [[gnu::always_inline]] static std::uint64_t marks(const std::uint64_t& word) noexcept {
        return in_place{word}.load(memory_order::relaxed);
    }
    [[gnu::always_inline]] static bool mark(std::uint64_t& word, std::uint64_t,
                                            std::uint64_t bit) noexcept {
        return set_mark(in_place{word}, bit);
    }
    [[gnu::always_inline]] static object_name read(const object_name& place) noexcept {
        return follow(in_place{place});
    }
};

/// True when a small object begins at `name`: what is left of the quotient is less than one.
/// (Lemire, Kaser and Kurz 2019.)
[[gnu::always_inline]] inline bool is_start(const chunk_record& c, object_name name) noexcept {
    return name % chunk_size * c.reciprocal % (std::uint64_t{1} << 32) < c.reciprocal;
}

/// Marks the large object at `name`, or that of which a base lies there.
/// Returns: the object; 0 when it was marked.
template <class Way>
[[gnu::noinline]] object_name mark_around(collected_region& r, object_name name) noexcept {
    const object_name object = start_of(r, name);
    std::uint64_t& word = r.marks[object / word_span];
    const std::uint64_t marks = Way::marks(word);
    if ((marks & bit_of(object)) != 0) { return 0; }
    return Way::mark(word, marks, bit_of(object)) ? object : 0;
}

/// What the region keeps between two calls, in registers. Everything here is inlined, and what is
/// not is called between save() and load().
template <class Way>
class marking_loop {
public:
    explicit marking_loop(collected_region& r) noexcept
        : region_{r}, base_{base_of(r)}, marks_{r.marks}, chunks_{r.chunks} {
        load();
    }
    void load() noexcept {
        end_ = region_.stack + room_on_stack(region_);
        top_ = region_.stack + region_.stack_count;
        queue_first_ = region_.queue_first;
        queue_count_ = region_.queue_count;
    }
    void save() noexcept {
        region_.stack_count = static_cast<std::uint32_t>(top_ - region_.stack);
        region_.queue_first = queue_first_;
        region_.queue_count = queue_count_;
    }

    /// Marks the object that `name` lies in. 0 is marked always.
    [[gnu::always_inline]] void see(object_name name) noexcept {
        const object_name number = name / word_span;
        const unsigned bit = name / slot_size_min % 64;
        const std::uint64_t marks = Way::marks(marks_[number]);
        if ((marks >> bit & 1) != 0) { return; }
        const chunk_record& c = chunks_[name / chunk_size];
        if (is_start(c, name)) [[likely]] {
            if (!Way::mark(marks_[number], marks, std::uint64_t{1} << bit)) { return; }
        } else {
            name = mark_around<Way>(region_, name);
            if (name == 0) { return; }
        }
        if (chunks_[name / chunk_size].way == tracing::nothing) { return; }
        if (top_ == end_) [[unlikely]] {
            set_aside(region_, name);
            return;
        }
        *top_++ = name;
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

    template <class Type>
    [[gnu::always_inline]] void trace_places(object_name object, const Type& t) noexcept {
        const std::byte* const from = base_ + object;
        const std::uint16_t* const end = t.places + t.place_count;
        for (const std::uint16_t* place = t.places; place != end; ++place) {
            see(Way::read(*reinterpret_cast<const object_name*>(from + *place)));
        }
    }

    /// The next part of the array that is on. Returns: bytes of work.
    [[gnu::always_inline]] std::size_t trace_piece() noexcept {
        const object_name left = region_.piece_end - region_.piece;
        const object_name size = left < piece_size ? left : piece_size;
        const auto* const words = reinterpret_cast<const object_name*>(base_ + region_.piece);
        for (std::size_t i = 0; i < size / sizeof(object_name); ++i) { see(Way::read(words[i])); }
        region_.piece += size;
        return size / sizeof(object_name) * reference_price;
    }

private:
    collected_region& region_;
    std::byte* base_;
    std::uint64_t* marks_;
    const chunk_record* chunks_;
    object_name* top_;
    object_name* end_;
    std::uint32_t queue_first_;
    std::uint32_t queue_count_;
};

void see_one(collected_region& r, object_name name) noexcept {
    marking_loop<alone> loop{r};
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
    set_way(c);
}

/// Returns: how many references were seen.
std::size_t trace_by_call(collected_region& r, object_name object, const chunk_record& c) noexcept {
    struct marks : visitor {
        explicit marks(collected_region& of) noexcept
            : visitor{[](visitor& v, object_name* first, std::size_t count) {
                  auto& self = static_cast<marks&>(v);
                  marking_loop<alone> loop{self.region};
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
    r.cycle.work_beyond_slots += price - object_size(c);
    return price;
}

/// The places of the chunk's type, from the worker's own copy: what make() writes lies beside the
/// original, and the line would travel with each object. Returns: nullptr when it has no places.
[[gnu::always_inline]] inline const marking_share::places* places_of(
    const collected_region& r, marking_share& share, const chunk_record& c) noexcept {
    if (c.way != tracing::places && c.way != tracing::unlearned) { return nullptr; }
    marking_share::places& copy = share.types[c.type - r.types];
    if (!copy.is_known) [[unlikely]] {
        if (c.type->way != tracing::places) { return nullptr; }
        copy.is_known = true;
        copy.place_count = c.type->place_count;
        std::memcpy(copy.places, c.type->places, sizeof(copy.places));
        copy.price = static_cast<std::uint32_t>(price_of(object_size(c), copy.place_count));
    }
    return &copy;
}

/// An object that the worker has no places for. Returns: bytes of work.
[[gnu::noinline]] std::size_t trace_otherwise_beside_program(collected_region& r,
                                                             object_name object) noexcept {
    const chunk_record& c = r.chunks[object / chunk_size];
    if (c.way == tracing::all_words) {
        r.piece = object;
        r.piece_end = object + static_cast<object_name>(object_size(c));
        return 0;
    }
    if (r.stack_count == room_on_stack(r)) {
        set_aside(r, object);
    } else {
        ++r.deferred_count;
        r.stack[room_on_stack(r)] = object;
    }
    return 0;  // who traces it pays for it
}

/// Returns: bytes of work.
template <class Way>
std::size_t see_word(marking_loop<Way>& loop, const name_set::word& names) noexcept {
    for_each_bit(names.bits, [&](std::uint32_t bit) {
        loop.see(names.first + bit * static_cast<object_name>(slot_size_min));
    });
    return static_cast<std::size_t>(std::popcount(names.bits)) * sizeof(object_name);
}

/// Returns: true when nothing is left.
bool trace_all(collected_region& r, allowance& left) noexcept {
    marking_loop<alone> loop{r};
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

void empty_log(collected_region& r) noexcept {
    if (r.is_shared) [[unlikely]] {
        hand_over_log(r);
        return;
    }
    marking_loop<alone> loop{r};
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
    marking_loop<alone> loop{r};
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

bool trace_beside_program(collected_region& r, allowance& left) noexcept {
    marking_share& share = *r.share;
    marking_loop<beside_program> loop{r};
    bool has_more = true;
    while (!left.is_used_up() && !share.is_gate_wanted()) {
        if (r.piece != r.piece_end) {
            left.pay(loop.trace_piece());
            continue;
        }
        const object_name object = loop.next();
        if (object == 0) {
            name_set* const names = share.received();
            if (names == nullptr) {
                has_more = false;
                break;
            }
            static_cast<void>(see_word(loop, names->take()));
            if (names->is_empty()) { share.handover.give_back(); }
            left.pay(0);
            continue;
        }
        const chunk_record& c = r.chunks[object / chunk_size];
        if (const auto* const known = places_of(r, share, c)) [[likely]] {
            loop.trace_places(object, *known);
            left.pay(known->price);
        } else {
            loop.save();
            left.pay(trace_otherwise_beside_program(r, object));
            loop.load();
        }
    }
    loop.save();
    return has_more;
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
