// Cold half of cairn/collected/collected_heap.hpp: the program's thread marks, and its stores.
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

/// The references of this type are at fixed places. This object shows where.
void learn(collected_region& r, object_name object, chunk_record& c) noexcept {
    type_record& t = *c.type;
    // An older chunk of the type may have learned it since this one was prepared.
    if (t.way == tracing::unlearned) {
        t.place_count = 0;
        t.way = tracing::places;
        for_each_reference(r, object, [&](const object_name* place) {
            const auto offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(place) -
                                                         (base_of(r) + object));
            // Places beyond 64 KiB, or more of them than a record holds: such a type is traced by
            // its function.
            if (t.place_count == places_max || offset > 0xFFFF) { t.way = tracing::by_call; }
            if (t.way == tracing::by_call) { return; }
            t.places[t.place_count++] = static_cast<std::uint16_t>(offset);
        });
    }
    set_way(c);
}

/// Returns: how many references were seen.
std::size_t trace_by_call(collected_region& r, object_name object, const chunk_record& c) noexcept {
    std::size_t seen_count = 0;
    call_trace(r, *c.type->type, base_of(r) + object,
               [&](const object_name* first, std::size_t count) {
                   marking_loop<marks_alone> loop{r};
                   for (std::size_t i = 0; i < count; ++i) { loop.see(first[i]); }
                   loop.save();
                   seen_count += count;
               });
    return seen_count;
}

/// An object whose references are not at places that are known. Returns: bytes of work.
[[CAIRN_NOINLINE]] std::size_t trace_otherwise(collected_region& r, object_name object) noexcept {
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

void name_set::add(object_name name) noexcept {
    const auto chunk = static_cast<std::uint32_t>(name / chunk_size) - first_chunk_;
    const auto granule = static_cast<std::uint32_t>(name % chunk_size / slot_size_min);
    std::uint64_t* const bits = bits_ + std::size_t{chunk} * words_per_chunk;
    std::uint64_t& chunks = chunks_[chunk / 64];
    const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
    if ((chunks & bit) == 0) {
        std::memset(bits, 0, words_per_chunk * sizeof(*bits));
        chunks |= bit;
        ++chunk_count_;
        if (chunk / 64 < next_word_) { next_word_ = chunk / 64; }
    }
    bits[granule / 64] |= std::uint64_t{1} << (granule % 64);
}

name_set::word name_set::take() noexcept {
    while (chunk_count_ != 0) {
        while (chunks_[next_word_] == 0) { ++next_word_; }
        std::uint64_t& chunks = chunks_[next_word_];
        const std::uint32_t chunk =
            next_word_ * 64 + static_cast<std::uint32_t>(std::countr_zero(chunks));
        std::uint64_t* const bits = bits_ + std::size_t{chunk} * words_per_chunk;
        for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
            if (bits[w] == 0) { continue; }
            const std::uint64_t taken = bits[w];
            bits[w] = 0;
            const std::uint32_t granule = w * 64;
            return {(first_chunk_ + chunk) * static_cast<object_name>(chunk_size) +
                        granule * static_cast<object_name>(slot_size_min),
                    taken};
        }
        chunks &= chunks - 1;
        --chunk_count_;
    }
    return {};
}

[[CAIRN_NOINLINE]] void set_object_aside(collected_region& r, object_name object) noexcept {
    r.set_aside.add(object);
    // stats() reads it while a worker marks.
    compiler::atomic_ref{r.set_aside_count}.store(r.set_aside_count + 1, memory_order::relaxed);
}

[[CAIRN_NOINLINE]] void take_objects_back(collected_region& r) noexcept {
    while (!r.set_aside.is_empty()) {
        name_set::word word = r.set_aside.take();
        for (; word.bits != 0; word.bits &= word.bits - 1) {
            const auto bit = static_cast<object_name>(std::countr_zero(word.bits));
            const object_name object = word.first + bit * object_name{slot_size_min};
            // What does not fit stays set aside, and is found again by the next call.
            if (r.stack_count == room_on_stack(r)) {
                r.set_aside.add(object);
            } else {
                r.stack[r.stack_count++] = object;
            }
        }
        if (r.stack_count == room_on_stack(r)) { return; }
    }
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
        compiler::prefetch(r.next_root->next);
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

// ---- what stores do while marking (the cold half of cairn/collected/ref.hpp)
//
//      old value    marked, or null    nothing: this cycle keeps it already
//                   else               to the log; the full log is marked
//
// A value that is overwritten time and again is logged until the log has been emptied once: one bit
// of `marks` stands for all places of an object.

namespace {

/// Apart, so that the way that is taken nearly always saves no registers.
[[CAIRN_NOINLINE]] void overwrite_with_full_log(object_name& place, object_name name) noexcept {
    empty_log(region_of(&place));
    overwrite_while_marking(place, name);  // beside a worker the value is logged once more
}

}  // namespace

void overwrite_while_marking(object_name& place, object_name name) noexcept {
    collected_region& r = region_of(&place);
    const object_name old = place;
    if (!is_marked(r, old)) {
        r.log[r.log_count] = old;
        if (++r.log_count == log_size) [[unlikely]] {
            overwrite_with_full_log(place, name);
            return;
        }
    }
    // A worker may read it: a new object is marked before.
    publish(compiler::atomic_ref{place}, name);
}

/// A root that has not been looked at was reachable when the cycle began.
void forget_root_while_marking(collected_region& r, root_link& root) noexcept {
    keep_for_this_cycle(r, name_of(root.object));
    if (r.next_root == &root) { r.next_root = root.next; }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
