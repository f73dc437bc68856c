// cairn/storage/allocator_watch.hpp - what checked builds store of one allocator: its name, and
// whether it was moved from or has ended.
//
//      pool enemies{64, system_memory(), {.name = "enemies"}};
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

struct address_place;
struct allocator_type;  // both in inside/address_place.hpp

#if CAIRN_ASSERTS

class allocator_watch {
public:
    allocator_watch() noexcept = default;

    /// The name goes along; `from` is moved from until something is assigned to it.
    allocator_watch(allocator_watch&& from) noexcept { take(from); }
    allocator_watch& operator=(allocator_watch&& from) noexcept {
        if (this != &from) {
            forget_name();
            take(from);
        }
        return *this;
    }
    ~allocator_watch() { end(); }

    /// Its allocator ends now. What follows is a mistake: a call of its upstream, which comes back,
    /// or of a static object that ends later. The mark stays in the memory of the object, as far as
    /// nothing else is there.
    [[CAIRN_NOINLINE]] void end() noexcept;
    void expect_not_ended(const void* object, const char* type) const noexcept;

    /// Lists `object`, of which this is a member, as `name`; nullptr: takes it off the list.
    void set_name(const char* name, const void* object, const allocator_type& type) noexcept;
    [[nodiscard]] const char* name() const noexcept { return name_; }
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
    bool ended_ = false;
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
    void expect_not_moved_from(const void*, const char*) const noexcept {}
    void end() noexcept {}
    void expect_not_ended(const void*, const char*) const noexcept {}
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
