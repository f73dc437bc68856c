// cairn/collected/trace.hpp - the references of a type's objects.
//
//      struct node {                                        1  a list of members
//          ref<node> left, right;
//          using references = refers_to<&node::left, &node::right>;
//      };
//      struct hero : actor {                                   ... and those of a base class
//          ref<sword> weapon;
//          using references = refers_to<&hero::weapon>::and_base<actor>;
//      };
//      struct squad {                                       2  a function
//          ref<hero> members[8];
//          ref_array<hero> reserve;
//          void trace(visitor& v) { v(members, reserve); }
//      };
//      struct score { int points; };                        3  nothing: trivially copyable types
//      struct label {                                          need not say so, others do
//          std::string text;
//          using references = refers_to<>;
//      };
//
// A list is the fastest: the collector learns the places once, and calls nothing. A function must
// visit every reference of the object at any time after its constructor, and change nothing.
// Checked builds report an unlisted reference, when it is constructed or assigned, and with
// options::verify in each cycle.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/collected/ref.hpp>
#include <cairn/movable/trivial_relocation.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class T>
class ref_array;
template <class Container, auto... Fields>
class traced;

namespace detail {

/// Whether a visitor can be shown a member, and where its references lie.
///     ref, ref_array                 here: a name in the object
///     traced<container>              elsewhere: names in the container's memory
///     arrays of these, std::array    as their elements
enum class shown : unsigned char { no, here, elsewhere };

template <class T>
inline constexpr shown shown_as = shown::no;
template <class T>
inline constexpr shown shown_as<ref<T>> = shown::here;
template <class T>
inline constexpr shown shown_as<ref_array<T>> = shown::here;
template <class Container, auto... Fields>
inline constexpr shown shown_as<traced<Container, Fields...>> = shown::elsewhere;
template <class T, std::size_t Count>
inline constexpr shown shown_as<T[Count]> = shown_as<T>;
template <class T>
    requires requires { typename T::value_type; }
inline constexpr shown shown_as<T> = shown_as<typename T::value_type>;

}  // namespace detail

/// Is shown the references of one object.
class visitor {
public:
    /// For the library's own use: is called with places of references.
    using seen_function = void (*)(visitor& v, detail::object_name* first, std::size_t count);

    explicit visitor(seen_function seen) noexcept : seen_{seen} {}
    visitor(const visitor&) = delete;
    visitor& operator=(const visitor&) = delete;

    /// Each is a ref, a ref_array, a traced container, or an array (std::array, ...) of such.
    template <class... References>
    void operator()(References&... references) {
        (show(const_cast<std::remove_const_t<References>&>(references)), ...);
    }

private:
    template <class T>
    void show(ref<T>& r) {
        seen_(*this, reinterpret_cast<detail::object_name*>(compiler::address_of(r)), 1);
    }
    template <class T>
    void show(ref_array<T>& a) {
        seen_(*this, &a.buffer_, 1);
    }
    template <class Container, auto... Fields>
    void show(traced<Container, Fields...>& c) {
        c.for_each([this](detail::object_name& name) { seen_(*this, &name, 1); });
    }
    template <class Several>
    void show(Several& several) {
        constexpr bool is_shown = detail::shown_as<Several> != detail::shown::no;
        static_assert(
            is_shown,
            "a visitor is shown a ref, a ref_array, a traced container, or an array of them");
        if constexpr (is_shown) {
            for (auto& one : several) { show(one); }
        }
    }

    seen_function seen_;
};

namespace detail {

template <class Member>
struct class_of_member;
template <class Class, class Value>
struct class_of_member<Value Class::*> {
    using type = Class;
    using value = Value;
};

struct no_base {
    static void trace(void*, visitor&) {}
};

template <class T>
void trace_object(T& object, visitor& v);

template <class Base, auto... Members>
struct references_of_members {
    /// The references of Other are visited, too.
    template <class Other>
    using and_base = references_of_members<Other, Members...>;

    /// False when T took the list over from a base class.
    template <class T>
    static constexpr bool are_of =
        sizeof...(Members) == 0 || !std::is_same_v<Base, no_base> ||
        (std::is_same_v<typename class_of_member<decltype(Members)>::type, T> || ...);

