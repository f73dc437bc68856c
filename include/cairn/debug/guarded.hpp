// cairn/debug/guarded.hpp - names writes outside of blocks and after frees.
//
//      |<------------------- one block of the allocator inside -------------------->|
//      +---------------+---------------------------------------+--------------------+
//      | fence  FD..FD |  size bytes: CD.. when fresh,         | fence  FD........FD|
//      | >= 16 bytes   |              DD.. when freed          | 16 bytes           |
//      +---------------+---------------------------------------+--------------------+
//                      ^ what allocate() returns
//
//      with a page guard: the block ends where a page ends, and the next page faults
//      +---------------+---------------------------------------+--------------------+
//      | fence  FD..FD |  size bytes                           |####################|
//      +---------------+---------------------------------------+--------------------+
//                                                              ^ first byte too far: a fault, there
//
//      cairn::guarded memory{heap, {.quarantine_count = 100}};
//      class game { cairn::guarded<cairn::heap<>> talk{{.quarantine_count = 100}}; ... };
//
// Checked when a block comes back, when it leaves the quarantine, and in validate(); in any build,
// asserts or not. Named: a write in front of a block or behind it, a write after it was freed (with
// a quarantine), a double free, a pointer from elsewhere, a wrong size, a wrong alignment. Under
// AddressSanitizer fences and quarantine are poisoned too, so reads are found, at once.
//
// Use it for: finding who breaks memory. Look elsewhere for: leaks (tracked.hpp).
// Not around a pool: each block gets larger than its slot. Guard what the pool gives out by making
//   its slots footprint(size, align) bytes, or guard the pool's users with AddressSanitizer.
//
// Invariant: every byte of a fence holds its pattern.
// Cost:      each block costs 32 bytes more, aligned to 16, and a record (96 to 192 bytes); fills
//            and checks touch each of its bytes: about 140 ns for a pair of calls with 64 bytes. A
//            page guard: two pages more, two system calls and their faults, about 13 microseconds
//            (gcc 12, two shared cores, November 2026).
// Threads:   none: wrap it in locked<>.
// Lifetimes: stays where it is (not movable).
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include <cairn/core/inside/forwards.hpp>
#include <cairn/debug/inside/block_table.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct guard_options {
    /// Freed blocks are kept back, this many, so that a late write finds its pattern; the oldest
    /// goes back first. 0: freed blocks go back at once.
    std::size_t quarantine_count = 0;
    /// Every n-th block gets a page that faults behind its end; 0: none, 1: all. Linux allows a
    /// process about 32,000 of them at a time.
    std::size_t page_guard_every = 0;
    /// In reports, with who allocated or freed the block: of broken promises in every build, of
    /// AddressSanitizer and Valgrind in checked ones. Not copied. nullptr: none.
    const char* name = nullptr;
};

namespace detail {

/// The part of guarded<A> that does not know A: the fences and their bytes.
class guard {
public:
    static constexpr std::size_t fence_size = 16;  // smallest fence; also the smallest alignment

    /// What the allocator inside is asked for, and where in it the user's bytes begin.
    struct footprint {
        std::size_t size;
        alignment align;
        std::size_t front;  // bytes before the user's
    };

    guard(guard_options options, allocator_ref inner) noexcept;
    ~guard();
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    [[nodiscard]] static footprint footprint_of(std::size_t size, alignment align,
                                                bool page_guarded) noexcept;

    [[nodiscard]] void* allocate(std::size_t size, alignment align,
                                 const std::source_location& where) noexcept;
    void deallocate(void* p, std::size_t size, alignment align,
                    const std::source_location& where) noexcept;
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align, const std::source_location& where) noexcept;

    /// Checks and forgets what was given out since request number `serial`; the allocator inside is
    /// about to forget it too.
    void forget_since(std::uint64_t serial) noexcept;
    void validate() const noexcept;
    /// As guarded::trim().
    std::size_t trim() noexcept { return blocks_.shrink(); }

    [[nodiscard]] std::uint64_t next_serial() const noexcept { return next_serial_; }
    [[nodiscard]] std::size_t live_count() const noexcept { return blocks_.count(); }
    /// Freed blocks that are kept back, to be watched.
    [[nodiscard]] std::size_t quarantined_count() const noexcept { return quarantined_count_; }

private:
    static constexpr std::size_t recent_max = 64;

    [[nodiscard]] block_record* live_block(void* p, std::size_t size, alignment align,
                                           const std::source_location& where) noexcept;
    void take_down(const block_record& record) noexcept;
    void give_back(const block_record& record) noexcept;
    void describe_freed(block_record& record) const noexcept;
    void leave_quarantine(std::size_t index) noexcept;
    static address_place place_of(const void* object, const void* address) noexcept;

    allocator_ref inner_;
    guard_options options_;
    block_table blocks_;
    std::uint64_t next_serial_ = 0;

    block_record* quarantine_ =
        nullptr;  // ring of options_.quarantine_count; data nullptr: dropped
    std::size_t quarantine_oldest_ = 0;
    std::size_t quarantined_count_ = 0;

    block_record recent_[recent_max];  // the last blocks freed, to tell a double free from a stray
    std::size_t recent_next_ = 0;
    [[CAIRN_NO_UNIQUE_ADDRESS]] allocator_watch watch_;
};

}  // namespace detail

