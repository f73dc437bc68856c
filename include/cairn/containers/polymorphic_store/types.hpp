// cairn/containers/polymorphic_store/types.hpp - the rows of all types of a store, by their number.
//
//      closed_types<Base, A, B>      | rows of A | rows of B |        number: the place in the list
//
//      open_types<Base>              | mark of A | o |------> rows of A, behind a virtual table
//                                    | mark of B | o |------> rows of B
//                                      number: the order in which types were first inserted
//
// Both have the same members, and pass objects with the same members to a function: typed_rows<A>
// where the type is known, any_rows where it is not. So the store is written once.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/polymorphic_store/typed_rows.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/core/make.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Numbers of types fit the user bits of a handle.
inline constexpr std::size_t type_count_max = std::size_t{polymorphic_handle<int>::user_max} + 1;

/// Rows of one type, and the number of the type: what an insertion asks for.
template <class Base, class T>
struct numbered_rows {
    typed_rows<Base, T>* rows;  // null: exhausted
    std::size_t number;
};

// ---- closed -------------------------------------------------------------------------------------

template <class Base, class... Types>
class closed_types : typed_rows<Base, Types>... {
public:
    static constexpr bool is_cloneable = (std::is_copy_constructible_v<Types> && ...);

    closed_types(allocator_ref upstream, const slot_map_options& how) noexcept
        : typed_rows<Base, Types>{upstream, how}..., upstream_{upstream} {}

    [[nodiscard]] static constexpr std::size_t count() noexcept { return sizeof...(Types); }
    [[nodiscard]] allocator_ref upstream() const noexcept { return upstream_; }

    /// The rows of T, made where they are missing.
    template <class T>
    [[nodiscard]] numbered_rows<Base, T> rows_of() noexcept {
        return {this, number_of<T>()};
    }
    /// The rows of T; null where there are none yet.
    template <class T, class Self>
    [[nodiscard]] static auto known(Self& self) noexcept {
        using rows = typed_rows<Base, T>;
        return static_cast<std::conditional_t<std::is_const_v<Self>, const rows, rows>*>(
            compiler::address_of(self));
    }
    /// The same where `number` is that of T; null otherwise.
    template <class T, class Self>
    [[nodiscard]] static auto numbered(Self& self, std::size_t number) noexcept {
        return number == number_of<T>() ? known<T>(self) : nullptr;
    }

    /// Calls f(rows, number) for each type.
    template <class Self, class F>
    static void each(Self& self, F f) {
        std::size_t number = 0;
        (static_cast<void>(f(*known<Types>(self), number++)), ...);
    }
    /// What f(rows) returns for the rows with that number; `otherwise` where there are none.
    template <class Self, class R, class F>
    static R at(Self& self, std::size_t number, R otherwise, F f) {
        std::size_t i = 0;
        (void)((i++ == number && (static_cast<void>(otherwise = f(*known<Types>(self))), true)) ||
               ...);
        return otherwise;
    }

    [[nodiscard]] bool copy_from(const closed_types& other) {
        return (known<Types>(*this)->copy_from(*known<Types>(other)) && ...);
    }

private:
    template <class T>
    [[nodiscard]] static constexpr std::size_t number_of() noexcept {
        std::size_t number = 0;
        (void)((std::is_same_v<T, Types> || (static_cast<void>(++number), false)) || ...);
        return number;
    }

    allocator_ref upstream_;
};

// ---- open ---------------------------------------------------------------------------------------

/// An address for each type. (Not const: linkers may fold equal constants.)
template <class T>
inline char type_mark{};

/// The words of typed_rows, for rows of a type that the caller does not know.
template <class Base>
class any_rows {
public:
    using handle_type = polymorphic_handle<Base>;

    [[nodiscard]] virtual base_rows<Base> rows() noexcept = 0;
    /// Checked builds: a loop over the rows, until the scope ends.
    [[nodiscard]] virtual callback_mark::loop begin_loop() const noexcept = 0;
    [[nodiscard]] base_rows<const Base> rows() const noexcept {
        const base_rows<Base> r = const_cast<any_rows*>(this)->rows();
        return {r.first, r.stride, r.count, r.handles};
    }
    [[nodiscard]] virtual Base* find(handle_type h) noexcept = 0;
    [[nodiscard]] const Base* find(handle_type h) const noexcept {
        return const_cast<any_rows*>(this)->find(h);
    }
    [[nodiscard]] virtual handle_fault fault_of(handle_type h) const noexcept = 0;
    [[noreturn]] virtual void refuse(handle_type h, const void* store, call_site from) const = 0;
    [[nodiscard]] virtual std::size_t size() const noexcept = 0;
    virtual bool erase(handle_type h) = 0;
    virtual void clear() noexcept = 0;
    [[nodiscard]] virtual bool shrink_to_fit() = 0;
    [[nodiscard]] virtual bool retire(handle_type h, std::uint64_t fence) = 0;
    virtual std::size_t collect(std::uint64_t completed) = 0;
    [[nodiscard]] virtual std::size_t pending_count() const noexcept = 0;
    virtual void validate() const noexcept = 0;

