// cairn/collected/region/records.hpp - what a collected heap knows about types and chunks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class visitor;

namespace detail {

/// The lower half of an object's address; 0: of nothing.
using object_name = std::uint32_t;

inline constexpr std::size_t region_alignment = std::size_t{1} << 32;
inline constexpr std::size_t chunk_size = 16384;  // bytes
inline constexpr std::size_t slot_size_min = 16;
inline constexpr std::size_t slot_size_max =
    chunk_size / 2;  // larger ones have chunks of their own
inline constexpr std::size_t word_span =
    64 * slot_size_min;  // bytes that a word of bits stands for
inline constexpr std::size_t words_per_chunk = chunk_size / word_span;

/// How the references of a type's objects are found.
enum class tracing : unsigned char {
    nothing,    // it has none
    unlearned,  // at fixed places; the first object that is traced shows them
    places,     // at `places` of the record
    by_call,    // its trace() says
    all_words,  // an array of references
};

/// What is known about a type while compiling.
struct collected_type {
    std::uint32_t size = 0;  // of a slot in bytes: a multiple of 16 and of the alignment
    tracing way = tracing::nothing;
    bool is_movable = false;  // by its bytes
    void (*trace)(void* object, visitor& v) = nullptr;
    void (*destroy)(void* object) noexcept = nullptr;         // nullptr: nothing to do
    void (*before_collect)(void* object) noexcept = nullptr;  // nullptr: the type has none
    const char* name = "";
    std::uint32_t name_length = 0;
};

inline constexpr std::uint32_t no_chunk = 0xFFFF'FFFF;
inline constexpr std::size_t places_max = 14;

/// What a heap knows about a type. The first line is all that make() needs.
struct alignas(64) type_record {
    const collected_type* type = nullptr;      // nullptr: no type yet
    std::uint64_t free_bits = 0;               // slots of the open word that make() may take
    std::byte* word_begin = nullptr;           // what the open word's bit 0 stands for
    std::uint64_t starts = 0;                  // where slots begin, from one of them on
    std::uint32_t current = no_chunk;          // the chunk of the open word
    std::uint32_t next_word = 0;               // the word of `current` to be opened next
    std::uint32_t first_with_room = no_chunk;  // other chunks of the type with free slots, a list
    std::uint32_t last_with_room = no_chunk;
    tracing way = tracing::nothing;
    std::uint8_t place_count = 0;
    std::uint16_t places[places_max] = {};  // of references, in bytes from the object
    std::uint32_t chunk_count = 0;          // of large objects the first one each
    std::uint32_t chunks_behind = 0;        // the others
};
static_assert(sizeof(type_record) == 128);

/// Beside each chunk, with its words of `marks` and `live`.
struct alignas(64) chunk_record {
    type_record* type;
    std::uint32_t reciprocal;  // offset * reciprocal >> 32 is a slot's number; 0: one large object
    std::uint16_t slot_size;   // in bytes; 0: one large object
    tracing way;
    bool has_weak;        // something in it was referred to weakly: lives count
    std::uint32_t price;  // bytes of work for an object whose references are at `places`
    std::uint32_t slot_count;
    std::uint32_t taken_count;   // slots whose bit of `live` is set
    std::uint32_t run;           // chunks of the object: 1 but for large ones
    std::uint32_t behind_first;  // which of them this is; above 0 nothing else is told
    std::uint32_t next_with_room, previous_with_room;
    bool is_listed;         // in the list of chunks with room
    bool has_moved;         // while objects move only: some of it stand elsewhere
    bool receives;          // while objects move only: it was free before
    std::uint8_t swept_in;  // the sweep_stamp of the sweep that it has been through
};
static_assert(sizeof(chunk_record) == 64);

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
