// One way to construct: what can grow is built from nothing, from an upstream, from options, and from an
// upstream and options. What needs a size is not built without it. A number of elements is no argument.
// The list below has each public class with an upstream; classes.inc says which these are.
#include "cairn_headers.inc"

#include <cstdio>
#include <cstring>
#include <type_traits>

namespace {

struct object {
    int v = 0;
};
struct row {
    float x;
    float y;
};
using cairn::allocator_ref;

template <class T, class... Args>
constexpr bool builds = std::is_constructible_v<T, Args...>;

template <class T>
void take(T);
/// `T t = {};`, as a member that an initializer of its class leaves out.
template <class T>
constexpr bool begins_empty = requires { take<T>({}); };

/// A default constructor, an upstream alone, and that upstream as the owner writes it.
template <class T>
constexpr bool grows =
    builds<T> && begins_empty<T> && builds<T, allocator_ref> &&
    builds<T, cairn::system_allocator&> && builds<T, cairn::budget<cairn::heap<>>&> &&
    !std::is_convertible_v<allocator_ref, T>;

/// Options stand alone or behind the upstream, and never first.
template <class T, class Options = typename T::options>
constexpr bool options_last =
    builds<T, Options> && builds<T, allocator_ref, Options> && !builds<T, Options, allocator_ref>;

/// A number is no number of elements.
template <class T>
constexpr bool counts_nothing =
    !builds<T, int> && !builds<T, std::size_t> && !builds<T, std::size_t, allocator_ref>;

/// A size in bytes is needed, and an upstream may follow.
template <class T>
constexpr bool needs_size = !builds<T> && !builds<T, allocator_ref> && builds<T, std::size_t> &&
                            builds<T, std::size_t, allocator_ref>;

/// It wraps another allocator: by value, by reference, or what system_memory() returns.
template <template <class> class W>
constexpr bool wraps =
    std::is_same_v<decltype(W{cairn::system_memory()}), W<allocator_ref>> &&
    std::is_same_v<decltype(W{std::declval<cairn::heap<>&>()}), W<cairn::heap<>&>> &&
    builds<W<cairn::heap<>&>, cairn::heap<>&>;
using map = cairn::slot_map<object>;
using rows = cairn::slot_table<row>;

// ---- what can grow
static_assert(grows<cairn::growing_arena> && options_last<cairn::growing_arena>);
static_assert(grows<cairn::heap<>> && options_last<cairn::heap<>>);
static_assert(grows<cairn::heap<cairn::quick_fit>> && grows<cairn::heap<cairn::best_fit>>);
static_assert(grows<cairn::frame_arena<2>> && grows<cairn::frame_arena<3, cairn::virtual_arena>>);
static_assert(grows<cairn::virtual_arena> &&
              builds<cairn::virtual_arena, cairn::virtual_arena::options>);
static_assert(grows<cairn::memory_snapshot>);
static_assert(grows<cairn::concurrent_heap> && options_last<cairn::concurrent_heap>);
static_assert(grows<cairn::tagged_arenas> && options_last<cairn::tagged_arenas>);
static_assert(grows<cairn::collected_heap> && options_last<cairn::collected_heap>);
static_assert(grows<cairn::pool_of<object>> && options_last<cairn::pool_of<object>>);
static_assert(grows<cairn::concurrent_pool_of<object>> &&
              options_last<cairn::concurrent_pool_of<object>>);
static_assert(grows<map> && options_last<map> && grows<rows> && options_last<rows>);
static_assert(grows<cairn::stable_slot_map<object>> &&
              options_last<cairn::stable_slot_map<object>>);
static_assert(grows<cairn::polymorphic_store<object>> &&
              options_last<cairn::polymorphic_store<object>>);
static_assert(grows<cairn::object_pool<object>> && options_last<cairn::object_pool<object>>);
static_assert(grows<cairn::concurrent_object_pool<object>> &&
              options_last<cairn::concurrent_object_pool<object>>);
static_assert(grows<cairn::message_queue<int>> && options_last<cairn::message_queue<int>>);
static_assert(grows<cairn::packed_array<object>> && grows<cairn::table<row>> &&
              grows<cairn::string_pool>);
static_assert(grows<cairn::node_pool> && grows<cairn::shared_store<map>> &&
              grows<cairn::deferred_store<map>>);
static_assert(begins_empty<cairn::monotonic<cairn::growing_arena>> &&
              begins_empty<cairn::per_thread<object>> &&
              begins_empty<cairn::pmr_resource<cairn::heap<>>>);

// ---- numbers
static_assert(counts_nothing<cairn::pool_of<object>> &&
              counts_nothing<cairn::concurrent_pool_of<object>>);
static_assert(counts_nothing<map> && counts_nothing<rows> &&
              counts_nothing<cairn::stable_slot_map<object>>);
static_assert(counts_nothing<cairn::polymorphic_store<object>> &&
              counts_nothing<cairn::packed_array<object>>);
static_assert(counts_nothing<cairn::table<row>> && counts_nothing<cairn::string_pool>);
static_assert(counts_nothing<cairn::object_pool<object>> &&
              counts_nothing<cairn::concurrent_object_pool<object>>);
static_assert(counts_nothing<cairn::message_queue<int>>);
static_assert(!builds<cairn::offset_heap, std::uint32_t, std::uint32_t>);

// ---- what needs a size
static_assert(needs_size<cairn::arena> && needs_size<cairn::double_ended_arena>);
static_assert(needs_size<cairn::frame_arena<2, cairn::arena>>);
static_assert(needs_size<cairn::relocatable_heap> &&
              needs_size<cairn::concurrent_relocatable_heap>);
static_assert(!builds<cairn::offset_heap> &&
              builds<cairn::offset_heap, std::uint32_t, allocator_ref> &&
              options_last<cairn::offset_heap> == false &&
              builds<cairn::offset_heap, std::uint32_t, cairn::offset_heap::options>);
static_assert(needs_size<cairn::pool> && needs_size<cairn::concurrent_pool>);
static_assert(builds<cairn::pool, std::size_t, allocator_ref, cairn::pool::options> &&
              builds<cairn::pool, std::size_t, cairn::heap<>&>);
static_assert(!builds<cairn::budget<cairn::heap<>>> &&
              builds<cairn::budget<cairn::heap<>>, std::size_t>);

// ---- wrappers
static_assert(wraps<cairn::tracked> && wraps<cairn::guarded> && wraps<cairn::hardened> &&
              wraps<cairn::failing>);
static_assert(
    std::is_same_v<decltype(cairn::locked{cairn::system_memory()}), cairn::locked<allocator_ref>>);
static_assert(std::is_same_v<decltype(cairn::budget{64}), cairn::budget<cairn::system_allocator>>);
static_assert(std::is_same_v<decltype(cairn::budget{64, cairn::system_memory()}),
                             cairn::budget<allocator_ref>>);
static_assert(std::is_same_v<decltype(cairn::budget{64, std::declval<cairn::heap<>&>()}),
                             cairn::budget<cairn::heap<>&>>);
static_assert(std::is_same_v<decltype(cairn::concurrent_budget{64, cairn::system_memory()}),
                             cairn::concurrent_budget<allocator_ref>>);

// ---- what an upstream that is a child of its own type is written as
static_assert(builds<cairn::growing_arena, allocator_ref> &&
              !builds<cairn::growing_arena, cairn::growing_arena&>);
static_assert(!builds<cairn::heap<>, cairn::heap<>&> &&
              !builds<cairn::frame_arena<2>, cairn::frame_arena<2>&>);

/// Classes of classes.inc that the lines above have, and those with a reason.
constexpr const char* covered[] = {
    "arena",
    "budget",
    "concurrent_budget",
    "collected_heap",
    "concurrent_object_pool",
    "concurrent_pool",
    "concurrent_pool_of",
    "concurrent_relocatable_heap",
    "deferred_store",
    "double_ended_arena",
    "failing",
    "frame_arena",
    "growing_arena",
    "guarded",
    "hardened",
    "heap",
    "locked",
    "message_queue",
    "node_pool",
    "object_pool",
    "packed_array",
    "polymorphic_store",
    "pool",
    "pool_of",
    "relocatable_heap",
    "shared_store",
    "stable_slot_map",
    "string_pool",
    "table",
    "tracked",
    "virtual_arena",
    "memory_snapshot",
    "concurrent_heap",
    "tagged_arenas",
    "basic_offset_heap",
    "slot_rows",
    "pmr_resource",     // builds what it shows to pmr from its own arguments
    "attached_column",  // needs the table that it belongs to
    "per_thread",       // builds a T for each thread from its own arguments
    "std_allocator",
    "held_allocator",  // an allocator of the standard's kind refers to one, or to none
    "guard",           // inside guarded
    "random_places",   // inside hardened
    "growable_memory",
    "slot_directory",  // memory of containers: alignment and limits come first
};

/// Members of a class, each as its header shows it.
struct game {
    cairn::budget<cairn::system_allocator> memory{std::size_t{64} << 20};
    cairn::heap<> heap{memory};
    cairn::tracked<cairn::heap<>&> talk{heap, {.name = "talk"}};
    cairn::tracked<cairn::heap<>> owned{{.name = "owned"}, memory};
    cairn::guarded<cairn::heap<>&> watched{heap, {.page_guard_every = 8}};
    cairn::failing<cairn::heap<>&> dry{heap};
    cairn::locked<cairn::heap<>&> shared{heap};
    cairn::monotonic<cairn::growing_arena> words{memory};
    cairn::array_recycler<cairn::growing_arena> arrays{memory};
    cairn::frame_arena<2> frames{memory};
    cairn::virtual_arena level{memory};
    cairn::message_queue<int> events{memory, {.capacity = 64}};
};

bool is_covered(const char* name) {
    for (const char* const one : covered) {
        if (std::strcmp(one, name) == 0) { return true; }
    }
    std::printf("tests/user_code/construction.cpp says nothing about %s\n", name);
    return false;
}

}  // namespace

int main() {
    bool good = true;
#define CLASS(name) good = is_covered(#name) && good;
#include "classes.inc"
#undef CLASS
    game g;
    void* const p = g.talk.allocate(100);
    good = p != nullptr && g.level.allocate(100) != nullptr && g.frames.allocate(100) != nullptr &&
           good;
    g.talk.deallocate(p, 100);
    return good && g.memory.live_size() != 0 ? 0 : 1;
}
