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
    calls() { least_ns_.reserve(10'000); }
    /// Times call(), a part of the play.
    template <class Call>
    void operator()(Call call) {
        const std::int64_t begun = now_ns();
        call();
        const auto took = static_cast<double>(now_ns() - begun);
        if (at_ == least_ns_.size()) least_ns_.push_back(took);
        least_ns_[at_] = std::min(least_ns_[at_], took);
        ++at_;
        if (watches_memory_) peak_mib_ = std::max(peak_mib_, resident_mib());
    }
    void begin_play(bool watches_memory) {
        at_ = 0;
        watches_memory_ = watches_memory;
    }
    void print(std::uint64_t checksum) const {
        std::printf("%.4f %.3f %.3f %llu\n",
                    std::accumulate(least_ns_.begin(), least_ns_.end(), 0.0) / 1e6,
                    *std::max_element(least_ns_.begin(), least_ns_.end()) / 1e3,
                    peak_mib_ - before_mib_, static_cast<unsigned long long>(checksum));
    }

private:
    /// Memory in place that no file has: counted page by page, in some 50 us.
    static double resident_mib() {
        std::ifstream counts{"/proc/self/smaps_rollup"};
        double kib = 0;
        for (std::string word; counts >> word;) {
            if (word == "Anonymous:") counts >> kib;
        }
        return kib / 1024;
    }

    std::vector<double> least_ns_;
    std::size_t at_ = 0;
    bool watches_memory_ = false;
    double before_mib_ = resident_mib();
    double peak_mib_ = before_mib_;
};

inline bool is_on_cairn(int count, char** words) {
    return count == 3 && std::string_view{words[1]} == "cairn";
}

/// play(on_cairn, call) does the work once and returns a number that depends on all of it.
template <class Play>
int run(int count, char** words, Play play) {
    if (count != 3) return 2;
    calls call;
    std::uint64_t first = 0;
    for (int left = std::atoi(words[2]); left != 0; --left) {
        call.begin_play(left == 1);
        const std::uint64_t sum = play(is_on_cairn(count, words), call);
        if (first == 0) first = sum;
        if (sum != first || sum == 0) {
            std::fputs("the plays of this program differ, or did nothing\n", stderr);
            return 1;
        }
    }
    call.print(first);
    return 0;
}

}  // namespace lab::middleware
