// cairn/debug/tracked.hpp - live bytes by owner, their peak, and leaks.
//
//  tracked textures{heap, {.name = "textures", .list = true}};
//  void* p = textures.allocate(100);            // records this line
//  auto mips = textures.at("mips");             // an allocator that signs for its blocks:
//  arena scratch{64_KiB, mips};                 //   whatever comes through it is "mips", from here
//
//  class game { tracked<heap<>> talk{{.name = "talk"}}; ... };    // a member that owns its heap
//
//      textures: 2 blocks with 65636 bytes are live (at most 90112 bytes were live)
//          1 block with 65536 bytes: mips, from load.cpp:12 in void load()
//          1 block with 100 bytes: from load.cpp:11 in void load()
//
// That is report(), at any time; at the end of the program's part the same lines say "were never
// freed". What an arena or a container asks for through an allocator_ref is named, in checked
// builds, by the line that made the ref: that of the arena or container. at() does so in any build.
//
// Use it for: budgets, high-water marks, leaks, "which container asks so often?".
// Look elsewhere for: overruns and double frees (guarded.hpp); a profile by time.
//
// Invariant: stats().live_size is what was given out through this object and has not come back.
// Cost:      without the list: five additions and two compares around each call, no memory.
//            With it: a hash table beside the blocks, 96 to 192 bytes and about 35 ns for each one
//            (gcc 12, two shared cores, November 2026). A peak keeps its memory until trim().
// Threads:   none: wrap it in locked<>.
// Lifetimes: stays where it is (not movable): what at() gives, and refs, point at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include <cairn/core/inside/forwards.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/debug/inside/block_table.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Receives a report, one sentence at a time, without a newline.
using report_sink = void (*)(const char* sentence, void* context);

struct track_options {
    const char* name =
        "memory";       // the subject of every sentence; with the list, in the memory checkers'
                        // reports of checked builds, too
    bool list = false;  // remember each live block and who asked for it
    bool report_leaks = true;      // report live blocks at the end
    report_sink sink = nullptr;    // nullptr: stderr
    void* sink_context = nullptr;  // passed through to the sink
};

/// What one line of the program requested and has not freed.
struct track_site {
    const char* label;           // of tracked::at(); nullptr: none
    std::source_location where;  // line 0: only checked builds name it
    std::size_t count;           // blocks
    std::size_t size;            // bytes
};

/// How far a list of sites has got that is made in parts: tracked::some_sites().
struct track_sites_walk {
    std::size_t site_count = 0;  // sites that were met
    std::size_t next_slot = 0;   // of the list of live blocks
    std::size_t slot_count = 0;  // that the list had
};

namespace detail {

struct track_stats {
    std::size_t live_count = 0;  // blocks
    std::size_t live_size = 0;
    std::size_t peak_count = 0;  // the most there ever were
    std::size_t peak_size = 0;
    std::size_t allocated_count = 0;  // since the beginning
    std::size_t allocated_size = 0;
    std::size_t refused_count = 0;   // requests that got nullptr
    std::size_t refused_size = 0;    // the largest of them
    std::size_t unlisted_count = 0;  // blocks that the list had no memory for
};

/// The part of tracked<A> that does not know A.
class tracker {
public:
    explicit tracker(track_options options) noexcept;
    ~tracker();
    tracker(const tracker&) = delete;
    tracker& operator=(const tracker&) = delete;

    void given(void* p, std::size_t size, alignment align, const char* label,
               const std::source_location& where) noexcept {
        if (p == nullptr) [[unlikely]] {
            ++stats_.refused_count;
            stats_.refused_size = size > stats_.refused_size ? size : stats_.refused_size;
            return;
        }
        ++stats_.allocated_count;
        stats_.allocated_size += size;
        ++stats_.live_count;
        stats_.live_size += size;
        raise_peaks();
        if (options_.list) { list(p, size, align, label, where); }
    }

    void back(void* p, std::size_t size, alignment align,
              const std::source_location& where) noexcept {
        if (options_.list) {
            unlist(p, size, align, where);
        } else if (stats_.live_count == 0 || size > stats_.live_size) [[unlikely]] {
            too_much_came_back(p, size, where);
        }
        --stats_.live_count;
        stats_.live_size -= size;
    }

    void resized(void* p, std::size_t old_size, std::size_t new_size) noexcept {
        stats_.live_size = stats_.live_size - old_size + new_size;
        if (new_size > old_size) { stats_.allocated_size += new_size - old_size; }
        raise_peaks();
        if (options_.list) { relist(p, new_size); }
    }

