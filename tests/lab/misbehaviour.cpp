// Contenders that do what contenders should not, for tests/lab/lab_test.py: the `cairn` command with
// these experiments instead of the real ones.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lab/families/whole_programs.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/system/process.hpp"

namespace {

auto honest(unsigned work) {
    return [work] {
        return [work](lab::sample& s) {
            std::uint64_t x = 1;
            for (std::uint64_t i = 0; i != s.repetitions() * work; ++i) {
                x = x * 6364136223846793005u + 1;
                lab::forget(x);
            }
            s.did(s.repetitions());
            s.checksum(7);
        };
    };
}

auto malloc_pairs() {
    return [](lab::sample& s) {
        for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
            void* const p = std::malloc(100);
            lab::keep(p);
            std::free(p);
        }
        s.did(s.repetitions());
    };
}

const lab::registration bad{
    "bad", "Does a contender that misbehaves cost only its own row?", [](lab::experiment& e) {
        e.quick_seconds = 4;
        lab::comparison& c = e.compare("rows", {.equal_checksums = true});
        c.limit("limit", honest(50));
        c.peer("peer", honest(100))
            .published(4.2, "cycles/op", "nowhere")
            .published(9, "us/op", "elsewhere", "max");
        c.cairn("cairn", honest(52));
        c.peer("says nothing", [] { return [](lab::sample&) {}; });
        c.peer("does nothing", [] {
            return [](lab::sample& s) {
                s.did(s.repetitions() * 1000);
                s.checksum(7);
            };
        });
        c.peer("crashes", [] { return [](lab::sample&) { std::raise(SIGSEGV); }; });
        c.peer("crashes later", [] {
            return [n = 0](lab::sample& s) mutable {
                if (++n == 6) std::abort();
                s.did(s.repetitions());
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            };
        });
        c.peer("crashes in set-up", [] {
            std::abort();
            return [](lab::sample&) {};
        });
        c.peer("throws",
               [] { return [](lab::sample&) { throw std::runtime_error{"out of luck"}; }; });
        c.peer("hangs", [] {
            return [](lab::sample&) {
                for (;;) std::this_thread::sleep_for(std::chrono::seconds{1});
            };
        });
        c.peer("hangs in a child", [] {
            return [](lab::sample&) {
                (void)lab::in_copy([] {
                    for (;;) std::this_thread::sleep_for(std::chrono::seconds{1});
                });
            };
        });
        c.peer("exits", [] { return [](lab::sample&) { std::_Exit(3); }; });
        c.peer("wrong", [] {
            return [](lab::sample& s) {
                std::uint64_t x = 1;
                for (std::uint64_t i = 0; i != s.repetitions() * 50; ++i) {
                    x = x * 6364136223846793005u + 1;
                    lab::forget(x);
                }
                s.did(s.repetitions());
                s.checksum(8);
            };
        });
    }};

const lab::registration good{
    "good", "Do values, further columns, curves, ratios and mallocs arrive?",
    [](lab::experiment& e) {
        e.quick_seconds = 2;
        lab::comparison& v = e.compare(
            "value", {.unit = "bytes", .measure = lab::measure::value, .one_sample = true});
        v.cairn("exact", [] {
            return [](lab::sample& s) {
                s.value(4096);
                s.also("column", 17);
                s.plot({"curve", "x", "y", {{1, 2}, {3, 4.5}}});
            };
        });
        v.peer("twice", [] { return [](lab::sample& s) { s.value(8192); }; });
        e.also(v, "column", {.unit = "things"});

        // Each waits until the other runs, and removes the other's file then: none is left for the
        // next run. The limit of the test's run is 1 s, which a busy machine exceeds.
        lab::comparison& pair = e.compare("at once", {.unit = "things",
                                                      .measure = lab::measure::value,
                                                      .one_sample = true,
                                                      .exact = true,
                                                      .time_limits = 20});
        const auto waits = [](const std::string& own, const std::string& other) {
            return [=] {
                return [=](lab::sample& s) {
                    std::ofstream{own};
                    for (int i = 0; i != 400 && !std::ifstream{other}; ++i) {
                        std::this_thread::sleep_for(std::chrono::milliseconds{20});
                    }
                    s.value(std::remove(other.c_str()) == 0 ? 1 : 2);
                };
            };
        };
        pair.peer("left", waits("left.here", "right.here"));
        pair.peer("right", waits("right.here", "left.here"));

        // As if four rows shared a processor: each takes longer than the limit of a single one.
        lab::comparison& crowd = e.compare(
            "at once, slow",
            {.unit = "things", .measure = lab::measure::value, .one_sample = true, .exact = true});
        for (const char* const name : {"first", "second", "third", "fourth"}) {
            crowd.peer(name, [] {
                return [](lab::sample& s) {
                    std::this_thread::sleep_for(std::chrono::milliseconds{1500});
                    s.value(1);
                };
            });
        }

#if !defined(_WIN32)
        lab::comparison& peak =
            e.compare("peak", {.unit = "KiB", .measure = lab::measure::value, .one_sample = true});
        peak.peer("small after large", [] {
            return [](lab::sample& s) {
                const std::vector<std::string> large{
                    "awk", R"(BEGIN { s = "x"; while (length(s) < 3e7) s = s s })"};
                s.also("peak of large", double(lab::whole_programs::used_by(large, "").ru_maxrss));
                s.value(double(lab::whole_programs::used_by({"true"}, "").ru_maxrss));
            };
        });
        e.also(peak, "peak of large", {.unit = "KiB"});
#endif

        lab::comparison& rate = e.compare("rate", {.unit = "ops/s",
                                                   .better = lab::better::higher,
                                                   .measure = lab::measure::ops_per_second});
        rate.limit("fast", honest(50));
        rate.cairn("half", honest(100));
        e.relative(rate, "over half", "half");

        lab::comparison& part = e.compare("part of it", {.unit = "us/op"});
        part.cairn("sleeps outside", [] {
            return [](lab::sample& s) {
                std::this_thread::sleep_for(std::chrono::milliseconds{2});
                s.start();
                for (int i = 0; i != 20'000; ++i) lab::keep(i);
                s.stop();
                s.did(1);
            };
        });

        lab::comparison& m = e.compare("malloc");
        m.mallocs(malloc_pairs);
    }};

const lab::registration slow{"slow", "Is a set-up that is interrupted nobody's fault?",
                             [](lab::experiment& e) {
                                 e.compare("rows").cairn("slow set-up", [] {
                                     std::this_thread::sleep_for(std::chrono::seconds{20});
                                     return [](lab::sample& s) { s.did(1); };
                                 });
                             }};

// It was there when the command looked, and is no library any more when its worker starts.
const lab::registration vanishing{
    "vanishing", "Is a malloc that vanishes during the run absent?", [](lab::experiment& e) {
        e.quick_seconds = 1;
        lab::comparison& c = e.compare("malloc");
        c.mallocs(malloc_pairs);
        std::ofstream{CAIRN_VANISHING_LIBRARY} << "This is no library any more.\n";
    }};

const lab::registration refused{"refused", "Is bad input one sentence?", [](lab::experiment&) {
                                    throw lab::bad_input{"this input cannot be used"};
                                }};

}  // namespace
