// lab/system/system.hpp - what the lab asks of the system: processors, pages, the terminal.
//
// Answered once for each system, in lab/system/linux.cpp and lab/system/windows.cpp. Of other
// processes is lab/system/process.hpp. Nothing else of the lab names a system, but for what one
// of them has alone (harness/preload.cpp, harness/hardware_counters.cpp, builds/compilation.cpp).
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "lab/harness/machine.hpp"

namespace lab {

// ---- processors ---------------------------------------------------------------------------------

/// Those that the calling thread may run on.
[[nodiscard]] std::vector<unsigned> allowed_cpus();
/// Binds the calling thread. Returns: false when the system refuses.
bool run_on(const std::vector<unsigned>& cpus) noexcept;
/// How often the system took the processor from the calling thread, which had not given it up.
/// (Windows: 0.)
[[nodiscard]] long times_displaced() noexcept;

// ---- the machine --------------------------------------------------------------------------------

/// All that the system reports without measuring. (look_at_machine() adds the rest.)
[[nodiscard]] machine_facts facts_of_system();
/// How the malloc of the C library is called in reports.
[[nodiscard]] const char* name_of_system_malloc();

// ---- pages --------------------------------------------------------------------------------------

/// Zeroed addresses that cost memory only where they are touched; null: none to be had.
[[nodiscard]] void* take_pages(std::size_t size) noexcept;
void give_pages(void* p, std::size_t size) noexcept;
void wish_for_huge_pages(void* p, std::size_t size) noexcept;

/// Faults that needed no disk, of this process until now.
[[nodiscard]] long page_faults() noexcept;
/// Memory of this process that is in place and nobody else's: no code, no shared pages. (Windows:
/// with them. Who asks twice and subtracts has the same.) 0: not known.
[[nodiscard]] std::size_t resident_bytes() noexcept;
/// What malloc keeps of freed memory goes back to the system, where that can be asked for.
void give_back_freed_memory() noexcept;
/// Memory in place that this process has taken since. What malloc kept goes back first: a store
/// that came to lie in what the harness had freed would seem to need no memory.
class resident_since_here {
public:
    [[nodiscard]] std::size_t bytes() const noexcept {
        const std::size_t now = resident_bytes();
        return now > before_ ? now - before_ : 0;
    }

private:
    std::size_t before_ = (give_back_freed_memory(), resident_bytes());
};
/// Blocks of malloc as large as a frame come from the system and go back there, each of them. Where
/// that cannot be said, nothing is done.
void ask_for_large_blocks_anew() noexcept;
/// malloc keeps what was freed. glibc gives memory back by thresholds that the last large free has
/// set: by these one store of `showdown` had 77 fresh pages in every repetition of set 2, and
/// another none. Where that cannot be said, nothing is done.
void keep_freed_memory() noexcept;
/// The opposite: arrays come from new pages of the system and go back to it, so every page of one is
/// touched for the first time. (Windows: as the system does it.)
void return_freed_memory() noexcept;

/// Pages that this thread owns.
class page_range {
public:
    explicit page_range(std::size_t size) : begin_{take_pages(size)}, size_{size} {
        if (begin_ == nullptr) throw std::bad_alloc{};
    }
    page_range(page_range&& other) noexcept
        : begin_{std::exchange(other.begin_, nullptr)}, size_{other.size_} {}
    page_range& operator=(page_range&&) = delete;
    ~page_range() {
        if (begin_ != nullptr) give_pages(begin_, size_);
    }
    [[nodiscard]] void* begin() const noexcept { return begin_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    void* begin_;
    std::size_t size_;
};

// ---- the terminal and its user ------------------------------------------------------------------

/// For main(), first: files of ours cannot become standard output, whose text is UTF-8.
void prepare_standard_files();
/// A reader who goes away is an error of write(), not the end of this process.
void ignore_broken_pipes() noexcept;
/// Calls `handler` on Ctrl-C, and when this process is asked to end.
void on_interrupt(void (*handler)(int));
[[nodiscard]] unsigned terminal_columns();
[[nodiscard]] bool errors_go_to_a_terminal();

// ---- this program -------------------------------------------------------------------------------

/// Its file. Throws: std::runtime_error where the system does not tell.
[[nodiscard]] std::string own_program();
/// A function of a library that was preloaded; null: there is none of this name.
[[nodiscard]] void* find_function(const char* name) noexcept;
/// Calls `handler` after each instruction that runs under begin_single_steps().
void handle_single_steps(void (*handler)(int)) noexcept;

}  // namespace lab
