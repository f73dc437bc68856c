// lab/peers/snmalloc.hpp - snmalloc, by its own functions: `--peer snmalloc=FOLDER`, its folder src.
#pragma once

#include <snmalloc/snmalloc.h>

#include <cstddef>

namespace lab::peers {

struct snmalloc {
    template <std::size_t Size>
    struct slots {
        explicit slots(std::size_t) {}
        void* allocate() { return ::snmalloc::alloc<Size>(); }
        void deallocate(void* p) { ::snmalloc::dealloc<Size>(p); }
    };
    struct heap {
        void* allocate(std::size_t size) { return ::snmalloc::alloc(size); }
        void deallocate(void* p, std::size_t size) { ::snmalloc::dealloc(p, size); }
    };

    template <std::size_t Size, class Offer>
    static void offer_pools(Offer offer) {
        offer.template operator()<slots<Size>>("snmalloc");
    }
    template <std::size_t Size, class Offer>
    static void offer_thread_pools(Offer offer) {
        offer.template operator()<slots<Size>>("snmalloc");
    }
    template <std::size_t, class Offer>
    static void offer_heaps(Offer offer) {
        offer.template operator()<heap>("snmalloc");
    }
};

}  // namespace lab::peers
