// What the lab uses of moodycamel's queue.
#include "lab/peers/moodycamel.hpp"

int main() {
    lab::peers::moodycamel::queue<16> q;
    int value = 0;
    void* got = nullptr;
    return q.push(&value) && q.pop(got) && got == &value ? 0 : 1;
}
