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

#if !defined(_WIN32)
#    include <pthread.h>
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

#if !defined(_WIN32)

static_assert(sizeof(pthread_key_t) <= sizeof(unsigned long));

// Under the lock, so that two threads do not make two keys. key_ is written once; watch() reads it
// behind this lock.
bool thread_exit::is_ready() noexcept {
    const lock_scope held{lock_};
    if (state_ == state::fresh) {
        pthread_key_t key{};
        // The C library calls a function of C linkage; on every system here they are called alike.
        if (::pthread_key_create(&key, function_) == 0) {
            key_ = static_cast<unsigned long>(key);
            state_ = state::ready;
        }
    }
    return state_ == state::ready;
}

bool thread_exit::watch(void* argument) noexcept {
    CAIRN_ASSERT(argument != nullptr, "what a thread's end is watched with is not null");
    // The C library calls the function for each thread whose value is not null: so the argument is
    // not.
    return is_ready() && ::pthread_setspecific(static_cast<pthread_key_t>(key_), argument) == 0;
}

thread_exit::~thread_exit() {
    const lock_scope held{lock_};
    // Values that threads have set stay with them and are never looked at again: no function is
    // called.
    if (state_ == state::ready) { (void)::pthread_key_delete(static_cast<pthread_key_t>(key_)); }
    state_ = state::over;
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

bool thread_exit::is_ready() noexcept {
    const lock_scope held{lock_};
    if (state_ == state::fresh) {
        const lock_scope held_too{live_lock};
        if (replace_live(0, last_number + 1)) {
            key_ = ++last_number;
            state_ = state::ready;
        }
    }
    return state_ == state::ready;
}

bool thread_exit::watch(void* argument) noexcept {
    CAIRN_ASSERT(argument != nullptr, "what a thread's end is watched with is not null");
    if (!is_ready()) { return false; }
    auto& entries = my_exits.entries;
    for (auto& e : entries) {
        if (e.by == key_) {
            e.argument = argument;
            return true;
        }
    }
    // There is a free one, or one of an object that is gone: no more are live than entries are
    // here.
    for (auto& e : entries) {
        if (e.by == 0 || !is_live(e.by)) {
            e = {key_, function_, argument};
            return true;
        }
    }
    return false;
}

thread_exit::~thread_exit() {
    const lock_scope held{lock_};
    if (state_ == state::ready) {
        const lock_scope held_too{live_lock};
        (void)replace_live(key_, 0);
    }
    state_ = state::over;
}

#endif

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
