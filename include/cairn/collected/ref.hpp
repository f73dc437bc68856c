// cairn/collected/ref.hpp - references to collected objects: ref, root, weak_ref.
//
//      outside                        the heap
//      +---------------+              +--------------------+        +-------------+
//      | root<quest> -+-------------->| quest              |        | quest       |
//      +---------------+              |   ref<quest> next -+------->|             |
//      | weak_ref<quest>|- - - - - - -|- - - - - - - - - - | - - - >|             |
//      +---------------+              +--------------------+        +-------------+
//
//      ref        4 bytes, a member of a collected object: keeps its target alive while the object
//                 itself is. Null at first. Assigned, never copied: `quest* q = other->next`. It
//                 begins and ends with the object: no std::optional, no std::variant of it.
//      root       24 bytes, anywhere else: keeps its target alive, always.
//      weak_ref   16 bytes, anywhere: null from the moment that its target is garbage.
//
//      T*, T&     anywhere: good until the next safe point (step, collect). options::stress finds
//                 one that is used later.
//
// Cost:    ref: a load, and an addition of a constant; a store is a store and a branch
//          that is taken while the heap is marking only. root: a list of two neighbours, no
//          allocation. weak_ref: two loads more than a pointer.
// Threads: that of the heap.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/collected/inside/collected_region.hpp>
#include <cairn/core/inside/element.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <detail::maybe_const_element T>
class ref {
public:
    using element_type = T;

    ref() noexcept {
        if constexpr (asserts_enabled) { detail::check_new_ref(this, nullptr); }
    }
    ref(std::nullptr_t) noexcept : ref() {}
    /// Requires: *this is a member of a collected object, `target` is null or in the same heap.
    ref(T* target) noexcept : name_{detail::name_of(target)} {
        if constexpr (asserts_enabled) { detail::check_new_ref(this, target); }
    }
    template <class Other>
        requires std::convertible_to<Other*, T*>
    ref(const ref<Other>& other) = delete;  // a ref is not copied: write T* or root<T>
    ref(const ref& other) = delete;         // a ref is not copied: write T* or root<T>

    /// Requires: as the constructor; `target` lives.
    ref& operator=(T* target) noexcept {
        if constexpr (asserts_enabled) { detail::check_store(this, target); }
        detail::overwrite(name_, detail::name_of(target));
        return *this;
    }
    ref& operator=(std::nullptr_t) noexcept { return *this = static_cast<T*>(nullptr); }
    ref& operator=(const ref& other) noexcept { return *this = other.get(); }

    /// Null when it refers to nothing.
    [[nodiscard]] T* get() const noexcept {
        if constexpr (asserts_enabled) { detail::check_load(this); }
        return name_ == 0 ? nullptr : target();
    }
    operator T*() const noexcept { return get(); }
    explicit operator bool() const noexcept { return name_ != 0; }
    /// Requires: it refers to something.
    T& operator*() const noexcept { return *operator->(); }
    T* operator->() const noexcept {
        if constexpr (asserts_enabled) { detail::check_load(this); }
        CAIRN_ASSERT(name_ != 0, "a reference that is followed refers to something");
        return target();
    }

    friend void swap(ref& a, ref& b) noexcept {
        T* const of_a = a.get();
        a = b.get();
        b = of_a;
    }

private:
    [[nodiscard]] T* target() const noexcept {
        return static_cast<T*>(detail::object_at(this, name_));
    }
    detail::object_name name_ = 0;
};
static_assert(sizeof(ref<int>) == 4);

namespace detail {

/// The untyped half of root<T>: linked exactly while it refers to something.
class root_base : private root_link {
public:
    explicit operator bool() const noexcept { return object != nullptr; }

protected:
    root_base() noexcept : root_link{} {}
    ~root_base() {
        if (object != nullptr) { unlink(); }
    }
    using root_link::object;

