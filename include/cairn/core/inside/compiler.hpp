// cairn/core/inside/compiler.hpp - what the compiler does with the code that includes cairn.
//
// Nothing is inlined at -O0, and the library itself is optimized in Debug builds, too. A hot
// function is therefore inlined where its caller is optimized, and is one call of the library
// elsewhere:
//
//      [[nodiscard, gnu::always_inline]] void* allocate() noexcept {
//          if constexpr (CAIRN_CALLER_IS_OPTIMIZED) {
//              return allocate_here();      // an inline function
//          } else {
//              return allocate_called();    // a function of the library
//          }
//      }
//
// A program may have units of -O0 and of -O2. The linker keeps one body for each inline function of
// one name. So only a function that is `always_inline`, and thus has no body of its own in a
// program, may ask this macro; the bodies that it chooses from have two names. The test
// weak_symbols reports a function that breaks this rule. No other file asks __OPTIMIZE__.
#pragma once

/// true: the code that includes this header is compiled with optimization. false: it is not (-O0).
#ifdef __OPTIMIZE__
#    define CAIRN_CALLER_IS_OPTIMIZED true
#else
#    define CAIRN_CALLER_IS_OPTIMIZED false
#endif
