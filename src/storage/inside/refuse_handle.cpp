// Cold half of cairn/storage/inside/refuse_handle.hpp: one sentence for each fault.
#include <cairn/storage/inside/refuse_handle.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

void refuse_handle(const refused_handle& refused, call_site from) {
    evidence known{.object = refused.map, .type = refused.type, .caller = from};
    if (refused.fault != handle_fault::null) {
        known.values[0] = {"slot", refused.slot};
        if (refused.slot < refused.slot_count) {
            known.values[1] = {"life of the slot", refused.slot_life};
        } else {
            known.values[1] = {"slots of the map", refused.slot_count};
        }
        known.values[2] = {"life in the handle", refused.handle_life};
    }
    switch (refused.fault) {
        case handle_fault::null:
            known.kind = misuse_kind::null_handle;
            assert_failed("contains(h)", "the handle is not null", known);
        case handle_fault::foreign:
            known.kind = misuse_kind::foreign_handle;
            assert_failed("contains(h)", "the handle is of this map", known);
        case handle_fault::promised:
            known.kind = misuse_kind::reserved_handle;
            assert_failed("contains(h)", "the handle has its object: it was fulfilled", known);
        case handle_fault::none:
        case handle_fault::stale:
            break;
    }
    known.kind = misuse_kind::stale_handle;
    assert_failed("contains(h)", "the handle is not stale", known);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
