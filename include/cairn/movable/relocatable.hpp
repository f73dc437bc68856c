// cairn/movable/relocatable.hpp - three ways to hold an object that may move.
//
//     relocatable<T>   heap, handle    16 bytes   a look-up at each access: always right, null when
//                                                 the object is gone
//     frame_ptr<T>     T*  (+ epoch)    8 bytes   one look-up, then a pointer: until the next
//                                                 compact(), or the object's end; checked builds
//                                                 say when it came too late
//     pinned<T>        heap, handle, T* 24 bytes  a pointer that stays right: the object does not
//                                                 move while this lives
//
//      relocatable<mesh> m = heap.make<mesh>(file);
//      m->draw();                                     // anywhere, any time
//      {
//          frame_ptr<mesh> v = m.frame_ptr();         // a loop inside one frame
//          for (auto& part : v->parts) { ... }
//      }
//      pinned<mesh> p = m.pin();                      // across frames, for DMA or another thread
//
// None of them owns: destroy() is the heap's (unique ownership: destroy it in your own destructor).
//
// Cost:      relocatable: as get(). frame_ptr: a pointer. pinned: an increment and a decrement.
// Threads:   as the heap.
#pragma once

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/movable/relocatable_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// The name of a T in a relocatable heap; acts as a pointer. Trivially copyable.
template <class T>
class relocatable {
public:
    using handle_type = relocatable_heap::handle_type;

    constexpr relocatable() noexcept = default;
    constexpr relocatable(relocatable_heap& heap, handle_type h) noexcept
        : heap_{&heap}, handle_{h} {}

    /// Good until the next compact(); nullptr when null or stale.
    [[nodiscard]] T* get() const noexcept {
        return heap_ == nullptr ? nullptr : static_cast<T*>(heap_->get(handle_));
    }
    /// Requires, for these: the object lives.
    [[nodiscard]] T& operator*() const noexcept { return *live(); }
    [[nodiscard]] T* operator->() const noexcept { return live(); }
    /// True while the object lives.
    [[nodiscard]] explicit operator bool() const noexcept { return get() != nullptr; }

    /// The pointer for this frame. Requires: the object lives.
    [[nodiscard]] cairn::frame_ptr<T> frame_ptr() const noexcept;
    /// Keeps the object where it is. Null when the object is gone.
    [[nodiscard]] pinned<T> pin() const noexcept;

    /// Its name in the heap, and the heap.
    [[nodiscard]] handle_type handle() const noexcept { return handle_; }
    [[nodiscard]] relocatable_heap* heap() const noexcept { return heap_; }

    friend bool operator==(relocatable, relocatable) noexcept = default;

private:
    [[nodiscard]] T* live() const noexcept {
        T* const p = get();
        CAIRN_ASSERT(
            p != nullptr, "an object is used while it lives",
            {.kind = handle_ ? misuse_kind::stale_handle : misuse_kind::null_handle,
             .object = heap_,
             .type = "relocatable_heap",
             .values = {{"slot", handle_.index()}, {"life in the handle", handle_.generation()}}});
        return p;
    }

    relocatable_heap* heap_ = nullptr;
    handle_type handle_;
};

static_assert(sizeof(relocatable<int>) == 16 && std::is_trivially_copyable_v<relocatable<int>>);

/// A pointer for one frame. In checked builds it knows its epoch and its object's handle, and stops
/// the program when it is used after the next compact(), whether or not the object has moved, or
/// after the object's end.
template <class T>
class frame_ptr {
public:
    frame_ptr() noexcept = default;

    /// Requires, for all: no compact() since this was made, and the object lives.
    [[nodiscard]] T* get() const noexcept {
#if CAIRN_ASSERTS
        CAIRN_ASSERT(heap_ == nullptr || heap_->epoch() == epoch_,
                     "a frame pointer is used before the next safe point",
                     {.kind = misuse_kind::outlived,
                      .object = heap_,
                      .type = "relocatable_heap",
                      .values = {{"epoch", heap_->epoch()}, {"epoch of the pointer", epoch_}}});
        CAIRN_ASSERT(
            heap_ == nullptr || heap_->contains(handle_),
            "a frame pointer is used while its object lives",
            {.kind = misuse_kind::stale_handle,
             .object = heap_,
             .type = "relocatable_heap",
             .values = {{"slot", handle_.index()}, {"life in the handle", handle_.generation()}}});
#endif
        return object_;
    }
    [[nodiscard]] T& operator*() const noexcept { return *get(); }
    [[nodiscard]] T* operator->() const noexcept { return get(); }
    [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    friend class relocatable<T>;

#if CAIRN_ASSERTS
    frame_ptr(const relocatable_heap& heap, relocatable_heap::handle_type h, T* object) noexcept
        : object_{object}, heap_{&heap}, handle_{h}, epoch_{heap.epoch()} {}
#else
    frame_ptr(const relocatable_heap&, relocatable_heap::handle_type, T* object) noexcept
        : object_{object} {}
#endif

    T* object_ = nullptr;
#if CAIRN_ASSERTS
    const relocatable_heap* heap_ = nullptr;
    relocatable_heap::handle_type handle_;
    std::uint32_t epoch_ = 0;
#endif
};

/// Keeps an object where it is while this lives. pinned<void> is for raw bytes.
template <class T>
class pinned {
public:
    pinned() noexcept = default;
    pinned(pinned&& other) noexcept
        : heap_{other.heap_}, handle_{other.handle_}, object_{other.object_} {
        other.forget();
    }
    pinned& operator=(pinned&& other) noexcept {
        if (this != compiler::address_of(other)) {
            reset();
            heap_ = other.heap_;
            handle_ = other.handle_;
            object_ = other.object_;
            other.forget();
        }
        return *this;
    }
    ~pinned() { reset(); }

