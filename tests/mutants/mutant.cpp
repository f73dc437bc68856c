// Linked into every test program of a mutated build: see mutant.hpp and tools/mutate.
//
//      CAIRN_MUTANT=17           mutant 17 is alive
//      CAIRN_MUTANTS_SEEN=FILE   after each test case a line goes to FILE: its name, its milliseconds,
//                                and the mutants that it came to
#include "mutant.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace mutant {
namespace {

constexpr int number_max = 1 << 16;
unsigned char seen_by_this_process[number_max];

class listener : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo&) override {
        for (int i = 0; i != number_max; ++i) { seen[i] = 0; }
    }
    void OnTestEnd(const testing::TestInfo& info) override {
        std::FILE* const file = std::fopen(std::getenv("CAIRN_MUTANTS_SEEN"), "a");
        if (file == nullptr) { std::abort(); }
        std::fprintf(file, "%s.%s %d", info.test_suite_name(), info.name(),
                     static_cast<int>(info.result()->elapsed_time()));
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
        void* const bytes =
            mmap(nullptr, number_max, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
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
