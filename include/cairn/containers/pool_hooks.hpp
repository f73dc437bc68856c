// cairn/containers/pool_hooks.hpp - the calls by which a pool informs its objects.
//
//     acquire:  idle -> live     object.on_exit_free_list()         then the function for acquiring
//     release:  live -> idle     the function for releasing, then   object.on_enter_free_list()
//                                                                   and object.reset()
//
// All optional: members are found by concepts and called directly, function objects are members of
// the pool and inlined; absent hooks cost nothing. hook_rules switches either kind off.
//
//  struct enemy { void on_enter_free_list() { unregister(); } ... };        the object knows
//  pool_hooks{[](bullet& b) { b.show(); }, [](bullet& b) { b.hide(); }}     functions of the caller
//
// Source: thesis section 6.2.2 (Object_Notifier_Rules), allocPool (reset()).
#pragma once

#include <new>
#include <type_traits>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/construct.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Which hooks a pool calls. (Thesis: Object_Notifier_Rules.)
enum class hook_rules : unsigned char { none = 0, members = 1, functions = 2, all = 3 };

namespace detail {

template <class T>
concept has_on_exit_free_list = requires(T& object) { object.on_exit_free_list(); };

template <class T>
concept has_on_enter_free_list = requires(T& object) { object.on_enter_free_list(); };

template <class T>
concept has_reset = requires(T& object) { object.reset(); };

}  // namespace detail

struct no_hook {
    template <class T>
    constexpr void operator()(T&) const noexcept {}
};

namespace detail {

template <class Function>
concept has_no_state =
    std::is_empty_v<Function> && std::is_trivially_default_constructible_v<Function>;

/// How a pool builds an object by default: with T's default constructor.
struct default_create {};

}  // namespace detail

/// The function objects of a pool: on_acquire(T&), on_release(T&), and create(), which returns a T.
template <class Acquire = no_hook, class Release = no_hook, class Create = detail::default_create>
struct pool_hooks {
    [[CAIRN_NO_UNIQUE_ADDRESS]] Acquire on_acquire{};
    [[CAIRN_NO_UNIQUE_ADDRESS]] Release on_release{};
    [[CAIRN_NO_UNIQUE_ADDRESS]] Create create{};
};
/// The same where none has a state: empty in every ABI. Microsoft's gives a byte to a class whose
/// members are all empty.
template <class Acquire, class Release, class Create>
    requires(detail::has_no_state<Acquire> && detail::has_no_state<Release> &&
             detail::has_no_state<Create>)
struct pool_hooks<Acquire, Release, Create> {
    constexpr pool_hooks(Acquire = {}, Release = {}, Create = {}) noexcept {}
    static inline Acquire on_acquire{};
    static inline Release on_release{};
    static inline Create create{};
};
template <class A>
pool_hooks(A) -> pool_hooks<A>;
template <class A, class R>
pool_hooks(A, R) -> pool_hooks<A, R>;
template <class A, class R, class C>
pool_hooks(A, R, C) -> pool_hooks<A, R, C>;

namespace detail {

/// Builds an object of a pool: by T(), or by the create of its hooks.
template <class T, class Hooks>
void construct_pooled(Hooks& hooks, void* slot) {
    if constexpr (std::is_same_v<std::remove_const_t<decltype(Hooks::create)>, default_create>) {
        constexpr bool fit = std::is_default_constructible_v<T>;
        static_assert(fit, "an object of a pool is built by T(), or by the create of its hooks");
        if constexpr (fit) { detail::construct_at<T>(slot); }
    } else {
        ::new (slot) T(hooks.create());
    }
}

/// Stops the program: the object that `from` released is not live in the pool.
[[noreturn, CAIRN_COLD, CAIRN_NOINLINE]] inline void refuse_release(const void* pool,
                                                                    const char* type,
                                                                    call_site from) {
    assert_failed("the object is live in this pool",
                  "an object is released once, to the pool it came from",
                  {.kind = misuse_kind::double_free, .object = pool, .type = type, .caller = from});
}

[[nodiscard]] constexpr bool calls(hook_rules rules, hook_rules kind) noexcept {
    return (static_cast<unsigned>(rules) & static_cast<unsigned>(kind)) != 0;
}

/// True when acquiring or releasing a T calls anything: an object may release itself there.
template <hook_rules Rules, class Hooks, class T>
inline constexpr bool has_hooks =
    (calls(Rules, hook_rules::members) &&
     (has_on_exit_free_list<T> || has_on_enter_free_list<T> || has_reset<T>)) ||
    (calls(Rules, hook_rules::functions) &&
     !(std::is_same_v<std::remove_const_t<decltype(Hooks::on_acquire)>, no_hook> &&
       std::is_same_v<std::remove_const_t<decltype(Hooks::on_release)>, no_hook>));

template <hook_rules Rules, class Hooks, class T>
constexpr void tell_acquired(Hooks& hooks, T& object) {
    if constexpr (calls(Rules, hook_rules::members) && has_on_exit_free_list<T>) {
        object.on_exit_free_list();
    }
    if constexpr (calls(Rules, hook_rules::functions)) { hooks.on_acquire(object); }
}

template <hook_rules Rules, class Hooks, class T>
constexpr void tell_released(Hooks& hooks, T& object) {
    if constexpr (calls(Rules, hook_rules::functions)) { hooks.on_release(object); }
    if constexpr (calls(Rules, hook_rules::members)) {
        if constexpr (has_on_enter_free_list<T>) { object.on_enter_free_list(); }
        if constexpr (has_reset<T>) { object.reset(); }
    }
}

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
