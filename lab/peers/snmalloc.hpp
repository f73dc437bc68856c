// lab/peers/snmalloc.hpp - snmalloc, by its own functions: `--peer snmalloc=FOLDER`, its folder src.
#pragma once

#include <snmalloc/snmalloc.h>

#include "lab/harness/experiment.hpp"
#include "lab/peers/kinds.hpp"

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

    template <std::size_t Size>
    static void offer(kinds::pools<Size>, auto visit) {
        visit.template operator()<slots<Size>>("snmalloc");
    }
    template <std::size_t Size>
    static void offer(kinds::thread_pools<Size>, auto visit) {
        visit.template operator()<slots<Size>>("snmalloc");
    }
    template <std::size_t Size>
    static void offer(kinds::heaps<Size>, auto visit) {
        visit.template operator()<heap>("snmalloc");
    }
};

}  // namespace lab::peers
