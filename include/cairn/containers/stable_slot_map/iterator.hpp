// cairn/containers/stable_slot_map/iterator.hpp - a position in a stable_slot_map: a slot's index.
//
//      ++   the next live bit: in the word, in the chunk's summary, in the chunks behind
//
// An index and no pointer: any object may be erased and others inserted while one exists.
//
// Cost: ++ is a bit scan, and two loads more at the end of a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/assert.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

template <class Slots, class Handle, class U>
class stable_iterator {
public:
    using value_type = std::remove_const_t<U>;
    using difference_type = std::ptrdiff_t;
    using reference = U&;
    using pointer = U*;

    stable_iterator() noexcept = default;
    stable_iterator(const Slots* slots, std::size_t index) noexcept
        : slots_{slots}, index_{index} {}

    /// To const.
    operator stable_iterator<Slots, Handle, const U>() const noexcept
        requires(!std::is_const_v<U>)
    {
        return {slots_, index_};
    }

    /// Requires: not end().
    [[nodiscard]] U& operator*() const noexcept {
        CAIRN_ASSERT(index_ != Slots::no_index, "an iterator is used before the end");
        std::byte* const objects = slots_->chunks()[index_ >> Slots::slots_log2].objects;
        return reinterpret_cast<U*>(objects)[index_ & Slots::slot_mask];
    }
    [[nodiscard]] U* operator->() const noexcept { return &**this; }
    /// The handle of the object here.
    [[nodiscard]] Handle handle() const noexcept {
        CAIRN_ASSERT(index_ != Slots::no_index, "an iterator is used before the end");
        const auto* const state = slots_->chunks()[index_ >> Slots::slots_log2].state;
        return Handle::make(static_cast<std::uint32_t>(index_),
                            state->generation[index_ & Slots::slot_mask]);
    }
    stable_iterator& operator++() noexcept {
        index_ = slots_->next_live(index_ + 1);
        return *this;
    }
    stable_iterator operator++(int) noexcept {
        stable_iterator old = *this;
        ++*this;
        return old;
    }
    friend bool operator==(stable_iterator a, stable_iterator b) noexcept {
        return a.index_ == b.index_;
    }

private:
    const Slots* slots_ = nullptr;
    std::size_t index_ = 0;
};

/// What find() returns: null and end() at once when nothing was found, as slot_map's.
template <class Iterator>
class stable_found {
    using value_type = typename Iterator::value_type;

public:
    using pointer = typename Iterator::pointer;
    stable_found(pointer object, Iterator where) noexcept : object_{object}, where_{where} {}

    [[nodiscard]] operator pointer() const noexcept { return object_; }
    [[nodiscard]] operator Iterator() const noexcept { return where_; }
    /// Requires: an object was found.
    [[nodiscard]] auto& operator*() const noexcept {
        CAIRN_ASSERT(object_ != nullptr, "an object is used when it was found");
        return *object_;
    }
    [[nodiscard]] pointer operator->() const noexcept {
        CAIRN_ASSERT(object_ != nullptr, "an object is used when it was found");
        return object_;
    }
    /// A copy of what was found, or `fallback`.
    [[nodiscard]] value_type value_or(value_type fallback) const
        requires std::is_copy_constructible_v<value_type>
    {
        if (object_ == nullptr) { return fallback; }
        return *object_;
    }
    friend bool operator==(const stable_found& a, const stable_found& b) noexcept {
        return a.object_ == b.object_;
    }
    friend bool operator==(const stable_found& f, std::nullptr_t) noexcept {
        return f.object_ == nullptr;
    }
    template <class U>
        requires std::is_convertible_v<U*, const value_type*>
    friend bool operator==(const stable_found& f, U* object) noexcept {
        return f.object_ == object;
    }
    friend bool operator==(const stable_found& f, Iterator where) noexcept {
        return f.where_ == where;
    }

private:
    pointer object_;
    Iterator where_;
};

/// Handle and object of each, by slot.
template <class Iterator, class Item>
class stable_items {
public:
    class iterator {
    public:
        using value_type = Item;
        using difference_type = std::ptrdiff_t;

        iterator() noexcept = default;
        explicit iterator(Iterator where) noexcept : where_{where} {}
        [[nodiscard]] Item operator*() const noexcept { return {where_.handle(), *where_}; }
        iterator& operator++() noexcept { return ++where_, *this; }
        iterator operator++(int) noexcept { return iterator{where_++}; }
        friend bool operator==(const iterator&, const iterator&) noexcept = default;

    private:
        Iterator where_{};
    };

    stable_items(Iterator first, Iterator last) noexcept : first_{first}, last_{last} {}
    [[nodiscard]] iterator begin() const noexcept { return first_; }
    [[nodiscard]] iterator end() const noexcept { return last_; }

private:
    iterator first_;
    iterator last_;
};

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