    template <class Predicate>
    std::size_t erase_if(Predicate& predicate) {
        return erase_asked(asked_of(predicate), compiler::address_of(predicate), true);
    }
    template <class Predicate>
    std::size_t swap_erase_if(Predicate& predicate) {
        return erase_asked(asked_of(predicate), compiler::address_of(predicate), false);
    }

    /// A copy in memory of `upstream`. Returns: null when it is exhausted, or when the type has
    /// objects and cannot be copied.
    [[nodiscard]] virtual any_rows* clone(allocator_ref upstream) const = 0;
    /// Ends these rows, which lie in memory of `upstream`.
    virtual void destroy(allocator_ref upstream) noexcept = 0;

protected:
    ~any_rows() = default;

    using question = bool (*)(const void* predicate, Base& object);

private:
    template <class Predicate>
    static question asked_of(Predicate&) noexcept {
        return [](const void* predicate, Base& object) {
            return static_cast<bool>(
                (*static_cast<Predicate*>(const_cast<void*>(predicate)))(object));
        };
    }
    virtual std::size_t erase_asked(question ask, const void* predicate, bool keeps_order) = 0;
};

template <class Base, class T>
class any_rows_of final : public any_rows<Base> {
public:
    using handle_type = polymorphic_handle<Base>;

    explicit any_rows_of(allocator_ref upstream, const slot_map_options& options = {}) noexcept
        : typed{upstream, options} {}

    using any_rows<Base>::rows;
    using any_rows<Base>::find;
    base_rows<Base> rows() noexcept override { return typed.rows(); }
    callback_mark::loop begin_loop() const noexcept override { return typed.begin_loop(); }
    Base* find(handle_type h) noexcept override { return typed.find(h); }
    handle_fault fault_of(handle_type h) const noexcept override { return typed.fault_of(h); }
    [[noreturn]] void refuse(handle_type h, const void* store, call_site from) const override {
        typed.refuse(h, store, from);
    }
    std::size_t size() const noexcept override { return typed.size(); }
    bool erase(handle_type h) override { return typed.erase(h); }
    std::size_t erase_asked(typename any_rows<Base>::question ask, const void* predicate,
                            bool keeps_order) override {
        const auto is_erased = [=](T& object) { return ask(predicate, object); };
        return keeps_order ? typed.erase_if(is_erased) : typed.swap_erase_if(is_erased);
    }
    void clear() noexcept override { typed.clear(); }
    bool shrink_to_fit() override { return typed.shrink_to_fit(); }
    [[nodiscard]] bool retire(handle_type h, std::uint64_t fence) override {
        return typed.retire(h, fence);
    }
    std::size_t collect(std::uint64_t completed) override { return typed.collect(completed); }
    std::size_t pending_count() const noexcept override { return typed.pending_count(); }
    void validate() const noexcept override { typed.validate(); }
    any_rows<Base>* clone(allocator_ref upstream) const override {
        any_rows_of* const copy = cairn::make<any_rows_of>(upstream, upstream);
        if (copy == nullptr) { return nullptr; }
        rollback undo{[&]() noexcept { copy->destroy(upstream); }};
        if constexpr (std::is_copy_constructible_v<T>) {
            if (!copy->typed.copy_from(typed)) { return nullptr; }
        } else if (!typed.empty()) {
            return nullptr;
        }
        undo.cancel();
        return copy;
    }
    void destroy(allocator_ref upstream) noexcept override { cairn::destroy(upstream, this); }

    typed_rows<Base, T> typed;
};

template <class Base>
class open_types {
    struct entry {
        const char* mark;
        any_rows<Base>* rows;
    };

public:
    static constexpr bool is_cloneable = true;

