// Cold half of cairn/collected/collected_heap.hpp: its invariants, looked at one by one, and a
// second, simple walk that marking is compared with.
#include "engine.hpp"

#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

/// Marks again, beside the marks: in the bits and on the stack that marking has left empty.
class second_walk {
public:
    explicit second_walk(collected_region& r) noexcept : region_{r} {
        std::memset(r.set_aside, 0,
                    std::size_t{r.highest_chunk - r.first_chunk} * words_per_chunk * 8);
    }
    void run() noexcept {
        for (root_link* root = region_.roots.next; root != &region_.roots; root = root->next) {
            reach(name_of(root->object));
        }
        do {
            is_incomplete_ = false;
            follow_stack();
            if (is_incomplete_) { push_all_reached(); }
        } while (is_incomplete_ || region_.stack_count != 0);
    }

private:
    void reach(object_name name) noexcept {
        if (name == 0) { return; }
        name = start_of(region_, name);
        CAIRN_ASSERT(is_live(region_, name) && is_marked(region_, name),
                     "what is reachable when marking ends is marked: every change of a reference "
                     "goes through ref, root or ref_array");
        std::uint64_t& reached = region_.set_aside[(name - region_.begin) / word_span];
        if ((reached & bit_of(name)) != 0) { return; }
        reached |= bit_of(name);
        push(name);
    }
    void push(object_name object) noexcept {
        if (region_.stack_count == region_.stack_capacity) {
            is_incomplete_ = true;
        } else {
            region_.stack[region_.stack_count++] = object;
        }
    }
    void follow_stack() noexcept {
        while (region_.stack_count != 0) {
            const object_name object = region_.stack[--region_.stack_count];
            for_each_reference(region_, object, [this](const object_name* p) { reach(*p); });
        }
    }
    /// The stack was too small: each object that was reached is followed once more.
    void push_all_reached() noexcept {
        is_incomplete_ = false;
        visit_chunks(region_, region_.first_chunk, [this](std::uint32_t n, const chunk_record&) {
            for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
                for_each_bit(region_.set_aside[(n - region_.first_chunk) * words_per_chunk + w],
                             [&](std::uint32_t bit) {
                                 for_each_reference(region_, name_at(n, w, bit),
                                                    [this](const object_name* p) { reach(*p); });
                             });
            }
            return true;
        });
    }

    collected_region& region_;
    bool is_incomplete_ = false;
};

void validate_objects(collected_region& r, std::uint32_t number) noexcept {
    for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
        CAIRN_ASSERT(r.now != phase::idle || mark_word(r, number, w) == 0,
                     "between two cycles nothing is marked");
        for_each_bit(objects_of_word(r, number, w), [&](std::uint32_t bit) {
            const object_name object = name_at(number, w, bit);
            CAIRN_ASSERT(start_of(r, object) == object, "a live bit stands for a slot");
            if (is_condemned(r, object)) { return; }
            for_each_reference(r, object, [&](const object_name* p) {
                CAIRN_ASSERT(*p == 0 || is_live(r, *p), "what an object refers to lives");
                CAIRN_ASSERT(*p == 0 || !is_condemned(r, *p),
                             "what an object refers to is no garbage");
            });
        });
    }
}

}  // namespace

void verify_marks(collected_region& r) noexcept {
    second_walk{r}.run();
    if constexpr (asserts_enabled) { verify_told(r); }
}

void validate_region(const collected_region& constant) noexcept {
    auto& r = const_cast<collected_region&>(constant);  // only what trace() wants
    std::size_t used = 0;
    std::uint32_t chunks = 0;
    visit_chunks(r, r.first_chunk, [&](std::uint32_t number, const chunk_record& c) {
        chunks += c.run;
        std::uint32_t taken = 0;
        for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
            taken += static_cast<std::uint32_t>(std::popcount(live_bits(r, number, w)));
        }
        CAIRN_ASSERT(taken == c.taken_count, "the slots of a chunk that are taken are counted");
        used += taken * object_size(c);
        validate_objects(r, number);
        return true;
    });
    for (std::uint32_t i = 0; i < r.type_count; ++i) {
        const type_record& t = r.types[r.used_types[i]];
        CAIRN_ASSERT((t.free_bits &
                      ~(t.free_bits == 0 ? 0 : r.live[name_of(t.word_begin) / word_span])) == 0,
                     "a slot that make() may take counts as used");
        for (std::uint32_t k = t.first_with_room; k != no_chunk; k = r.chunks[k].next_with_room) {
            CAIRN_ASSERT(r.chunks[k].is_listed && r.chunks[k].type == &t,
                         "a chunk with room is in the list of its type");
        }
    }
    CAIRN_ASSERT(chunks == r.end_chunk - r.first_chunk - r.free_chunk_count,
                 "a chunk is taken or free");
    CAIRN_ASSERT(used == r.used_size, "what is used is live or in an open word");
    std::size_t roots = 0;
    for (const root_link* root = r.roots.next; root != &r.roots; root = root->next) {
        ++roots;
        CAIRN_ASSERT(is_live(r, name_of(root->object)), "what a root refers to lives");
    }
    CAIRN_ASSERT(roots == r.root_count, "the roots are counted");
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
