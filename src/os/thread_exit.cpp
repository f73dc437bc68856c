// cairn/os/thread_exit.hpp: pthread keys, and thread_local destructors on Windows.
//
//     fresh --- first watch() ---> ready --- destructor ---> over
//       \______________________________________________________^
//
// The key is made by the first watch() and not by the constructor, which is constant-initialized:
// a static object is usable before any constructor has run. A key that the system refuses leaves
// the state fresh, and the next watch() asks again. Nothing leads out of `over`: a thread that ends
// while the module is being unloaded is refused, and looks for another way.
#include <cairn/os/thread_exit.hpp>

#include <cairn/core/assert.hpp>

#if !defined(_WIN32)
#    include <pthread.h>
#endif

namespace cairn::inline CAIRN_FLAVOUR {

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

namespace {

struct watched_exits {
    struct entry {
        const void* by = nullptr;
        thread_exit::function call = nullptr;
        void* argument = nullptr;
    };
    static constexpr unsigned entry_count =
        4;  // as many thread_exit objects as the library has, or more
    entry entries[entry_count];

    // Entries are taken from the front and never freed: the order of the calls is that of the first
    // watch().
    ~watched_exits() {
        for (const entry& e : entries) {
            if (e.call != nullptr) { e.call(e.argument); }
        }
    }
};
thread_local watched_exits my_exits;

}  // namespace

bool thread_exit::is_ready() noexcept {
    const lock_scope held{lock_};
    if (state_ == state::fresh) { state_ = state::ready; }
    return state_ == state::ready;
}

bool thread_exit::watch(void* argument) noexcept {
    CAIRN_ASSERT(argument != nullptr, "what a thread's end is watched with is not null");
    if (!is_ready()) { return false; }
    for (auto& e : my_exits.entries) {
        // The entry of this object, or the first free one: one object has one entry a thread.
        if (e.by == nullptr || e.by == this) {
            e = {this, function_, argument};
            return true;
        }
    }
    return false;
}

thread_exit::~thread_exit() {
    const lock_scope held{lock_};
    state_ = state::over;
}

#endif

}  // namespace cairn::inline CAIRN_FLAVOUR
