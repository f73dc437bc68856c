// What the lab uses of EnTT.
#include "lab/peers/entt.hpp"

struct thing {
    explicit thing(unsigned s) : seed{s} {}
    unsigned seed;
};

int main() {
    lab::peers::entt::store<thing> all{10};
    const auto first = all.insert(1);
    const auto second = all.insert(2);
    all.erase(first);
    unsigned sum = 0;
    all.each([&](thing& t) { sum += t.seed; });
    return all.size() == 1 && sum == 2 && all.find(first) == nullptr && all.find(second)->seed == 2
               ? 0
               : 1;
}
