#include "lab/harness/preload.hpp"

#include "lab/system/process.hpp"

namespace lab {

std::string try_preload(const std::string& path, const std::string& symbol) {
    const std::string name = detail::name_in(path);
    if constexpr (!has_copies) return name + " cannot be preloaded on this system";
    child_process child;
    child_order order;
    order.words = {"cairn", "--lab-preloaded", path, symbol};
    order.is_anew = true;
    order.preload = path;
    const std::string obstacle = child.start(order);
    if (!obstacle.empty()) return name + " could not be tried: " + obstacle;
    std::string said;
    char c = 0;
    if (child.wait(10'000) == child_process::answer::came) {
        while (child.receive(&c, 1) && c != '\n') said += c;
    }
    if (c == '\n') return said;
    return "a process with " + name + " preloaded crashes or does not answer";
}

int preloaded_main(int argc, char** argv) {
    if (argc != 4) return 127;
    const std::string line = preload_obstacle(argv[2], argv[3]) + '\n';
    return write_all(ends_of_this_child().replies, line.data(), line.size()) ? 0 : 1;
}

}  // namespace lab
