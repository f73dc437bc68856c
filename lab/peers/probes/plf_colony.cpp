// What the lab uses of plf::colony.
#include <plf_colony.h>

int main() {
    plf::colony<int> all;
    const auto first = all.insert(1);
    all.insert(2);
    all.erase(first);
    return all.size() == 1 ? 0 : 1;
}
