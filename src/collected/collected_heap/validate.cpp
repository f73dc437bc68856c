// Cold half of cairn/collected/collected_heap.hpp: its invariants, one by one.
#include "engine.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

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
