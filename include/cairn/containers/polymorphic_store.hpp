// cairn/containers/polymorphic_store.hpp - objects of many types, packed type by type, behind one
// kind of handle.
//
//      handle<shape> {type 1, slot 0, life 7}
//                       |        |
//      circle (type 0)  |        |        [circle][circle][circle]
//      square (type 1)  v        v        [square][square]           a virtual table is never read
//                       slots -> row                                 to find out what comes next
//
//      cairn::polymorphic_store<shape, circle, square> shapes;       a closed set of types
//      auto h = shapes.emplace<circle>(radius);
//      if (shape* s = shapes.find(h)) { s->draw(); }                 any of them, by its base
//      if (circle* c = shapes.find<circle>(h)) { c->radius = 2; }    null where it is another type
//      shapes.for_each([](auto& s) { s.update(); });                 direct calls, type by type
//
//      cairn::polymorphic_store<shape> all;                     an open set: whatever is inserted
//      all.for_each([](shape& s) { s.update(); });              virtual calls, sorted by type
//      all.for_each<circle>([](circle& c) { c.update(); });     direct calls
//
// Use it for: objects of several types that are all visited every frame and referred to: shapes,
//             effects, components with behaviour; std::vector<std::unique_ptr<Base>> with handles.
// Look elsewhere for: one type (slot_map), addresses that must not change (stable_slot_map of each
//             type), an order among objects of different types.
//
// Invariant: find(h) is an object of the type that h was given for, or null.
// Cost:      find<T>: that of a slot map. find: and the choice of the type, by its number in the
//            handle. emplace, erase: those of a slot map; in an open set one comparison for each
//            type that was inserted before T. A loop: a pointer increment, type by type.
// Lifetimes: as slot_map: a handle finds its object until that is erased; references end when the
//            objects of that type grow in number or another of them is erased.
// Types:     up to 256 in a closed set, because clang nests no more, and 512 in an open one, of up
//            to 16 million objects each. In an open set a type is known by the address of a
//            variable: where shared libraries hide their symbols, each has types of its own.
// While iterating: erase_if visits all once; nothing else may insert or erase.
// Re-entrancy: as slot_map: constructors, moves, destructors and predicates may look things up here
//            and must not change the store.
// Threads:   one at a time; look-ups and iteration from many while no thread changes the store.
// Errors:    exhausted: the null handle, false or nothing; nothing has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <cairn/containers/polymorphic_store/look_ups.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/storage/clone.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// clang instantiates a fold expression with so many arguments at most.
inline constexpr std::size_t closed_type_count_max = 256;
/// How often T stands in Types.
template <class T, class... Types>
inline constexpr std::size_t times_named =
    (std::size_t{0} + ... + (std::is_same_v<T, Types> ? std::size_t{1} : std::size_t{0}));

/// What a store may be asked to hold: see the sentences of the second polymorphic_store.
template <class Base, class... Types>
concept storable_types =
    sizeof...(Types) <= closed_type_count_max && (std::is_base_of_v<Base, Types> && ...) &&
    ((times_named<Types, Types...> == 1) && ...);

}  // namespace detail

/// Objects of `Types`, which derive from `Base`; without Types: of every type that is inserted.
/// Base needs no virtual function and no virtual destructor: each object is destroyed as its own
/// type. A loop over a closed set needs none; an open set calls f(Base&) for objects of all types.
/// Members: below, and in polymorphic_store/look_ups.hpp:
///     finding      find  contains  []  at  fault_of  handle_of
///     all of them  size  empty  type_count  values  begin  end  for_each  items  capacity
///                  upstream  validate
template <class Base, class... Types>
class polymorphic_store : public detail::polymorphic_look_ups<Base, Types...> {
    using look_ups = detail::polymorphic_look_ups<Base, Types...>;
    using look_ups::is_open, look_ups::types_, look_ups::type_number;
    using typename look_ups::types;

public:
    using typename look_ups::handle_type;
    using options = detail::slot_map_options;  // of each type's map

    /// An empty store, which takes no memory yet.
    explicit polymorphic_store(allocator_ref upstream = system_memory(),
                               const options& how = {}) noexcept
        : look_ups{upstream, how} {}
    explicit polymorphic_store(const options& how) noexcept
        : polymorphic_store{system_memory(), how} {}
    explicit polymorphic_store(std::size_t, ...) = delete;  // room: store.reserve<T>(1000)
    polymorphic_store(const polymorphic_store&) = delete;   // clone()
    polymorphic_store& operator=(const polymorphic_store&) = delete;  // clone()
    polymorphic_store(polymorphic_store&& other) noexcept = default;
    /// `other` may be part of an object of this store: the old objects are destroyed last.
    polymorphic_store& operator=(polymorphic_store&& other) noexcept {
        polymorphic_store source{std::move(other)};
        swap(source);
        return *this;
    }

