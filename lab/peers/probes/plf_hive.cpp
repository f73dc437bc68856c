// What the lab uses of plf::hive.
#include "lab/peers/plf_hive.hpp"

int main() {
    lab::peers::plf_hive::store<unsigned> all{10};
    const auto first = all.insert(1);
    all.insert(2);
    all.erase(first);
    return all.size() == 1 ? 0 : 1;
}
