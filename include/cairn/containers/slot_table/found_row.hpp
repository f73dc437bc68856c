// cairn/containers/slot_table/found_row.hpp - a row, or nothing: the answer of a look-up where rows
// are no addresses.
//
//      handle --find--> { row of references | is it there? }
//
//      if (auto p = world.find(h)) { p->life = 1; }
//
// In aos it is a pointer; in the other layouts the references of a row and one flag, in registers.
//
// Cost: none beside the row's. Lifetimes: as a reference into the table.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// A row, or nothing: what find() returns where rows are not addresses. `Value` is a row by value.
template <class Reference, class Value>
class found_row {
public:
    constexpr found_row() noexcept = default;
    constexpr explicit found_row(Reference row) noexcept : holder_{row}, is_there_{true} {}
    found_row(const found_row&) = default;
    /// Names another row; writes nothing through, as a pointer that is assigned.
    found_row& operator=(const found_row& other) noexcept {
        ::new (static_cast<void*>(this)) found_row(other);
        return *this;
    }

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return is_there_; }
    [[nodiscard]] constexpr Reference operator*() const noexcept {
        CAIRN_ASSERT(is_there_, "a row is used when it was found",
                     {.kind = misuse_kind::null_handle});
        return holder_.row;
    }
    [[nodiscard]] constexpr auto* operator->() const noexcept {
        CAIRN_ASSERT(is_there_, "a row is used when it was found",
                     {.kind = misuse_kind::null_handle});
        return __builtin_addressof(holder_.row);
    }
    /// A copy of what was found, or `fallback`.
    [[nodiscard]] constexpr Value value_or(Value fallback) const
        requires std::is_convertible_v<Reference, Value>
    {
        if (!is_there_) { return fallback; }
        return holder_.row;
    }
    friend constexpr bool operator==(const found_row& f, std::nullptr_t) noexcept {
        return !f.is_there_;
    }

private:
    union holder {
        constexpr holder() noexcept : nothing{} {}
        constexpr explicit holder(Reference r) noexcept : row{r} {}
        char nothing;
        Reference row;
    } holder_;
    bool is_there_ = false;
};
template <class T, class Value>
class found_row<T&, Value> {
public:
    constexpr found_row() noexcept = default;
    constexpr explicit found_row(T& row) noexcept : row_{&row} {}
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return row_ != nullptr; }
    [[nodiscard]] constexpr T& operator*() const noexcept {
        CAIRN_ASSERT(row_ != nullptr, "a row is used when it was found",
                     {.kind = misuse_kind::null_handle});
        return *row_;
    }
    [[nodiscard]] constexpr T* operator->() const noexcept {
        CAIRN_ASSERT(row_ != nullptr, "a row is used when it was found",
                     {.kind = misuse_kind::null_handle});
        return row_;
    }
    [[nodiscard]] constexpr operator T*() const noexcept { return row_; }
    /// A copy of what was found, or `fallback`.
    [[nodiscard]] constexpr Value value_or(Value fallback) const
        requires std::is_copy_constructible_v<T>
    {
        if (row_ == nullptr) { return fallback; }
        return *row_;
    }
    friend constexpr bool operator==(const found_row& f, std::nullptr_t) noexcept {
        return f.row_ == nullptr;
    }

private:
    T* row_ = nullptr;
};

}}  // namespace cairn::CAIRN_FLAVOUR
