// Figures of the process on stderr when it ends: CAIRN_MALLOC_STATISTICS=text or =json. The only
// option of libcairn-malloc.
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process_heap.hpp"
#include "reports.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace below_malloc { namespace {

struct figure {
    const char* name;
    std::size_t value;
};

// Looked at when the program begins: it may change its environment.
constinit const char* format_asked = nullptr;

[[gnu::constructor]] void look_for_option() noexcept {
    format_asked = ::secure_getenv("CAIRN_MALLOC_STATISTICS");
}

[[gnu::destructor]] void print_statistics() noexcept {
    if (format_asked == nullptr || process_heap() == nullptr) { return; }
    const auto s = process_heap()->stats();
    const auto read = [](auto& counter) { return counter.load(detail::memory_order::relaxed); };
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const figure figures[] = {
        {"peak_resident", static_cast<std::size_t>(usage.ru_maxrss) * 1024},
        {"taken_from_system", s.segment_size},
        {"in_chunks_and_large_blocks", s.used_size},
        {"live", s.live_size},
        {"in_thread_caches", s.cached_size},
        {"in_waiting_batches", s.waiting_size},
        {"given_back_by_trims", read(events.trimmed_size)},
        {"threads_with_a_cache", s.cache_count},
        {"trims", read(events.trims)},
        {"foreign_pointers", read(events.foreign_pointers)},
        {"wrong_sizes", read(events.wrong_sizes)},
    };
    const bool is_json = ::strcmp(format_asked, "json") == 0;
    write_line(
        is_json ? "{\"cairn_malloc\": {\"process\": %d" : "cairn-malloc, process %d, bytes:\n",
        static_cast<int>(::getpid()));
    for (const figure& f : figures) {
        write_line(is_json ? ", \"%s\": %zu" : "  %-28s %14zu\n", f.name, f.value);
    }
    if (is_json) { write_line("}}\n"); }
}

}}}}  // namespace cairn::CAIRN_FLAVOUR::below_malloc