    // ---- room ---------------------------------------------------------------------------------

    /// Room for `count` objects of type T; insertions up to there never allocate.
    /// Returns: false when exhausted; no object has moved then.
    template <class T>
    [[nodiscard]] bool reserve(std::size_t count) {
        auto* const rows = rows_of<T>().rows;
        return rows != nullptr && rows->reserve(count);
    }
    /// Objects of type T grow in place from now on, up to `count_max`: no reference ends by
    /// an insertion. `how`: as packed_array's. Requires: none was inserted or reserved yet.
    /// Returns: false when the system refuses; the store is usable then.
    template <class T>
    [[nodiscard]] bool reserve_address_space(std::size_t count_max,
                                             page_options how = {}) noexcept {
        auto* const rows = rows_of<T>().rows;
        return rows != nullptr && rows->reserve_address_space(count_max, how);
    }

    /// Gives back the memory that no object needs, of each type: as slot_map::shrink_to_fit().
    /// Returns: false when the upstream has no smaller block; what needs it stays as large then.
    [[nodiscard]] bool shrink_to_fit() {
        bool fits = true;
        types::each(types_, [&](auto& rows, std::size_t) { fits &= rows.shrink_to_fit(); });
        return fits;
    }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new T, built in place.
    /// Returns: its handle; null when exhausted, or when an open store would hold objects of more
    ///          than 512 types. Nothing has changed then.
    /// Throws:  what the constructor throws; nothing has changed then.
    template <class T, class... Args>
    [[nodiscard]] handle_type emplace(Args&&... args) {
        look_ups::template check_type<T>();
        if constexpr (!look_ups::template holds<T>) {
            return {};  // the sentence is enough
        } else {
            const auto [rows, number] = rows_of<T>();
            if (rows == nullptr) [[unlikely]] { return {}; }
            return named(rows->emplace(std::forward<Args>(args)...), number);
        }
    }
    /// The same for an object that knows its own handle: make(h) returns it, built in place.
    template <class T, class Make>
    [[nodiscard]] handle_type emplace_with(Make&& make) {
        const auto [rows, type] = rows_of<T>();
        if (rows == nullptr) [[unlikely]] { return {}; }
        const std::size_t number = type;
        return named(rows->emplace_with([&](handle_type h) -> T { return make(named(h, number)); }),
                     number);
    }
    /// A copy of `object`, or what it is moved into: of its static type, which is one of the store.
    template <class T>
    [[nodiscard]] handle_type insert(T&& object) {
        return emplace<std::remove_cvref_t<T>>(std::forward<T>(object));
    }

    // ---- erasing ------------------------------------------------------------------------------

