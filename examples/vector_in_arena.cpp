// How does a std::vector use an arena, and what happens when it is moved, copied or swapped?
#include <cairn/alloc/arena.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/std/std_allocator.hpp>

#include <vector>

using namespace cairn::literals;

// [alias]
template <class T>
using arena_vector = std::vector<T, cairn::std_allocator<T, cairn::arena>>;
// [/alias]

int main() {
    // [vector]
    cairn::arena level{1_MiB};  // declared first: it must outlive what lives in it
    cairn::arena frame{1_MiB};

    arena_vector<int> numbers{level};
    for (int i = 0; i < 1000; ++i) { numbers.push_back(i); }
    // [/vector]

    // [propagation]
    const int* const data = numbers.data();
    arena_vector<int> taker{frame};
    taker = std::move(numbers);  // takes level's memory along: no element moves
    const bool moved_for_free = taker.data() == data;

    arena_vector<int> twin = taker;        // lives where taker lives: in level
    arena_vector<int> here{taker, frame};  // a copy in frame, because that is asked for
    here = twin;                           // stays in frame, copies the elements
    // [/propagation]

    const bool placed = level.owns(twin.data()) && frame.owns(here.data());
    return moved_for_free && placed && here == twin ? 0 : 1;
}
