// lab/middleware/run.hpp - the program of one library: `lab_middleware_lua own|cairn PLAYS`.
//
// It plays the same work PLAYS times, each time from a new state, and prints
//
//      <ms of a play> <us of its slowest call> <MiB of memory at its peak> <checksum>
//
// A play is a sequence of calls of the library. Of each call its least time in all plays counts. The
// time of a play is their sum, and the slowest call the longest of them: both without the
// interruptions of the machine. The memory is looked at in the last play, behind each call. Linux.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "lab/harness/clock.hpp"

namespace lab::middleware {

class calls {
public:
    /// Times call(), a part of the play.
    template <class Call>
    void operator()(Call call) {
        const std::int64_t begun = now_ns();
        call();
        const std::int64_t took = now_ns() - begun;
        if (at_ == least_ns_.size()) least_ns_.push_back(took);
        least_ns_[at_] = std::min(least_ns_[at_], took);
        ++at_;
        if (watches_memory_) peak_ = std::max(peak_, resident());
    }
    void begin_play(bool watches_memory) {
        at_ = 0;
        watches_memory_ = watches_memory;
    }
    void print(std::uint64_t checksum) const {
        std::printf(
            "%.4f %.3f %.3f %llu\n",
            static_cast<double>(
                std::accumulate(least_ns_.begin(), least_ns_.end(), std::int64_t{0})) /
                1e6,
            static_cast<double>(*std::max_element(least_ns_.begin(), least_ns_.end())) / 1e3,
            static_cast<double>(peak_ - std::min(peak_, before_)) / (1 << 20),
            static_cast<unsigned long long>(checksum));
    }

private:
    /// Bytes in place that no file has: counted page by page, in some 50 us.
    static std::size_t resident() {
        std::ifstream counts{"/proc/self/smaps_rollup"};
        std::size_t kib = 0;
        for (std::string word; counts >> word;) {
            if (word == "Anonymous:") counts >> kib;
        }
        return kib * 1024;
    }

    std::vector<std::int64_t> least_ns_ = [] {
        std::vector<std::int64_t> room;
        room.reserve(10'000);
        return room;
    }();
    std::size_t at_ = 0;
    bool watches_memory_ = false;
    std::size_t before_ = resident();
    std::size_t peak_ = 0;
};

inline bool is_on_cairn(int count, char** words) {
    return count == 3 && std::string_view{words[1]} == "cairn";
}

/// play(on_cairn, call) does the work once and returns a number that depends on all of it.
template <class Play>
int run(int count, char** words, Play play) {
    if (count != 3) return 2;
    const bool on_cairn = is_on_cairn(count, words);
    calls call;
    std::uint64_t first = 0;
    const int plays = std::atoi(words[2]);
    for (int i = 0; i < plays; ++i) {
        call.begin_play(i == plays - 1);
        const std::uint64_t sum = play(on_cairn, call);
        if (i == 0) first = sum;
        if (sum != first || sum == 0) {
            std::fputs("the plays of this program differ, or did nothing\n", stderr);
            return 1;
        }
    }
    call.print(first);
    return 0;
}

}  // namespace lab::middleware
