// cairn/core/inside/compiler.hpp - what compilers spell differently, each with one spelling of
// cairn's.
//
//      this file               gcc and clang                 the compiler of Microsoft (cl)
//      CAIRN_FORCE_INLINE      gnu::always_inline            msvc::forceinline
//      compiler::atomic_ref    __atomic_load, ...            std::atomic_ref
//      compiler::product       unsigned __int128             __umulh
//      ...
//
// No other header names a construct that only one compiler knows (tools/gnu_only.py). clang-cl
// takes the left column, except for CAIRN_NO_UNIQUE_ADDRESS, which goes by the ABI. The right
// column is compiled by clang, too, where CAIRN_TEST_MSVC_BRANCH is defined (tools/prove-msvc-abi).
//
// CAIRN_CALLER_IS_OPTIMIZED: nothing is inlined at -O0, and the library itself is optimized in
// Debug builds, too. A hot function is therefore inlined where its caller is optimized, and is one
// call of the library elsewhere:
//
//      [[nodiscard, CAIRN_FORCE_INLINE]] void* allocate() noexcept {
//          if constexpr (CAIRN_CALLER_IS_OPTIMIZED) {
//              return allocate_here();      // an inline function
//          } else {
//              return allocate_called();    // a function of the library
//          }
//      }
//
// A program may have units of -O0 and of -O2. The linker keeps one body for each inline function of
// one name. So only a function that is forced inline, and thus has no body of its own in a program,
// may ask this macro; the bodies that it chooses from have two names. The test weak_symbols reports
// a function that breaks this rule. No other file asks __OPTIMIZE__. cl forces nothing inline by
// /Od, but its linker refuses to mix units of /MD and /MDd, which is what the macro asks there.
//
// Namespace compiler is not in the inline namespace of a flavour: what stands here is the same in
// each flavour, and flavour.hpp includes this file.
//
// Cost: each function is inlined in every build by gcc and clang; that of the instruction.
#pragma once

#include <cairn/core/inside/supported.hpp>  // first: what is refused is refused in one sentence

#include <cstddef>
#include <cstdint>

#if (defined(_MSC_VER) && !defined(__clang__)) || defined(CAIRN_TEST_MSVC_BRANCH)
#    define CAIRN_COMPILER_IS_MSVC 1
#    include <atomic>
#    include <bit>
#    include <cstring>
#    include <intrin.h>
#else
#    define CAIRN_COMPILER_IS_MSVC 0
#endif

// ---- words that stand in attributes, and others that only the preprocessor can choose ----------

/// true: the code that includes this header is compiled with optimization. false: it is not (-O0).
#if defined(__OPTIMIZE__) || (CAIRN_COMPILER_IS_MSVC && !defined(__clang__) && !defined(_DEBUG))
#    define CAIRN_CALLER_IS_OPTIMIZED true
#else
#    define CAIRN_CALLER_IS_OPTIMIZED false
#endif

/// [[CAIRN_FORCE_INLINE]]: inlined in every build. [[CAIRN_NOINLINE]]: in none. [[CAIRN_COLD]]:
/// rarely called. (...) CAIRN_INLINE_LAMBDA {...}: a lambda that is inlined in every build.
#if CAIRN_COMPILER_IS_MSVC
#    define CAIRN_FORCE_INLINE msvc::forceinline
#    define CAIRN_NOINLINE msvc::noinline
#    define CAIRN_COLD
#    define CAIRN_INLINE_LAMBDA
#else
#    define CAIRN_FORCE_INLINE gnu::always_inline
#    define CAIRN_NOINLINE gnu::noinline
#    define CAIRN_COLD gnu::cold
#    define CAIRN_INLINE_LAMBDA __attribute__((always_inline))
#endif

/// [[CAIRN_NO_UNIQUE_ADDRESS]]: an empty member takes no room. The Microsoft ABI ignores the
/// standard's spelling, and the other ABIs do not know Microsoft's.
#if defined(_MSC_VER)
#    define CAIRN_NO_UNIQUE_ADDRESS msvc::no_unique_address
#else
#    define CAIRN_NO_UNIQUE_ADDRESS no_unique_address
#endif

/// Behind a parameter: a temporary bound to it, or what it refers to, must outlive the result.
#if defined(__clang__)
#    define CAIRN_LIFETIMEBOUND [[clang::lifetimebound]]
#elif CAIRN_COMPILER_IS_MSVC
#    define CAIRN_LIFETIMEBOUND [[msvc::lifetimebound]]
#else
#    define CAIRN_LIFETIMEBOUND
#endif

