// cairn/alloc/concurrent_budget/room_maker.hpp: whose turn it is to ask, and what a fork leaves.
//
//      first --> [ thread A, lock of budget 1 ] --> [ thread B, lock of budget 1 ] --> null
//                  in the handler                     waits for A
//
// A turn is in the list before it waits for its lock: no fork finds a held lock without a turn.
#include <cairn/alloc/concurrent_budget/room_maker.hpp>

#include <cairn/os/inside/fork.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct asking_forks {
    static inline constinit mutex list_lock{};
    static inline constinit asking_turn* first = nullptr;  // under list_lock
    static inline constinit atomic<bool> are_watched{false};

    static void enter(asking_turn& s) noexcept {
        const lock_scope held{list_lock};
        s.next_ = first;
        if (first != nullptr) { first->previous_ = &s; }
        first = &s;
    }
    static void leave(asking_turn& s) noexcept {
        const lock_scope held{list_lock};
        (s.previous_ != nullptr ? s.previous_->next_ : first) = s.next_;
        if (s.next_ != nullptr) { s.next_->previous_ = s.previous_; }
    }
    /// The forking thread does not wait for a lock: it holds that of each turn of its own.
    static void mend_child() noexcept {
        list_lock.forget_holder();
        asking_turn* left = first;
        for (asking_turn* s = left; s != nullptr; s = s->next_) { s->lock_.forget_holder(); }
        first = nullptr;
        while (left != nullptr) {
            asking_turn& s = *left;
            left = s.next_;
            if (s.thread_ != thread_serial()) { continue; }
            s.previous_ = nullptr;
            enter(s);
            s.lock_.lock();
        }
    }
};

asking_turn::asking_turn(mutex& lock) noexcept
    : lock_{lock}, thread_{thread_serial()}, next_{nullptr}, previous_{nullptr} {
    asking_forks::enter(*this);
    lock_.lock();
}

asking_turn::~asking_turn() {
    lock_.unlock();
    asking_forks::leave(*this);
}

void asking_turn::watch_forks() noexcept {
    if (asking_forks::are_watched.exchange(true, memory_order::relaxed)) { return; }
    const bool is_done =
        around_fork([] { asking_forks::list_lock.lock(); },
                    [] { asking_forks::list_lock.unlock(); }, [] { asking_forks::mend_child(); });
    if (!is_done) { asking_forks::are_watched.store(false, memory_order::relaxed); }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
