// Any bytes as operations on a pool, against a naive model: two bytes an operation.
#include <cairn/alloc/pool.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace {

void require(bool condition, const char* what) {
    if (!condition) {
        std::fprintf(stderr, "%s\n", what);
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) { return 0; }
    const std::size_t slot_size = 1 + data[0] % 40;
    cairn::pool p{slot_size,
                  cairn::alignment{std::size_t{1} << data[1] % 7},
                  cairn::system_memory(),
                  {.slots_per_chunk = 1 + data[2] % 9u,
                   .chunk_size_max = std::size_t{64} << data[3] % 8,
                   .slot_count_max = 200}};
    std::map<void*, std::uint8_t> model;  // what each live slot's first byte holds
    std::vector<void*> order;
    for (std::size_t i = 4; i + 1 < size; i += 2) {
        const std::uint8_t argument = data[i + 1];
        switch (data[i] % 16) {
            case 0:
                p.reset(), model.clear(), order.clear();
                break;
            case 1:
                p.trim();
                break;
            case 2:
                (void)p.reserve(argument);
                break;
            case 3: {
                auto expected = model.begin();
                p.for_each_live([&](void* s) {
                    require(expected != model.end() && s == (expected++)->first,
                            "for_each_live visits the live slots in order");
                });
                break;
            }
            case 4:
                p.validate();
                break;
            default:
                if (data[i] % 2 == 0 && !order.empty()) {
                    void*& s = order[argument % order.size()];
                    require(*static_cast<std::uint8_t*>(s) == model.at(s), "nobody else wrote");
                    model.erase(s);
                    p.deallocate(s);
                    s = order.back();
                    order.pop_back();
                } else if (void* const s = p.allocate()) {
                    require(model.emplace(s, argument).second, "a slot is given out once");
                    *static_cast<std::uint8_t*>(s) = argument;
                    order.push_back(s);
                }
        }
        require(p.stats().live_count == model.size(), "live slots are counted");
    }
    return 0;
}
