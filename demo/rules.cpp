// What both versions of the game share: the order of a frame, names and the script.
#include "game.hpp"

#include <charconv>
#include <cstring>

namespace demo {

std::size_t write_name(char (&to)[64], const char* what, std::uint32_t number) {
    const std::size_t length = std::strlen(what);
    std::memcpy(to, what, length);
    const auto end = std::to_chars(to + length, to + sizeof to, number);
    return static_cast<std::size_t>(end.ptr - to);
}

std::uint64_t game::frame(std::uint32_t number) {
    begin_frame();
    move_particles();
    std::uint64_t sum = walk();
    shoot(number);
    sum += stream(number);
    sum += tell(number);
    sum += think(number);
    look(camera{number});
    write_labels();
    for (const auto& part : seen_.particles) { sum += part.size(); }
    return sum + seen_.enemies.size() + next_particle_ + next_enemy_;
}

const char script[] = R"lua(
local agents = {}
function think(frame)
  local sum = 0
  for i = 1, 150 do
    local agent = { x = (frame * i) % 97, y = (frame + i) % 89,
                    name = "agent " .. frame .. " of squad " .. i }
    agents[i] = agent
    sum = sum + agent.x * agent.y + #agent.name
  end
  return sum
end
)lua";

}  // namespace demo
