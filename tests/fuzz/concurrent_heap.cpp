// tests/fuzz/concurrent_heap.cpp - any history of calls: both ends of each block carry its number.
#include <cairn/alloc/concurrent_heap.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct block {
    unsigned char* p;
    std::size_t size;
    cairn::alignment align;
    unsigned char fill;
};

void mark(const block& b) {
    if (b.size == 0) { return; }
    b.p[0] = b.p[b.size - 1] = b.fill;
}
void check(const block& b) {
    if (b.size != 0 && (b.p[0] != b.fill || b.p[b.size - 1] != b.fill)) { std::abort(); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cairn::concurrent_heap heap{cairn::system_pages(),
                                {.cache_size_max = size != 0 ? data[0] * std::size_t{512} : 0}};
    std::vector<block> live;
    for (std::size_t i = 0; i + 3 < size; i += 4) {
        const std::size_t n = (data[i + 1] + data[i + 2] * std::size_t{256}) << data[i + 3] % 6;
        const unsigned op = data[i] % 8;
        if (op < 4) {
            const cairn::alignment align{std::size_t{1} << (op == 0 ? data[i + 3] % 15 : 4)};
            auto* const p = static_cast<unsigned char*>(heap.allocate(n, align));
            if (p == nullptr) { continue; }
            live.push_back({p, n, align, static_cast<unsigned char>(i)});
            mark(live.back());
        } else if (op < 6 && !live.empty()) {
            block& b = live[n % live.size()];
            check(b);
            if (op == 4) {
                heap.deallocate(b.p);
            } else {
                heap.deallocate(b.p, b.size, b.align);
            }
            b = live.back();
            live.pop_back();
        } else if (op == 6 && !live.empty()) {
            block& b = live[data[i + 1] % live.size()];
            check(b);
            if (heap.try_resize(b.p, b.size, n, b.align)) {
                b.size = n;
                mark(b);
            }
        } else if (data[i + 1] < 16) {
            heap.trim({.steps = data[i + 2]});
        } else if (data[i + 1] < 24) {
            heap.release_this_thread();
        }
    }
    heap.validate();
    for (const block& b : live) {
        check(b);
        heap.deallocate(b.p, b.size, b.align);
    }
    heap.release_this_thread();
    heap.trim();
    heap.validate();
    if (heap.stats().used_size != 0) { std::abort(); }
    return 0;
}
