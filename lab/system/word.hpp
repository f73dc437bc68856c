// lab/system/word.hpp - a thread that sleeps until a word changes.
//
// std::atomic's wait() and notify() but on Windows: there libstdc++ before 13 loses what wakes a
// thread between its look at the word and its sleep (PR 106183), and a run hangs.
#pragma once

#include <atomic>
#include <cstdint>

namespace lab {

#if defined(_WIN32)

/// Returns when the word has another value than `old`, and perhaps earlier.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t old) noexcept;
void wake_one(std::atomic<std::uint32_t>& word) noexcept;
void wake_all(std::atomic<std::uint32_t>& word) noexcept;

#else

inline void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t old) noexcept {
    word.wait(old, std::memory_order_acquire);
}
inline void wake_one(std::atomic<std::uint32_t>& word) noexcept { word.notify_one(); }
inline void wake_all(std::atomic<std::uint32_t>& word) noexcept { word.notify_all(); }

#endif

}  // namespace lab