    /// Everything given out since request number `serial` is gone.
    void forget_since(std::uint64_t serial, std::size_t live_count, std::size_t live_size) noexcept;

    /// As tracked::sites().
    std::size_t sites(slice<track_site> out, std::uint64_t since) const noexcept;
    /// As tracked::some_sites().
    bool some_sites(slice<track_site> out, track_sites_walk& walk, std::size_t slot_count,
                    std::uint64_t since) const noexcept;

    /// As tracked::trim().
    std::size_t trim() noexcept { return blocks_.shrink(); }

    /// What is live now; `at_end`: what was never freed.
    void report(bool at_end) const noexcept;

    [[nodiscard]] std::uint64_t next_serial() const noexcept { return stats_.allocated_count; }
    [[nodiscard]] const track_stats& stats() const noexcept { return stats_; }
    [[nodiscard]] const track_options& options() const noexcept { return options_; }

private:
    void raise_peaks() noexcept {
        stats_.peak_count =
            stats_.live_count > stats_.peak_count ? stats_.live_count : stats_.peak_count;
        stats_.peak_size =
            stats_.live_size > stats_.peak_size ? stats_.live_size : stats_.peak_size;
    }
    void list(void* p, std::size_t size, alignment align, const char* label,
              const std::source_location& where) noexcept;
    void unlist(void* p, std::size_t size, alignment align,
                const std::source_location& where) noexcept;
    void relist(void* p, std::size_t size) noexcept;
    [[noreturn]] void too_much_came_back(void* p, std::size_t size,
                                         const std::source_location& where) noexcept;
    void say(const char* sentence) const noexcept;
    static address_place place_of(const void* object, const void* address) noexcept;

    track_options options_;
    track_stats stats_;
    block_table blocks_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] allocator_watch watch_;
};

}  // namespace detail

/// Owns an A (`tracked<pool>{track_options{...}, args...}`) or refers to one
/// (`tracked{a, {.name = "textures"}}` is `tracked<A&>`).
template <byte_allocator A>
class tracked : public detail::forwards<A> {
    using base = detail::forwards<A>;
    using base::inner_;
    using inner_type = std::remove_reference_t<A>;

public:
    using options = track_options;
    using stats_type = detail::track_stats;

    tracked()  // it needs its allocator: tracked{a}
        requires(!std::default_initializable<A>)
    = delete;
    /// An A as constructed by default; `tracked t;` tracks memory of the C library.
    tracked()
        requires std::default_initializable<A>
        : tracked{options{}} {}
    /// The options stand first here: the last ones are those of the A.
    template <class... Args>
        requires std::constructible_from<A, Args...>
    explicit tracked(options how, Args&&... args)
        : base(static_cast<Args&&>(args)...), tracker_{how} {}

    explicit tracked(std::type_identity_t<A>& allocator CAIRN_LIFETIMEBOUND,
                     options how = {}) noexcept
        requires std::is_reference_v<A>
        : base(allocator), tracker_{how} {}
    explicit tracked(allocator_ref allocator, options how = {}) noexcept
        requires std::same_as<A, allocator_ref>
        : base(allocator), tracker_{how} {}

    tracked(std::type_identity_t<A>&, const char*) = delete;  // {.name = "textures"}
    template <std::same_as<inner_type> I>     // a template: {} stands for options, and for no A
    explicit tracked(const I&, options = {})  // tracked<A>{{}, args of the A}; tracked{a}
        requires(!std::same_as<A, allocator_ref>)
    = delete;
    tracked(const tracked&) = delete;  // a wrapper of a wrapper: tracked<decltype(inner)&>{inner}
    tracked& operator=(const tracked&) = delete;

    /// As the allocator inside. `where` is the caller's line, unless the call names another.
    [[nodiscard]] void* allocate(
        std::size_t size, alignment align = default_alignment,
        const std::source_location& where = std::source_location::current()) noexcept {
        return allocate_as(nullptr, where, size, align);
    }