    /// Destroys the object as its own type; the last object of the type moves into its place.
    /// Returns: false when the handle was stale already (nothing happens).
    bool erase(handle_type h) {
        return types::at(types_, type_number(h), false, [h](auto& rows) { return rows.erase(h); });
    }
    /// Moves a T out and erases it. Returns: nothing when it is gone, or of another type.
    template <class T>
    [[nodiscard]] std::optional<T> take(handle_type h) {
        look_ups::template check_type<T>();
        auto* const rows = types::template numbered<T>(types_, type_number(h));
        if (rows == nullptr) { return {}; }
        return rows->take(h);
    }
    /// Erases every object that `predicate` is true for; each is asked once, as for_each would
    /// visit it. The others of its type keep their order. Returns: how many were erased.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        std::size_t count = 0;
        types::each(types_, [&](auto& rows, std::size_t) { count += rows.erase_if(predicate); });
        return count;
    }
    /// The same among those of type T.
    template <class T, class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        look_ups::template check_type<T>();
        auto* const rows = types::template known<T>(types_);
        return rows != nullptr ? rows->erase_if(predicate) : 0;
    }
    /// As erase_if where the order does not matter: the last object of the type moves into each
    /// hole.
    template <class Predicate>
    std::size_t swap_erase_if(Predicate&& predicate) {
        std::size_t count = 0;
        types::each(types_,
                    [&](auto& rows, std::size_t) { count += rows.swap_erase_if(predicate); });
        return count;
    }
    template <class T, class Predicate>
    std::size_t swap_erase_if(Predicate&& predicate) {
        look_ups::template check_type<T>();
        auto* const rows = types::template known<T>(types_);
        return rows != nullptr ? rows->swap_erase_if(predicate) : 0;
    }
    /// Every object is destroyed and every handle is stale. Keeps memory and types.
    void clear() noexcept {
        types::each(types_, [](auto& rows, std::size_t) { rows.clear(); });
    }
    /// The same for those of type T.
    template <class T>
    void clear() noexcept {
        look_ups::template check_type<T>();
        auto* const rows = types::template known<T>(types_);
        if (rows != nullptr) { rows->clear(); }
    }
    /// Look-ups fail at once; the object is destroyed when collect() gets a number that has
    /// passed `fence`.
    /// Returns: false when the handle is stale or memory is exhausted; nothing has changed then.
    [[nodiscard]] bool retire(handle_type h, std::uint64_t fence) {
        return types::at(types_, type_number(h), false,
                         [h, fence](auto& rows) { return rows.retire(h, fence); });
    }
    /// Destroys what was retired with a fence <= completed. Returns: how many. O(pending).
    std::size_t collect(std::uint64_t completed) {
        std::size_t count = 0;
        types::each(types_, [&](auto& rows, std::size_t) { count += rows.collect(completed); });
        return count;
    }
    /// Objects that wait for their fence.
    [[nodiscard]] std::size_t pending_count() const noexcept {
        std::size_t count = 0;
        types::each(types_, [&](const auto& rows, std::size_t) { count += rows.pending_count(); });
        return count;
    }

    // ---- order and copies ---------------------------------------------------------------------

    /// Sorts the objects of type T with less(a, b), stable; handles stay valid.
    /// Returns: false when there is no memory for about 16 bytes an object; nothing has changed
    /// then.
    template <class T, class Less>
    [[nodiscard]] bool sort(Less&& less) {
        look_ups::template check_type<T>();
        auto* const rows = types::template known<T>(types_);
        return rows == nullptr || rows->sort(less);
    }

    /// A copy in which every handle finds what it finds here. Retired objects stay here. A closed
    /// set has it where every type can be copied.
    /// Returns: nothing when `upstream` (here: that of this store) is exhausted, or, in an open
    /// set, when objects are of a type that cannot be copied.
    [[nodiscard]] std::optional<polymorphic_store> clone() const
        requires types::is_cloneable
    {
        return clone(look_ups::upstream());
    }
    [[nodiscard]] std::optional<polymorphic_store> clone(allocator_ref upstream) const
        requires types::is_cloneable
    {
        return cairn::clone(*this, upstream);
    }
    /// The same objects and handles as in `other`: see clone(). Requires: nothing was inserted yet.
    /// Returns: false as clone() nothing; the store can only be destroyed then.
    [[nodiscard]] bool copy_from(const polymorphic_store& other)
        requires types::is_cloneable
    {
        return types_.copy_from(other.types_);
    }

    void swap(polymorphic_store& other) noexcept {
        types between{std::move(types_)};
        detail::begin_anew(types_, other.types_);
        detail::begin_anew(other.types_, between);
    }
    friend void swap(polymorphic_store& a, polymorphic_store& b) noexcept { a.swap(b); }

private:
    template <class T>
    [[nodiscard]] detail::numbered_rows<Base, T> rows_of() noexcept {
        look_ups::template check_type<T>();
        return types_.template rows_of<T>();
    }
    [[nodiscard]] static handle_type named(handle_type h, std::size_t number) noexcept {
        return h ? h.with_user(number) : h;
    }
};

/// A list that no store can hold: the sentence alone.
template <class Base, class... Types>
    requires(!detail::storable_types<Base, Types...>)
class polymorphic_store<Base, Types...> {
    static constexpr bool are_few = sizeof...(Types) <= detail::closed_type_count_max;
    static_assert(are_few,
                  "a polymorphic_store names at most 256 types; polymorphic_store<Base> holds 512");
    static consteval bool derive() {
        if constexpr (are_few) { return (std::is_base_of_v<Base, Types> && ...); }
        return true;
    }
    static_assert(derive(), "objects of a polymorphic_store derive from its Base");
    static consteval bool are_named_once() {
        if constexpr (are_few) { return ((detail::times_named<Types, Types...> == 1) && ...); }
        return true;
    }
    static_assert(are_named_once(), "a polymorphic_store names each type once");
};

}}  // namespace cairn::CAIRN_FLAVOUR
