// A world of Bullet: 300 boxes and balls fall on a floor for 90 steps, and every third is replaced.
#include <cairn/adapt/bullet.hpp>

#include <btBulletDynamicsCommon.h>
#include <memory>
#include <vector>

#include "lab/middleware/run.hpp"

namespace {

class world {
public:
    world() {
        add(0, std::make_unique<btStaticPlaneShape>(btVector3{0, 1, 0}, btScalar(0)), {0, 0, 0});
    }
    ~world() {
        for (auto& body : bodies_) dynamics_.removeRigidBody(body.get());
    }
    world(const world&) = delete;
    void add_thing(int i) {
        const btVector3 at{btScalar(i % 6) * 3, btScalar(i / 36) * 3 + 2, btScalar(i / 6 % 6) * 3};
        if (i % 2 == 0) {
            add(1, std::make_unique<btBoxShape>(btVector3{1, 1, 1}), at);
        } else {
            add(1, std::make_unique<btSphereShape>(btScalar(1)), at);
        }
    }
    void replace(std::size_t i) {
        dynamics_.removeRigidBody(bodies_[i].get());
        std::swap(bodies_[i], bodies_.back());
        std::swap(shapes_[i], shapes_.back());
        bodies_.pop_back();
        shapes_.pop_back();
        add_thing(static_cast<int>(i));
    }
    void step() { dynamics_.stepSimulation(btScalar(1) / 60, 1, btScalar(1) / 60); }
    [[nodiscard]] std::size_t size() const { return bodies_.size(); }
    [[nodiscard]] std::uint64_t contacts() { return std::uint64_t(dispatcher_.getNumManifolds()); }

private:
    void add(btScalar mass, std::unique_ptr<btCollisionShape> shape, const btVector3& at) {
        btVector3 inertia{0, 0, 0};
        if (mass != 0) shape->calculateLocalInertia(mass, inertia);
        bodies_.push_back(std::make_unique<btRigidBody>(mass, nullptr, shape.get(), inertia));
        bodies_.back()->setWorldTransform(btTransform{btQuaternion::getIdentity(), at});
        shapes_.push_back(std::move(shape));
        dynamics_.addRigidBody(bodies_.back().get());
    }
    btDefaultCollisionConfiguration configuration_;
    btCollisionDispatcher dispatcher_{&configuration_};
    btDbvtBroadphase broadphase_;
    btSequentialImpulseConstraintSolver solver_;
    btDiscreteDynamicsWorld dynamics_{&dispatcher_, &broadphase_, &solver_, &configuration_};
    std::vector<std::unique_ptr<btCollisionShape>> shapes_;
    std::vector<std::unique_ptr<btRigidBody>> bodies_;
};

}  // namespace

int main(int count, char** words) {
    if (lab::middleware::is_on_cairn(count, words)) cairn::set_bullet_memory("physics");
    return lab::middleware::run(count, words, [](bool, auto& call) -> std::uint64_t {
        std::unique_ptr<world> w;
        std::uint64_t sum = 0;
        call([&] {
            w = std::make_unique<world>();
            for (int i = 0; i != 300; ++i) w->add_thing(i);
        });
        for (std::size_t step = 0; step != 90; ++step) {
            call([&] {
                for (std::size_t i = 1 + step % 3; i < w->size(); i += 60) w->replace(i);
                w->step();
                sum += w->contacts();
            });
        }
        call([&] { w.reset(); });
        return sum;
    });
}
