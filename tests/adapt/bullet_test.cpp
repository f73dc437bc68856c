// Sentences of cairn/adapt/bullet.hpp, with the real Bullet.
#include <cairn/adapt/bullet.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/debug/failing.hpp>
#include <gtest/gtest.h>

#include <btBulletDynamicsCommon.h>
#include <csignal>
#include <memory>
#include <vector>

#include "support/death_words.hpp"

using namespace cairn;

namespace {

failing<heap<>> memory;
budget<heap<>> small_memory{100'000};

/// Boxes fall on a floor for 60 steps. Returns: the height of the lowest.
double drop_boxes() {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld world{&dispatcher, &broadphase, &solver, &configuration};
    btStaticPlaneShape floor{{0, 1, 0}, 0};
    btBoxShape box{{1, 1, 1}};
    std::vector<std::unique_ptr<btRigidBody>> bodies;
    bodies.push_back(std::make_unique<btRigidBody>(0, nullptr, &floor));
    for (int i = 0; i < 40; ++i) {
        bodies.push_back(std::make_unique<btRigidBody>(1, nullptr, &box));
        btTransform at{btQuaternion::getIdentity(), {0, btScalar(3 * i + 2), 0}};
        bodies.back()->setWorldTransform(at);
    }
    for (auto& body : bodies) { world.addRigidBody(body.get()); }
    for (int i = 0; i < 60; ++i) { world.stepSimulation(btScalar(1) / 60); }
    const double lowest = bodies[1]->getWorldTransform().getOrigin().y();
    for (auto& body : bodies) { world.removeRigidBody(body.get()); }
    return lowest;
}

}  // namespace

TEST(bullet, simulates_in_a_memory_of_its_own) {
    set_bullet_memory<memory>("physics");
    EXPECT_GT(drop_boxes(), 0.5) << "the floor holds";
    EXPECT_GT(memory.request_count(), 50u);
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(bullet, gets_the_alignment_that_it_asks_for) {
    set_bullet_memory<memory>("physics");
    for (const int align : {16, 32, 64, 256}) {
        void* const p = btAlignedAllocInternal(100, align);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % unsigned(align), 0u);
        btAlignedFreeInternal(p);
    }
}

TEST(bullet, has_a_memory_of_its_own_by_default_also_where_a_template_names_it) {
    const auto in_a_template = [](auto size) {
        set_bullet_memory();  // gcc 12 leaves the function of a default template argument out
        void* const p = btAlignedAllocInternal(size, 16);
        EXPECT_NE(p, nullptr);
        btAlignedFreeInternal(p);
    };
    in_a_template(std::size_t{100});
    EXPECT_GT((detail::never_ended<heap<>, detail::of_bullet>().stats().capacity), 0u);
}

TEST(bullet_death, names_the_memory_the_size_and_the_limit_of_a_refusal) {
    set_bullet_memory<small_memory>("physics");
    EXPECT_EXIT(drop_boxes(), testing::KilledBySignal(SIGABRT),
                in_this_order({"Bullet asked for ",
                               " bytes, which its memory "
                               "'physics'",
                               "100000", "refused"}));
}

TEST(bullet_death, ends_at_each_of_the_first_refusals) {
    set_bullet_memory<memory>("physics");
    const std::size_t before = memory.request_count();
    drop_boxes();
    const std::size_t count = memory.request_count() - before;
    for (std::size_t n = 0; n < count; n += n < 200 ? 1u : 50u) {
        memory.refuse_from(memory.request_count() + n);
        EXPECT_DEATH(drop_boxes(), "its memory 'physics' refused") << n;
        memory.refuse_nothing();
    }
}
