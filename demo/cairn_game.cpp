// The game on cairn: each kind of memory by the life of what lies in it.
//
//      goes with the frame       frame_arena: labels, lists       tagged_arenas: lists of the jobs
//      goes with a section       a growing_arena for each
//      one by one                slot_map: enemies    pool_of: projectiles    table: particles
//      when no root reaches it   collected_heap: quests
//      Lua's own                 heap<> with a budget
#include "crew.hpp"
#include "game.hpp"

#include <cairn/adapt/lua.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/alloc/tagged_arenas.hpp>
#include <cairn/collected/collected_heap.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/string_pool.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/registry.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/os/system_allocator.hpp>

#include <cstdio>
#include <cstdlib>

namespace demo {
namespace {

using namespace cairn::literals;

/// This game cannot go on without memory. A game that can looks at each result.
void must(bool has_memory) {
    if (has_memory) { return; }
    std::fputs("demo: memory is exhausted\n", stderr);
    std::abort();
}

template <class K = cairn::value>
struct particle {
    cairn::field<K, float> x, y, dx, dy, life;
};

struct enemy {
    enemy_start now;
    std::uint32_t number;
    std::string_view name;
    cairn::slot_map<enemy>::handle_type leader;  // finds nothing when the leader is dead
};
using enemy_handle = cairn::slot_map<enemy>::handle_type;

struct projectile {
    enemy_handle target;
    int frames_left;
};

struct prop {
    std::string_view name;
    cairn::slice<std::uint32_t> links;
};
struct section {
    cairn::growing_arena memory{256_KiB};
    cairn::slice<prop> props;
};

struct quest {
    cairn::ref_array<quest> next;
    cairn::ref<quest> giver;
    std::uint32_t reward = 0;
    using references = cairn::refers_to<&quest::next, &quest::giver>;
};

/// Knows which of the containers has which blocks, for the page Sites of the inspector.
using world_memory = cairn::tracked<cairn::system_allocator>;

quest* last_of(const cairn::ref_array<quest>& list) { return list[list.size() - 1]; }

class cairn_game final : public game {
public:
    cairn_game() : scripts_{cairn::new_lua_state(script_memory_)} {
        must(scripts_ != nullptr && enemies_.reserve(enemy_count + turret_count) &&
             particles_.reserve(particle_count) && turrets_.reserve(turret_count));
        luaL_openlibs(scripts_);
        (void)luaL_dostring(scripts_, script);
        for (std::uint32_t i = 0; i < enemy_count; ++i) {
            const enemy_handle e = spawn();
            if (i < turret_count) { must(turrets_.push_back(e)); }
        }
        for (std::uint32_t i = 0; i < section_count; ++i) { load_section(i); }
        for (std::uint32_t i = 0; i < 100; ++i) { (void)frame(i); }
    }
    ~cairn_game() override {
        lua_close(scripts_);
        jobs_.end(job_tag_);
    }

    void show_in(cairn::imgui_inspector& inspector) override {
        inspector.add_map("scripts", script_memory_.inner());
        inspector.add_sites("world", world_);
    }
    void hide_from(cairn::imgui_inspector& inspector) override {
        inspector.remove(&script_memory_.inner());
        inspector.remove(&world_);
    }

private:
    enemy_handle spawn() {
        const std::uint32_t n = next_enemy_++;
        char text[64];
        const std::size_t length =
            write_name(text, "goblin of the northern marshes, tribe ", mixed(n) % tribe_count);
        enemy e{new_enemy(n), n, names_.intern({text, length}), {}};
        if (!enemies_.empty()) { e.leader = enemies_.handles()[mixed(n) % enemies_.size()]; }
        const enemy_handle h = enemies_.emplace(e);
        must(bool{h});
        return h;
    }

    void begin_frame() override { frames_.swap(); }  // frees what was allocated two frames ago
    void move_particles() override {
        particles_.for_each([](auto&& p) {
            p.x += p.dx * frame_seconds;
            p.y += p.dy * frame_seconds;
            p.life -= 1;
        });
        particles_.erase_if([](auto&& p) { return p.life <= 0; });
        while (particles_.size() < particle_count) {
            const particle_start s = new_particle(next_particle_++);
            must(particles_.emplace_back(s.x, s.y, s.dx, s.dy, s.life));
        }
    }

    std::uint64_t walk() override {
        std::uint64_t led = 0;
        for (enemy& e : enemies_.values()) {
            e.now.x += e.now.dx * frame_seconds;
            e.now.y += e.now.dy * frame_seconds;
            if (const enemy* const leader = enemies_.find(e.leader)) { led += leader->number % 7; }
        }
        return led;
    }

    void shoot(std::uint32_t number) override {
        for (std::uint32_t i = 0; i < turret_count; ++i) {
            if (!enemies_.contains(turrets_[i])) { turrets_[i] = spawn(); }
            if (mixed(number * turret_count + i) % 3 == 0) {
                projectile* const p = flying_.make(projectile{turrets_[i], flight_frames});
                must(p != nullptr && projectiles_.push_back(p));
            }
        }
        projectiles_.erase_if([this](projectile* p) {
            if (--p->frames_left != 0) { return false; }
            if (enemy* const hit = enemies_.find(p->target)) { hit->now.health -= 7; }
            flying_.destroy(p);
            return true;
        });
        enemies_.erase_if([](const enemy& e) { return e.now.health <= 0; });
    }

