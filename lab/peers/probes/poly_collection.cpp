// What the lab uses of Boost.PolyCollection.
#include "lab/peers/poly_collection.hpp"

namespace {
struct base {
    virtual ~base() = default;
    virtual int number() const = 0;
};
struct one final : base {
    int number() const override { return 1; }
};
}  // namespace

int main() {
    lab::peers::poly_collection::polymorphic_store<base> all;
    all.emplace<one>();
    int sum = 0;
    all.each([&](const base& b) { sum += b.number(); });
    all.each_named<one>([&](const auto& b) { sum += b.number(); });
    return sum == 2 ? 0 : 1;
}
