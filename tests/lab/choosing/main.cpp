// What the choosing table promises, over made-up results.
#include <cstdio>
#include <vector>

#include "tests/lab/choosing/made_up.hpp"

namespace lab {

// What the lab found out when it was configured and when it started, for the reports.
const std::vector<peer_status>& peers() {
    static const std::vector<peer_status> none;
    return none;
}
const build_facts& this_build() {
    static const build_facts facts{"a compiler", "-O3"};
    return facts;
}

}  // namespace lab

int main() {
    using namespace choosing_tests;
    all_cases_judge();
    peers_win();
    ties();
    rows_that_are_taken();
    one_case();
    patterns();
    furthest_behind();
    reports();
    if (failures == 0) std::printf("all promises hold\n");
    return failures == 0 ? 0 : 1;
}
