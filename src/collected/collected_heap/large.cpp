// Cold half of cairn/collected/collected_heap.hpp: objects above 8 KiB, which have chunks of their
// own, and the buffers of ref_array, which are objects of a type for each power of two.
//
//      record    run 3 | behind_first 1 | behind_first 2 |
//                +---------------+---------------+---------------+
//                | object        | ...           | ...      .....|
//                +---------------+---------------+---------------+
#include <cstring>

#include "sharing.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

std::uint32_t array_class(std::size_t size) noexcept {
    return size <= slot_size_min ? 0 : static_cast<std::uint32_t>(std::bit_width(size - 1)) - 4;
}

constexpr collected_type array_type(std::uint32_t size) noexcept {
    collected_type t;
    t.size = size;
    t.way = tracing::all_words;
    t.is_movable = true;
    t.name = "ref_array";
    t.name_length = 9;
    return t;
}
constexpr collected_type array_types[] = {
    array_type(16),   array_type(32),   array_type(64),   array_type(128),
    array_type(256),  array_type(512),  array_type(1024), array_type(2048),
    array_type(4096), array_type(8192), array_type(16384)};  // the last one: whole chunks

}  // namespace

void* take_large(collected_region& r, const collected_type& type, std::size_t size) noexcept {
    type_record* const t = find_record(r, type);
    if (t == nullptr || size > capacity_of(r) || r.is_ending) { return nullptr; }
    const auto run = static_cast<std::uint32_t>((size + chunk_size - 1) / chunk_size);
    std::uint32_t number;
    while ((number = take_chunks(r, run)) == no_chunk) {
        if (!help_make(r)) { return nullptr; }
    }
    prepare_chunk(r, number, *t, run);
    chunk_record& c = r.chunks[number];
    c.taken_count = 1;
    live_bits(r, number, 0) = 1;
    if (births_are_marked(r, c)) { mark_births(r, mark_word(r, number, 0), 1); }
    count_as_used(r, object_size(c));
    std::byte* const object = chunk_begin(r, number);
    unpoison(object, size);
    return object;
}

void* take_array(collected_region& r, std::uint32_t& count) noexcept {
    const std::size_t wanted = std::size_t{count} * sizeof(object_name);
    void* array;
    std::size_t size;
    if (wanted > slot_size_max) {
        size = (wanted + chunk_size - 1) / chunk_size * chunk_size;
        array = take_large(r, array_types[10], size);
    } else {
        const collected_type& type = array_types[array_class(wanted)];
        size = type.size;
        type_record* const t = find_record(r, type);
        if (t == nullptr) { return nullptr; }
        array = take_from_next_word(r, *t);
    }
    if (array == nullptr) { return nullptr; }
    std::memset(array, 0, size);
    count = static_cast<std::uint32_t>(size / sizeof(object_name));
    return array;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
