// A world of Bullet: 300 boxes and balls fall on a floor for 90 steps, and some are replaced.
#include <cairn/adapt/bullet.hpp>

#include <btBulletDynamicsCommon.h>
#include <memory>
#include <vector>

#include "lab/middleware/run.hpp"

namespace {

struct thing {
    std::unique_ptr<btCollisionShape> shape;
    std::unique_ptr<btRigidBody> body;
};

struct world {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld dynamics{&dispatcher, &broadphase, &solver, &configuration};
    std::vector<thing> things{300};
    thing floor =
        add(0, std::make_unique<btStaticPlaneShape>(btVector3{0, 1, 0}, btScalar(0)), {0, 0, 0});

    ~world() {
        for (thing& t : things) dynamics.removeRigidBody(t.body.get());
        dynamics.removeRigidBody(floor.body.get());
    }
    thing add(btScalar mass, std::unique_ptr<btCollisionShape> shape, const btVector3& at) {
        btVector3 inertia{0, 0, 0};
        if (mass != 0) shape->calculateLocalInertia(mass, inertia);
        auto body = std::make_unique<btRigidBody>(mass, nullptr, shape.get(), inertia);
        body->setWorldTransform(btTransform{btQuaternion::getIdentity(), at});
        dynamics.addRigidBody(body.get());
        return {std::move(shape), std::move(body)};
    }
    void place(std::size_t i) {
        if (things[i].body) dynamics.removeRigidBody(things[i].body.get());
        const btVector3 at{btScalar(i % 6) * 3, btScalar(i / 36) * 3 + 2, btScalar(i / 6 % 6) * 3};
        things[i] = i % 2 == 0 ? add(1, std::make_unique<btBoxShape>(btVector3{1, 1, 1}), at)
                               : add(1, std::make_unique<btSphereShape>(btScalar(1)), at);
    }
};

}  // namespace

int main(int count, char** words) {
    if (lab::middleware::is_on_cairn(count, words)) cairn::set_bullet_memory("physics");
    return lab::middleware::run(count, words, [](bool, auto& call) -> std::uint64_t {
        std::unique_ptr<world> w;
        std::uint64_t sum = 0;
        call([&] {
            w = std::make_unique<world>();
            for (std::size_t i = 0; i != w->things.size(); ++i) w->place(i);
        });
        for (std::size_t step = 0; step != 90; ++step) {
            call([&] {
                for (std::size_t i = step % 60; i < w->things.size(); i += 60) w->place(i);
                w->dynamics.stepSimulation(btScalar(1) / 60, 1, btScalar(1) / 60);
                sum += static_cast<std::uint64_t>(w->dispatcher.getNumManifolds());
            });
        }
        call([&] { w.reset(); });
        return sum;
    });
}
