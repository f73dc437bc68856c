// Cold half of cairn/containers/string_pool.hpp: the table, and where texts are copied to.
//
// Open addressing with linear probing: a string is at the first entry from hash % room on that has
// it, and no free entry lies between. Strings are never removed one by one, so no entry becomes
// free behind another one, and a search ends at the first free entry. There always is one:
// count_ < room_.
#include <cairn/containers/string_pool.hpp>

#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

constexpr std::size_t room_min = 16;                           // entries
constexpr std::size_t room_max = std::size_t{1} << 32;         // the hash names no more places
constexpr std::size_t size_max = 0xffff'ffffu;                 // bytes of a string
constexpr std::size_t strings_in(std::size_t room) noexcept {  // before the table grows
    return room - room / 8;
}

}  // namespace

string_pool::string_pool(string_pool&& from) noexcept
    : upstream_{from.upstream_}, text_{std::move(from.text_)}, mark_{std::move(from.mark_)} {
    entries_ = std::exchange(from.entries_, nullptr);
    room_ = std::exchange(from.room_, 0);
    count_ = std::exchange(from.count_, 0);
    free_text_ = std::exchange(from.free_text_, nullptr);
    free_text_size_ = std::exchange(from.free_text_size_, 0);
    // With an arena of its own that holds nothing: `from` is empty, and may be used again.
    from.text_ = growing_arena{4_KiB, upstream_};
}

string_pool& string_pool::operator=(string_pool&& from) noexcept {
    return detail::begin_anew(*this, from);
}

/// All memory goes back. A deallocate() of the user finds a pool without a string meanwhile.
void string_pool::release() noexcept {
    [[maybe_unused]] const auto change = mark_.begin(this, "string_pool");
    count_ = 0;
    free_text_ = nullptr;
    free_text_size_ = 0;
    free_table(std::exchange(entries_, nullptr), std::exchange(room_, 0));
    text_.reset(reset_policy::release());
}
void string_pool::free_table(entry* table, std::size_t room) noexcept {
    if (table == nullptr) { return; }
    upstream_.deallocate(table, room * sizeof(entry), alignment::of<entry>());
}

/// Eight bytes at a time: a multiplication mixes them upwards, a shift brings the high bits down.
std::uint32_t string_pool::hash_of(std::string_view text) noexcept {
    // The size goes in first: texts that differ in zeros at their end have other hashes.
    constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15u;  // 2^64 / golden ratio
    std::uint64_t h = odd ^ text.size();
    const char* at = text.data();
    std::size_t left = text.size();
    const auto mix = [&h](std::uint64_t word) noexcept {
        h = (h ^ word) * odd;
        h ^= h >> 32;
    };
    for (; left >= 8; left -= 8, at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        mix(word);
    }
    // The rest of fewer than eight bytes, by loads of fixed sizes that may overlap: copying `left`
    // bytes is a call, and the load of the copy waits for narrower stores.
    if (left != 0) {
        const char* const end = at + left;
        std::uint64_t word = 0;
        if (text.size() >= 8) {
            std::memcpy(&word, end - 8, 8);
        } else if (text.size() >= 4) {
            std::uint32_t front = 0;
            std::uint32_t back = 0;
            std::memcpy(&front, at, 4);
            std::memcpy(&back, end - 4, 4);
            word = front | std::uint64_t{back} << 32;
        } else {  // 1 to 3 bytes: the first, the middle one, the last
            const auto byte = [at](std::size_t i) {
                return std::uint64_t{static_cast<unsigned char>(at[i])};
            };
            word = byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16;
        }
        mix(word);
    }
    // The high half: a product is mixed best at its top.
    h *= odd;
    return static_cast<std::uint32_t>(h >> 32);
}

string_pool::entry* string_pool::locate(std::string_view text, std::uint32_t hash) const noexcept {
    for (std::size_t i = hash & (room_ - 1);; i = (i + 1) & (room_ - 1)) {
        entry& e = entries_[i];
        if (e.text == nullptr) { return &e; }
        // Hash and size first: the text is read when both are equal, which is nearly always the one
        // that was asked for.
        if (e.hash == hash && e.size == text.size() &&
            (e.size == 0 || std::memcmp(e.text, text.data(), e.size) == 0)) {
            return &e;
        }
    }
}

std::string_view string_pool::find(std::string_view text) const noexcept {
    if (room_ == 0 || text.size() > size_max) { return {}; }
    const entry& e = *locate(text, hash_of(text));
    return e.text != nullptr ? std::string_view{e.text, e.size} : std::string_view{};
}

