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
// While iterating: erase_if visits all once; nothing else may insert or erase objects of that type.
// Callbacks: as slot_map, for each type: what is called for an object may change other types.
// Threads:   one at a time; look-ups and iteration from many while no thread changes the store.
// Errors:    exhausted: the null handle, false or nothing; nothing has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <cairn/containers/slot_policy.hpp>  // first: errors about items are shorter

#include <cairn/containers/polymorphic_store/iterator.hpp>
#include <cairn/containers/polymorphic_store/types.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/storage/clone.hpp>
#include <cairn/storage/inside/refuse_handle.hpp>

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
template <detail::element Base, class... Types>
class polymorphic_store : public detail::other_names_of_maps<polymorphic_store<Base, Types...>> {
    static constexpr bool is_open = sizeof...(Types) == 0;
    using types =
        std::conditional_t<is_open, detail::open_types<Base>, detail::closed_types<Base, Types...>>;
    template <class T>
    using typed_rows = detail::typed_rows<Base, T>;

public:
    using handle_type = detail::polymorphic_handle<Base>;
    /// What all its objects derive from.
    using base_type = Base;
    using iterator = detail::polymorphic_iterator<Base, types>;
    using const_iterator = detail::polymorphic_iterator<const Base, const types>;
    using options = detail::slot_map_options;  // of each type's map

    /// An empty store, which takes no memory yet.
    polymorphic_store() noexcept : polymorphic_store{system_memory()} {}
    explicit polymorphic_store(allocator_ref upstream, const options& how = {}) noexcept
        : types_{upstream, how} {}
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

    // ---- finding ------------------------------------------------------------------------------

    /// The object that `h` names; null when it is gone. Any handle may be asked for.
    [[nodiscard]] Base* find(handle_type h) noexcept { return find_in<Base>(types_, h); }
    [[nodiscard]] const Base* find(handle_type h) const noexcept {
        return find_in<const Base>(types_, h);
    }
    /// The same where it is a T; null where it is gone or of another type.
    template <class T>
    [[nodiscard]] T* find(handle_type h) noexcept {
        return find_as<T>(types_, h);
    }
    template <class T>
    [[nodiscard]] const T* find(handle_type h) const noexcept {
        return find_as<T>(types_, h);
    }
    [[nodiscard]] bool contains(handle_type h) const noexcept { return find(h) != nullptr; }
    /// Requires: contains(h). Any other handle stops a checked build, which says what is wrong with
    /// it: null, of another store, stale, and where it was asked for.
    [[nodiscard]] Base& operator[](detail::asked<handle_type> h) noexcept {
        return *live(*this, h, detail::line_of(h));
    }
    [[nodiscard]] const Base& operator[](detail::asked<handle_type> h) const noexcept {
        return *live(*this, h, detail::line_of(h));
    }
    /// As operator[], and a handle that finds nothing stops every build.
    [[nodiscard]] Base& at(handle_type h, call_site from = call_site::current()) noexcept {
        return *found_or_stop(*this, h, from);
    }
    [[nodiscard]] const Base& at(handle_type h,
                                 call_site from = call_site::current()) const noexcept {
        return *found_or_stop(*this, h, from);
    }
    /// Why find(h) finds nothing. Any handle may be asked for. For messages: it costs a call.
    [[nodiscard]] handle_fault fault_of(handle_type h) const noexcept {
        const auto otherwise = h ? handle_fault::foreign : handle_fault::null;
        return types::at(types_, type_number(h), otherwise,
                         [h](const auto& rows) { return rows.fault_of(h); });
    }
    /// The handle of an object that lives here. O(types). Requires: `object` is in this store.
    [[nodiscard]] handle_type handle_of(const Base& object) const noexcept {
        handle_type h;
        types::each(types_, [&](const auto& rows, std::size_t number) {
            const detail::base_rows<const Base> all = rows.rows();
            const std::size_t offset =
                reinterpret_cast<std::uintptr_t>(compiler::address_of(object)) -
                reinterpret_cast<std::uintptr_t>(all.first);
            if (all.count != 0 && offset < all.count * all.stride) {
                h = all.handles[offset / all.stride].with_user(number);
            }
        });
        CAIRN_ASSERT(h, "the object lives in this store",
                     {.object = compiler::address_of(object), .type = "object"});
        return h;
    }