/// CAIRN_HIDDEN: a symbol that other modules do not see; Windows exports by name only. CAIRN_KEPT:
/// a variable stays in the program when no code needs it: `used` for the compiler, `retain` for
/// --gc-sections, for which an undefined symbol in a section that goes is no error.
#if defined(_WIN32)
#    define CAIRN_HIDDEN
#else
#    define CAIRN_HIDDEN [[gnu::visibility("hidden")]]
#endif
#if CAIRN_COMPILER_IS_MSVC
#    define CAIRN_KEPT
#elif __has_cpp_attribute(gnu::retain)
#    define CAIRN_KEPT [[gnu::used, gnu::retain]]
#else
#    define CAIRN_KEPT [[gnu::used]]
#endif

/// Before a thread_local variable: it is found without a call, also in a shared object, of which a
/// program loads only so many with dlopen(): for a few words.
#if defined(__ELF__)
#    define CAIRN_INITIAL_EXEC [[gnu::tls_model("initial-exec")]]
#else
#    define CAIRN_INITIAL_EXEC
#endif

/// Of pointers: what they point to does not overlap. All compilers have this spelling.
#define CAIRN_RESTRICT __restrict

/// The text that names the function it stands in, with its template arguments.
#if CAIRN_COMPILER_IS_MSVC
#    define CAIRN_SIGNATURE __FUNCSIG__
#else
#    define CAIRN_SIGNATURE __PRETTY_FUNCTION__
#endif

/// Before a loop with a constant number of turns: gcc makes vectors of it, and unrolls it by four.
/// At -O3 gcc would otherwise unroll it completely first, and then finds no vectors in it.
#if defined(__GNUC__) && !defined(__clang__)
#    define CAIRN_VECTORS_FIRST _Pragma("GCC unroll 4")
#else
#    define CAIRN_VECTORS_FIRST
#endif

/// CAIRN_WARNING_OFF("-Wname") ... CAIRN_WARNING_ON: gcc and clang do not warn in between.
#if CAIRN_COMPILER_IS_MSVC
#    define CAIRN_WARNING_OFF(name)
#    define CAIRN_WARNING_ON
#else
#    define CAIRN_DETAIL_PRAGMA(text) _Pragma(#text)
#    define CAIRN_WARNING_OFF(name)              \
        CAIRN_DETAIL_PRAGMA(GCC diagnostic push) \
        CAIRN_DETAIL_PRAGMA(GCC diagnostic ignored name)
#    define CAIRN_WARNING_ON CAIRN_DETAIL_PRAGMA(GCC diagnostic pop)
#endif

