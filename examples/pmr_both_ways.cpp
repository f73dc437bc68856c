// How does code that speaks std::pmr use cairn, and cairn use a std::pmr resource?
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/std/pmr_resource.hpp>

#include <memory_resource>
#include <string>
#include <vector>

using namespace cairn::literals;

namespace {

// Somebody else's interface.
std::size_t total_length(const std::pmr::vector<std::pmr::string>& names) {
    std::size_t length = 0;
    for (const auto& name : names) { length += name.size(); }
    return length;
}

}  // namespace

int main() {
    std::size_t length = 0;
    bool inside = false;
    // [to_pmr]
    cairn::arena frame{64_KiB};
    {
        cairn::pmr_resource resource{frame};
        std::pmr::vector<std::pmr::string> names{&resource};
        names.emplace_back("a name that is too long for the buffer inside a string");
        length = total_length(names);
        inside = frame.owns(names[0].data());
    }
    frame.reset();
    // [/to_pmr]

    // [from_pmr]
    std::pmr::unsynchronized_pool_resource theirs;
    cairn::from_pmr upstream{&theirs};
    cairn::growing_arena ours{4_KiB, upstream};  // takes its blocks from their resource
    void* const p = ours.allocate(100);
    // [/from_pmr]
    return length == 54 && inside && p != nullptr ? 0 : 1;
}
