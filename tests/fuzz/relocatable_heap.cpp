// tests/fuzz/relocatable_heap.cpp - bytes as operations on a relocatable heap: each object's bytes are
// known from its number, pinned ones must stay, and validate() after every step.
#include <cairn/movable/relocatable_heap.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace cairn;

namespace {

void require(bool fine) {
    if (!fine) { std::abort(); }
}

/// Points to itself; moves by its move constructor.
struct selfish {
    explicit selfish(unsigned n) noexcept : me{this}, number{n} {}
    selfish(selfish&& other) noexcept : me{this}, number{other.number} {
        require(other.me == &other);
    }
    selfish* me;
    std::uint64_t number;
    std::uint64_t filling[3] = {};
};

struct object {
    relocatable_heap::handle_type h;
    std::size_t size;  // 0: a selfish
    unsigned char number;
    pinned<void> pin;
};

void check(relocatable_heap& heap, const object& o) {
    const auto* const bytes = static_cast<const unsigned char*>(heap.get(o.h));
    require(bytes != nullptr);
    require(!o.pin || o.pin.get() == bytes);
    if (o.size == 0) {
        const auto* const s = reinterpret_cast<const selfish*>(bytes);
        require(s->me == s && s->number == o.number);
        return;
    }
    for (std::size_t i = 0; i < o.size; ++i) { require(bytes[i] == (o.number ^ (i & 0xFF))); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) { return 0; }
    relocatable_heap heap{std::size_t{1024} << data[0] % 4,
                          system_memory(),
                          {.largest_movable = 100u + data[1] * 8u,
                           .object_count = data[0] / 64u,
                           .stress_relocate = data[0] % 8 >= 6}};
    std::vector<object> live;
    unsigned char number = 0;
    for (const std::uint8_t *at = data + 2, *end = data + size; end - at >= 3; at += 3) {
        const std::size_t pick = live.empty() ? 0 : at[2] % live.size();
        switch (at[0] % 8) {
            case 0:
            case 1: {
                object o{{}, 1u + at[1] * (at[2] % 4 == 0 ? 5u : 1u), ++number, {}};
                o.h = heap.allocate(o.size, alignment{std::size_t{1} << at[2] / 4 % 9});
                if (!o.h) { break; }
                auto* const bytes = static_cast<unsigned char*>(heap.get(o.h));
                for (std::size_t i = 0; i < o.size; ++i) {
                    bytes[i] = static_cast<unsigned char>(o.number ^ (i & 0xFF));
                }
                live.push_back(static_cast<object&&>(o));
                break;
            }
            case 2:
                if (const auto made = heap.make<selfish>(++number)) {
                    live.push_back(object{made.handle(), 0, number, {}});
                }
                break;
            case 3:
            case 4:
                if (!live.empty()) {
                    object& o = live[pick];
                    o.pin.reset();
                    check(heap, o);
                    heap.deallocate(o.h);
                    require(heap.get(o.h) == nullptr);
                    if (pick + 1 != live.size()) { o = static_cast<object&&>(live.back()); }
                    live.pop_back();
                }
                break;
            case 5:
                if (!live.empty()) {
                    object& o = live[pick];
                    if (o.pin) {
                        o.pin.reset();
                    } else {
                        o.pin = heap.pin(o.h);
                    }
                }
                break;
            case 6:
                (void)heap.compact({.bytes = at[1] * 16u, .steps = at[2] % 16u});
                break;
            default:
                if (at[1] % 4 == 0) { (void)heap.compact(); }
        }
        heap.validate();
        for (const object& o : live) { check(heap, o); }
    }
    for (object& o : live) { o.pin.reset(); }
    const auto report = heap.compact();
    require(report.settled);
    heap.validate();
    for (const object& o : live) { check(heap, o); }
    return 0;
}
