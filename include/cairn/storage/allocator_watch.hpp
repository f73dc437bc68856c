// cairn/storage/allocator_watch.hpp - what checked builds know about one allocator: its name,
// the thread that is inside, and whether it was moved from.
//
//      thread A    enter ---- allocate ---- leave
//      thread B          enter: named, "one thread at a time uses an allocator"
//
// One word holds the thread that is inside a call. Two threads are named when they are inside at
// one time, whether they happen to collide on memory or not; threads that take turns under a lock,
// or hand the allocator over, are legal and are never named. All accesses are relaxed: they order
// nothing, so ThreadSanitizer sees the allocator's own races as it did before.
// (docs/decisions/0066-what-checks-promise.md)
//
// A name is the user's string, which is not copied. Named allocators stand in one list for the
// process (of the copy of cairn that made them): describe_address() and the memory checkers'
// reports look there.
//
// Without asserts the class is empty, and every call vanishes.
#pragma once

#include <cstddef>

#include <cairn/core/assert.hpp>
#include <cairn/os/inside/thread_word.hpp>

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

/// What a type of allocator tells about its objects.
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

    /// Valgrind calls these bytes by the name from now on, until it is told to forget the number
    /// returned.
    [[nodiscard]] unsigned describe(const void* address, std::size_t size) const noexcept;
    /// The same for an allocator of one region, whose number is kept here: it goes with the name.
    void describe_region(const void* address, std::size_t size) noexcept;
    void forget_region() noexcept;

    /// The word of the thread that is inside, or nullptr. For an operation that has its own way to
    /// do what `use` does.
    // Builtins: <atomic> would be four fifths of what an arena's header costs to include.
    [[nodiscard]] [[gnu::always_inline]] const void* inside() const noexcept {
        return __atomic_load_n(&inside_, __ATOMIC_RELAXED);
    }
    [[gnu::always_inline]] void set_inside(const void* thread) noexcept {
        __atomic_store_n(&inside_, thread, __ATOMIC_RELAXED);
    }

    /// From its birth to its end the calling thread is inside.
    class use {
    public:
        [[gnu::always_inline]] use(allocator_watch& watch, const void* object, const char* type,
                                   call_site from) noexcept
            : watch_{watch}, object_{object}, type_{type}, from_{from} {
            // Branches, not a word that is read and put back: the next call would wait for it.
            const void* const thread = this_thread_word();
            const void* const outer = watch.inside();
            if (outer == nullptr) [[likely]] {
                watch.set_inside(thread);
                return;
            }
            if (outer != thread) [[unlikely]] { two_threads(watch_, object_, type_, from_); }
            is_nested_ = true;
        }
        [[gnu::always_inline]] ~use() {
            if (watch_.inside() != this_thread_word()) [[unlikely]] {
                two_threads(watch_, object_, type_, from_);
            }
            if (!is_nested_) [[likely]] { watch_.set_inside(nullptr); }
        }
        use(const use&) = delete;
        use& operator=(const use&) = delete;

        /// Says so. Static: what it would say stays in registers until it is said.
        [[noreturn]] [[gnu::cold]] static void two_threads(const allocator_watch& watch,
                                                           const void* object, const char* type,
                                                           call_site from) noexcept;

    protected:
        allocator_watch& watch_;
        const void* object_;
        const char* type_;
        call_site from_;
        bool is_nested_ = false;  // this thread was inside already
    };

private:
    friend struct watch_list;

    void take(allocator_watch& from) noexcept;
    void forget_name() noexcept;

    const void* inside_ = nullptr;
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
    [[nodiscard]] unsigned describe(const void*, std::size_t) const noexcept { return 0; }
    void describe_region(const void*, std::size_t) noexcept {}
    void forget_region() noexcept {}
    struct use {
        use(allocator_watch&, const void*, const char*, call_site) noexcept {}
    };
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
