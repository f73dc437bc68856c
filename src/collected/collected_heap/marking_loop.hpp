// From the roots to everything that is reachable: the loop of the program's thread (mark.cpp), and
// of a worker (worker.cpp).
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
#pragma once

#include <cairn/collected/marking_worker.hpp>

#include "sharing.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Entries below those of objects that only the program's thread traces.
[[nodiscard]] inline std::uint32_t room_on_stack(const collected_region& r) noexcept {
    return r.stack_capacity - r.deferred_count;
}
/// An object that the full stack has no room for: a bit for it, and one for its chunk.
void set_object_aside(collected_region& r, object_name object) noexcept;
/// Objects that were set aside go to the empty stack, as many as it holds.
void take_objects_back(collected_region& r) noexcept;

/// The heap is this thread's alone.
struct marks_alone {
    [[CAIRN_FORCE_INLINE]] static std::uint64_t marks(const std::uint64_t& word) noexcept {
        return word;
    }
    /// `bit` was not in `seen`. Returns: true when it is this call that sets it.
    [[CAIRN_FORCE_INLINE]] static bool mark(std::uint64_t& word, std::uint64_t seen,
                                            std::uint64_t bit) noexcept {
        word = seen | bit;
        return true;
    }
    [[CAIRN_FORCE_INLINE]] static object_name read(const object_name& place) noexcept {
        return place;
    }
};
/// The program runs meanwhile.
struct marks_beside_program {
    [[CAIRN_FORCE_INLINE]] static std::uint64_t marks(const std::uint64_t& word) noexcept {
        return compiler::load(word, memory_order::relaxed);
    }
    [[CAIRN_FORCE_INLINE]] static bool mark(std::uint64_t& word, std::uint64_t,
                                            std::uint64_t bit) noexcept {
        return set_mark(compiler::atomic_ref{word}, bit);
    }
    [[CAIRN_FORCE_INLINE]] static object_name read(const object_name& place) noexcept {
        return follow(compiler::atomic_ref{const_cast<object_name&>(place)});
    }
};

/// True when a small object begins at `name`: the rest of the quotient is less than one.
/// (Lemire, Kaser and Kurz 2019.)
[[CAIRN_FORCE_INLINE]] inline bool is_slot_start(const chunk_record& c, object_name name) noexcept {
    return name % chunk_size * c.reciprocal % (std::uint64_t{1} << 32) < c.reciprocal;
}

/// Marks the large object at `name`, or that of which a base lies there.
/// Returns: the object; 0 when it was marked.
template <class Way>
[[CAIRN_NOINLINE]] object_name mark_around(collected_region& r, object_name name) noexcept {
    const object_name object = start_of(r, name);
    std::uint64_t& word = r.marks[object / word_span];
    const std::uint64_t marks = Way::marks(word);
    if ((marks & bit_of(object)) != 0) { return 0; }
    return Way::mark(word, marks, bit_of(object)) ? object : 0;
}

/// Members of the region, in registers. Everything here is inlined; calls of other functions lie
/// between save() and load().
template <class Way>
class marking_loop {
public:
    explicit marking_loop(collected_region& r) noexcept
        : region_{r},
          base_{base_of(r)},
          marks_{r.marks},
          chunks_{r.chunks},
          is_out_of_cache_{capacity_of(r) > in_cache_max} {
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
    [[CAIRN_FORCE_INLINE]] void see(object_name name) noexcept {
        const auto number = static_cast<object_name>(name / word_span);
        const unsigned bit = name / slot_size_min % 64;
        const std::uint64_t marks = Way::marks(marks_[number]);
        if ((marks >> bit & 1) != 0) { return; }
        const chunk_record& c = chunks_[name / chunk_size];
        if (is_slot_start(c, name)) [[likely]] {
            if (!Way::mark(marks_[number], marks, std::uint64_t{1} << bit)) { return; }
        } else {
            name = mark_around<Way>(region_, name);
            if (name == 0) { return; }
        }
        if (chunks_[name / chunk_size].way == tracing::nothing) { return; }
        if (top_ == end_) [[unlikely]] {
            set_object_aside(region_, name);
            return;
        }
        *top_++ = name;
    }

    /// The object that entered the queue first, once the queue is full or the stack empty. 0: none.
    [[CAIRN_FORCE_INLINE]] object_name next() noexcept {
        if (top_ == region_.stack && queue_count_ == 0 && !region_.set_aside.is_empty())
            [[unlikely]] {
            save();
            take_objects_back(region_);
            load();
        }
        while (queue_count_ < queue_size && top_ != region_.stack) {
            const object_name object = *--top_;
            compiler::prefetch(base_ + object);
            region_.queue[(queue_first_ + queue_count_++) % queue_size] = object;
        }
        if (queue_count_ == 0) { return 0; }
        const object_name object = region_.queue[queue_first_];
        queue_first_ = (queue_first_ + 1) % queue_size;
        --queue_count_;
        return object;
    }

    template <class Type>
    [[CAIRN_FORCE_INLINE]] void trace_places(object_name object, const Type& t) noexcept {
        const std::byte* const from = base_ + object;
        const std::uint16_t* const end = t.places + t.place_count;
        for (const std::uint16_t* place = t.places; place != end; ++place) {
            see(Way::read(*reinterpret_cast<const object_name*>(from + *place)));
        }
    }

    /// The next part of the array that is on. Returns: bytes of work.
    [[CAIRN_FORCE_INLINE]] std::size_t trace_piece() noexcept {
        const object_name left = region_.piece_end - region_.piece;
        const object_name size = left < piece_size ? left : piece_size;
        const auto* const words = reinterpret_cast<const object_name*>(base_ + region_.piece);
        const std::size_t count = size / sizeof(object_name);
        std::size_t i = 0;
        if (is_out_of_cache_) {
            const std::size_t left_in_array = left / sizeof(object_name);
            const std::size_t followed = left_in_array > ahead ? left_in_array - ahead : 0;
            const std::size_t end = followed < count ? followed : count;
            for (; i < end; ++i) {
                prefetch(Way::read(words[i + ahead]));
                see(Way::read(words[i]));
            }
        }
        for (; i < count; ++i) { see(Way::read(words[i])); }
        region_.piece += size;
        return size / sizeof(object_name) * reference_price;
    }

private:
    /// What see() will look at.
    [[CAIRN_FORCE_INLINE]] void prefetch(object_name name) const noexcept {
        compiler::prefetch(&marks_[name / word_span]);
        compiler::prefetch(&chunks_[name / chunk_size]);
    }

    static constexpr std::size_t ahead = 24;  // references of an array: about a miss to memory
    /// Marks and records, which are 1/85 of the objects, leave the second cache beyond that.
    static constexpr std::size_t in_cache_max = 16u << 20;

    collected_region& region_;
    std::byte* base_;
    std::uint64_t* marks_;
    const chunk_record* chunks_;
    bool is_out_of_cache_;
    object_name* top_;
    object_name* end_;
    std::uint32_t queue_first_;
    std::uint32_t queue_count_;
};

/// The objects that the names lead to. Returns: bytes of work.
template <class Way>
std::size_t see_word(marking_loop<Way>& loop, const name_set::word& names) noexcept {
    for_each_bit(names.bits, [&](std::uint32_t bit) {
        loop.see(names.first + bit * static_cast<object_name>(slot_size_min));
    });
    return static_cast<std::size_t>(std::popcount(names.bits)) * sizeof(object_name);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