    template <class T>
    static void visit(T& object, visitor& v) {
        if constexpr (!std::is_same_v<Base, no_base>) { detail::trace_object<Base>(object, v); }
        if constexpr (sizeof...(Members) != 0) { v((object.*Members)...); }
    }
    static constexpr std::size_t count = sizeof...(Members);
    static constexpr bool are_shown =
        ((shown_as<typename class_of_member<decltype(Members)>::value> != shown::no) && ...);
    static constexpr bool are_placed =
        ((shown_as<typename class_of_member<decltype(Members)>::value> == shown::here) && ...);
    using base_type = Base;
};

template <class T>
concept has_list = requires { typename T::references; };

template <class T>
concept has_trace = requires(T& object, visitor& v) { object.trace(v); };

/// trace() was written in T, not in a base class.
template <class T>
inline constexpr bool has_own_trace = false;
template <class T>
    requires requires { &T::trace; }
inline constexpr bool has_own_trace<T> =
    std::is_same_v<typename class_of_member<decltype(&T::trace)>::type, T>;

/// The list counts: a trace() of T itself hides a base class's trace().
template <class T>
concept uses_list = has_list<T> && !has_own_trace<T>;

template <class T>
consteval bool is_described() {
    constexpr bool is_listed = has_list<T> || has_trace<T> || std::is_trivially_copyable_v<T>;
    static_assert(is_listed,
                  "a collected type says what it refers to: write in it "
                  "`using references = cairn::refers_to<&type::member, ...>;` (refers_to<> for "
                  "nothing) or `void trace(cairn::visitor& v) { v(member, ...); }`");
    if constexpr (uses_list<T>) {
        static_assert(T::references::template are_of<T>,
                      "this list of references is of a base class: write in the derived type "
                      "`using references = cairn::refers_to<&type::member, ...>::and_base<base>;`");
        static_assert(T::references::are_shown,
                      "a list of references names a ref, a ref_array, a traced container, or an "
                      "array of them");
        return T::references::are_shown;
    } else if constexpr (has_trace<T>) {
        static_assert(has_own_trace<T>,
                      "this trace() is of a base class: write one in the derived type, which "
                      "calls that of the base");
    }
    return is_listed;
}

template <class T>
void trace_object(T& object, visitor& v) {
    static_assert(is_described<T>());
    if constexpr (uses_list<T>) {
        T::references::visit(object, v);
    } else if constexpr (has_trace<T>) {
        object.trace(v);
    }
}

/// True when the references of a T are found without a call: all are at fixed places.
template <class T>
consteval bool has_places() {
    if constexpr (!uses_list<T>) {
        return std::is_trivially_copyable_v<T> && !has_trace<T>;
    } else if constexpr (!std::is_same_v<typename T::references::base_type, no_base>) {
        return T::references::are_placed && has_places<typename T::references::base_type>();
    } else {
        return T::references::are_placed;
    }
}
template <class T>
consteval bool has_references() {
    if constexpr (uses_list<T>) {
        if constexpr (!std::is_same_v<typename T::references::base_type, no_base>) {
            return T::references::count != 0 || has_references<typename T::references::base_type>();
        } else {
            return T::references::count != 0;
        }
    } else {
        return has_trace<T>;
    }
}

template <class T>
consteval tracing way_of() {
    if (!has_references<T>()) { return tracing::nothing; }
    return has_places<T>() ? tracing::unlearned : tracing::by_call;
}

struct text_part {
    const char* begin;
    std::uint32_t length;
};
constexpr bool begins_with(const char* text, const char* word) noexcept {
    while (*word != 0 && *text == *word) { ++text, ++word; }
    return *word == 0;
}
/// The first template argument in the signature of name_of_type():
///     gcc      "... name_of_type() [with T = node; ...]"
///     clang    "... name_of_type() [T = node]"
///     MSVC     "... name_of_type<struct node>(void)"
constexpr text_part first_argument_in(const char* text) noexcept {
    const char* end = text;
    for (const char* p = text; *p != 0; ++p) {
        if (begins_with(p, "T = ")) {
            const char* const name = p + 4;
            for (end = name; *end != ']' && *end != ';' && *end != 0; ++end) {}
            return {name, static_cast<std::uint32_t>(end - name)};
        }
        if (*p == '>') { end = p; }
    }
    constexpr const char* before[] = {"name_of_type<", "struct ", "class ", "enum ", "union "};
    while (text != end && !begins_with(text, before[0])) { ++text; }
    for (const char* word : before) {
        if (begins_with(text, word)) {
            while (*word != 0) { ++text, ++word; }
        }
    }
    return {text, static_cast<std::uint32_t>(end - text)};
}
template <class T>
constexpr text_part name_of_type() {
    return detail::first_argument_in(CAIRN_SIGNATURE);
}

template <class T>
consteval std::uint32_t slot_size_of() {
    constexpr std::size_t unit = alignof(T) > slot_size_min ? alignof(T) : slot_size_min;
    static_assert(alignof(T) <= chunk_size, "a collected object is aligned to 16 KiB at most");
    static_assert(sizeof(T) <= (std::size_t{1} << 30), "a collected object has 1 GiB at most");
    return static_cast<std::uint32_t>((sizeof(T) + unit - 1) / unit * unit);
}

template <class T>
consteval collected_type describe() {
    collected_type t;
    t.size = slot_size_of<T>();
    t.way = way_of<T>();
    t.is_movable = is_trivially_relocatable<T> && !relocates_itself<T> && !hears_of_relocation<T>;
    t.name = name_of_type<T>().begin;
    t.name_length = name_of_type<T>().length;
    if constexpr (has_references<T>()) {
        t.trace = [](void* object, visitor& v) {
            detail::trace_object(*static_cast<T*>(object), v);
        };
    }
    if constexpr (!std::is_trivially_destructible_v<T>) {
        t.destroy = [](void* object) noexcept { static_cast<T*>(object)->~T(); };
    }
    if constexpr (requires(T& object) { object.before_collect(); }) {
        static_assert(
            requires(T& object) {
                { object.before_collect() } noexcept;
            }, "before_collect() is noexcept: the collector calls it");
        t.before_collect = [](void* object) noexcept { static_cast<T*>(object)->before_collect(); };
    }
    return t;
}

template <class T>
inline constexpr collected_type type_of = describe<T>();

}  // namespace detail

/// The references of a type: pointers to its members that are a ref, a ref_array or arrays of them.
template <auto... Members>
using refers_to = detail::references_of_members<detail::no_base, Members...>;

}}  // namespace cairn::CAIRN_FLAVOUR
