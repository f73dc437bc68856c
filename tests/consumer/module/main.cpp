// Nothing is included: all of cairn, and what the language asks of it, comes with the module.
import cairn;

template <class K = cairn::value>
struct particle {
    cairn::field<K, float> x, y;
};

struct enemy {
    int health;
};

struct point {
    float x, y;
};

int main() {
    using namespace cairn::literals;
    cairn::heap<> memory;
    cairn::growing_arena frame{64_KiB, memory};
    cairn::pool_of<point> points;
    cairn::slot_map<enemy> enemies;

    const auto boss = enemies.emplace(enemy{100});
    point* const p = points.make(1.0f, 2.0f);
    cairn::builder<enemy*> targets{frame};
    for (enemy& e : enemies.values()) {
        if (!targets.push_back(&e)) { return 1; }
    }
    bool good = p != nullptr && targets.finish().size() == 1 && enemies[boss].health == 100;
    points.destroy(p);

    cairn::table<particle<>, cairn::soa> rows;
    good = good && rows.push_back({3.0f, 4.0f});
    auto [x, y] = rows[0];
    x += 1.0f;
    good = good && rows[0].x == 4.0f && y == 4.0f;

    enemies.erase(boss);
    return good && enemies.find(boss) == nullptr ? 0 : 1;
}
