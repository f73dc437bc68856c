// lab/experiments/whole-game.cpp - the same small game twice: with the standard library, with cairn.
//
// Both are written as a user writes them at first, by default constructors. A frame is:
//
//      think    5,000 enemies walk                 vector and a map of indices      slot_map
//      aim      300 towers look their targets up   by number                        by handle
//      fly      bullets fly for 20 frames and hit  unique_ptr                       pool_of
//      glow     22,000 sparks move; 1 % go out     vector of structs, std::erase_if soa table
//      story    quests refer to each other         shared_ptr and weak_ptr          collected_heap
//      talk     names of what is spawned           unordered_set of strings         string_pool
//      draw     a list of commands for this frame  a vector that each frame makes   frame_arena, builder
//
// Which enemy dies in which frame depends on numbers alone, not on the order in a container: both
// games must end with the same checksum.

#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/collected/collected_heap.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/string_pool.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/core/sizes.hpp>
#include <unordered_map>
#include <unordered_set>

#include "lab/harness/experiment.hpp"

namespace {

using namespace cairn::literals;

constexpr std::uint32_t enemy_count = 5'000;
constexpr std::uint32_t tower_count = 300;
constexpr std::uint32_t spark_count = 22'000;
constexpr int flight_frames = 20;

/// A number that looks random, the same in both games.
constexpr std::uint32_t mixed(std::uint32_t n) {
    n = (n ^ (n >> 16)) * 0x7feb352du;
    n = (n ^ (n >> 15)) * 0x846ca68bu;
    return n ^ (n >> 16);
}
constexpr float unit(std::uint32_t n) { return static_cast<float>(mixed(n) >> 8) * 0x1p-24f; }

struct enemy {
    float x, y, dx, dy;
    std::int32_t health;
    std::uint32_t number;
    std::string_view name;
};
enemy new_enemy(std::uint32_t number, std::string_view name) {
    return {unit(number),
            unit(number + 1),
            unit(number + 2) - 0.5f,
            unit(number + 3) - 0.5f,
            static_cast<std::int32_t>(20 + mixed(number) % 20),
            number,
            name};
}

struct draw_command {
    float x, y;
    std::uint32_t what;
};

/// The name of an enemy: a hundred different ones.
std::string name_of(std::uint32_t number) {
    return "a goblin of the northern marshes, tribe " + std::to_string(mixed(number) % 100);
}

std::uint64_t sum_of(const draw_command* first, std::size_t count) {
    std::uint64_t sum = count;
    for (std::size_t i = 0; i != count; ++i) sum += first[i].what;
    return sum;
}

// ---- with the standard library -------------------------------------------------------------------

struct std_game {
    struct tower {
        std::uint32_t target;  // the number of an enemy, which may be dead
    };
    struct bullet {
        std::uint32_t target;
        int frames_left;
    };
    struct spark {
        float x, y, dx, dy, life, heat;
    };
    struct quest {
        std::vector<std::shared_ptr<quest>> next;
        std::weak_ptr<quest> giver;
        std::uint32_t reward = 0;
    };

    std::vector<enemy> enemies;
    std::unordered_map<std::uint32_t, std::uint32_t> index_of;  // of an enemy's number
    std::vector<tower> towers;
    std::vector<std::unique_ptr<bullet>> bullets;
    std::vector<spark> sparks;
    std::shared_ptr<quest> quests = std::make_shared<quest>();
    std::unordered_set<std::string> names;
    std::uint32_t next_enemy = 0;
    std::uint32_t next_spark = 0;

    std_game() {
        for (std::uint32_t i = 0; i != enemy_count; ++i) spawn();
        for (std::uint32_t i = 0; i != tower_count; ++i) towers.push_back({i});
    }
    std::uint32_t spawn() {
        const std::string_view name = *names.insert(name_of(next_enemy)).first;
        index_of[next_enemy] = static_cast<std::uint32_t>(enemies.size());
        enemies.push_back(new_enemy(next_enemy, name));
        return next_enemy++;
    }
    void remove(std::size_t index) {
        index_of.erase(enemies[index].number);
        if (index + 1 != enemies.size()) {
            enemies[index] = enemies.back();
            index_of[enemies[index].number] = static_cast<std::uint32_t>(index);
        }
        enemies.pop_back();
    }

