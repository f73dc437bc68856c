// demo/game.hpp - the rules of the game, and the face that both versions of it have.
//
//      100,000 particles     fly and go out; those in sight are listed by jobs on two threads
//      5,000 enemies         walk, and look their leader up by handle
//      250 turrets           shoot at an enemy until it is dead; projectiles fly for 20 frames
//      labels                strings of this frame: name and health of 200 enemies
//      the level             eight sections of 1,500 props; each 20 frames the oldest one goes
//      scripts               150 agents think in Lua
//      quests                a graph with cycles; each 60 frames its root is given up
//
// malloc_game.cpp is written as games use malloc: std::vector, std::string, shared_ptr. cairn_game.cpp
// is the same game on cairn. What dies when depends on numbers alone, not on the order in a
// container, so both return the same sums.
#pragma once

#include <cairn/adapt/imgui_inspector.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace demo {

inline constexpr std::uint32_t particle_count = 100'000;
inline constexpr std::uint32_t enemy_count = 5'000;
inline constexpr std::uint32_t tribe_count = 100;  // names of enemies
inline constexpr std::uint32_t turret_count = 250;
inline constexpr std::uint32_t label_count = 200;
inline constexpr std::uint32_t prop_count = 1'500;   // in a section
inline constexpr std::uint32_t section_count = 8;    // that are loaded
inline constexpr std::uint32_t section_frames = 20;  // until the next one is loaded
inline constexpr std::uint32_t quest_count = 40;     // new ones in a frame
inline constexpr std::uint32_t village_frames = 60;  // that a graph of quests lives
inline constexpr int flight_frames = 20;
inline constexpr unsigned part_count = 8;        // jobs that look for what is in sight
inline constexpr std::size_t particle_step = 8;  // of so many particles one is drawn
inline constexpr float frame_seconds = 1.0f / 90;

/// A number that looks random.
constexpr std::uint32_t mixed(std::uint32_t n) {
    n = (n ^ (n >> 16)) * 0x7feb352du;
    n = (n ^ (n >> 15)) * 0x846ca68bu;
    return n ^ (n >> 16);
}
/// From 0 to 1.
constexpr float unit(std::uint32_t n) { return static_cast<float>(mixed(n) >> 8) * 0x1p-24f; }

/// Something on the screen, which is 1 wide and 1 high.
struct draw_item {
    float x, y;
    std::uint32_t number;
};

/// What the camera sees in a frame: a quarter of the world.
struct camera {
    float left, top;
    explicit camera(std::uint32_t frame)
        : left{static_cast<float>(frame % 900) / 1'800}, top{0.25f} {}
    [[nodiscard]] bool sees(float x, float y) const {
        return (x >= left) & (x < left + 0.5f) & (y >= top) & (y < top + 0.5f);
    }
};

struct particle_start {
    float x, y, dx, dy, life;
};
/// Particle `n` of the game, which lives for 100 to 300 frames.
inline particle_start new_particle(std::uint32_t n) {
    return {unit(n), unit(n + 1), unit(n + 2) - 0.5f, unit(n + 3) - 0.5f, 100 + 200 * unit(n + 4)};
}

struct enemy_start {
    float x, y, dx, dy;
    std::int32_t health;
};
inline enemy_start new_enemy(std::uint32_t n) {
    return {unit(n), unit(n + 1), (unit(n + 2) - 0.5f) / 8, (unit(n + 3) - 0.5f) / 8,
            static_cast<std::int32_t>(20 + mixed(n) % 20)};
}

/// Writes the name of a prop or an enemy. Returns: its length.
std::size_t write_name(char (&to)[64], const char* what, std::uint32_t number);

/// Where the parts of a list begin: part `p` of `count` elements.
constexpr std::size_t part_begin(unsigned p, std::size_t count) { return count * p / part_count; }

/// What the window draws. It lies in memory of the frame: good until the next one.
struct picture {
    std::span<const draw_item> particles[part_count];
    std::span<const draw_item> enemies;
    std::span<const std::string_view> labels;
};

/// What happens in a frame. Each version says how it is done, and where its memory comes from.
class game {
public:
    virtual ~game() = default;
    /// Plays frame `number`. Returns: a sum over all that happened, the same in both versions.
    std::uint64_t frame(std::uint32_t number);
    [[nodiscard]] const picture& seen() const { return seen_; }
    /// Gives the inspector what it shows beside the registry, and takes that back.
    virtual void show_in(cairn::imgui_inspector&) {}
    virtual void hide_from(cairn::imgui_inspector&) {}

protected:
    // The steps of a frame, in this order.
    virtual void begin_frame() {}
    virtual void move_particles() = 0;
    virtual std::uint64_t walk() = 0;
    virtual void shoot(std::uint32_t number) = 0;
    virtual std::uint64_t stream(std::uint32_t number) = 0;
    virtual std::uint64_t tell(std::uint32_t number) = 0;
    virtual std::uint64_t think(std::uint32_t number) = 0;
    virtual void look(const camera& c) = 0;
    virtual void write_labels() = 0;

    std::uint32_t next_enemy_ = 0, next_particle_ = 0;
    picture seen_;
};

/// Both have 100 frames behind them, until the first particles go out.
[[nodiscard]] std::unique_ptr<game> new_malloc_game();
[[nodiscard]] std::unique_ptr<game> new_cairn_game();

/// The scripts of both versions: think(frame) makes tables and strings, and returns a number.
extern const char script[];

}  // namespace demo