    open_types(allocator_ref upstream, const slot_map_options& options) noexcept
        : entries_{upstream}, options_{options} {}
    open_types(open_types&& other) noexcept = default;
    open_types& operator=(open_types&& other) noexcept {
        if (this != compiler::address_of(other)) {
            end();
            entries_ = std::move(other.entries_);
            options_ = other.options_;
        }
        return *this;
    }
    ~open_types() { end(); }

    [[nodiscard]] std::size_t count() const noexcept { return entries_.size(); }
    [[nodiscard]] allocator_ref upstream() const noexcept { return entries_.upstream(); }

    template <class T>
    [[nodiscard]] numbered_rows<Base, T> rows_of() noexcept {
        const std::size_t number = number_of<T>();
        if (number < count()) [[likely]] { return {typed<T>(*this, number), number}; }
        return add<T>();
    }
    template <class T, class Self>
    [[nodiscard]] static auto known(Self& self) noexcept {
        const std::size_t number = self.template number_of<T>();
        return number < self.count() ? typed<T>(self, number) : nullptr;
    }
    template <class T, class Self>
    [[nodiscard]] static auto numbered(Self& self, std::size_t number) noexcept {
        const bool is_t =
            number < self.count() && self.entries_.data()[number].mark == &type_mark<T>;
        return is_t ? typed<T>(self, number) : nullptr;
    }

    template <class Self, class F>
    static void each(Self& self, F f) {
        for (std::size_t number = 0; number < self.count(); ++number) {
            f(rows(self, number), number);
        }
    }
    template <class Self, class R, class F>
    static R at(Self& self, std::size_t number, R otherwise, F f) {
        return number < self.count() ? f(rows(self, number)) : otherwise;
    }

    /// Requires: no type was inserted yet.
    [[nodiscard]] bool copy_from(const open_types& other) {
        if (!entries_.reserve(other.count())) { return false; }
        for (const entry& e : other.entries_) {
            any_rows<Base>* const copy = e.rows->clone(upstream());
            if (copy == nullptr) { return false; }
            entries_.emplace_in_room(entry{e.mark, copy});
        }
        options_ = other.options_;
        return true;
    }

private:
    template <class Self>
    [[nodiscard]] static auto& rows(Self& self, std::size_t number) noexcept {
        using any = std::conditional_t<std::is_const_v<Self>, const any_rows<Base>, any_rows<Base>>;
        return static_cast<any&>(*self.entries_.data()[number].rows);
    }
    /// Requires: the type with that number is T.
    template <class T, class Self>
    [[nodiscard]] static auto typed(Self& self, std::size_t number) noexcept {
        auto* const all = static_cast<any_rows_of<Base, T>*>(self.entries_.data()[number].rows);
        using rows = typed_rows<Base, T>;
        return static_cast<std::conditional_t<std::is_const_v<Self>, const rows, rows>*>(
            compiler::address_of(all->typed));
    }
    template <class T>
    [[nodiscard]] std::size_t number_of() const noexcept {
        std::size_t number = 0;
        while (number < count() && entries_.data()[number].mark != &type_mark<T>) { ++number; }
        return number;
    }
    template <class T>
    [[nodiscard, CAIRN_NOINLINE, CAIRN_COLD]] numbered_rows<Base, T> add() noexcept {
        mark_.expect_free(this, "polymorphic_store");
        if (count() == type_count_max) { return {nullptr, 0}; }
        allocator_ref memory = upstream();
        auto* const added = cairn::make<any_rows_of<Base, T>>(memory, memory, options_);
        if (added == nullptr) { return {nullptr, 0}; }
        const std::size_t number = number_of<T>();  // the upstream may have come back and added it
        const bool is_new = number == count();
        if (is_new && number != type_count_max && entries_.reserve(number + 1)) {
            entries_.emplace_in_room(entry{&type_mark<T>, added});
            return {compiler::address_of(added->typed), number};
        }
        added->destroy(memory);
        if (is_new) { return {nullptr, 0}; }
        return {typed<T>(*this, number), number};
    }
    void end() noexcept {
        [[maybe_unused]] const auto change = mark_.begin(this, "polymorphic_store");
        // Every handle is stale before the first destructor or deallocate() of the user runs.
        const packed_array<entry> ended{std::move(entries_)};
        for (const entry& e : ended) { e.rows->destroy(upstream()); }
    }

    packed_array<entry> entries_;
    slot_map_options options_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] callback_mark mark_;  // while the rows end
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