    std::uint64_t frame(std::uint32_t number) {
        for (enemy& e : enemies) {  // think
            e.x += e.dx * (1.0f / 90);
            e.y += e.dy * (1.0f / 90);
        }
        for (std::uint32_t i = 0; i != tower_count; ++i) {  // aim
            tower& t = towers[i];
            if (!index_of.contains(t.target)) t.target = spawn();
            if (mixed(number * tower_count + i) % 4 == 0) {
                bullets.push_back(std::make_unique<bullet>(bullet{t.target, flight_frames}));
            }
        }
        std::erase_if(bullets, [this](const std::unique_ptr<bullet>& b) {  // fly
            if (--b->frames_left != 0) return false;
            if (const auto found = index_of.find(b->target); found != index_of.end()) {
                enemies[found->second].health -= 7;
            }
            return true;
        });
        for (std::size_t i = 0; i != enemies.size();) {
            if (enemies[i].health <= 0) {
                remove(i);
            } else {
                ++i;
            }
        }
        for (spark& s : sparks) {  // glow
            s.x += s.dx * (1.0f / 90);
            s.y += s.dy * (1.0f / 90);
            s.heat *= 0.99f;
            s.life -= 1.0f;
        }
        std::erase_if(sparks, [](const spark& s) { return s.life <= 0; });
        while (sparks.size() < spark_count) {
            const std::uint32_t n = next_spark++;
            sparks.push_back(
                {unit(n), unit(n + 1), unit(n + 2), unit(n + 3), 50 + 100 * unit(n + 4), 1});
        }
        if (number % 50 == 0) quests = std::make_shared<quest>();  // story
        for (std::uint32_t i = 0; i != 10; ++i) {
            auto q = std::make_shared<quest>();
            q->reward = i;
            q->giver = quests;
            quests->next.push_back(std::move(q));
        }
        std::vector<draw_command> commands;  // draw
        for (const enemy& e : enemies) {
            commands.push_back({e.x, e.y, e.number + static_cast<std::uint32_t>(e.name.size())});
        }
        return sum_of(commands.data(), commands.size()) + quests->next.back()->reward + next_spark;
    }
};

// ---- with cairn ----------------------------------------------------------------------------------

template <bool KeepsOrder>
struct cairn_game {
    struct tower {
        cairn::slot_map<enemy>::handle_type target;  // may be stale
    };
    struct bullet {
        cairn::slot_map<enemy>::handle_type target;
        int frames_left;
    };
    template <class K = cairn::value>
    struct spark {
        cairn::field<K, float> x, y, dx, dy, life, heat;
    };
    struct quest {
        cairn::ref_array<quest> next;
        cairn::ref<quest> giver;
        std::uint32_t reward = 0;
        using references = cairn::refers_to<&quest::next, &quest::giver>;
    };

    cairn::slot_map<enemy> enemies;
    std::vector<tower> towers;
    cairn::pool_of<bullet> bullet_pool;
    std::vector<bullet*> bullets;
    cairn::table<spark<>, cairn::soa> sparks;
    cairn::collected_heap heap{4_MiB};
    cairn::root<quest> quests = heap.make<quest>();
    cairn::string_pool names;
    cairn::frame_arena<2> frames{1_MiB};
    std::uint32_t next_enemy = 0;
    std::uint32_t next_spark = 0;

    cairn_game() {
        for (std::uint32_t i = 0; i != enemy_count; ++i) {
            const auto e = spawn();
            if (i < tower_count) towers.push_back({e});
        }
    }
    auto spawn() {
        const std::string_view name = names.intern(name_of(next_enemy));
        const auto e = enemies.emplace(new_enemy(next_enemy, name));
        ++next_enemy;
        return e;
    }

