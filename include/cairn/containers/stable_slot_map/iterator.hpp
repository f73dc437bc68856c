// cairn/containers/stable_slot_map/iterator.hpp - a position in a stable_slot_map: a slot, and what
// lives behind it in the same word.
//
//      first_     index of the word's first slot                 left_    0 0 1 1 0 1 0 0
//      objects_   address of that slot                                              |
//                                                                          the object here
//      ++   the next bit of left_; at the end of the word: the next live bit in the chunk's words,
//           in the chunks behind
//
// Any object may be erased and others inserted while an iterator exists. What it keeps of its word
// holds as long as no object has ended, which is one comparison with the map's count of those; then
// ++ looks the word up anew, from the index.
//
// Cost: ++ is a bit scan and a comparison; a call at the end of a word, and after an erasure.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Slots, class Handle, class U>
class stable_iterator {
public:
    using value_type = std::remove_const_t<U>;
    using difference_type = std::ptrdiff_t;
    using reference = U&;
    using pointer = U*;

    stable_iterator() noexcept = default;
    /// The first object at or after `index`, or the end.
    stable_iterator(const Slots* slots, std::size_t index) noexcept : slots_{slots} { seek(index); }
    /// The object of a live slot. The first ++ looks the word up.
    stable_iterator(const Slots* slots, std::size_t index, U* object) noexcept
        : slots_{slots},
          first_{index & ~std::size_t{63}},
          left_{std::uint64_t{1} << (index & 63)},
          objects_{object - (index & 63)} {}
    /// The end.
    explicit stable_iterator(const Slots* slots) noexcept : slots_{slots} {}

    /// To const.
    operator stable_iterator<Slots, Handle, const U>() const noexcept
        requires(!std::is_const_v<U>)
    {
        stable_iterator<Slots, Handle, const U> same;
        same.slots_ = slots_;
        same.first_ = first_;
        same.left_ = left_;
        same.objects_ = objects_;
        same.ended_count_ = ended_count_;
        return same;
    }

    /// Requires: not end().
    [[nodiscard]] U& operator*() const noexcept {
        CAIRN_ASSERT(left_ != 0, "an iterator is used before the end");
        return objects_[bit()];
    }
    [[nodiscard]] U* operator->() const noexcept { return &**this; }
    /// The handle of the object here.
    [[nodiscard]] Handle handle() const noexcept {
        CAIRN_ASSERT(left_ != 0, "an iterator is used before the end");
        const std::size_t at = index();
        const auto* const state = slots_->chunks()[at >> Slots::slots_log2].state;
        return Handle::make(static_cast<std::uint32_t>(at),
                            state->generation[at & Slots::slot_mask]);
    }
    stable_iterator& operator++() noexcept {
        const std::uint64_t left = left_ & (left_ - 1);
        if (left != 0 && ended_count_ == slots_->ended_count()) [[likely]] {
            left_ = left;
        } else {
            seek(left == 0 ? first_ + 64 : index() + 1);
        }
        return *this;
    }
    stable_iterator operator++(int) noexcept {
        stable_iterator old = *this;
        ++*this;
        return old;
    }
    friend bool operator==(stable_iterator a, stable_iterator b) noexcept {
        // At the end alone is left_ 0, and in a loop the compiler knows that ++ found it not 0.
        if (a.left_ == 0 || b.left_ == 0) { return a.left_ == b.left_; }
        return a.index() == b.index();
    }

private:
    friend class stable_iterator<Slots, Handle, std::remove_const_t<U>>;

    [[nodiscard]] std::size_t bit() const noexcept {
        if (left_ == 0) { __builtin_unreachable(); }  // no question what a scan of 0 gives
        return static_cast<std::size_t>(std::countr_zero(left_));
    }
    [[nodiscard]] std::size_t index() const noexcept { return first_ + bit(); }
    void seek(std::size_t index) noexcept {
        const auto word = slots_->next_live(index);
        first_ = word.first;
        left_ = word.live;
        if (left_ == 0) { return; }
        std::byte* const objects = slots_->chunks()[first_ >> Slots::slots_log2].objects;
        objects_ = reinterpret_cast<U*>(objects) + (first_ & Slots::slot_mask);
        ended_count_ = slots_->ended_count();
    }

    const Slots* slots_ = nullptr;
    std::size_t first_ = Slots::no_index;
    std::uint64_t left_ = 0;  // the lowest bit: the object here
    U* objects_ = nullptr;
    std::size_t ended_count_ = 0;  // of the map, when left_ was loaded
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

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
