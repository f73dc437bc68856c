// cairn/containers/polymorphic_store/look_ups.hpp - finding objects of many types.
//
//      handle {type 1, slot 0, life 7}   ->  rows of type 1  ->  slot map's look-up
//
//      a closed set   the type's number chooses among rows that the compiler knows
//      an open one    it is an index into a table of rows
//
// The part of polymorphic_store that changes nothing.
//
// Cost:    find<T>: that of a slot map. find: and the choice of the type. A loop: a pointer
//          increment, type by type.
// Threads: from many at once, while no thread changes the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/polymorphic_store/iterator.hpp>
#include <cairn/containers/polymorphic_store/typed_rows.hpp>
#include <cairn/containers/polymorphic_store/types.hpp>
#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Base, class... Types>
class polymorphic_look_ups : public other_names_of_maps {
protected:
    static constexpr bool is_open = sizeof...(Types) == 0;
    using types = std::conditional_t<is_open, open_types<Base>, closed_types<Base, Types...>>;

public:
    using handle_type = polymorphic_handle<Base>;
    /// What all its objects derive from.
    using base_type = Base;
    using iterator = polymorphic_iterator<Base, types>;
    using const_iterator = polymorphic_iterator<const Base, const types>;

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
    [[nodiscard]] Base& operator[](asked<handle_type> h) noexcept {
        return *live(*this, h, detail::line_of(h));
    }
    [[nodiscard]] const Base& operator[](asked<handle_type> h) const noexcept {
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
            const base_rows<const Base> all = rows.rows();
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
    [[nodiscard]] row_span<T> values() noexcept {
        check_type<T>();
        auto* const rows = types::template known<T>(types_);
        return rows != nullptr ? row_span<T>{rows->values()} : row_span<T>{};
    }
    template <class T>
    [[nodiscard]] row_span<const T> values() const noexcept {
        check_type<T>();
        const auto* const rows = types::template known<T>(types_);
        return rows != nullptr ? row_span<const T>{rows->values()} : row_span<const T>{};
    }

    /// Calls f(object) or f(handle, object) for each, type by type. In a closed set `object` is of
    /// its own type: `f` takes auto&, or Base&. In an open one it is a Base&.
    /// Requires: `f` does not insert or erase.
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
    [[nodiscard]] auto items() noexcept { return polymorphic_items<Base, types>{begin(), end()}; }
    [[nodiscard]] auto items() const noexcept {
        return polymorphic_items<const Base, const types>{begin(), end()};
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

protected:
    explicit polymorphic_look_ups(allocator_ref upstream, const slot_map_options& options) noexcept
        : types_{upstream, options} {}

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
        return not_null(self.find(h));
#endif
    }
    template <class Self>
    [[nodiscard]] static auto* found_or_stop(Self& self, handle_type h, call_site from) noexcept {
        auto* const object = self.find(h);
        if (object == nullptr) [[unlikely]] { self.refuse(h, from); }
        return not_null(object);
    }
    [[noreturn, CAIRN_COLD, CAIRN_NOINLINE]] void refuse(handle_type h, call_site from) const {
        (void)types::at(types_, type_number(h), false, [&](const auto& rows) -> bool {
            rows.refuse(h, this, from);
            return false;
        });
        refuse_handle({fault_of(h), this, "polymorphic_store", h.index(), 0, 0, h.generation()},
                      from);
    }

    /// f(object) or f(handle, object) for the rows of a type: typed_rows, or any_rows.
    template <class Rows, class F>
    static void visit(Rows& rows, std::size_t number, F& f) {
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
                if constexpr (std::is_same_v<here, typed_rows<Base, T>>) { visit(rows, number, f); }
            });
        }
    }

    types types_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