std::string_view string_pool::intern(std::string_view text) noexcept {
    if (text.size() > size_max) { return {}; }
    const std::uint32_t hash = hash_of(text);
    if (room_ != 0) {
        const entry& e = *locate(text, hash);
        if (e.text != nullptr) { return {e.text, e.size}; }
    }
    // Up to 7/8 full, and beyond that only where upstream has no larger table.
    // It is new. A refused growth costs speed first: one entry stays free to end every search.
    if (count_ + 1 > strings_in(room_) && !move_to(room_ == 0 ? room_min : 2 * room_) &&
        count_ + 1 >= room_) {
        return {};
    }
    // Table first, text second: a refusal of the text leaves a table that may be larger, and no
    // entry.
    char* const copy = take_text(text.size() + 1);
    if (copy == nullptr) { return {}; }
    if (!text.empty()) { std::memcpy(copy, text.data(), text.size()); }
    copy[text.size()] = '\0';
    // Looked for again: the table may have grown since.
    *locate({copy, text.size()}, hash) = {copy, static_cast<std::uint32_t>(text.size()), hash};
    ++count_;
    return {copy, text.size()};
}

/// An arena rounds each request up to 16 bytes, which is as much as a name has: short texts share a
/// piece.
char* string_pool::take_text(std::size_t size) noexcept {
    constexpr std::size_t piece_size = 1008;
    // piece   | player\0 | main_theme\0 | ... free_text_ -->         |
    // A text of more than a quarter of a piece gets bytes of its own, and the piece goes on. A
    // shorter one that no longer fits begins a new piece: less than a quarter of the old one is
    // lost. Without memory for a piece its own bytes are tried.
    if (size > free_text_size_) {
        // A visitor of for_each may intern, so loops are no reason to stop.
        mark_.expect_unchanged(this, "string_pool");
        [[maybe_unused]] const auto change = mark_.begin_object();
        if (size <= piece_size / 4) {
            if (void* const piece = text_.allocate(piece_size, alignment{1})) {
                free_text_ = static_cast<char*>(piece);
                free_text_size_ = piece_size;
            }
        }
        if (size > free_text_size_) {
            return static_cast<char*>(text_.allocate(size, alignment{1}));
        }
    }
    char* const text = free_text_;
    free_text_ += size;
    free_text_size_ -= size;
    return text;
}

bool string_pool::reserve(std::size_t count) noexcept {
    if (count > strings_in(room_max)) { return false; }
    std::size_t room = room_ == 0 ? room_min : room_;
    while (strings_in(room) < count) { room *= 2; }
    return room == room_ || move_to(room);
}

bool string_pool::move_to(std::size_t room) noexcept {
    if (room > room_max) { return false; }
    [[maybe_unused]] const auto change = mark_.begin(this, "string_pool");
    void* const memory = upstream_.allocate(room * sizeof(entry), alignment::of<entry>());
    if (memory == nullptr) { return false; }
    auto* const table = static_cast<entry*>(memory);
    for (std::size_t i = 0; i != room; ++i) {
        ::new (static_cast<void*>(table + i)) entry{nullptr, 0, 0};
    }
    // All strings differ, so none is compared: each goes to the first free entry from its hash on.
    // A refusal above has changed nothing. The old table goes last: a deallocate() of the user may
    // look strings up.
    for (std::size_t i = 0; i != room_; ++i) {
        if (entries_[i].text == nullptr) { continue; }
        std::size_t to = entries_[i].hash & (room - 1);
        while (table[to].text != nullptr) { to = (to + 1) & (room - 1); }
        table[to] = entries_[i];
    }
    entry* const old = std::exchange(entries_, table);
    free_table(old, std::exchange(room_, room));
    return true;
}

void string_pool::clear() noexcept {
    [[maybe_unused]] const auto change = mark_.begin(this, "string_pool");
    // The entries before the text that they point to.
    for (std::size_t i = 0; i != room_; ++i) { entries_[i] = {nullptr, 0, 0}; }
    count_ = 0;
    free_text_ = nullptr;
    free_text_size_ = 0;
    text_.reset();
}

bool string_pool::shrink_to_fit() noexcept {
    if (count_ == 0) {
        release();
        return true;
    }
    {
        [[maybe_unused]] const auto change = mark_.begin(this, "string_pool");
        text_.trim();
    }
    std::size_t room = room_min;
    while (strings_in(room) < count_) { room *= 2; }
    return room >= room_ || move_to(room);
}

void string_pool::validate() const noexcept {
    std::size_t found = 0;
    for (std::size_t i = 0; i != room_; ++i) {
        const entry& e = entries_[i];
        if (e.text == nullptr) { continue; }
        ++found;
        const std::string_view text{e.text, e.size};
        CAIRN_ASSERT(e.hash == hash_of(text) && e.text[e.size] == '\0',
                     "an interned string is as it was made: nothing wrote into it",
                     {.kind = misuse_kind::corrupted, .object = this, .type = "string_pool"});
        CAIRN_ASSERT(locate(text, e.hash) == &e, "a string is interned once");
    }
    CAIRN_ASSERT(found == count_, "the entries in use are counted");
    CAIRN_ASSERT(room_ == 0 || count_ < room_, "a search ends at a free entry");
    text_.validate();
}

}}  // namespace cairn::CAIRN_FLAVOUR
