// How do I keep objects of several types without a pointer to each? In a polymorphic_store.
#include <cairn/containers/polymorphic_store.hpp>

struct shape {
    float x = 0;
    virtual float area() const = 0;

protected:
    ~shape() = default;  // no object is destroyed through its base
};
struct circle final : shape {
    explicit circle(float r) : radius{r} {}
    float area() const override { return 3.14f * radius * radius; }
    float radius;
};
struct square final : shape {
    explicit square(float a) : side{a} {}
    float area() const override { return side * side; }
    float side;
};

int main() {
    // [store]
    cairn::polymorphic_store<shape, circle, square> shapes;  // shapes of these types
    const auto c = shapes.emplace<circle>(1.0f);
    const auto s = shapes.insert(square{2.0f});  // one kind of handle for all

    shapes.for_each([](auto& each) { each.x += 1; });  // circles, then squares: no virtual call
    for (square& each : shapes.values<square>()) {
        each.side += 1;
    }  // packed, from a cache line on

    float area = 0;
    for (const auto [h, each] : shapes.items()) { area += each.area(); }  // as their base

    shapes.erase(c);
    const shape* const gone = shapes.find(c);            // nullptr: the handle is stale
    const square* const found = shapes.find<square>(s);  // nullptr where it is of another type
    // [/store]

    cairn::polymorphic_store<shape> any;  // an open set: whatever is inserted
    (void)any.insert(square{1.0f});
    any.for_each([&](shape& each) { area += each.area(); });

    return gone == nullptr && found != nullptr && found->x == 1 && area > 13 ? 0 : 1;
}