    // ---- all of them --------------------------------------------------------------------------

    /// Objects of all types.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t count = 0;
        types::each(types_, [&](const auto& rows, std::size_t) { count += rows.size(); });
        return count;
    }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    /// Objects of type T.
    template <class T>
    [[nodiscard]] std::size_t size() const noexcept {
        return std::as_const(*this).template values<T>().size();
    }
    /// Types: those of a closed set, or those that were inserted or reserved.
    [[nodiscard]] std::size_t type_count() const noexcept { return types_.count(); }
    [[nodiscard]] allocator_ref upstream() const noexcept { return types_.upstream(); }
    /// All objects of type T, packed, from a cache line on. They do not change places through the
    /// span: sort() takes the handles along.
    template <class T>
    [[nodiscard]] detail::row_span<T> values() noexcept {
        check_type<T>();
        auto* const rows = types::template known<T>(types_);
        return rows != nullptr ? detail::row_span<T>{rows->values()} : detail::row_span<T>{};
    }
    template <class T>
    [[nodiscard]] detail::row_span<const T> values() const noexcept {
        check_type<T>();
        const auto* const rows = types::template known<T>(types_);
        return rows != nullptr ? detail::row_span<const T>{rows->values()}
                               : detail::row_span<const T>{};
    }

    /// Calls f(object) or f(handle, object) for each, type by type. In a closed set `object` is of
    /// its own type: `f` takes auto&, or Base&. In an open one it is a Base&.
    /// Requires: `f` does not insert or erase objects of the type that it is called for.
    template <class F>
    void for_each(F&& f) {
        types::each(types_, [&](auto& rows, std::size_t number) { visit(rows, number, f); });
    }
    template <class F>
    void for_each(F&& f) const {
        types::each(types_, [&](const auto& rows, std::size_t number) { visit(rows, number, f); });
    }
    /// The same for those of type T: f(T&) or f(handle, T&), in either set.
    template <class T, class F>
    void for_each(F&& f) {
        check_type<T>();
        for_each_of<T>(types_, f);
    }
    template <class T, class F>
    void for_each(F&& f) const {
        check_type<T>();
        for_each_of<T>(types_, f);
    }
    /// Handle and object of each, as its base: for (auto [h, object] : store.items()).
    [[nodiscard]] auto items() noexcept {
        return detail::polymorphic_items<Base, types>{begin(), end()};
    }
    [[nodiscard]] auto items() const noexcept {
        return detail::polymorphic_items<const Base, const types>{begin(), end()};
    }
    [[nodiscard]] iterator begin() noexcept { return iterator{types_, 0}; }
    [[nodiscard]] iterator end() noexcept { return iterator{types_, types_.count()}; }
    [[nodiscard]] const_iterator begin() const noexcept { return const_iterator{types_, 0}; }
    [[nodiscard]] const_iterator end() const noexcept {
        return const_iterator{types_, types_.count()};
    }
    /// Objects of type T for which there is room.
    template <class T>
    [[nodiscard]] std::size_t capacity() const noexcept {
        check_type<T>();
        const auto* const rows = types::template known<T>(types_);
        return rows != nullptr ? rows->capacity() : 0;
    }

    /// O(slots). A broken invariant stops a checked build.
    void validate() const noexcept {
        types::each(types_, [](const auto& rows, std::size_t) { rows.validate(); });
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
        check_type<T>();
        if constexpr (!holds<T>) {
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
        check_type<T>();
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
        check_type<T>();
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
        check_type<T>();
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
        check_type<T>();
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
        check_type<T>();
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
        return clone(upstream());
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
    static constexpr bool holds =
        std::is_base_of_v<Base, T> && (is_open || (std::is_same_v<T, Types> || ...));
    template <class T>
    static constexpr void check_type() noexcept {
        static_assert(std::is_base_of_v<Base, T>,
                      "objects of a polymorphic_store derive from its Base");
        static_assert(is_open || (std::is_same_v<T, Types> || ...),
                      "a closed polymorphic_store holds the types that it names: "
                      "polymorphic_store<Base, Types...>");
    }
    [[nodiscard]] static constexpr std::size_t type_number(handle_type h) noexcept {
        return static_cast<std::size_t>(h.user());
    }
    template <class B, class T>
    [[nodiscard]] static B* find_in(T& all, handle_type h) noexcept {
        return types::at(all, type_number(h), static_cast<B*>(nullptr),
                         [h](auto& rows) -> B* { return rows.find(h); });
    }
    template <class T, class All>
    [[nodiscard]] static auto* find_as(All& all, handle_type h) noexcept {
        check_type<T>();
        using object = std::conditional_t<std::is_const_v<All>, const T, T>;
        object* found = nullptr;
        if constexpr (holds<T>) {
            auto* const rows = types::template numbered<T>(all, type_number(h));
            if (rows != nullptr) [[likely]] { found = rows->find(h); }
        }
        return found;
    }
    template <class Self>
    [[nodiscard]] static auto* live(Self& self, handle_type h,
                                    [[maybe_unused]] call_site from) noexcept {
#if CAIRN_ASSERTS
        return found_or_stop(self, h, from);
#else
        return detail::not_null(self.find(h));
#endif
    }
    template <class Self>
    [[nodiscard]] static auto* found_or_stop(Self& self, handle_type h, call_site from) noexcept {
        auto* const object = self.find(h);
        if (object == nullptr) [[unlikely]] { self.refuse(h, from); }
        return detail::not_null(object);
    }
    [[noreturn, CAIRN_COLD, CAIRN_NOINLINE]] void refuse(handle_type h, call_site from) const {
        (void)types::at(types_, type_number(h), false, [&](const auto& rows) -> bool {
            rows.refuse(h, this, from);
            return false;
        });
        detail::refuse_handle(
            {fault_of(h), this, "polymorphic_store", h.index(), 0, 0, h.generation()}, from);
    }

    /// Unchecked builds call no virtual function for it.
    template <class Rows>
    [[nodiscard]] static auto begin_loop([[maybe_unused]] const Rows& rows) noexcept {
        if constexpr (asserts_enabled) {
            return rows.begin_loop();
        } else {
            return 0;
        }
    }
    /// f(object) or f(handle, object) for the rows of a type: typed_rows, or any_rows.
    template <class Rows, class F>
    static void visit(Rows& rows, std::size_t number, F& f) {
        [[maybe_unused]] const auto loop = begin_loop(rows);
        if constexpr (requires { rows.values(); }) {
            const auto all = rows.values();
            visit_all(all.data(), all.size(), rows.handles().data(), number, f);
        } else {
            const auto all = rows.rows();
            visit_all(all, all.count, all.handles, number, f);
        }
    }
    template <class Rows, class F>
    static void visit_all(Rows rows, std::size_t count, const handle_type* handles,
                          std::size_t number, F& f) {
        for (std::size_t row = 0; row < count; ++row) {
            if constexpr (std::is_invocable_v<F&, handle_type, decltype(rows[row])>) {
                f(handles[row].with_user(number), rows[row]);
            } else {
                f(rows[row]);
            }
        }
    }
    template <class T, class All, class F>
    static void for_each_of(All& all, F& f) {
        if constexpr (is_open) {
            types::each(all, [&](auto&, std::size_t number) {
                auto* const rows = types::template numbered<T>(all, number);
                if (rows != nullptr) { visit(*rows, number, f); }
            });
        } else {
            types::each(all, [&](auto& rows, std::size_t number) {
                using here = std::remove_const_t<std::remove_reference_t<decltype(rows)>>;
                if constexpr (std::is_same_v<here, typed_rows<T>>) { visit(rows, number, f); }
            });
        }
    }

    template <class T>
    [[nodiscard]] detail::numbered_rows<Base, T> rows_of() noexcept {
        check_type<T>();
        return types_.template rows_of<T>();
    }
    [[nodiscard]] static handle_type named(handle_type h, std::size_t number) noexcept {
        return h ? h.with_user(number) : h;
    }

    types types_;
};

/// A list that no store can hold: the sentence alone.
template <detail::element Base, class... Types>
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
