// How does Bullet get its memory from a budget that the program names?
#include <cairn/adapt/bullet.hpp>
#include <cairn/alloc/budget.hpp>
#include <cstdio>

#include <btBulletCollisionCommon.h>

// [use]
cairn::budget<cairn::heap<>>& physics_memory() noexcept {  // never ended: Bullet may free late
    static auto* const memory = new cairn::budget<cairn::heap<>>{64 << 20};
    return *memory;
}

int main() {
    cairn::set_bullet_memory<physics_memory>("physics");  // before any object of Bullet
    // [/use]
    auto* const shape = new btBoxShape{{1, 1, 1}};
    std::printf("a box takes %zu bytes\n", physics_memory().live_size());
    delete shape;
    return physics_memory().live_size() == 0 ? 0 : 1;
}
