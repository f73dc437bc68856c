// cairn/alloc/inside/cache_links.hpp - the caches of a thread, in a list that any may leave.
//
//      record of a thread     cache              cache
//      +-------+              +---------+        +---------+
//      | first |------------->| next ---+------->| next    |
//      +---^---+              | link ---+--+     | link ---+--> the word that points here
//          +------------------+---------+--+     +---------+
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// `c` is the first cache of the thread with this record from now on.
template <class Record, class Cache>
void link_cache(Record& record, Cache& c) noexcept {
    c.owner = &record;
    c.next_of_thread = record.first;
    c.link = &record.first;
    if (c.next_of_thread != nullptr) { c.next_of_thread->link = &c.next_of_thread; }
    record.first = &c;
}

/// `c` is a cache of no thread from now on.
template <class Cache>
void unlink_cache(Cache& c) noexcept {
    *c.link = c.next_of_thread;
    if (c.next_of_thread != nullptr) { c.next_of_thread->link = c.link; }
    c.owner = nullptr;
    c.next_of_thread = nullptr;
    c.link = nullptr;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
