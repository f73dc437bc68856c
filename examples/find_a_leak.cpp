// How much does each part of my program hold, and which part forgot to free memory?
#include <cairn/debug/tracked.hpp>
#include <cairn/os/system_allocator.hpp>

#include <cstdio>
#include <cstring>

namespace {

int line_count = 0;
bool blames_the_right_one = false;

// Any place can receive the report: a log, the console of a game, a test. Default: stderr.
void print(const char* sentence, void*) {
    std::puts(sentence);
    ++line_count;
    if (std::strstr(sentence, "grass.png") != nullptr) { blames_the_right_one = true; }
}

}  // namespace

int main() {
    std::size_t most = 0;
    void* remains = nullptr;
    {
        // [tracked]
        cairn::system_allocator heap;
        cairn::tracked textures{heap, {.name = "textures", .list = true, .sink = &print}};

        void* const stone = textures.allocate(1000);  // recorded with this line
        auto grass = textures.at("grass.png");        // an allocator that records this name
        void* const leaked = grass.allocate(5000);    // to containers and arenas inside

        textures.deallocate(stone, 1000);
        most = textures.stats().peak_size;  // 6000: the budget this part really needs
        // [/tracked]
        remains = leaked;
        if (leaked == nullptr) { return 1; }
    }  // textures: 1 block with 5000 bytes was never freed (at most 6000 bytes were live)
    //     1 block with 5000 bytes: grass.png, from examples/find_a_leak.cpp:29 in int main()
    cairn::system_memory().deallocate(remains, 5000);  // so that a leak checker stays quiet
    return most == 6000 && line_count == 2 && blames_the_right_one ? 0 : 1;
}