    /// With the list: names a block that is not live, or freed with a wrong size or alignment.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    const std::source_location& where = std::source_location::current()) noexcept {
        if (p == nullptr) { return; }
        tracker_.back(p, size, align, where);
        detail::deallocate_for(inner_, p, size, align, call_site{where});
    }

    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept
        requires resizes_in_place<A>
    {
        if (!inner_.try_resize(p, old_size, new_size, align)) { return false; }
        tracker_.resized(p, old_size, new_size);
        return true;
    }

    void reset() noexcept
        requires resettable<A>
    {
        inner_.reset();
        tracker_.forget_since(0, 0, 0);
    }

    [[nodiscard]] auto mark() noexcept
        requires markable<A>
    {
        return marker<decltype(inner_.mark())>{inner_.mark(), tracker_.next_serial(),
                                               stats().live_count, stats().live_size};
    }

    /// Requires: what was live at the mark is still live (as an arena requires it).
    template <class M>
    void rewind(const M& to) noexcept
        requires markable<A>
    {
        inner_.rewind(to.inner);
        tracker_.forget_since(to.serial, to.live_count, to.live_size);
    }

    /// A byte_allocator that does the same and signs for its blocks with the line that made it (and
    /// a label, which must live as long as the blocks). Give it to what asks from deep inside: an
    /// arena, a container, an allocator_ref. Must outlive them, as any allocator.
    class call_site_allocator {
    public:
        [[nodiscard]] void* allocate(std::size_t size,
                                     alignment align = default_alignment) noexcept {
            return owner_->allocate_as(label_, where_, size, align);
        }
        void deallocate(void* p, std::size_t size, alignment align = default_alignment) noexcept {
            owner_->deallocate(p, size, align, where_);
        }
        [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                      alignment align = default_alignment) noexcept
            requires resizes_in_place<A>
        {
            return owner_->try_resize(p, old_size, new_size, align);
        }
        [[nodiscard]] std::size_t good_size(std::size_t size,
                                            alignment align = default_alignment) const noexcept
            requires has_good_size<A>
        {
            return owner_->good_size(size, align);
        }
        [[nodiscard]] bool owns(const void* p) const noexcept
            requires has_owns<A>
        {
            return owner_->owns(p);
        }

    private:
        friend class tracked;
        call_site_allocator(tracked* owner, const char* label,
                            const std::source_location& where) noexcept
            : owner_{owner}, label_{label}, where_{where} {}
        tracked* owner_;
        const char* label_;
        std::source_location where_;
    };

    [[nodiscard]] call_site_allocator at(
        const char* label = nullptr,
        const std::source_location& where = std::source_location::current()) noexcept {
        return call_site_allocator{this, label, where};
    }

    /// Gives back the part of the list that the live blocks do not need. The allocator inside keeps
    /// its memory: inner().trim(), where it has that.
    /// Cost: O(blocks at the peak). Returns: the bytes that went back to system_memory(); 0 without
    /// the list, and when there is no memory for the smaller one.
    std::size_t trim() noexcept { return tracker_.trim(); }

    [[nodiscard]] const stats_type& stats() const noexcept { return tracker_.stats(); }
    /// Names that budget has, too: code that asks for them takes either wrapper.
    [[nodiscard]] std::size_t live_size() const noexcept { return stats().live_size; }
    [[nodiscard]] std::size_t peak_size() const noexcept { return stats().peak_size; }

    /// Reports live blocks to the sink; with the list by caller, largest first. Silent when
    /// there are none.
    void report() const noexcept { tracker_.report(false); }

    /// Fills `out` with the sites of live blocks, largest first. `since`: blocks of the first so
    /// many requests do not count (stats().allocated_count at a mark). Further sites are left out.
    /// Returns: how many sites; none without the list. Cost: O(blocks * sites).
    std::size_t sites(slice<track_site> out, std::uint64_t since = 0) const noexcept {
        return tracker_.sites(out, since);
    }
    /// A part of sites(): adds the blocks in the next `slot_count` slots of the list to `out`,
    /// which begins with a new `walk`. A block that comes or goes between two parts may be left
    /// out, and one beside it may count twice; a list that grows begins anew.
    /// Returns: false when `out` is whole and in order. Cost: O(slot_count * sites).
    bool some_sites(slice<track_site> out, track_sites_walk& walk, std::size_t slot_count,
                    std::uint64_t since = 0) const noexcept {
        return tracker_.some_sites(out, walk, slot_count, since);
    }

private:
    template <class M>
    struct marker {
        M inner;
        std::uint64_t serial;
        std::size_t live_count;
        std::size_t live_size;
    };

    void* allocate_as(const char* label, const std::source_location& where, std::size_t size,
                      alignment align) noexcept {
        void* const p = inner_.allocate(size, align);
        tracker_.given(p, size, align, label, where);
        return p;
    }

    detail::tracker tracker_;  // ends first: it reports while the memory still exists
};

template <class A>
tracked(A&) -> tracked<A&>;
template <class A>
tracked(A&, track_options) -> tracked<A&>;
tracked() -> tracked<system_allocator>;
tracked(allocator_ref) -> tracked<allocator_ref>;
tracked(allocator_ref, track_options) -> tracked<allocator_ref>;
template <class A>
tracked(A&, const char*) -> tracked<A&>;

}}  // namespace cairn::CAIRN_FLAVOUR
