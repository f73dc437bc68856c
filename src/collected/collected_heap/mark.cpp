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

/// Marks in local variables what the region keeps between two calls.
class marking_loop {
public:
    explicit marking_loop(collected_region& r) noexcept
        : region_{r},
          base_{base_of(r)},
          chunks_{r.chunks},
          top_{r.stack + r.stack_count},
          end_{r.stack + r.stack_capacity} {}
    ~marking_loop() { region_.stack_count = static_cast<std::uint32_t>(top_ - region_.stack); }
    marking_loop(const marking_loop&) = delete;
    marking_loop& operator=(const marking_loop&) = delete;

    /// Marks the object that `name` lies in; 0 is nothing.
    [[gnu::always_inline]] void see(object_name name) noexcept {
        if (name == 0) { return; }
        chunk_record& c = chunks_[name / chunk_size];
        const std::uint32_t slot = slot_of(c, name);
        const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
        std::uint64_t& word = c.mark[slot / 64];
        if ((word & bit) != 0) { return; }
        word |= bit;
        if (c.way == tracing::nothing) { return; }
        const object_name first = name & ~static_cast<object_name>(chunk_size - 1);
        push(first + slot * c.slot_size, c, slot);
    }

    /// Returns: true when nothing is left.
    bool run(allowance& left) noexcept;

private:
    [[gnu::always_inline]] void push(object_name object, const chunk_record& c,
                                     std::uint32_t slot) noexcept {
        if (top_ == end_) [[unlikely]] {
            set_aside(static_cast<std::uint32_t>(&c - chunks_), slot);
        } else {
            *top_++ = object;
        }
    }
    void set_aside(std::uint32_t chunk, std::uint32_t slot) noexcept;
    void take_back() noexcept;
    [[nodiscard]] object_name next() noexcept;
    std::size_t trace(object_name object) noexcept;
    std::size_t trace_by_call(object_name object, chunk_record& c) noexcept;
    std::size_t begin_array(object_name array, const chunk_record& c) noexcept;
    std::size_t trace_piece() noexcept;
    void learn(object_name object, chunk_record& c) noexcept;
    void call_trace(object_name object, const chunk_record& c, visitor& v) noexcept;

    collected_region& region_;
    std::byte* base_;
    chunk_record* chunks_;
    object_name* top_;
    object_name* end_;
};

void marking_loop::set_aside(std::uint32_t chunk, std::uint32_t slot) noexcept {
    std::uint64_t* const bits = region_.set_aside + (chunk - region_.first_chunk) * words_per_chunk;
    std::uint64_t& chunks = region_.chunks_set_aside[chunk / 64];
    const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
    if ((chunks & bit) == 0) {
        std::memset(bits, 0, words_per_chunk * sizeof(*bits));
        chunks |= bit;
        ++region_.chunks_set_aside_count;
    }
    bits[slot / 64] |= std::uint64_t{1} << (slot % 64);
    ++region_.set_aside_count;
}

/// From the next chunk with objects that were set aside, as many as the stack holds.
void marking_loop::take_back() noexcept {
    std::uint32_t word = region_.next_set_aside;
    while (region_.chunks_set_aside[word] == 0) { word = (word + 1) % (region_.end_chunk / 64 + 1); }
    region_.next_set_aside = word;
    const std::uint64_t chunks = region_.chunks_set_aside[word];
    const std::uint32_t chunk = word * 64 + static_cast<std::uint32_t>(std::countr_zero(chunks));
    const chunk_record& c = chunks_[chunk];
    std::uint64_t* const bits = region_.set_aside + (chunk - region_.first_chunk) * words_per_chunk;
    for (std::uint32_t w = 0; w < word_count(c); ++w) {
        for (; bits[w] != 0; bits[w] &= bits[w] - 1) {
            if (top_ == end_) { return; }
            *top_++ = slot_name(c, chunk, w, static_cast<std::uint32_t>(std::countr_zero(bits[w])));
        }
    }
    region_.chunks_set_aside[word] = chunks & (chunks - 1);
    --region_.chunks_set_aside_count;
}

/// The object that entered the queue first, once the queue is full or the stack empty. 0: none.
object_name marking_loop::next() noexcept {
    collected_region& r = region_;
    if (top_ == r.stack && r.queue_count == 0 && r.chunks_set_aside_count != 0) { take_back(); }
    while (r.queue_count < queue_size && top_ != r.stack) {
        const object_name object = *--top_;
        __builtin_prefetch(base_ + object);
        r.queue[(r.queue_first + r.queue_count++) % queue_size] = object;
    }
    if (r.queue_count == 0) { return 0; }
    const object_name object = r.queue[r.queue_first];
    r.queue_first = (r.queue_first + 1) % queue_size;
    --r.queue_count;
    return object;
}

