// cairn/os/inside/thread_exit.hpp: pthread keys, and thread_local destructors on Windows.
//
//     fresh --- first watch() ---> ready --- destructor ---> over
//       \______________________________________________________^
//
// The key is made by the first watch() and not by the constructor, which is constant-initialized:
// a static object is usable before any constructor has run. A key that the system refuses leaves
// the state fresh, and the next watch() asks again. Nothing leads out of `over`: a thread that ends
// while the module is being unloaded is refused, and looks for another way.
#include <cairn/os/inside/thread_exit.hpp>

#include <cairn/core/assert.hpp>

#if defined(_WIN32)
#    include <cairn/os/mutex.hpp>
#else
#    include <pthread.h>
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

#if !defined(_WIN32)

static_assert(sizeof(pthread_key_t) <= sizeof(unsigned long));

// Two threads may make a key at once: the one whose key is not taken deletes its own.
unsigned long thread_exit::make_key() noexcept {
    unsigned long found = key_plus_one_.load(memory_order::acquire);
    if (found != 0) { return found; }
    pthread_key_t key{};
    // The C library calls a function of C linkage; on every system here they are called alike.
    if (::pthread_key_create(&key, function_) != 0) { return 0; }
    const unsigned long mine = static_cast<unsigned long>(key) + 1;
    if (key_plus_one_.compare_exchange_strong(found, mine, memory_order::acq_rel,
                                              memory_order::acquire)) {
        return mine;
    }
    (void)::pthread_key_delete(key);
    return found;
}

bool thread_exit::watch(void* argument) noexcept {
    CAIRN_ASSERT(argument != nullptr, "what a thread's end is watched with is not null");
    // The C library calls the function for each thread whose value is not null: so the argument is
    // not.
    const unsigned long key_plus_one = make_key();
    return key_plus_one != 0 && key_plus_one != over &&
           ::pthread_setspecific(static_cast<pthread_key_t>(key_plus_one - 1), argument) == 0;
}

thread_exit::~thread_exit() {
    // Values that threads have set stay with them and are never looked at again: no function is
    // called.
    const unsigned long last = key_plus_one_.exchange(over, memory_order::acq_rel);
    if (last != 0) { (void)::pthread_key_delete(static_cast<pthread_key_t>(last - 1)); }
}

#else

// The thread_exit objects that there are, by numbers that are never used again: a thread that ends
// asks here whether its watcher still exists. All under live_lock.
namespace {

constexpr unsigned live_max = 16;  // the library has two
constinit mutex live_lock;
unsigned long live[live_max] = {};  // 0: free
unsigned long last_number = 0;

bool is_live(unsigned long number) noexcept {
    const lock_scope held{live_lock};
    for (const unsigned long n : live) {
        if (n == number) { return true; }
    }
    return false;
}

bool replace_live(unsigned long number, unsigned long by) noexcept {
    for (unsigned long& n : live) {
        if (n == number) {
            n = by;
            return true;
        }
    }
    return false;
}

struct watched_exits {
    struct entry {
        unsigned long by = 0;
        thread_exit::function call = nullptr;
        void* argument = nullptr;
    };
    entry entries[live_max];

    // The order of the calls is that of the first watch().
    ~watched_exits() {
        for (const entry& e : entries) {
            if (e.by != 0 && is_live(e.by)) { e.call(e.argument); }
        }
    }
};
thread_local watched_exits my_exits;

}  // namespace

unsigned long thread_exit::make_key() noexcept {
    const lock_scope held{live_lock};
    const unsigned long found = key_plus_one_.load(memory_order::relaxed);
    if (found != 0 || !replace_live(0, last_number + 1)) { return found; }
    key_plus_one_.store(++last_number, memory_order::relaxed);
    return last_number;
}

bool thread_exit::watch(void* argument) noexcept {
    CAIRN_ASSERT(argument != nullptr, "what a thread's end is watched with is not null");
    const unsigned long key = make_key();
    if (key == 0 || key == over) { return false; }
    auto& entries = my_exits.entries;
    for (auto& e : entries) {
        if (e.by == key) {
            e.argument = argument;
            return true;
        }
    }
    // There is a free one, or one of an object that is gone: no more are live than entries are
    // here.
    for (auto& e : entries) {
        if (e.by == 0 || !is_live(e.by)) {
            e = {key, function_, argument};
            return true;
        }
    }
    return false;
}

thread_exit::~thread_exit() {
    const lock_scope held{live_lock};
    const unsigned long last = key_plus_one_.exchange(over, memory_order::relaxed);
    if (last != 0) { (void)replace_live(last, 0); }
}

#endif

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
