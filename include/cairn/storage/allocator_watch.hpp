// cairn/storage/allocator_watch.hpp - what checked builds store of one allocator: its name, and
// whether it was moved from.
//
//      pool enemies{64, default_alignment, system_memory(), {.name = "enemies"}};
//      report:  "... of pool 'enemies' at 0x7ffe..."
//
// A name is the user's string, which is not copied. Named allocators stand in one list for the
// process (of the copy of cairn that made them): describe_address() and the memory checkers'
// reports look there.
//
// Without asserts the class is empty, and every call vanishes.
#pragma once

#include <cstddef>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// Where an address lies in an allocator, for a report.
struct address_place {
    bool inside = false;          // of memory that the allocator manages
    const char* unit = nullptr;   // "slot"; nullptr: the memory has no units
    std::size_t index = 0;        // of the unit
    std::size_t offset = 0;       // bytes from the unit's, or the memory's, begin
    bool in_front = false;        // the offset counts downwards: a fence
    std::size_t size = 0;         // bytes of the unit or the memory
    const char* state = nullptr;  // "live", "freed", ...
    const char* by = nullptr;     // "allocated by", "freed by"; nullptr: not known
    std::source_location who{};   // of `by`
};

/// Who called which allocator: what a check inside it says in its report. Vanishes without asserts.
struct watched_call {
    const void* object;
    const char* type;
    const char* name;
    call_site from;

    /// Of a block of `size` bytes, `offset` bytes from the begin of the allocator's memory. Out of
    /// line: the callers are inlined, and this is not for speed.
    [[nodiscard]] evidence about(misuse_kind kind, std::size_t size,
                                 std::size_t offset) const noexcept;
    [[nodiscard]] evidence about(misuse_kind kind) const noexcept;
};

/// The reports of a type of allocator about its objects.
struct allocator_type {
    const char* type;  // "pool"
    address_place (*place_of)(const void* object, const void* address) noexcept;
};

#if CAIRN_ASSERTS

class allocator_watch {
public:
    allocator_watch() noexcept = default;
    allocator_watch(const allocator_watch&) = delete;
    allocator_watch& operator=(const allocator_watch&) = delete;

    /// The name goes along; `from` is moved from until something is assigned to it.
    allocator_watch(allocator_watch&& from) noexcept { take(from); }
    allocator_watch& operator=(allocator_watch&& from) noexcept {
        if (this != &from) {
            forget_name();
            take(from);
        }
        return *this;
    }
    ~allocator_watch() { forget_name(); }

    /// Lists `object`, of which this is a member, as `name`; nullptr: takes it off the list.
    void set_name(const char* name, const void* object, const allocator_type& type) noexcept;
    [[nodiscard]] const char* name() const noexcept { return name_; }
    [[nodiscard]] bool moved_from() const noexcept { return moved_from_; }
    /// Stops the program when `object`, an arena, was moved from and not assigned to since.
    void expect_not_moved_from(const void* object, const char* type) const noexcept;

    /// Valgrind calls these bytes by the name from now on, until the returned number is
    /// forgotten.
    [[nodiscard]] unsigned describe(const void* address, std::size_t size) const noexcept;
    /// The same for an allocator of one region, whose number is kept here: it goes with the name.
    void describe_region(const void* address, std::size_t size) noexcept;
    void forget_region() noexcept;

private:
    friend struct watch_list;

    void take(allocator_watch& from) noexcept;
    void forget_name() noexcept;

    bool moved_from_ = false;
    const char* name_ = nullptr;
    const allocator_type* type_ = nullptr;
    std::ptrdiff_t object_offset_ = 0;  // from this to the allocator
    allocator_watch* next_ = nullptr;   // in the list of named ones
    allocator_watch* previous_ = nullptr;
    unsigned region_ = 0;  // of describe_region()
};

#else

class allocator_watch {
public:
    void set_name(const char*, const void*, const allocator_type&) noexcept {}
    [[nodiscard]] const char* name() const noexcept { return nullptr; }
    [[nodiscard]] bool moved_from() const noexcept { return false; }
    void expect_not_moved_from(const void*, const char*) const noexcept {}
    [[nodiscard]] unsigned describe(const void*, std::size_t) const noexcept { return 0; }
    void describe_region(const void*, std::size_t) noexcept {}
    void forget_region() noexcept {}
};

#endif

}  // namespace detail

/// Writes where `address` lies, when it lies in a named allocator: "0x55d0 lies 8 bytes into slot
/// 12 of pool 'enemies' (64 bytes, freed)"; ended by 0, cut off after `size` bytes. Good in a
/// debugger, too.
/// Returns: false when no named allocator has it, and always without asserts.
/// Threads: any; no other thread may be changing the allocator that has it.
bool describe_address(const void* address, char* text, std::size_t size) noexcept;

}}  // namespace cairn::CAIRN_FLAVOUR
