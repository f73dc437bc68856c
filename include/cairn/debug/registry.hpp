// cairn/debug/registry.hpp - the memories of a program by name, and what each of them holds.
//
//      cairn::heap<> meshes;
//      cairn::registry::entry listed{"render/meshes", meshes};    // until `listed` ends
//
//      cairn::registry::publish();                                // once a frame, by this thread
//
//      cairn::memory_snapshot now;                                // on any thread
//      if (cairn::registry::read(now)) { now.write_json(&to_file, file); }
//
//      thread that owns `meshes`            registry              any thread
//        publish(): asks the allocator --> copy of the facts --> read(): copies of all facts
//
// In release builds, too. Nothing is counted for it: an allocator is asked for what it knows
// already. A peak is exact where the allocator keeps one (arenas, budget, tracked); elsewhere it is
// the largest published value, and `is_sampled` says so. Numbers of requests are known where
// tracked or budget stands in the chain.
//
// Use it for: a panel of a running game, a log of each level's memory, a trace beside the frames.
// Look elsewhere for: who requested a block (tracked.hpp).
//
// Cost:     entry: one block of memory, a lock. publish(): a lock, and stats() of each allocator
//           that it asks. read(): a lock, and a copy of 120 bytes an entry.
// Threads:  an entry belongs to the thread that made it: publish() of that thread asks the
//           allocator, so nothing is read while it changes. entry::any_thread: for an allocator
//           of any thread; every publish() asks it. read() and write: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/containers/packed_array.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What is known of one memory. A number that its allocator does not know is `unknown`.
struct memory_facts {
    static constexpr std::size_t unknown = static_cast<std::size_t>(-1);

    std::size_t live_size = unknown;        // bytes given out
    std::size_t capacity = unknown;         // bytes that it holds
    std::size_t limit_size = unknown;       // bytes that may be live: a budget
    std::size_t peak_size = unknown;        // the most bytes that were live
    std::size_t allocated_count = unknown;  // requests since the beginning
    std::size_t refused_count = unknown;    // requests that were refused
};

/// One name of a snapshot.
struct memory_node {
    static constexpr std::size_t name_size_max = 63;

    char name[name_size_max + 1];  // "render/meshes", ended by 0, cut off where it is longer
    memory_facts facts;
    bool is_sampled;       // the peak is the largest published value, not the exact one
    std::uint32_t source;  // index of the memory its blocks come from; no_source: not listed
    static constexpr std::uint32_t no_source = UINT32_MAX;
};

/// Every listed memory, as it was last published; sorted by name.
class memory_snapshot {
public:
    /// Receives a text in pieces, which are not ended by 0.
    using sink = void (*)(const char* text, std::size_t size, void* context);

    memory_snapshot() noexcept = default;
    explicit memory_snapshot(allocator_ref upstream) noexcept : nodes_{upstream} {}

    /// The nodes, in the order of their names.
    [[nodiscard]] const packed_array<memory_node>& nodes() const noexcept { return nodes_; }
    /// The node of this name; nullptr: none. O(log nodes).
    [[nodiscard]] const memory_node* find(const char* name) const noexcept;

    /// A line for each memory, indented as a tree.
    void write_text(sink to, void* context) const;
    /// {"memories": [{"name": ..., "live_size": ..., ...}]}: docs/guides/memory-by-name.md.
    void write_json(sink to, void* context) const;
    /// Counter events of Chrome's trace format at `microseconds`, each ended by a comma and a
    /// newline: for chrome://tracing and ui.perfetto.dev.
    void write_trace_events(double microseconds, sink to, void* context) const;
    /// The event of a frame from `begin` to `end`, both in microseconds, for the same file.
    static void write_frame_event(double begin, double end, sink to, void* context);

private:
    friend class registry;
    packed_array<memory_node> nodes_;
};