/// Owns an A (`guarded<arena>{guard_options{}, 1_MiB}`) or refers to one
/// (`guarded{a, {.page_guard_every = 1}}` is `guarded<A&>`).
///
/// There is no good_size(): every request is exactly as large as it was asked for, so that the
/// first byte too far is one too far.
template <byte_allocator A>
class guarded : detail::forwards<A> {
    friend struct detail::wrapped_in;
    using base = detail::forwards<A>;
    using base::inner_;
    using inner_type = std::remove_reference_t<A>;

public:
    using options = guard_options;

    guarded()  // it needs its allocator: guarded{a}
        requires(!std::default_initializable<A>)
    = delete;
    /// An A as constructed by default; `guarded g;` guards memory of the C library.
    guarded()
        requires std::default_initializable<A>
        : guarded{options{}} {}
    /// The options stand first here: the last ones are those of the A.
    template <class... Args>
        requires std::constructible_from<A, Args...>
    explicit guarded(options how, Args&&... args)
        : base(static_cast<Args&&>(args)...), guard_{how, inner_} {}

    explicit guarded(std::type_identity_t<A>& allocator CAIRN_LIFETIMEBOUND,
                     options how = {}) noexcept
        requires std::is_reference_v<A>
        : base(allocator), guard_{how, inner_} {}
    explicit guarded(allocator_ref allocator, options how = {}) noexcept
        requires std::same_as<A, allocator_ref>
        : base(allocator), guard_{how, inner_} {}

    guarded(std::type_identity_t<A>&, const char*) = delete;  // a guarded has no name: tracked has
    template <std::same_as<inner_type> I>     // a template: {} stands for options, and for no A
    explicit guarded(const I&, options = {})  // guarded<A>{{}, args of the A}; guarded{a}
        requires(!std::same_as<A, allocator_ref>)
    = delete;
    guarded(const guarded&) = delete;  // a wrapper of a wrapper: guarded<decltype(inner)&>{inner}
    guarded& operator=(const guarded&) = delete;

    using base::inner;
    using base::owns;
    using base::refund;
    using base::try_charge;

    /// `size` bytes between two fences, filled with CD: fresh memory is not taken for zeros.
    /// Returns: nullptr when the allocator inside is exhausted, or the record found no memory.
    [[nodiscard]] void* allocate(
        std::size_t size, alignment align = default_alignment,
        const std::source_location& where = std::source_location::current()) noexcept {
        return guard_.allocate(size, align, where);
    }

    /// Reports a damaged block and aborts; else fills it with DD and gives it back, at
    /// once or through the quarantine.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    const std::source_location& where = std::source_location::current()) noexcept {
        guard_.deallocate(p, size, align, where);
    }

    /// Returns: false when the allocator inside cannot, and for every block with a page guard.
    [[nodiscard]] bool try_resize(
        void* p, std::size_t old_size, std::size_t new_size, alignment align = default_alignment,
        const std::source_location& where = std::source_location::current()) noexcept
        requires resizes_in_place<A>
    {
        return guard_.try_resize(p, old_size, new_size, align, where);
    }

    /// Checks every fence first.
    void reset() noexcept
        requires resettable<A>
    {
        guard_.forget_since(0);
        inner_.reset();
    }

    [[nodiscard]] auto mark() noexcept
        requires markable<A>
    {
        return marker<decltype(inner_.mark())>{inner_.mark(), guard_.next_serial()};
    }

    /// Checks every fence of what goes.
    template <class M>
    void rewind(const M& to) noexcept
        requires markable<A>
    {
        guard_.forget_since(to.serial);
        inner_.rewind(to.inner);
    }

    /// Checks the fences of every live block and the pattern of every quarantined one.
    void validate() const noexcept {
        guard_.validate();
        if constexpr (validatable<A>) { inner_.validate(); }
    }

    /// Gives back the part of the table of records that the live blocks do not need. The allocator
    /// inside keeps its memory: inner().trim(), where it has that.
    /// Cost: O(blocks at the peak). Returns: the bytes that went back to system_memory(); 0 when
    /// there is no memory for the smaller table.
    std::size_t trim() noexcept { return guard_.trim(); }

    /// Bytes that a request really asks of the allocator inside.
    [[nodiscard]] static std::size_t footprint(std::size_t size, alignment align) noexcept {
        return detail::guard::footprint_of(size, align, false).size;
    }

    [[nodiscard]] std::size_t live_count() const noexcept { return guard_.live_count(); }
    /// Freed blocks that are kept back, to be watched.
    [[nodiscard]] std::size_t quarantined_count() const noexcept {
        return guard_.quarantined_count();
    }

private:
    template <class M>
    struct marker {
        M inner;
        std::uint64_t serial;
    };

    detail::guard guard_;  // refers to inner_; ends first and empties the quarantine into it
};

template <class A>
guarded(A&) -> guarded<A&>;
template <class A>
guarded(A&, guard_options) -> guarded<A&>;
guarded() -> guarded<system_allocator>;
guarded(allocator_ref) -> guarded<allocator_ref>;
guarded(allocator_ref, guard_options) -> guarded<allocator_ref>;
template <class A>
guarded(A&, const char*) -> guarded<A&>;

}}  // namespace cairn::CAIRN_FLAVOUR
