// The game as games use malloc: each object, string and list comes from the standard library.
#include "crew.hpp"
#include "game.hpp"

#include <cairn/debug/registry.hpp>

#include <lua.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#if defined(__GLIBC__)
#    include <malloc.h>
#endif

namespace demo {
namespace {

/// What malloc knows of itself: two numbers of the whole process. It does not tell where its blocks
/// lie, so there is no map of it. Another malloc than glibc's tells nothing in this way.
struct whole_malloc {
#if defined(__GLIBC__)
    [[nodiscard]] static std::size_t live_size() { return mallinfo2().uordblks + mapped_size(); }
    [[nodiscard]] static std::size_t capacity() { return mallinfo2().arena + mapped_size(); }
    [[nodiscard]] static std::size_t mapped_size() { return mallinfo2().hblkhd; }
#endif
};

struct particle {
    float x, y, dx, dy, life;
};

struct enemy {
    enemy_start now;
    std::uint32_t number;
    std::string name;
    std::weak_ptr<enemy> leader;
};

struct projectile {
    std::weak_ptr<enemy> target;
    int frames_left;
};

struct prop {
    std::string name;
    std::vector<std::uint32_t> links;
};
using section = std::vector<std::unique_ptr<prop>>;

struct quest {
    std::vector<std::shared_ptr<quest>> next;
    std::weak_ptr<quest> giver;
    std::uint32_t reward = 0;
};

class malloc_game final : public game {
public:
    malloc_game() : scripts_{luaL_newstate()} {
        luaL_openlibs(scripts_);
        (void)luaL_dostring(scripts_, script);
        for (std::uint32_t i = 0; i < enemy_count; ++i) { spawn(); }
        for (std::uint32_t i = 0; i < turret_count; ++i) { turrets_.push_back(enemies_[i]); }
        for (std::uint32_t i = 0; i < section_count; ++i) { load_section(i); }
        for (std::uint32_t i = 0; i < 100; ++i) { (void)frame(i); }
    }
    ~malloc_game() override { lua_close(scripts_); }

private:
    std::shared_ptr<enemy> spawn() {
        const std::uint32_t n = next_enemy_++;
        char text[64];
        const std::size_t length =
            write_name(text, "goblin of the northern marshes, tribe ", mixed(n) % tribe_count);
        auto e = std::make_shared<enemy>(enemy{new_enemy(n), n, std::string(text, length), {}});
        if (!enemies_.empty()) { e->leader = enemies_[mixed(n) % enemies_.size()]; }
        enemies_.push_back(e);
        return e;
    }

    void move_particles() override {
        for (particle& p : particles_) {
            p.x += p.dx * frame_seconds;
            p.y += p.dy * frame_seconds;
            p.life -= 1;
        }
        std::erase_if(particles_, [](const particle& p) { return p.life <= 0; });
        while (particles_.size() < particle_count) {
            const particle_start s = new_particle(next_particle_++);
            particles_.push_back({s.x, s.y, s.dx, s.dy, s.life});
        }
    }

    std::uint64_t walk() override {
        std::uint64_t led = 0;
        for (const auto& e : enemies_) {
            e->now.x += e->now.dx * frame_seconds;
            e->now.y += e->now.dy * frame_seconds;
            if (const auto leader = e->leader.lock()) { led += leader->number % 7; }
        }
        return led;
    }

    void shoot(std::uint32_t number) override {
        for (std::uint32_t i = 0; i < turret_count; ++i) {
            if (turrets_[i].expired()) { turrets_[i] = spawn(); }
            if (mixed(number * turret_count + i) % 3 == 0) {
                projectiles_.push_back(
                    std::make_unique<projectile>(projectile{turrets_[i], flight_frames}));
            }
        }
        std::erase_if(projectiles_, [](const std::unique_ptr<projectile>& p) {
            if (--p->frames_left != 0) { return false; }
            if (const auto hit = p->target.lock()) { hit->now.health -= 7; }
            return true;
        });
        std::erase_if(enemies_, [](const auto& e) { return e->now.health <= 0; });
    }