namespace detail {

/// Asks `memory` for its facts.
using ask_for_facts = memory_facts (*)(void* memory) noexcept;

template <class A>
[[nodiscard]] memory_facts facts_of(A& a) noexcept {
    memory_facts f;
    if constexpr (requires { a.inner(); }) {
        f = detail::facts_of(a.inner());
    } else if constexpr (requires { a.with([](auto&) {}); }) {  // locked: under its mutex
        a.with([&f](auto& inner) noexcept { f = detail::facts_of(inner); });
    }
    if constexpr (requires { a.live_size(); }) { f.live_size = a.live_size(); }
    if constexpr (requires { a.used_size(); }) { f.live_size = a.used_size(); }
    if constexpr (requires { a.capacity(); }) { f.capacity = a.capacity(); }
    if constexpr (requires { a.limit_size(); }) { f.limit_size = a.limit_size(); }
    if constexpr (requires { a.peak_size(); }) { f.peak_size = a.peak_size(); }
    if constexpr (requires { a.high_water_size(); }) { f.peak_size = a.high_water_size(); }
    if constexpr (requires { a.refused_count(); }) { f.refused_count = a.refused_count(); }
    if constexpr (requires { a.stats(); }) {
        const auto s = a.stats();
        if constexpr (requires { s.capacity; }) { f.capacity = s.capacity; }
        if constexpr (requires { s.upstream_size; }) { f.capacity = s.upstream_size; }
        if constexpr (requires { s.taken_size; }) { f.capacity = s.taken_size; }
        if constexpr (requires { s.segment_size; }) { f.capacity = s.segment_size; }
        if constexpr (requires { s.live_size; }) {
            f.live_size = s.live_size;
        } else if constexpr (requires { s.used_size; }) {
            f.live_size = s.used_size;
        }
        if constexpr (requires { s.deferred_size; }) {
            f.live_size = s.capacity - s.free_size - s.deferred_size;
        } else if constexpr (requires { s.hole_count; }) {
            f.live_size = s.capacity - s.free_size;
        }
        if constexpr (requires {
                          s.live_count;
                          a.slot_size();
                      }) {
            f.live_size = s.live_count * a.slot_size();
        }
        if constexpr (requires { s.peak_size; }) { f.peak_size = s.peak_size; }
        if constexpr (requires { s.allocated_count; }) { f.allocated_count = s.allocated_count; }
        if constexpr (requires { s.refused_count; }) { f.refused_count = s.refused_count; }
    }
    return f;
}

/// Where an A's blocks come from, where it refers to another memory: a wrapper's inner one.
template <class A>
[[nodiscard]] const void* source_of(const A& a) noexcept {
    if constexpr (requires { a.inner(); }) {
        return compiler::address_of(a.inner());
    } else {
        return nullptr;
    }
}

struct listed_memory;

}  // namespace detail

class registry {
public:
    class entry;

    /// Asks every memory that this thread listed, and those of any thread. Its copies stay until
    /// the next call.
    static void publish() noexcept;

    /// Copies what was last published into `out`, whose memory is used again: a snapshot that is
    /// read once a frame allocates in its first frame only.
    /// Returns: false when the memory of `out` is exhausted; it is then empty.
    [[nodiscard]] static bool read(memory_snapshot& out) noexcept;
};

/// Lists a memory under a name while it exists.
class registry::entry {
public:
    /// Which threads ask the memory in publish().
    enum class threads : bool { one, any };
    /// For the third argument: the memory may be asked by any thread.
    static constexpr threads any_thread = threads::any;

    /// `name`: parts with '/' between them; it must exist as long as this object. The memory is
    /// asked by publish() of this thread; `any_thread`: by each.
    /// Cost: a block from system_memory(). A refusal lists nothing: is_listed().
    template <class A>
    [[nodiscard("the memory is listed while its entry exists")]]
    entry(const char* name, A& memory CAIRN_LIFETIMEBOUND, threads which = threads::one) noexcept
        : entry{name, compiler::address_of(memory), detail::source_of(memory),
                [](void* a) noexcept { return detail::facts_of(*static_cast<A*>(a)); }, which} {}
    /// The capacity of a container counts objects.
    template <class A>
        requires(!byte_allocator<A>) && requires(A& a) {
            typename A::value_type;
            requires !(
                requires { a.stats(); } || requires { a.live_size(); } ||
                requires { a.used_size(); });
        }
    entry(const char*, A&, threads = threads::one) = delete;  // list its upstream: a budget
    ~entry();
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

    /// False when there was no memory for the entry.
    [[nodiscard]] bool is_listed() const noexcept { return listed_ != nullptr; }

private:
    entry(const char* name, void* memory, const void* source, detail::ask_for_facts ask,
          threads which) noexcept;

    detail::listed_memory* listed_ = nullptr;
};

}}  // namespace cairn::CAIRN_FLAVOUR
