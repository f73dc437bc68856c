// Linked into every test program of a mutated build: see mutant.hpp and tools/mutate.
//
//      CAIRN_MUTANT=17           mutant 17 is alive
//      CAIRN_MUTANTS_SEEN=FILE   after each test case a line goes to FILE: its name, its milliseconds
//                                of CPU,
//                                and the mutants that it came to
#include "mutant.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace mutant {
namespace {

constexpr int number_max = 1 << 17;
unsigned char seen_by_this_process[number_max];

// Of this process and of its children that have ended: other programs do not make a case long.
double milliseconds_of_cpu() {
    double sum = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage used{};
        getrusage(who, &used);
        for (const timeval t : {used.ru_utime, used.ru_stime}) {
            sum += 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
        }
    }
    return sum;
}

class listener : public testing::EmptyTestEventListener {
    double began = 0;

    void OnTestStart(const testing::TestInfo&) override {
        began = milliseconds_of_cpu();
        for (int i = 0; i != number_max; ++i) { seen[i] = 0; }
    }
    void OnTestEnd(const testing::TestInfo& info) override {
        std::FILE* const file = std::fopen(std::getenv("CAIRN_MUTANTS_SEEN"), "a");
        if (file == nullptr) { std::abort(); }
        std::fprintf(file, "%s.%s %d", info.test_suite_name(), info.name(),
                     static_cast<int>(milliseconds_of_cpu() - began));
        for (int i = 0; i != number_max; ++i) {
            if (seen[i] != 0) { std::fprintf(file, " %d%s", i, seen[i] == 2 ? "?" : ""); }
        }
        std::fprintf(file, "\n");
        std::fclose(file);
    }
};

// Before every other initialization. The map is a file's, so that children of fork and exec, which
// death tests make, report to it too.
[[gnu::constructor(101)]] void start() {
    if (const char* const number = std::getenv("CAIRN_MUTANT")) { alive = std::atoi(number); }
    if (const char* const file = std::getenv("CAIRN_MUTANTS_SEEN")) {
        const int map = open((std::string{file} + ".map").c_str(), O_RDWR | O_CREAT, 0600);
        if (map < 0 || ftruncate(map, number_max) != 0) { std::abort(); }
        void* const bytes = mmap(nullptr, number_max, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
        if (bytes == MAP_FAILED) { std::abort(); }
        seen = static_cast<unsigned char*>(bytes);
        close(map);
    }
}

const bool listens = [] {
    if (std::getenv("CAIRN_MUTANTS_SEEN") != nullptr) {
        testing::UnitTest::GetInstance()->listeners().Append(new listener);
    }
    return true;
}();

}  // namespace

int alive = 0;
unsigned char* seen = seen_by_this_process;

}  // namespace mutant