    std::uint64_t frame(std::uint32_t number) {
        for (enemy& e : enemies) {  // think
            e.x += e.dx * (1.0f / 90);
            e.y += e.dy * (1.0f / 90);
        }
        aim(number);
        fly();
        if (!glow() || !tell(number)) return 0;
        return draw() + quests->next[quests->next.size() - 1]->reward + next_spark;
    }

private:
    template <class Rows, class Ends>
    static void remove(Rows& rows, Ends ends) {
        if constexpr (KeepsOrder) {
            rows.erase_if(ends);
        } else {
            rows.swap_erase_if(ends);
        }
    }
    void aim(std::uint32_t number) {
        for (std::uint32_t i = 0; i != tower_count; ++i) {
            tower& t = towers[i];
            if (!enemies.contains(t.target)) t.target = spawn();
            if (mixed(number * tower_count + i) % 4 == 0) {
                bullets.push_back(bullet_pool.make(bullet{t.target, flight_frames}));
            }
        }
    }
    void fly() {
        std::erase_if(bullets, [this](bullet* b) {
            if (--b->frames_left != 0) return false;
            if (auto e = enemies.find(b->target)) e->health -= 7;
            bullet_pool.destroy(b);
            return true;
        });
        remove(enemies, [](const enemy& e) { return e.health <= 0; });
    }
    bool glow() {
        sparks.for_each([](auto&& s) {
            s.x += s.dx * (1.0f / 90);
            s.y += s.dy * (1.0f / 90);
            s.heat *= 0.99f;
            s.life -= 1.0f;
        });
        remove(sparks, [](auto&& s) { return s.life <= 0; });
        while (sparks.size() < spark_count) {
            const std::uint32_t n = next_spark++;
            if (!sparks.emplace_back(unit(n), unit(n + 1), unit(n + 2), unit(n + 3),
                                     50 + 100 * unit(n + 4), 1.0f)) {
                return false;
            }
        }
        return true;
    }
    bool tell(std::uint32_t number) {
        if (number % 50 == 0) quests = heap.make<quest>();
        for (std::uint32_t i = 0; i != 10; ++i) {
            quest* const q = heap.make<quest>();
            if (q == nullptr || !quests->next.push_back(q)) return false;
            q->reward = i;
            q->giver = quests.get();
        }
        heap.step({.microseconds = 50});
        return true;
    }
    std::uint64_t draw() {
        cairn::builder<draw_command> commands{frames.active()};
        for (const enemy& e : enemies) {
            if (!commands.push_back(
                    {e.x, e.y, e.number + static_cast<std::uint32_t>(e.name.size())})) {
                return 0;
            }
        }
        const cairn::slice<draw_command> list = commands.finish();
        frames.swap();
        return sum_of(list.data(), list.size());
    }
};

template <class Game>
auto plays(std::uint32_t frame_count) {
    return [frame_count] {
        return [frame_count](lab::sample& s) {
            Game game;
            for (std::uint32_t f = 0; f != 100; ++f) (void)game.frame(f);  // until sparks go out
            std::uint64_t sum = 0;
            s.timed([&] {
                for (std::uint32_t f = 100; f != 100 + frame_count; ++f) {
                    sum = sum * 31 + game.frame(f);
                }
            });
            s.did(frame_count);
            s.checksum(sum);
        };
    };
}

const lab::registration whole_game{
    "whole-game", "What does a whole game gain, written as one writes it at first?",
    [](lab::experiment& e) {
        e.quick_seconds = 3;
        e.how =
            "Each sample builds a game, plays 100 frames that are not timed, and times the next "
            "ones. The games end with the same checksum.";
        const std::uint32_t count = e.options().full ? 600 : 200;
        lab::comparison& c = e.compare(
            "a frame", {.unit = "us/frame", .equal_checksums = true, .one_repetition = true});
        c.cairn("cairn, erase_if", plays<cairn_game<true>>(count));
        c.cairn("cairn, swap_erase_if", plays<cairn_game<false>>(count));
        c.peer("the standard library", plays<std_game>(count));
    }};

}  // namespace