namespace cairn { namespace compiler {

// ---- hints for the optimizer --------------------------------------------------------------------

/// Control does not come here.
[[noreturn, CAIRN_FORCE_INLINE]] inline void unreachable() noexcept {
#if CAIRN_COMPILER_IS_MSVC
    __assume(false);
#else
    __builtin_unreachable();
#endif
}

/// The optimizer knows nothing about the value afterwards, and keeps it in a register.
template <class T>
[[CAIRN_FORCE_INLINE]] inline void hide([[maybe_unused]] T& value) noexcept {
#if CAIRN_COMPILER_IS_MSVC  // it has no such statement, and a copy in memory would cost more
#elif defined(__x86_64__)
    if constexpr (sizeof(T) == 16) {
        __asm__("" : "+x"(value));
    } else {
        __asm__("" : "+r"(value));
    }
#elif defined(__aarch64__)
    if constexpr (sizeof(T) == 16) {
        __asm__("" : "+w"(value));
    } else {
        __asm__("" : "+r"(value));
    }
#endif
}

/// `begin`, where a column begins: gcc computes no address of one column from that of another.
///
///      id column   [ 4 bytes each ]     p += 4
///      velocity    [ 8 bytes each ]     2 * p - base + distance: an address without a pointer
///
/// gcc before 14 takes such an address in a loop for an access through nullptr, which no program
/// makes, and drops the loop and the calls of its function (its PR tree-optimization/110702).
[[nodiscard, CAIRN_FORCE_INLINE]] inline std::byte* column(std::byte* begin) noexcept {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14
    // A statement of no alignment, which gcc keeps until its optimization of loops is done.
    return static_cast<std::byte*>(__builtin_assume_aligned(begin, 1));
#else
    return begin;
#endif
}

// Any address may be prefetched, also nullptr and unmapped ones: nothing faults.

/// Asks for the line of `p`, to be read soon.
[[CAIRN_FORCE_INLINE]] inline void prefetch(const void* p) noexcept {
#if !CAIRN_COMPILER_IS_MSVC
    __builtin_prefetch(p);
#elif defined(_M_ARM64)
    __prefetch(p);
#else
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#endif
}

/// Asks for the line of `p`, to be written soon by the only thread that uses it.
[[CAIRN_FORCE_INLINE]] inline void prefetch_for_writing(const void* p) noexcept {
#if CAIRN_COMPILER_IS_MSVC
    prefetch(p);
#else
    __builtin_prefetch(p, 1);
#endif
}

/// As prefetch_for_writing, and takes the line from another core at once:
///
///      other core   [ line, modified ]        for reading: shared, then a second trip to own it
///      this core    [ ..................... ] for writing: owned at once, one trip
///
/// __builtin_prefetch(p, 1) asks for the line to read it, unless the target says that every
/// processor has prefetchw; all x86-64 processors take that instruction, and those without it do
/// nothing.
[[CAIRN_FORCE_INLINE]] inline void prefetch_from_other_core(const void* p) noexcept {
#if CAIRN_COMPILER_IS_MSVC && defined(_M_X64)
    _m_prefetchw(const_cast<void*>(p));
#elif !CAIRN_COMPILER_IS_MSVC && defined(__x86_64__)
    __asm__ volatile("prefetchw (%0)" : : "r"(p));
#else
    prefetch_for_writing(p);
#endif
}

/// In a loop that waits for another core.
[[CAIRN_FORCE_INLINE]] inline void pause() noexcept {
#if CAIRN_COMPILER_IS_MSVC && defined(_M_X64)
    _mm_pause();
#elif CAIRN_COMPILER_IS_MSVC
    __yield();
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

// ---- objects and their bytes --------------------------------------------------------------------

/// The address of an object whose class may overload `&`: std::addressof without <memory>.
template <class T>
[[nodiscard, CAIRN_FORCE_INLINE]] constexpr T* address_of(T& object) noexcept {
    return __builtin_addressof(object);  // all compilers have this spelling
}
template <class T>
const T* address_of(const T&&) = delete;

/// std::bit_cast without <bit>. Requires: both types are trivially copyable and of one size.
template <class To, class From>
[[nodiscard, CAIRN_FORCE_INLINE]] constexpr To bit_cast(const From& from) noexcept {
    return __builtin_bit_cast(To, from);  // all compilers have this spelling
}

/// std::memcpy of a constant number of bytes, inlined at -O0, too.
template <std::size_t Size>
[[CAIRN_FORCE_INLINE]] inline void copy_bytes(void* to, const void* from) noexcept {
#if CAIRN_COMPILER_IS_MSVC
    std::memcpy(to, from, Size);
#else
    __builtin_memcpy(to, from, Size);
#endif
}

/// std::memmove.
[[CAIRN_FORCE_INLINE]] inline void move_bytes(void* to, const void* from,
                                              std::size_t size) noexcept {
#if CAIRN_COMPILER_IS_MSVC
    std::memmove(to, from, size);
#else
    __builtin_memmove(to, from, size);
#endif
}

// ---- arithmetic ---------------------------------------------------------------------------------

/// Requires: bits != 0. Cost: tzcnt or bsf, and no branch for zero.
[[nodiscard, CAIRN_FORCE_INLINE]] constexpr unsigned trailing_zeros(std::uint64_t bits) noexcept {
#if CAIRN_COMPILER_IS_MSVC
    return static_cast<unsigned>(std::countr_zero(bits));
#else
    return static_cast<unsigned>(__builtin_ctzll(bits));
#endif
}

/// a * b, of 128 bits.
struct product {
    [[CAIRN_FORCE_INLINE]] product(std::uint64_t a, std::uint64_t b) noexcept {
#if CAIRN_COMPILER_IS_MSVC
        high = __umulh(a, b);
        low = a * b;
#else
        __extension__ const unsigned __int128 all = static_cast<unsigned __int128>(a) * b;
        high = static_cast<std::uint64_t>(all >> 64);
        low = static_cast<std::uint64_t>(all);
#endif
    }
    std::uint64_t high;
    std::uint64_t low;
};

/// 16 bytes in one register, where the compiler has a type for that.
#if CAIRN_COMPILER_IS_MSVC
struct bytes16 {
    std::uint64_t low, high;
    friend bytes16 operator&(bytes16 a, bytes16 b) noexcept {
        return {a.low & b.low, a.high & b.high};
    }
    bytes16& operator&=(bytes16 b) noexcept { return *this = *this & b; }
};
#else
using bytes16 = unsigned char __attribute__((vector_size(16)));
#endif

[[nodiscard, CAIRN_FORCE_INLINE]] constexpr bytes16 two_words(std::uint64_t low,
                                                              std::uint64_t high) noexcept {
#if CAIRN_COMPILER_IS_MSVC
    return {low, high};
#else
    using words = std::uint64_t __attribute__((vector_size(16)));
    return bit_cast<bytes16>(words{low, high});
#endif
}

/// All bits of a byte where both have the same byte, and not all where they have not.
[[nodiscard, CAIRN_FORCE_INLINE]] inline bytes16 equal_bytes(bytes16 a, bytes16 b) noexcept {
#if CAIRN_COMPILER_IS_MSVC
    return {~(a.low ^ b.low), ~(a.high ^ b.high)};
#else
    return reinterpret_cast<bytes16>(a == b);
#endif
}

/// Whether the results of equal_bytes() that were joined by & say "equal" in each byte.
[[nodiscard, CAIRN_FORCE_INLINE]] inline bool all_equal(bytes16 same) noexcept {
#if !CAIRN_COMPILER_IS_MSVC && defined(__SSE2__)
    using signed16 = char __attribute__((vector_size(16)));
    return __builtin_ia32_pmovmskb128(reinterpret_cast<signed16>(same)) == 0xFFFF;
#else
    std::uint64_t halves[2];
    copy_bytes<sizeof halves>(halves, &same);
    return (halves[0] & halves[1]) == ~std::uint64_t{0};
#endif
}

// ---- atomic operations on plain words (core/inside/atomic.hpp has the class) -------------------

#if CAIRN_COMPILER_IS_MSVC
using std::atomic_ref;
using std::memory_order;
#else

/// As std::memory_order: what other threads may see before or after the operation.
enum class memory_order : int {
    relaxed = __ATOMIC_RELAXED,
    acquire = __ATOMIC_ACQUIRE,
    release = __ATOMIC_RELEASE,
    acq_rel = __ATOMIC_ACQ_REL,
    seq_cst = __ATOMIC_SEQ_CST,
};

/// As std::atomic_ref: a plain word elsewhere, shared for one operation. (std::atomic_ref is
/// younger than some of the standard libraries.)
template <class T>
class atomic_ref {
public:
    [[CAIRN_FORCE_INLINE]] explicit atomic_ref(T& word) noexcept : word_{word} {}

    [[nodiscard, CAIRN_FORCE_INLINE]] T load(memory_order order) const noexcept {
        T seen;
        __atomic_load(&word_, &seen, static_cast<int>(order));
        return seen;
    }
    [[CAIRN_FORCE_INLINE]] void store(T value, memory_order order) const noexcept {
        __atomic_store(&word_, &value, static_cast<int>(order));
    }
    [[CAIRN_FORCE_INLINE]] T exchange(T value, memory_order order) const noexcept {
        T old;
        __atomic_exchange(&word_, &value, &old, static_cast<int>(order));
        return old;
    }
    [[CAIRN_FORCE_INLINE]] T fetch_add(T value, memory_order order) const noexcept {
        return __atomic_fetch_add(&word_, value, static_cast<int>(order));
    }
    [[CAIRN_FORCE_INLINE]] T fetch_sub(T value, memory_order order) const noexcept {
        return __atomic_fetch_sub(&word_, value, static_cast<int>(order));
    }
    [[CAIRN_FORCE_INLINE]] T fetch_or(T bits, memory_order order) const noexcept {
        return __atomic_fetch_or(&word_, bits, static_cast<int>(order));
    }
    [[CAIRN_FORCE_INLINE]] T fetch_and(T bits, memory_order order) const noexcept {
        return __atomic_fetch_and(&word_, bits, static_cast<int>(order));
    }
    [[CAIRN_FORCE_INLINE]] bool compare_exchange_weak(T& expected, T desired, memory_order success,
                                                      memory_order failure) const noexcept {
        return __atomic_compare_exchange(&word_, &expected, &desired, true,
                                         static_cast<int>(success), static_cast<int>(failure));
    }
    [[CAIRN_FORCE_INLINE]] bool compare_exchange_strong(T& expected, T desired,
                                                        memory_order success,
                                                        memory_order failure) const noexcept {
        return __atomic_compare_exchange(&word_, &expected, &desired, false,
                                         static_cast<int>(success), static_cast<int>(failure));
    }

private:
    // A struct of two halves has the alignment of a half, and atomic<T> that of the whole.
    using aligned [[gnu::aligned(sizeof(T))]] = T;
    aligned& word_;
};
#endif

/// Of a word that the caller may only read: std::atomic_ref<const T> came with C++26.
template <class T>
[[nodiscard, CAIRN_FORCE_INLINE]] inline T load(const T& word, memory_order order) noexcept {
    return atomic_ref<T>{const_cast<T&>(word)}.load(order);
}

/// As std::atomic_signal_fence: keeps the compiler, and not the processor, from moving accesses.
[[CAIRN_FORCE_INLINE]] inline void signal_fence(memory_order order) noexcept {
#if CAIRN_COMPILER_IS_MSVC
    std::atomic_signal_fence(order);
#else
    __atomic_signal_fence(static_cast<int>(order));
#endif
}

}}  // namespace cairn::compiler