    [[nodiscard]] T* get() const noexcept { return object_; }
    [[nodiscard]] T* operator->() const noexcept { return object_; }
    [[nodiscard]] std::add_lvalue_reference_t<T> operator*() const noexcept
        requires(!std::is_void_v<T>)
    {
        return *object_;
    }
    [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }

    /// The object may move again.
    void reset() noexcept {
        if (object_ != nullptr) { heap_->unpin(handle_); }
        forget();
    }

private:
    friend class relocatable_heap;
    template <class Other>
    friend class relocatable;
    template <class Other>
    friend class pinned;

    pinned(relocatable_heap& heap, relocatable_heap::handle_type h, T* object) noexcept
        : heap_{&heap}, handle_{h}, object_{object} {}
    void forget() noexcept {
        heap_ = nullptr;
        handle_ = {};
        object_ = nullptr;
    }

    relocatable_heap* heap_ = nullptr;
    relocatable_heap::handle_type handle_;
    T* object_ = nullptr;
};

template <class T>
frame_ptr<T> relocatable<T>::frame_ptr() const noexcept {
    return {*heap_, handle_, live()};
}

template <class T>
pinned<T> relocatable<T>::pin() const noexcept {
    if (heap_ == nullptr) { return {}; }
    pinned<void> bytes = heap_->pin(handle_);
    if (!bytes) { return {}; }
    pinned<T> result{*heap_, handle_, static_cast<T*>(bytes.get())};
    bytes.forget();  // the count goes over
    return result;
}

template <detail::element T, class... Args>
relocatable<T> relocatable_heap::make(Args&&... args) {
    static_assert(sizeof(detail::concrete_rules<T>) != 0);
    const handle_type h = allocate(sizeof(T), alignment::of<T>(), detail::relocation_of<T>);
    if (!h) [[unlikely]] { return {}; }
    const detail::code_of_program runs{built_count_};
    if constexpr (std::is_nothrow_constructible_v<T, Args...>) {
        detail::construct_at<T>(get(h), static_cast<Args&&>(args)...);
    } else {
        detail::rollback undo{[&]() noexcept { deallocate(h); }};
        detail::construct_at<T>(get(h), static_cast<Args&&>(args)...);
        undo.cancel();
    }
    return {*this, h};
}

template <class T>
void relocatable_heap::destroy(relocatable<T> object, call_site from) noexcept {
    CAIRN_ASSERT(object.heap() == this || object.heap() == nullptr,
                 "an object is destroyed by the heap that made it",
                 {.kind = misuse_kind::foreign_handle,
                  .object = this,
                  .type = "relocatable_heap",
                  .caller = from});
    if constexpr (asserts_enabled) {
        if (!contains(object.handle())) {
            expect_object(object.handle(), "an object is destroyed once",
                          {.kind = misuse_kind::double_free,
                           .object = this,
                           .type = "relocatable_heap",
                           .caller = from});
        }
    }
    T* const p = object.get();
    if (p == nullptr) { return; }
    CAIRN_ASSERT(!is_pinned(object.handle()), "an object is unpinned before it is freed",
                 {.object = this, .type = "relocatable_heap", .caller = from});
    {
        const detail::code_of_program runs{built_count_};
        p->~T();
    }
    deallocate(object.handle(), from);
}

template <class T>
relocatable<T> relocatable_heap::as(handle_type h) noexcept {
    return {*this, h};
}

}}  // namespace cairn::CAIRN_FLAVOUR

/// That of its handle: equal names hash alike.
template <class T>
struct std::hash<cairn::relocatable<T>> {
    [[nodiscard]] std::size_t operator()(const cairn::relocatable<T>& name) const noexcept {
        return cairn::hash_value(name.handle());
    }
};