/// Returns: bytes of work.
std::size_t marking_loop::trace(object_name object) noexcept {
    chunk_record& c = chunks_[object / chunk_size];
    if (c.way == tracing::places) [[likely]] {
        const type_record& t = *c.type;
        for (std::size_t i = 0; i < t.place_count; ++i) {
            object_name child;
            std::memcpy(&child, base_ + object + t.places[i], sizeof(child));
            see(child);
        }
        return object_size(c);
    }
    if (c.way == tracing::all_words) { return begin_array(object, c); }
    if (c.way == tracing::unlearned) {
        learn(object, c);
        if (c.way == tracing::places) { return trace(object); }
    }
    return trace_by_call(object, c);
}

std::size_t marking_loop::begin_array(object_name array, const chunk_record& c) noexcept {
    region_.piece = array;
    // The end of a region of 4 GiB has no name: see create_region().
    region_.piece_end = array + static_cast<object_name>(object_size(c));
    return trace_piece();
}

std::size_t marking_loop::trace_piece() noexcept {
    const object_name left = region_.piece_end - region_.piece;
    const object_name size = left < piece_size ? left : piece_size;
    const auto* const words = reinterpret_cast<const object_name*>(base_ + region_.piece);
    for (std::size_t i = 0; i < size / sizeof(object_name); ++i) { see(words[i]); }
    region_.piece += size;
    return size;
}

void marking_loop::call_trace(object_name object, const chunk_record& c, visitor& v) noexcept {
    const user_code runs{region_};
    region_.is_in_trace = true;
    c.type->type->trace(base_ + object, v);
    region_.is_in_trace = false;
}

std::size_t marking_loop::trace_by_call(object_name object, chunk_record& c) noexcept {
    struct marks : visitor {
        explicit marks(marking_loop& l) noexcept
            : visitor{[](visitor& v, object_name* first, std::size_t count) {
                  for (std::size_t i = 0; i < count; ++i) {
                      static_cast<marks&>(v).loop.see(first[i]);
                  }
              }},
              loop{l} {}
        marking_loop& loop;
    };
    marks v{*this};
    call_trace(object, c, v);
    return object_size(c);
}

/// The references of this type are at fixed places: this object shows where.
void marking_loop::learn(object_name object, chunk_record& c) noexcept {
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
            if (!is_too_large) { type.places[type.place_count++] = static_cast<std::uint16_t>(offset); }
        }
        type_record& type;
        const std::byte* object;
        bool is_too_large = false;
    };
    type_record& t = *c.type;
    if (t.way == tracing::unlearned) {
        t.place_count = 0;
        places v{t, base_ + object};
        call_trace(object, c, v);
        t.way = v.is_too_large ? tracing::by_call : tracing::places;
    }
    c.way = t.way;
}

bool marking_loop::run(allowance& left) noexcept {
    while (!left.is_used_up()) {
        std::size_t work;
        if (region_.piece != region_.piece_end) {
            work = trace_piece();
        } else {
            const object_name object = next();
            if (object == 0) { return true; }
            work = trace(object);
        }
        left.pay(work);
    }
    return false;
}

}  // namespace

void empty_log(collected_region& r) noexcept {
    marking_loop loop{r};
    for (std::uint32_t i = 0; i < r.log_count; ++i) { loop.see(r.log[i]); }
    r.log_count = 0;
}

void log_overwritten(collected_region& r, object_name old) noexcept {
    keep_for_this_cycle(r, old);
}

/// A root that has not been looked at was reachable when the cycle began.
void forget_root_while_marking(collected_region& r, root_link& root) noexcept {
    keep_for_this_cycle(r, name_of(root.object));
    if (r.next_root == &root) { r.next_root = root.next; }
}

void scan_roots(collected_region& r, allowance& left) noexcept {
    marking_loop loop{r};
    while (r.next_root != &r.roots && !left.is_used_up()) {
        loop.see(name_of(r.next_root->object));
        r.next_root = r.next_root->next;
        __builtin_prefetch(r.next_root->next);
        left.pay(root_price);
    }
}

bool trace_marked(collected_region& r, allowance& left) noexcept {
    if (r.log_count != 0) { empty_log(r); }
    marking_loop loop{r};
    return loop.run(left);
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
