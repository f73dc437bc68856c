// Cold half of cairn/collected/ref.hpp: what a store does while the heap is marking.
//
//      old value    marked, or null    nothing: this cycle keeps it already
//                   else               to the log; the full log is marked
//
// A value that is overwritten time and again is logged until the log has been emptied once: one bit
// of `marks` says of all places of an object what is known.
#include "sharing.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

/// Apart, so that the way that is taken nearly always saves no registers.
[[gnu::noinline]] void overwrite_with_full_log(object_name& place, object_name name) noexcept {
    empty_log(region_of(&place));
    overwrite_while_marking(place, name);  // beside a worker the value is logged once more
}

}  // namespace

void overwrite_while_marking(object_name& place, object_name name) noexcept {
    collected_region& r = region_of(&place);
    const object_name old = place;
    if (!is_marked(r, old)) {
        r.log[r.log_count] = old;
        if (++r.log_count == log_size) [[unlikely]] {
            overwrite_with_full_log(place, name);
            return;
        }
    }
    publish(in_place{place}, name);  // a worker may read it: a new object is marked before
}

/// A root that has not been looked at was reachable when the cycle began.
void forget_root_while_marking(collected_region& r, root_link& root) noexcept {
    keep_for_this_cycle(r, name_of(root.object));
    if (r.next_root == &root) { r.next_root = root.next; }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
