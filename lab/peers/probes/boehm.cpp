// What the lab uses of Boehm's collector.
#include "lab/peers/boehm.hpp"

int main() {
    lab::peers::boehm::graph<lab::peers::boehm::mode::a_little> all{{100, 10}};
    all.make(0);
    all.make(1);
    all.link(0, 2, 1);
    all.store(3, 0);
    all.keep_numbers(10);
    all.safe_point();
    all.collect();
    all.load(4, 3);
    all.follow(4, 2);
    all.unlink(0, 2);
    return all.cycles() > 0 ? 0 : 1;
}
