// cairn/movable/concurrent_relocatable_heap.hpp - threads read while one compacts.
//
//      owner thread                                 any thread
//      allocate, make, try_deallocate, compact      pin -> read, write -> (goes out of scope)
//               |                                        |
//               v                                        v
//      +---------------------------------------------------------------+
//      | pin words, one an object: [generation | moving | pins] address|
//      +---------------------------------------------------------------+
//      | relocatable_heap                                              |
//      +---------------------------------------------------------------+
//
// There is no safe point here, so there is no get(): a thread that looks at an object pins it for
// as long as it looks. The mover skips pinned objects; a reader that comes while its object
// is being copied waits for that one copy (largest_movable bytes: microseconds).
//
// Use it for: job systems and loaders that read assets while the frame thread compacts.
// Look elsewhere for: one thread, or a barrier once a frame: relocatable_heap costs nothing then.
// on_relocated() of the moved object runs with its pin word closed and may not pin it.
//
// Freeing: try_deallocate() refuses while a reader holds the object; try again next frame.
// Limits:  options.object_count objects, and no more than the table was made for: a growing table
//          would move under the readers. (0 means 65,536; the smallest table has 16.)
// Cost:    pin: one compare-exchange; its end: one fetch-sub. Two readers of the same object share
//          a cache line, of different ones may. 16 bytes an object on top of relocatable_heap's.
// Threads: pin from any; everything else from one thread at a time, the owner.
#pragma once

#include <cairn/core/inside/atoms.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/movable/concurrent_relocatable_heap/pin_word.hpp>
#include <cairn/movable/relocatable_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class concurrent_relocatable_heap;

/// Holds an object still, for the thread that made it. Movable, so it may end in another.
template <class T>
class held {
public:
    held() noexcept = default;
    held(held&& other) noexcept : word_{other.word_} { other.word_ = nullptr; }
    held& operator=(held&& other) noexcept {
        if (this != compiler::address_of(other)) {
            reset();
            word_ = other.word_;
            other.word_ = nullptr;
        }
        return *this;
    }
    ~held() { reset(); }

    [[nodiscard]] T* get() const noexcept {
        return word_ == nullptr ? nullptr : static_cast<T*>(static_cast<void*>(word_->address()));
    }
    [[nodiscard]] T* operator->() const noexcept { return get(); }
    [[nodiscard]] std::add_lvalue_reference_t<T> operator*() const noexcept
        requires(!std::is_void_v<T>)
    {
        return *get();
    }
    /// False: the handle was stale.
    [[nodiscard]] explicit operator bool() const noexcept { return word_ != nullptr; }

    void reset() noexcept {
        if (word_ != nullptr) { word_->leave(); }
        word_ = nullptr;
    }

private:
    friend class concurrent_relocatable_heap;
    using pin_word = detail::basic_pin_word<detail::std_atoms>;
    explicit held(pin_word* word) noexcept : word_{word} {}

    pin_word* word_ = nullptr;
};

class concurrent_relocatable_heap {
public:
    using handle_type = relocatable_heap::handle_type;
    using options = relocatable_heap::options;

    concurrent_relocatable_heap() = delete;                        // it needs a size, or memory
    explicit concurrent_relocatable_heap(allocator_ref) = delete;  // a size: {16_MiB, upstream}

    /// As relocatable_heap. Tables and pin words are taken from `upstream` now.
    explicit concurrent_relocatable_heap(std::size_t size, allocator_ref upstream = system_memory(),
                                         const options& how = {}) noexcept;
    concurrent_relocatable_heap(std::size_t size, const options& how) noexcept
        : concurrent_relocatable_heap{size, system_memory(), how} {}
    explicit concurrent_relocatable_heap(byte_slice region,
                                         allocator_ref upstream = system_memory(),
                                         const options& how = {}) noexcept;
    concurrent_relocatable_heap(byte_slice region, const options& how) noexcept
        : concurrent_relocatable_heap{region, system_memory(), how} {}
    concurrent_relocatable_heap(const concurrent_relocatable_heap&) = delete;
    concurrent_relocatable_heap& operator=(const concurrent_relocatable_heap&) = delete;
    /// Requires: no reader holds anything.
    ~concurrent_relocatable_heap();

