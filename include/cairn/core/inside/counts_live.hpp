// cairn/core/inside/counts_live.hpp - a wrapper that knows how many bytes are live, and may refuse.
//
//      user                wrapper : counts_live<wrapper, A>               A
//       |  allocate(24)     |  admits(24)?  no: nullptr                    |
//       |------------------>|  yes --------------------------------------->|
//       |                   |  live_size() += 24          where A had it   |
//       |  rewind(m)        |                                              |
//       |------------------>|  live_size() = what it was at m ------------>|
//
// The wrapper derives from it and has a member function `bool admits(std::size_t size) noexcept`,
// private where counts_live is a friend, which is called once for each request before A is asked.
// What a block grows by in place is a request; freeing and shrinking never are.
//
// Counted are the bytes that were asked for, not what A rounds them up to. A request that A refuses
// has changed nothing.
//
// Cost:    an addition for each request, a subtraction for each free.
// Threads: those of A while one thread at a time uses the wrapper.
#pragma once

#include <cstddef>

#include <cairn/core/inside/forwards.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Wrapper, byte_allocator A>
class counts_live : public forwards<A> {
    using base = forwards<A>;
    using base::inner_;

public:
    using base::base;

    /// Returns: nullptr when the wrapper does not admit the request (A is not asked then), or A is
    ///          exhausted.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment,
                                 call_site from = call_site::current()) noexcept {
        if (!wrapper().admits(size)) [[unlikely]] { return nullptr; }
        void* const p = detail::allocate_for(inner_, size, align, from);
        if (p != nullptr) [[likely]] { add(size); }
        return p;
    }

    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    call_site from = call_site::current()) noexcept {
        if (p == nullptr) { return; }
        detail::deallocate_for(inner_, p, size, align, from);
        live_size_ -= size;
    }

    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept
        requires resizes_in_place<A>
    {
        if ((new_size > old_size && !wrapper().admits(new_size - old_size)) ||
            !inner_.try_resize(p, old_size, new_size, align)) {
            return false;
        }
        live_size_ -= old_size;
        add(new_size);
        return true;
    }

    /// Counts bytes that do not come from A. Returns: false when the wrapper does not admit them.
    [[nodiscard]] bool try_charge(std::size_t size) noexcept {
        if (!wrapper().admits(size)) { return false; }
        if constexpr (counts_for_others<A>) {
            if (!inner_.try_charge(size)) { return false; }
        }
        add(size);
        return true;
    }
    /// Takes bytes of try_charge() off the count.
    void refund(std::size_t size) noexcept {
        if constexpr (counts_for_others<A>) { inner_.refund(size); }
        live_size_ -= size;
    }

    void reset() noexcept
        requires resettable<A>
    {
        inner_.reset();
        live_size_ = 0;
    }

    [[nodiscard]] auto mark() noexcept
        requires markable<A>
    {
        return marker<decltype(inner_.mark())>{inner_.mark(), live_size_};
    }
    template <class M>
    void rewind(const M& to) noexcept
        requires markable<A>
    {
        inner_.rewind(to.inner);
        live_size_ = to.live_size;
    }

    /// Bytes that were asked for and are not yet back.
    [[nodiscard]] std::size_t live_size() const noexcept { return live_size_; }
    /// The most that live_size() has been.
    [[nodiscard]] std::size_t peak_size() const noexcept { return peak_size_; }

private:
    template <class M>
    struct marker {
        M inner;
        std::size_t live_size;
    };

    [[nodiscard]] Wrapper& wrapper() noexcept { return static_cast<Wrapper&>(*this); }
    void add(std::size_t size) noexcept {
        live_size_ += size;
        peak_size_ = peak_size_ < live_size_ ? live_size_ : peak_size_;
    }

    std::size_t live_size_ = 0;  // bytes given out and not yet back
    std::size_t peak_size_ = 0;  // the most that live_size_ was
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
