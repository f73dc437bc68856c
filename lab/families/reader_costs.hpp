// lab/families/reader_costs.hpp - what a thread pays that reads objects while another one compacts.
//
//      owner     20 objects of 1 to 20 KiB change each frame, then compact({.microseconds = 50})
//      reader    looks at objects at random, 16 in a row, and measures each row
//
//      concurrent_relocatable_heap     pins each object for as long as it looks at it
//      relocatable_heap and a lock     holds a shared lock; the owner holds the lock while it compacts
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <cairn/movable/concurrent_relocatable_heap.hpp>

#include "lab/families/graph_family.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/statistics.hpp"

namespace lab::readers {

using handle = cairn::relocatable_heap::handle_type;

inline constexpr std::size_t object_count = 2'000;
inline constexpr std::size_t region_size = std::size_t{32} << 20;
inline constexpr cairn::relocatable_heap::options room{.object_count = 2 * object_count};

struct pinning {
    cairn::concurrent_relocatable_heap heap{region_size, cairn::system_memory(), room};

    handle allocate(std::size_t size) {
        return heap.allocate(size, cairn::default_alignment, cairn::by_bytes,
                             [](void* p) { *static_cast<int*>(p) = 1; });
    }
    bool deallocate(handle h) { return heap.try_deallocate(h); }
    void compact() { heap.compact({.microseconds = 50}); }
    int read(handle h) {
        const auto held = heap.pin<int>(h);
        return held ? *held : 0;
    }
};

struct locking {
    std::shared_mutex lock;
    cairn::relocatable_heap heap{region_size, cairn::system_memory(), room};

    handle allocate(std::size_t size) {
        const std::unique_lock own{lock};
        const handle h = heap.allocate(size);
        if (h) *static_cast<int*>(heap.get(h)) = 1;
        return h;
    }
    bool deallocate(handle h) {
        const std::unique_lock own{lock};
        heap.deallocate(h);
        return true;
    }
    void compact() {
        const std::unique_lock own{lock};
        heap.compact({.microseconds = 50});
    }
    int read(handle h) {
        const std::shared_lock shared{lock};
        const void* const p = heap.get(h);
        return p != nullptr ? *static_cast<const int*>(p) : 0;
    }
};

template <class Memory>
struct beside_compaction {
    unsigned frames = 1'000;

    void operator()(lab::sample& s) const {
        Memory memory;
        graphs::dice owner{1};
        const auto size = [&] { return 1024 + owner.below(19 * 1024); };
        std::vector<std::atomic<std::uint64_t>> names(object_count);
        std::vector<handle> live(object_count);
        const auto make = [&](std::size_t i) {
            live[i] = memory.allocate(size());
            names[i].store(live[i].raw(), std::memory_order_release);
        };
        for (std::size_t i = 0; i != object_count; ++i) make(i);
        std::atomic<bool> ends{false};
        std::vector<float> rows;
        rows.reserve(std::size_t{1} << 22);
        std::uint64_t sum = 0;
        std::thread reader{[&] {
            graphs::dice any{2};
            while (!ends && rows.size() != rows.capacity()) {
                const std::int64_t start = now_ns();
                for (int i = 0; i != 16; ++i) {
                    const auto name =
                        names[any.below(object_count)].load(std::memory_order_acquire);
                    sum += static_cast<std::uint64_t>(memory.read(handle::from_raw(name)));
                }
                rows.push_back(static_cast<float>(now_ns() - start));
            }
        }};
        for (unsigned f = 0; f != frames; ++f) {
            for (int n = 0; n != 20; ++n) {
                const std::size_t i = owner.below(object_count);
                if (!live[i] || memory.deallocate(live[i])) make(i);
            }
            memory.compact();
            std::this_thread::sleep_for(std::chrono::microseconds{200});
        }
        ends = true;
        reader.join();
        if (rows.empty()) return;
        s.value(at_share(rows, 0.5) / 16);
        s.also("read beside compaction: p99.9 of 16", at_share(rows, 0.999) / 1e3);
        s.also("read beside compaction: p99.99 of 16", at_share(rows, 0.9999) / 1e3);
    }
};

}  // namespace lab::readers
