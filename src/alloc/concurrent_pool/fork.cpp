// Pools around fork(), called by cairn/os/inside/fork.hpp. docs/gotchas.md says who needs it.
//
// Every lock but grow_lock_ is held, so the child gets whole lists. grow_lock_ is not taken: an
// upstream may take as long as it likes, and may be a pool itself. Growth makes each step known
// when it is finished, so the child finds a growth that has not happened, plus a lost block.
#include "registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

void concurrent_pool_registry::before_fork(home& of) noexcept {
    // In the order in which all others take them. Pools cannot come or go while the home is locked.
    of.lock.lock();
    of.has_others = !detail::is_only_thread();
    for (concurrent_pool* p = of.live_pools; p != nullptr; p = p->next_live_) {
        p->shared_lock_.lock();
    }
}

void concurrent_pool_registry::after_fork_in_parent(home& of) noexcept {
    for (concurrent_pool* p = of.live_pools; p != nullptr; p = p->next_live_) {
        p->shared_lock_.unlock();
    }
    of.lock.unlock();
}

void concurrent_pool_registry::after_fork_in_child(home& of) noexcept {
    for (concurrent_pool* p = of.live_pools; p != nullptr; p = p->next_live_) {
        // Not unlocked: the child may have other waiters noted in the word, threads that are not
        // there.
        p->shared_lock_.forget_holder();
        p->grow_lock_.forget_holder();
        p->mend_after_fork(of.caches().record);
        p->has_lost_threads_ = p->has_lost_threads_ || of.has_others;
    }
    of.lock.forget_holder();
}

/// In the child, where no other thread exists: what the others had in hand comes back to its place.
/// `survivor` is the owner of the caches of the thread that forked.
void concurrent_pool::mend_after_fork(const detail::thread_record* survivor) noexcept {
    // What can be wrong in the child, and what makes it right:
    //   a growth that was cut short        slot_count: counted anew from the chunks that are linked
    //   a magazine in no stack or cache    a thread was moving it, or had it loaded: found by marks
    //   a cache of a thread that is gone   its two magazines are emptied, the cache is idle again
    //   slots in what was loaded           lost: they count as live, for ever (lost_count_)
    depot_.untouched().recount();
    const auto& magazines = depot_.magazines();
    const auto is_abandoned = [survivor](const detail::basic_cache<detail::std_atoms>& c) noexcept {
        const detail::thread_record* const owner = static_cast<const detail::pool_cache&>(c).owner;
        return owner != nullptr && owner != survivor;
    };
    // The spare of an abandoned cache is found, with its slots: it is whole at every instruction.
    // What that cache had loaded is not: its count is the one of when it was loaded.
    for (std::size_t i = 0; i != magazines.size(); ++i) { magazines[i].found = false; }
    depot_.for_each_magazine([](magazine& m) noexcept { m.found = true; });
    for (auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        c->spare.load(detail::memory_order::relaxed)->found = true;
        if (!is_abandoned(*c)) { c->loaded->found = true; }
    }
    // All others were loaded, on their way, or made by a growth that did not end. Their owners may
    // have been anywhere, so their content is given up. Exchanges are one for one: there is one
    // for each abandoned cache.
    std::size_t next = 0;
    const auto take_lost = [&]() noexcept -> magazine* {
        while (next != magazines.size() && magazines[next].found) { ++next; }
        if (next == magazines.size()) { return nullptr; }
        magazines[next].found = true;
        magazines[next].count = 0;
        return &magazines[next];
    };
    for (auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        if (is_abandoned(*c)) { c->load(take_lost(), depot_.magazine_size()); }
    }
    while (magazine* const m = take_lost()) { depot_.add(*m); }
    for (auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        if (is_abandoned(*c)) {
            auto& abandoned = static_cast<detail::pool_cache&>(*c);
            // Not unlinked: the record of that thread, with all in it, is left to itself.
            abandoned.owner = nullptr;
            abandoned.next_of_thread = nullptr;
            abandoned.link = nullptr;
            abandoned.seen = {};  // of two chunks, perhaps: one half of each
            pour_out(abandoned);
            --cache_count_;
        }
    }
    lost_count_ = 0;
    const std::size_t live = known_live_count();
    // Checked builds know of each slot whether it is live: the difference is what validate() allows
    // for.
    if (live != unknown) { lost_count_ = count().live_count - live; }
}

}}  // namespace cairn::CAIRN_FLAVOUR
