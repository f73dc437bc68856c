// How does a system keep a value for each row of a table that another system owns?
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/table.hpp>
#include <cstdio>

struct body {
    float x = 0;
    float speed = 0;
};

int main() {
    cairn::table<body> bodies;  // belongs to the physics
    cairn::attached_column<float> heat{bodies,
                                       20.0f};  // belongs to the renderer; 20 degrees at first

    for (int i = 0; i < 4; ++i) {
        if (!bodies.push_back({static_cast<float>(i), static_cast<float>(10 - i)})) { return 1; }
    }
    heat[3] = 500.0f;

    bodies.swap_erase(1);  // the last row moves into row 1, and its heat with it
    if (heat[1] != 500.0f || heat.size() != 3) { return 1; }

    if (!bodies.sort_by<&body::speed>()) { return 1; }  // the slowest first: that hot one

    for (std::size_t i = 0; i < bodies.size(); ++i) {
        std::printf("x %.0f: %.0f degrees\n", static_cast<double>(cairn::get<&body::x>(bodies[i])),
                    static_cast<double>(heat[i]));
    }
    return heat[0] == 500.0f ? 0 : 1;
}