    // ------------------------------------------------------------------- any thread

    /// Holds the object still. Null when `h` is null or stale.
    template <class T = void>
    [[nodiscard]] held<T> pin(handle_type h) noexcept {
        if (!h || h.index() >= pin_word_count_) [[unlikely]] { return {}; }
        pin_word& word = pin_words_[h.index()];
        detail::enter_result e = word.try_enter(h.generation());
        if (e == detail::enter_result::busy) [[unlikely]] {
            e = wait_and_enter(word, h.generation());
        }
        return e == detail::enter_result::entered ? held<T>{&word} : held<T>{};
    }

    // ------------------------------------------------------------------- the owner

    /// `size` bytes, which `fill(void*)` makes ready before another thread can see them.
    /// Returns: the null handle when exhausted, or object_count objects live. When `fill` throws,
    ///          no thread has seen the bytes, and they are free again.
    template <class Fill>
    [[nodiscard]] handle_type allocate(std::size_t size, alignment align, const relocation& how,
                                       Fill fill) {
        const handle_type h = take(size, align, how);
        if (h) {
            detail::rollback undo{[&]() noexcept { heap_.deallocate(h); }};
            const detail::code_of_program runs{heap_.built_count_};
            fill(heap_.get(h));
            undo.cancel();
            publish(h);
        }
        return h;
    }
    [[nodiscard]] handle_type allocate(std::size_t size, alignment align = default_alignment,
                                       const relocation& how = by_bytes) noexcept {
        return allocate(size, align, how, [](void*) {});
    }
    template <class Fill>
    handle_type allocate(std::size_t, alignment, const relocation&&, Fill) = delete;  // as below
    handle_type allocate(std::size_t, alignment, const relocation&&) = delete;  // it outlives them
    /// A new T; its constructor does not throw.
    template <detail::element T, class... Args>
    [[nodiscard]] handle_type make(Args&&... args) noexcept {
        static_assert(
            std::is_nothrow_constructible_v<T, Args...> || !detail::is_made_from<T, Args...>,
            "a constructor that other threads wait for does not throw");
        return allocate(sizeof(T), alignment::of<T>(), detail::relocation_of<T>,
                        [&](void* p) { detail::construct_at<T>(p, static_cast<Args&&>(args)...); });
    }

    /// Returns: false while a reader holds it; nothing has changed then.
    /// Requires: `h` is live.
    [[nodiscard]] bool try_deallocate(handle_type h,
                                      call_site from = call_site::current()) noexcept;
    template <class T>
    [[nodiscard]] bool try_destroy(handle_type h, call_site from = call_site::current()) noexcept {
        if (!unpublish(h, from)) { return false; }
        {
            const detail::code_of_program runs{heap_.built_count_};
            static_cast<T*>(heap_.get(h))->~T();
        }
        heap_.deallocate(h);
        return true;
    }

    /// As relocatable_heap::compact(); pinned objects stay.
    compaction_report compact(const work_limit& limit = {}) noexcept;

    /// For numbers and maps: stats(), write_json(), validate(). For the owner only. Pins
    /// are in the pin words and change meanwhile: these functions report nothing as pinned.
    [[nodiscard]] const relocatable_heap& inner() const noexcept { return heap_; }

private:
    using pin_word = detail::basic_pin_word<detail::std_atoms>;

    void make_pin_words(allocator_ref upstream) noexcept;
    [[nodiscard]] handle_type take(std::size_t size, alignment align,
                                   const relocation& how) noexcept;
    void publish(handle_type h) noexcept;
    [[nodiscard]] bool unpublish(handle_type h, call_site from) noexcept;
    [[nodiscard]] detail::enter_result wait_and_enter(pin_word& word,
                                                      std::uint32_t generation) const noexcept;

    relocatable_heap heap_;
    pin_word* pin_words_ = nullptr;
    std::uint32_t pin_word_count_ = 0;
    allocator_ref upstream_;
};

}}  // namespace cairn::CAIRN_FLAVOUR