    void load_section(std::uint32_t n) {
        section& s = level_[n % section_count];
        s.memory.reset();  // the oldest section is gone, all of it
        s.props = s.memory.make_array<prop>(prop_count);
        must(!s.props.empty());
        for (std::uint32_t i = 0; i < prop_count; ++i) {
            char text[64];
            const std::size_t length = write_name(text, "a mossy rock of the road, number ", i);
            prop& p = s.props[i];
            p.name = s.memory.copy(std::string_view{text, length});
            p.links = s.memory.make_array<std::uint32_t>(2 + mixed(n + i) % 6);
            must(p.name.data() != nullptr && !p.links.empty());
            for (std::uint32_t k = 0; k < p.links.size(); ++k) {
                p.links[k] = mixed(n * i + k) % prop_count;
            }
        }
    }
    std::uint64_t stream(std::uint32_t number) override {
        const std::uint32_t passed = number / section_frames;
        if (number % section_frames == 0) { load_section(passed + section_count); }
        std::uint64_t sum = 0;
        for (const prop& p : level_[(passed + 1 + number) % section_count].props) {
            sum += p.name.size() + p.links.size() + p.links.front();
        }
        return sum;
    }

    std::uint64_t tell(std::uint32_t number) override {
        if (number % village_frames == 0 || quests_ == nullptr) {
            quests_ = quest_heap_.make<quest>();
            must(quests_ != nullptr);
        }
        for (std::uint32_t i = 0; i < quest_count; ++i) {
            quest* const q = quest_heap_.make<quest>();
            must(q != nullptr);
            q->reward = i + number;
            q->giver = quests_.get();
            auto& list = i % 4 == 0 ? quests_->next : last_of(quests_->next)->next;
            must(list.push_back(q));
        }
        const std::uint64_t sum =
            quests_->next.size() + last_of(last_of(quests_->next)->next)->reward;
        quest_heap_.step({.microseconds = 100});
        return sum;
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
        jobs_.end(job_tag_);  // the lists of the last frame
        job_tag_ = jobs_.begin("lists of what is in sight");
        auto job = [this, c](unsigned part) {
            auto memory = jobs_.local(job_tag_);
            cairn::builder<draw_item, cairn::tagged_arenas::view> list{memory};
            const std::size_t end = part_begin(part + 1, particles_.size());
            for (std::size_t i = part_begin(part, particles_.size()); i < end; i += particle_step) {
                const auto p = particles_[i];
                if (c.sees(p.x, p.y)) {
                    must(list.push_back({p.x, p.y, static_cast<std::uint32_t>(p.life)}));
                }
            }
            seen_.particles[part] = list.finish();
        };
        crew_.run(part_count, job);
        cairn::builder<draw_item> list{frames_.active()};
        for (const enemy& e : enemies_.values()) {
            if (c.sees(e.now.x, e.now.y)) { must(list.push_back({e.now.x, e.now.y, e.number})); }
        }
        seen_.enemies = list.finish();
    }

    void write_labels() override {
        cairn::growing_arena& frame = frames_.active();
        const auto labels = frame.make_array<std::string_view>(label_count);
        must(!labels.empty());
        for (std::uint32_t i = 0; i < label_count; ++i) {
            const enemy& e = enemies_.values()[i];
            char text[64];
            const int length =
                std::snprintf(text, sizeof text, "%.*s: %d", static_cast<int>(e.name.size()),
                              e.name.data(), e.now.health);
            labels[i] = frame.copy(std::string_view{text, static_cast<std::size_t>(length)});
            must(labels[i].data() != nullptr);
        }
        seen_.labels = labels;
    }

    cairn::budget<cairn::heap<>> script_memory_{8_MiB};
    lua_State* scripts_;
    world_memory world_{{.name = "world", .list = true}};
    world_memory::call_site_allocator for_particles_ = world_.at("particles");
    world_memory::call_site_allocator for_enemies_ = world_.at("enemies");
    world_memory::call_site_allocator for_names_ = world_.at("names");
    cairn::table<particle<>, cairn::soa> particles_{for_particles_};
    cairn::slot_map<enemy> enemies_{for_enemies_};
    cairn::packed_array<enemy_handle> turrets_;
    cairn::pool_of<projectile> flying_;
    cairn::packed_array<projectile*> projectiles_;
    cairn::string_pool names_{for_names_};
    section level_[section_count];
    cairn::collected_heap quest_heap_{8_MiB};
    cairn::root<quest> quests_;
    cairn::frame_arena<2> frames_{256_KiB};
    cairn::tagged_arenas jobs_;
    cairn::tagged_arenas::tag job_tag_;
    crew crew_;

    const cairn::registry::entry listed_[6] = {
        {"scripts", script_memory_}, {"world", world_},
        {"quests", quest_heap_},     {"frame", frames_.active()},
        {"projectiles", flying_},    {"jobs", jobs_, cairn::registry::entry::any_thread}};
};

}  // namespace

std::unique_ptr<game> new_cairn_game() { return std::make_unique<cairn_game>(); }

}  // namespace demo
