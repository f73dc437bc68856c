// Cold half of cairn/collected/collected_heap.hpp: objects of sparsely used chunks move together.
//
//      chunks of one type   [a b c .] [d . . .] [e . f .] [g . . .]
//                                  ^         to ->  <- from      ^     until they meet
//                           [a b c g] [d e f .] [       ] [       ]
//
//      an old slot           its first word is the name of the new one, until every reference, root
//                            and container has been looked at; then the chunk is free for any type
//
// Nothing is live here that is not reachable: a whole cycle has just ended.
#include "engine.hpp"

#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

namespace {

bool is_live_bit(const collected_region& r, object_name object) noexcept {
    return (r.live[object / word_span] & bit_of(object)) != 0;
}

void move_object(collected_region& r, object_name source, object_name slot) noexcept {
    chunk_record& old_chunk = r.chunks[source / chunk_size];
    chunk_record& chunk = r.chunks[slot / chunk_size];
    unpoison(base_of(r) + slot, chunk.slot_size);
    std::memcpy(base_of(r) + slot, base_of(r) + source, chunk.slot_size);
    std::memcpy(base_of(r) + source, &slot, sizeof(slot));
    r.live[source / word_span] &= ~bit_of(source);
    r.live[slot / word_span] |= bit_of(slot);
    --old_chunk.taken_count;
    ++chunk.taken_count;
    old_chunk.has_moved = true;
}

/// The chunks of one type, from both ends.
class packing {
public:
    packing(collected_region& r, const type_record& t) noexcept
        : region_{r}, type_{t}, to_{r.first_chunk}, from_{r.highest_chunk} {}

    /// Returns: how many objects have moved.
    std::size_t run() noexcept {
        std::size_t count = 0;
        while (find_source() && find_slot()) {
            move_object(region_, source_, slot_);
            ++count;
        }
        return count;
    }

private:
    [[nodiscard]] bool is_of_type(std::uint32_t chunk) const noexcept {
        return !is_free_chunk(region_, chunk) && region_.chunks[chunk].type == &type_;
    }
    /// A movable object of the last chunk that has one.
    bool find_source() noexcept {
        for (; from_ > to_; --from_) {
            const std::uint32_t chunk = from_ - 1;
            if (!is_of_type(chunk) || region_.chunks[chunk].has_weak) { continue; }
            for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
                const std::uint64_t live = live_bits(region_, chunk, w);
                if (live == 0) { continue; }
                source_ = name_at(chunk, w, static_cast<std::uint32_t>(std::countr_zero(live)));
                return true;
            }
        }
        return false;
    }
    /// A free slot in a chunk before that.
    bool find_slot() noexcept {
        for (; to_ + 1 < from_; ++to_, number_ = 0) {
            if (!is_of_type(to_)) { continue; }
            const chunk_record& c = region_.chunks[to_];
            for (; number_ < c.slot_count; ++number_) {
                slot_ = name_at(to_, 0, 0) + number_ * c.slot_size;
                if (!is_live_bit(region_, slot_)) { return true; }
            }
        }
        return false;
    }
    collected_region& region_;
    const type_record& type_;
    std::uint32_t to_;
    std::uint32_t number_ = 0;  // of the slot in `to_` that is looked at next
    std::uint32_t from_;        // one behind the chunk
    object_name source_ = 0;
    object_name slot_ = 0;
};

/// Objects of one type go to chunks that were free, as far as there are any.
/// Returns: how many objects have moved.
std::size_t move_to_free_chunks(collected_region& r, type_record& t) noexcept {
    std::size_t count = 0;
    std::uint32_t to = no_chunk;
    std::uint32_t number = 0;  // of the next slot in `to`
    visit_chunks(r, r.first_chunk, [&](std::uint32_t from, const chunk_record& c) {
        if (c.type != &t || c.has_weak || c.receives) { return true; }
        for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
            for (std::uint64_t live = live_bits(r, from, w); live != 0; live &= live - 1) {
                if (to == no_chunk || number == r.chunks[to].slot_count) {
                    to = take_chunk(r, t);
                    if (to == no_chunk) { return false; }
                    r.chunks[to].receives = true;
                    number = 0;
                }
                const auto bit = static_cast<std::uint32_t>(std::countr_zero(live));
                move_object(r, name_at(from, w, bit), name_at(to, 0, 0) + number++ * c.slot_size);
                ++count;
            }
        }
        return true;
    });
    return count;
}

/// The name by which what `name` led to is known now.
object_name new_name(const collected_region& r, object_name name) noexcept {
    if (!r.chunks[name / chunk_size].has_moved) { return name; }
    const object_name object = start_of(r, name);
    if (is_live_bit(r, object)) { return name; }
    object_name moved;
    std::memcpy(&moved, reinterpret_cast<const std::byte*>(&r) + object, sizeof(moved));
    return moved + (name - object);
}

void rename_all(collected_region& r) noexcept {
    for (root_link* root = r.roots.next; root != &r.roots; root = root->next) {
        root->object = base_of(r) + new_name(r, name_of(root->object));
    }
    visit_chunks(r, r.first_chunk, [&r](std::uint32_t number, const chunk_record& c) {
        if (c.way == tracing::nothing) { return true; }
        for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
            for_each_bit(objects_of_word(r, number, w), [&](std::uint32_t bit) {
                for_each_reference(r, name_at(number, w, bit), [&r](object_name* place) {
                    if (*place != 0) { *place = new_name(r, *place); }
                });
            });
        }
        return true;
    });
}

/// Old slots belong to nothing now, and chunks without objects to no type.
void free_old_slots(collected_region& r) noexcept {
    visit_chunks(r, r.first_chunk, [&r](std::uint32_t number, const chunk_record&) {
        chunk_record& c = r.chunks[number];
        if (c.receives) {
            c.receives = false;
            if (c.taken_count < c.slot_count) { list_chunk_with_room(r, number); }
        }
        if (!c.has_moved) { return true; }
        c.has_moved = false;
        for (std::uint32_t i = 0; i < c.slot_count; ++i) {
            const object_name slot = name_at(number, 0, 0) + i * c.slot_size;
            if (!is_live_bit(r, slot)) { destroy_bytes(r, base_of(r) + slot, c.slot_size); }
        }
        if (c.taken_count == 0) {
            give_back_chunks(r, number);
        } else {
            list_chunk_with_room(r, number);
        }
        return true;
    });
}

/// Calls move(type) for each type that moves, and leads to the new places whatever led to the old
/// ones. Returns: how many objects have moved, as the calls say.
template <class Move>
std::size_t move_types(collected_region& r, Move move) noexcept {
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < r.type_count; ++i) {
        type_record& t = r.types[r.used_types[i]];
        if (!t.type->is_movable || t.type->size > slot_size_max) { continue; }
        close_open_word(r, t);
        count += move(t);
    }
    if (count != 0) {
        rename_all(r);
        free_old_slots(r);
    }
    return count;
}

}  // namespace

std::size_t move_all(collected_region& r) noexcept {
    return move_types(r, [&r](type_record& t) { return move_to_free_chunks(r, t); });
}

}  // namespace detail

collection_report collected_heap::compact() noexcept {
    collection_report report = collect();
    if (region_ != nullptr) {
        detail::collected_region& r = *region_;
        const auto pack = [&r](detail::type_record& t) { return detail::packing{r, t}.run(); };
        report.moved_count += detail::move_types(r, pack);
    }
    return report;
}

}}  // namespace cairn::CAIRN_FLAVOUR
