// cairn/core/inside/flavour.hpp - a program and its library are of one flavour, or they do not
// link.
//
// Three things change what cairn's objects look like and what its inline functions do:
//
//      version            0.1                  (minor versions may change anything below 1.0)
//      CAIRN_ASSERTS      0 or 1               (checked objects are larger: arena 696 bytes or 72)
//      AddressSanitizer   compiled in or not   (only then are freed bytes poisoned)
//
// So all three are in the name of every function: everything lies in an inline namespace,
// cairn::v0_1_checked, cairn::v0_1, cairn::v0_1_checked_asan or cairn::v0_1_asan. Users write
// cairn::arena in each of them. A program that was compiled for one flavour and is linked with a
// library of another one ends in undefined references; the first of them names the cure, because
// every unit that includes cairn also refers to a symbol whose name is that sentence (below).
// Two plugins of different flavours in one process do not see each other for the same reason.
//
// Every file of the library opens the namespace as
//
//      namespace cairn { inline namespace CAIRN_FLAVOUR {
//
// in full: the short form `namespace cairn::inline X` hides all names from ctags and cscope.
//
// Users specialize templates by their qualified name (cairn::relocatable<T>) and declare names
// ahead with <cairn/fwd.hpp>.
//
// Cost: 8 bytes and one relocation in a linked program; nothing at run time.
#pragma once

#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/version.hpp>

// The one build option. The package files carry its value to the users of a library; a unit that is
// compiled without them goes by NDEBUG, and the linker compares.
#if !defined(CAIRN_ASSERTS)
#    if defined(NDEBUG)
#        define CAIRN_ASSERTS 0
#    else
#        define CAIRN_ASSERTS 1
#    endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#    define CAIRN_DETAIL_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define CAIRN_DETAIL_ASAN 1
#    endif
#endif
#if !defined(CAIRN_DETAIL_ASAN)
#    define CAIRN_DETAIL_ASAN 0
#endif

#if defined(CAIRN_DETAIL_BELOW_MALLOC)  // libcairn-malloc's own copy: malloc/one_object.cpp
#    define CAIRN_FLAVOUR v0_1_below_malloc
#    define CAIRN_DETAIL_FLAVOUR_MARK this_program_needs_cairn_0_1_below_malloc
#elif CAIRN_ASSERTS && CAIRN_DETAIL_ASAN
#    define CAIRN_FLAVOUR v0_1_checked_asan
#    define CAIRN_DETAIL_FLAVOUR_MARK \
        this_program_needs_cairn_0_1_built_with_CAIRN_ASSERTS_1_and_AddressSanitizer
#elif CAIRN_ASSERTS
#    define CAIRN_FLAVOUR v0_1_checked
#    define CAIRN_DETAIL_FLAVOUR_MARK \
        this_program_needs_cairn_0_1_built_with_CAIRN_ASSERTS_1_and_no_AddressSanitizer
#elif CAIRN_DETAIL_ASAN
#    define CAIRN_FLAVOUR v0_1_asan
#    define CAIRN_DETAIL_FLAVOUR_MARK \
        this_program_needs_cairn_0_1_built_with_CAIRN_ASSERTS_0_and_AddressSanitizer
#else
#    define CAIRN_FLAVOUR v0_1
#    define CAIRN_DETAIL_FLAVOUR_MARK \
        this_program_needs_cairn_0_1_built_with_CAIRN_ASSERTS_0_and_no_AddressSanitizer
#endif

static_assert(CAIRN_VERSION / 100 == 1, "the names above are those of version 0.1");

// State that each module (program or shared object) with a cairn of its own in it has for itself: a
// variable with this attribute is never another module's, whatever dlopen() and the linker merge.
// In a shared cairn (CAIRN_SHARED, carried by the package files) there is one for all modules.
#if !defined(CAIRN_SHARED)
#    define CAIRN_SHARED 0
#endif
#if CAIRN_SHARED
#    define CAIRN_DETAIL_MODULE_LOCAL
#else
#    define CAIRN_DETAIL_MODULE_LOCAL CAIRN_HIDDEN
#endif

/// Defined by the library of the same flavour (src/core/inside/flavour.cpp), and by no other.
extern "C" const char CAIRN_DETAIL_FLAVOUR_MARK;

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

CAIRN_KEPT CAIRN_DETAIL_MODULE_LOCAL inline const char* const flavour_mark =
    &CAIRN_DETAIL_FLAVOUR_MARK;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
