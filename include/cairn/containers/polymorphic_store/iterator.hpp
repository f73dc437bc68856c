// cairn/containers/polymorphic_store/iterator.hpp - over all objects of a store, as their base.
//
//      type 0  [a][a][a]   type 1  (none)   type 2  [c][c]
//                                                    ^
//                     number_ = 2, row_ = 0 ---------+        ++ goes along the row, then to the
//                                                             next type that has objects
#pragma once

#include <cstddef>
#include <span>  // the iterator tags
#include <type_traits>

#include <cairn/containers/polymorphic_store/typed_rows.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// `Base` may be const; `Types` is that of a store, and const where Base is.
template <class Base, class Types>
class polymorphic_iterator {
    using handle_type = polymorphic_handle<std::remove_const_t<Base>>;

public:
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::remove_const_t<Base>;
    using difference_type = std::ptrdiff_t;
    using pointer = Base*;
    using reference = Base&;

    polymorphic_iterator() noexcept = default;
    /// At the first object of type `number` or of one behind it.
    polymorphic_iterator(Types& types, std::size_t number) noexcept
        : types_{compiler::address_of(types)}, number_{number} {
        find_rows();
    }

    [[nodiscard]] Base& operator*() const noexcept { return rows_[row_]; }
    [[nodiscard]] Base* operator->() const noexcept { return compiler::address_of(rows_[row_]); }
    [[nodiscard]] handle_type handle() const noexcept {
        return rows_.handles[row_].with_user(number_);
    }
    polymorphic_iterator& operator++() noexcept {
        if (++row_ == rows_.count) {
            ++number_;
            find_rows();
        }
        return *this;
    }
    polymorphic_iterator operator++(int) noexcept {
        const polymorphic_iterator here = *this;
        ++*this;
        return here;
    }
    friend bool operator==(const polymorphic_iterator& a, const polymorphic_iterator& b) noexcept {
        return a.number_ == b.number_ && a.row_ == b.row_;
    }

private:
    void find_rows() noexcept {
        row_ = 0;
        rows_ = {};
        for (; number_ < types_->count(); ++number_) {
            rows_ =
                Types::at(*types_, number_, base_rows<Base>{}, [](auto& rows) -> base_rows<Base> {
                    if constexpr (asserts_enabled) {  // no object begins or ends
                        [[maybe_unused]] const auto loop = rows.begin_loop();
                    }
                    return rows.rows();
                });
            if (rows_.count != 0) { return; }
        }
    }

    Types* types_ = nullptr;
    std::size_t number_ = 0;
    std::size_t row_ = 0;
    base_rows<Base> rows_{};
};

/// The same with handles: what items() returns.
template <class Base, class Types>
class polymorphic_items {
    using objects = polymorphic_iterator<Base, Types>;

public:
    using value_type = slot_item<polymorphic_handle<std::remove_const_t<Base>>, Base&>;

    class iterator : objects {
    public:
        using iterator_concept = std::forward_iterator_tag;
        using iterator_category = std::input_iterator_tag;  // *it is no reference
        using value_type = polymorphic_items::value_type;
        using difference_type = std::ptrdiff_t;
        using reference = const value_type;  // constant, so that `auto& [h, object]` binds it, too

        iterator() noexcept = default;
        explicit iterator(const objects& at) noexcept : objects{at} {}
        [[nodiscard]] reference operator*() const noexcept {
            return {objects::handle(), objects::operator*()};
        }
        iterator& operator++() noexcept {
            objects::operator++();
            return *this;
        }
        iterator operator++(int) noexcept {
            const iterator here = *this;
            ++*this;
            return here;
        }
        friend bool operator==(const iterator& a, const iterator& b) noexcept {
            return static_cast<const objects&>(a) == static_cast<const objects&>(b);
        }
    };

    polymorphic_items(objects first, objects last) noexcept : first_{first}, last_{last} {}
    [[nodiscard]] iterator begin() const noexcept { return iterator{first_}; }
    [[nodiscard]] iterator end() const noexcept { return iterator{last_}; }

private:
    objects first_;
    objects last_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
