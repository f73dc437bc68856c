// cairn/containers/string_pool.hpp - one copy of each string: equal strings are equal pointers.
//
//    table, a power of two              text, in blocks from the upstream, each string ended by a 0
//    +------------------------+         +----------+--------------+-----+--------
//    | -                      |         | player\0 | main_theme\0 | x\0 | ...
//    | hash 0x9c.. size 10 ---+-------------------- ^
//    | hash 0x1f.. size 6  ---+---------^
//    | -                      |
//    +------------------------+
//
//   cairn::string_pool names;
//   const std::string_view a = names.intern("player");
//   const std::string_view b = names.intern(line.substr(4, 6));       // "player" once more
//   a.data() == b.data();                                             // one comparison of pointers
//   std::puts(a.data());                                              // ended by a 0
//
// Use it for: names of assets, bones, events, shader variables; identifiers of a compiler. Strings
//             that are compared and kept often, and made seldom.
// Look elsewhere for: strings that change (std::string on std_allocator); text of one frame (an
// arena).
//
// Lifetimes: a string stays where it is until clear() or the end of the pool; growth moves the
//            table only. Strings are not removed one by one.
// Cost:      intern and find: a pass over the string for its hash, about 1.5 entries of 16 bytes
//            looked at, and one comparison of the text. A new string is copied. When the table
//            grows (at 7/8 full, by doubling) all its entries are placed anew: O(count), without
//            looking at the text; after reserve() never. 18 to 37 bytes a string beside its text.
// Hash:      not keyed: text chosen by an attacker can make it slow.
// Threads:   one at a time; find() from many while no thread interns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/os/system_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class string_pool {
public:
    /// Takes nothing before the first string. Table and text come from `upstream`.
    string_pool() noexcept : string_pool{system_memory()} {}
    explicit string_pool(allocator_ref upstream) noexcept
        : upstream_{upstream}, text_{4_KiB, upstream} {}
    explicit string_pool(std::size_t, ...) = delete;  // room for names: reserve(1000)
    ~string_pool() { release(); }
    /// `from` is empty, with an arena of its own, and may be used again: so it is not defaulted.
    string_pool(string_pool&& from) noexcept;
    string_pool& operator=(string_pool&& from) noexcept;

    /// The pool's copy of `text`, which is made when it is new. It is ended by a 0 behind its size;
    /// `text` may hold zeros itself and may lie anywhere, in this pool too.
    /// Returns: a view whose data() is nullptr when the upstream is exhausted, or for more than
    ///          2^32 - 1 bytes; nothing has changed then.
    [[nodiscard]] std::string_view intern(std::string_view text) noexcept;

    /// The pool's copy of `text`. Returns: a view whose data() is nullptr when there is none.
    [[nodiscard]] std::string_view find(std::string_view text) const noexcept;

    /// Is `text` a string of this pool, the very bytes that intern() returned?
    [[nodiscard]] bool contains(std::string_view text) const noexcept {
        return text.data() != nullptr && find(text).data() == text.data();
    }
    // Equal text that lies elsewhere is no string of the pool; an array or a std::string never is.
    template <class Text>
        requires(std::is_array_v<Text> ||
                 requires(const Text& text) {
                     typename Text::allocator_type;
                     text.c_str();
                 })
    bool contains(const Text&) const = delete;  // find(text).data() != nullptr

    /// Room in the table for `count` strings in all: interning up to there never grows it.
    /// Returns: false when exhausted; nothing has changed then.
    [[nodiscard]] bool reserve(std::size_t count) noexcept;

    /// Forgets all strings; their memory is kept for the next ones. O(the table).
    void clear() noexcept;

    /// Gives back what a peak took: spare blocks of text, and the part of the table that its
    /// strings do not need. A block with a string in it stays whole, and clear() has made one block
    /// of all texts: after clear(), call this before the next string comes.
    /// Returns: false when the upstream has no smaller table; the table is as it was then.
    /// Cost: as a growth of the table.
    [[nodiscard]] bool shrink_to_fit() noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return count_; }  // strings
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return upstream_; }

    /// Calls f(std::string_view) for each string, in no order. `f` may intern a string where the
    /// table has room for it (reserve()): it is visited or not. Growth, clear() and moving the
    /// pool stop a checked build.
    template <class F>
    void for_each(F&& f) const {
        [[maybe_unused]] const auto loop = mark_.visit(this, "string_pool");
        for (std::size_t i = 0; i != room_; ++i) {
            if (entries_[i].text != nullptr) {
                f(std::string_view{entries_[i].text, entries_[i].size});
            }
        }
    }

    /// Checks all entries against the text. Cost: O(all text).
    void validate() const noexcept;

private:
    struct entry {
        const char* text;    // nullptr: free
        std::uint32_t size;  // bytes, without the 0
        std::uint32_t hash;  // its low bits say where the search begins
    };
    static_assert(sizeof(entry) == 16);

    [[nodiscard]] static std::uint32_t hash_of(std::string_view text) noexcept;
    /// The entry of `text`, or the free one where it belongs. Requires: a free one is there.
    [[nodiscard]] entry* locate(std::string_view text, std::uint32_t hash) const noexcept;
    /// Bytes for a text, packed without gaps. Returns: nullptr when exhausted.
    [[nodiscard]] char* take_text(std::size_t size) noexcept;
    [[nodiscard]] bool move_to(std::size_t room) noexcept;  // entries, a power of two
    void release() noexcept;
    void free_table(entry* table, std::size_t room) noexcept;

    entry* entries_ = nullptr;
    std::size_t room_ = 0;   // entries, a power of two, or none
    std::size_t count_ = 0;  // entries in use, below room_
    allocator_ref upstream_;
    growing_arena text_;
    char* free_text_ = nullptr;       // in a piece of text_, where the next short text goes
    std::size_t free_text_size_ = 0;  // bytes
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::callback_mark mark_;
};

}}  // namespace cairn::CAIRN_FLAVOUR