    void link(void* to, [[maybe_unused]] call_site from) noexcept {
        if constexpr (asserts_enabled) { check_root(this, to); }
        collected_region& r = region_of(to);
        object = to;
        next = r.roots.next;
        previous = &r.roots;
        next->previous = this;
        r.roots.next = this;
        ++r.root_count;
#if CAIRN_ASSERTS
        made_at = from;
#endif
    }
    void unlink() noexcept {
        collected_region& r = region_of(object);
        if (r.is_marking) [[unlikely]] { forget_root_while_marking(r, *this); }
        next->previous = previous;
        previous->next = next;
        --r.root_count;
        object = nullptr;
    }
    /// `other` ends, and this one stands in its place in the list.
    void take(root_base& other) noexcept {
        object = other.object;
        if (object == nullptr) { return; }
        collected_region& r = region_of(object);
        next = other.next;
        previous = other.previous;
        next->previous = this;
        previous->next = this;
        if (r.next_root == &other) { r.next_root = this; }
#if CAIRN_ASSERTS
        made_at = other.made_at;
#endif
        other.object = nullptr;
    }
    void refer_to(void* to, call_site from) noexcept {
        if (object != nullptr) { unlink(); }
        if (to != nullptr) { link(to, from); }
    }
};

}  // namespace detail

template <detail::maybe_const_element T>
class root : public detail::root_base {
public:
    using element_type = T;

    root() noexcept = default;
    root(std::nullptr_t) noexcept {}
    /// Requires: `target` is null or a collected object; *this ends before its heap.
    root(T* target, call_site from = call_site::current()) noexcept {
        if (target != nullptr) { link(as_void(target), from); }
    }
    root(const root& other, call_site from = call_site::current()) noexcept
        : root{other.get(), from} {}
    root(root&& other) noexcept { take(other); }
    root& operator=(T* target) noexcept {
        refer_to(as_void(target), call_site::current());
        return *this;
    }
    root& operator=(std::nullptr_t) noexcept { return *this = static_cast<T*>(nullptr); }
    root& operator=(const root& other) noexcept {
        if (this != compiler::address_of(other)) { *this = other.get(); }
        return *this;
    }
    root& operator=(root&& other) noexcept {
        if (this != compiler::address_of(other)) {
            if (*this) { unlink(); }
            take(other);
        }
        return *this;
    }

    [[nodiscard]] T* get() const noexcept { return static_cast<T*>(object); }
    operator T*() const noexcept { return get(); }
    using root_base::operator bool;
    /// Requires: it refers to something.
    T& operator*() const noexcept { return *operator->(); }
    T* operator->() const noexcept {
        CAIRN_ASSERT(object != nullptr, "a root that is followed refers to something");
        return get();
    }

private:
    static void* as_void(T* target) noexcept { return const_cast<std::remove_cv_t<T>*>(target); }
};

template <detail::maybe_const_element T>
class weak_ref {
public:
    using element_type = T;

    weak_ref() noexcept = default;
    weak_ref(std::nullptr_t) noexcept {}
    /// Requires: `target` is null or lives; its heap outlives every get().
    explicit weak_ref(T* target) noexcept : target_{target} {
        if (target == nullptr) { return; }
        if constexpr (asserts_enabled) { detail::check_weak(target); }
        detail::collected_region& r = detail::region_of(target);
        const detail::object_name name = detail::name_of(target);
        start_ = detail::start_of(r, name);
        r.chunks[start_ / detail::chunk_size].has_weak = true;
        life_ = life_now();
    }

    /// Null once the target is garbage and a collection has found out, and before its destructor.
    [[nodiscard]] T* get() const noexcept {
        if (target_ == nullptr || life_now() != life_) { return nullptr; }
        detail::collected_region& r = detail::region_of(target_);
        if (r.now == detail::phase::idle) [[likely]] { return target_; }
        const detail::object_name name = detail::name_of(target_);
        if (r.is_marking) {
            detail::keep_for_this_cycle(r, name);
        } else if (detail::is_condemned(r, name)) {
            return nullptr;
        }
        return target_;
    }

private:
    [[nodiscard]] std::uint32_t life_now() const noexcept {
        const detail::collected_region& r = detail::region_of(target_);
        return r.lives[(start_ - r.begin) / detail::slot_size_min];
    }

    T* target_ = nullptr;
    std::uint32_t life_ = 0;
    detail::object_name start_ = 0;  // of the object: the target may be one of its bases
};
static_assert(sizeof(weak_ref<int>) == 16);

}}  // namespace cairn::CAIRN_FLAVOUR
