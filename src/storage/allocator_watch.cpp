// Cold half of cairn/storage/allocator_watch.hpp: the list of names, and who asks it.
#include <cairn/storage/allocator_watch.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include <cairn/core/poison.hpp>
#include <cairn/os/inside/fork.hpp>
#include <cairn/storage/inside/address_place.hpp>

#if CAIRN_DETAIL_ASAN
extern "C" {
void __asan_set_error_report_callback(void (*callback)(const char*));
void* __asan_get_report_address();
}
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR {

#if CAIRN_ASSERTS

namespace detail {

// Of this copy of cairn: an inline variable would be shared among modules, and keep a plugin from
// being unloaded.
namespace {
constinit std::atomic<bool> locked{false};
constinit allocator_watch* first_watch = nullptr;
}  // namespace

//     first --> w3 <--> w2 <--> w1         newest first; each is a member of its allocator
// Allocators come and go on any thread, and a report may walk the list on another one: every look
// and every change is under the lock. What place_of() then reads of an allocator is not: that no
// other thread changes it meanwhile is the caller's promise (describe_address), and a report of a
// memory checker has no better.
struct watch_list {
    /// Held for a few instructions; for as long as a description where an address is looked up.
    class lock {
    public:
        lock() noexcept { take(); }
        ~lock() { give(); }
        lock(const lock&) = delete;
        lock& operator=(const lock&) = delete;

        static void take() noexcept {
            while (locked.exchange(true, std::memory_order_acquire)) {}
        }
        static void give() noexcept { locked.store(false, std::memory_order_release); }
    };

    static void link(allocator_watch& w) noexcept {
        const lock held;
        w.previous_ = nullptr;
        w.next_ = first_watch;
        if (first_watch != nullptr) { first_watch->previous_ = &w; }
        first_watch = &w;
    }

    static void unlink(allocator_watch& w) noexcept {
        const lock held;
        (w.previous_ != nullptr ? w.previous_->next_ : first_watch) = w.next_;
        if (w.next_ != nullptr) { w.next_->previous_ = w.previous_; }
        w.next_ = w.previous_ = nullptr;
    }

    // A distance, not an address: the watch is a member of its allocator, so it stays right when
    // the allocator moves.
    static const void* object_of(const allocator_watch& w) noexcept {
        return reinterpret_cast<const char*>(&w) + w.object_offset_;
    }

    // place_of() runs with the list locked: it may neither name an allocator nor wait for a thread
    // that may be naming one.
    static bool describe(const void* address, char* text, std::size_t size) noexcept {
        const lock held;
        // The smallest one that has it: a pool, not the arena that the pool's chunks come from.
        // O(named allocators), and O(blocks) in those that look at each.
        const allocator_watch* best = nullptr;
        address_place place;
        for (const allocator_watch* w = first_watch; w != nullptr; w = w->next_) {
            const address_place found = w->type_->place_of(object_of(*w), address);
            if (found.inside && (best == nullptr || found.size < place.size)) {
                best = w;
                place = found;
            }
        }
        if (best == nullptr) { return false; }
        char unit[64] = "";
        if (place.unit != nullptr) {
            std::snprintf(unit, sizeof unit, "%s %zu of ", place.unit, place.index);
        }
        const int written =
            std::snprintf(text, size, "0x%zx lies %zu bytes %s %s%s '%s' (%zu bytes, %s)",
                          reinterpret_cast<std::uintptr_t>(address), place.offset,
                          place.in_front ? "in front of" : "into", unit, best->type_->type,
                          best->name_, place.size, place.state);
        // Where the first half was cut off there is no room for the second.
        if (place.by != nullptr && written > 0 && static_cast<std::size_t>(written) < size) {
            std::snprintf(text + written, size - static_cast<std::size_t>(written),
                          ", %s %s:%u in %s", place.by, place.who.file_name(),
                          static_cast<unsigned>(place.who.line()), place.who.function_name());
        }
        return true;
    }
};

#    if CAIRN_DETAIL_ASAN
namespace {

/// Called by AddressSanitizer at the end of its report.
void say_where(const char*) {
    char text[512];
    if (describe_address(__asan_get_report_address(), text, sizeof text)) {
        std::fprintf(stderr, "cairn: %s\n", text);
        std::fflush(stderr);
    }
}

}  // namespace
#    endif

void allocator_watch::set_name(const char* name, const void* object,
                               const allocator_type& type) noexcept {
    forget_name();
    if (name == nullptr) { return; }
    // All fields before link(): other threads read them as soon as the list has this one.
    name_ = name;
    type_ = &type;
    object_offset_ = static_cast<const char*>(object) - reinterpret_cast<const char*>(this);
    watch_list::link(*this);
    // A child of fork() finds the lock free. Registered once, with the first name; where the system
    // has no room for it, only a child that names allocators could wait.
    static const bool forks =
        detail::around_fork([] { watch_list::lock::take(); }, [] { watch_list::lock::give(); },
                            [] { watch_list::lock::give(); });
    (void)forks;
#    if CAIRN_DETAIL_ASAN
    // Once: a program that installs a callback of its own later keeps it, and may ask
    // describe_address() there.
    static const bool installed = (__asan_set_error_report_callback(&say_where), true);
    (void)installed;
#    endif
}

void allocator_watch::expect_not_moved_from(const void* object, const char* type) const noexcept {
    CAIRN_ASSERT(!moved_from_, "an arena that was moved from is assigned to before it is used",
                 {.kind = misuse_kind::moved_from, .object = object, .type = type, .name = name_});
}

// Never inlined: an optimizer leaves out what a destructor writes into its object.
void allocator_watch::end() noexcept {
    forget_name();
    ended_ = true;
}

void allocator_watch::expect_not_ended(const void* object, const char* type) const noexcept {
    CAIRN_ASSERT(!ended_,
                 "an allocator is not used while it ends, by its upstream, nor after its end, by a "
                 "static object that ends later",
                 {.kind = misuse_kind::outlived, .object = object, .type = type});
}

unsigned allocator_watch::describe(const void* address, std::size_t size) const noexcept {
    if (name_ == nullptr) { return 0; }
    char text[128];
    std::snprintf(text, sizeof text, "%s '%s'", type_->type, name_);
    return detail::describe_memory(address, size, text);
}

void allocator_watch::describe_region(const void* address, std::size_t size) noexcept {
    forget_region();
    // 0 without a name, and where no Valgrind listens: forgetting it does nothing.
    region_ = describe(address, size);
}

void allocator_watch::forget_region() noexcept {
    detail::forget_description(region_);
    region_ = 0;
}

void allocator_watch::forget_name() noexcept {
    forget_region();
    if (name_ == nullptr) { return; }
    watch_list::unlink(*this);
    name_ = nullptr;
}

void allocator_watch::take(allocator_watch& from) noexcept {
    // What was moved from stays so, also where it is moved on.
    moved_from_ = from.moved_from_;
    from.moved_from_ = true;
    if (from.name_ == nullptr) { return; }
    // The name leaves the list with `from` before it enters with this one: at no time does the list
    // have one allocator twice. The number of the region goes over first, or forget_name() would
    // make Valgrind forget it.
    const char* const name = from.name_;
    type_ = from.type_;
    object_offset_ = from.object_offset_;
    region_ = from.region_;
    from.region_ = 0;
    from.forget_name();
    name_ = name;
    watch_list::link(*this);
}

}  // namespace detail

bool describe_address(const void* address, char* text, std::size_t size) noexcept {
    return detail::watch_list::describe(address, text, size);
}

#else

bool describe_address(const void*, char*, std::size_t) noexcept { return false; }

#endif

}}  // namespace cairn::CAIRN_FLAVOUR