    void load_section(std::uint32_t n) {
        section loaded;
        for (std::uint32_t i = 0; i < prop_count; ++i) {
            char text[64];
            const std::size_t length = write_name(text, "a mossy rock of the road, number ", i);
            auto p = std::make_unique<prop>();
            p->name.assign(text, length);
            for (std::uint32_t k = 0; k < 2 + mixed(n + i) % 6; ++k) {
                p->links.push_back(mixed(n * i + k) % prop_count);
            }
            loaded.push_back(std::move(p));
        }
        level_.push_back(std::move(loaded));
    }
    std::uint64_t stream(std::uint32_t number) override {
        if (number % section_frames == 0) {
            level_.pop_front();
            load_section(number / section_frames + section_count);
        }
        std::uint64_t sum = 0;
        for (const auto& p : level_[number % section_count]) {
            sum += p->name.size() + p->links.size() + p->links.front();
        }
        return sum;
    }

    std::uint64_t tell(std::uint32_t number) override {
        if (number % village_frames == 0 || quests_ == nullptr) {
            quests_ = std::make_shared<quest>();
        }
        for (std::uint32_t i = 0; i < quest_count; ++i) {
            auto q = std::make_shared<quest>();
            q->reward = i + number;
            q->giver = quests_;
            auto& list = i % 4 == 0 ? quests_->next : quests_->next.back()->next;
            list.push_back(std::move(q));
        }
        return quests_->next.size() + quests_->next.back()->next.back()->reward;
    }

    std::uint64_t think(std::uint32_t number) override {
        lua_getglobal(scripts_, "think");
        lua_pushinteger(scripts_, number);
        lua_call(scripts_, 1, 1);
        const auto sum = static_cast<std::uint64_t>(lua_tointeger(scripts_, -1));
        lua_pop(scripts_, 1);
        return sum;
    }

    void look(const camera& c) override {
        auto job = [this, c](unsigned part) {
            std::vector<draw_item> list;
            const std::size_t end = part_begin(part + 1, particles_.size());
            for (std::size_t i = part_begin(part, particles_.size()); i < end; i += particle_step) {
                const particle& p = particles_[i];
                if (c.sees(p.x, p.y)) {
                    list.push_back({p.x, p.y, static_cast<std::uint32_t>(p.life)});
                }
            }
            lists_[part] = std::move(list);
        };
        crew_.run(part_count, job);
        for (unsigned i = 0; i < part_count; ++i) { seen_.particles[i] = lists_[i]; }
        std::vector<draw_item> list;
        for (const auto& e : enemies_) {
            if (c.sees(e->now.x, e->now.y)) { list.push_back({e->now.x, e->now.y, e->number}); }
        }
        enemy_list_ = std::move(list);
        seen_.enemies = enemy_list_;
    }

    void write_labels() override {
        std::vector<std::string> labels;
        std::vector<std::string_view> views;
        for (std::uint32_t i = 0; i < label_count; ++i) {
            const enemy& e = *enemies_[i];
            labels.push_back(e.name + ": " + std::to_string(e.now.health));
        }
        for (const std::string& l : labels) { views.push_back(l); }
        label_texts_ = std::move(labels);
        labels_ = std::move(views);
        seen_.labels = labels_;
    }

    lua_State* scripts_;
    std::vector<particle> particles_;
    std::vector<std::shared_ptr<enemy>> enemies_;
    std::vector<std::weak_ptr<enemy>> turrets_;
    std::vector<std::unique_ptr<projectile>> projectiles_;
    std::deque<section> level_;
    std::shared_ptr<quest> quests_;
    std::vector<draw_item> lists_[part_count];
    std::vector<draw_item> enemy_list_;
    std::vector<std::string> label_texts_;
    std::vector<std::string_view> labels_;
    crew crew_;

    whole_malloc all_;
    const cairn::registry::entry listed_{"malloc, the whole process", all_};
};

}  // namespace

std::unique_ptr<game> new_malloc_game() { return std::make_unique<malloc_game>(); }

}  // namespace demo
