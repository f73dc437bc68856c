// lab/families/touched_lines.hpp - the least that an operation on many objects can cost: its lines.
//
//      line{8}, line{64, 0}      a word of 8 bytes an object at a random place, then, when that has
//                                come, one of the 64 bytes that it names
#pragma once

#include "lab/harness/experiment.hpp"

namespace lab {

constexpr std::size_t batch = 64;  // so many leave, then so many come: none is had again at once

/// Places at random, the same in every structure.
class places {
public:
    explicit places(std::size_t count) : count_{count} {}
    std::size_t next() {
        draw();
        return place(1);
    }
    /// Several places of one draw: place(1), place(3) ... any odd number.
    void draw() { state_ = state_ * 6364136223846793005u + 1442695040888963407u; }
    [[nodiscard]] std::size_t place(std::uint64_t odd) const {
        return static_cast<std::size_t>((static_cast<unsigned __int128>(state_ * odd) * count_) >>
                                        64);
    }

private:
    std::size_t count_;
    std::uint64_t state_ = 7;
};

/// A line that an operation must touch, in an array of so many bytes an object.
struct line {
    std::size_t size;
    int after = -1;  // which line says where this one is; -1: that is known
};

/// What the limit touches: an operation's lines, each after the line that holds its address.
template <line... Lines>
struct touched_lines {
    static constexpr line wanted[] = {Lines...};
    static constexpr std::size_t line_count = sizeof...(Lines);
    std::vector<std::uint32_t> words[line_count];
    places at;
    explicit touched_lines(std::size_t objects) : at{objects} {
        for (std::size_t l = 0; l != line_count; ++l) {
            words[l].assign(objects * wanted[l].size / 4 + 8, 1);
        }
    }
    void run() { touch_batch(std::make_index_sequence<line_count>{}); }

private:
    template <std::size_t... L>
    void touch_batch(std::index_sequence<L...>) {
        std::uint32_t* const first[] = {words[L].data()...};
        places place = at;
        for (std::size_t i = 0; i < batch; ++i) {
            std::uint32_t seen[line_count + 1] = {};
            place.draw();
            ((seen[L + 1] = touch<L>(first[L], place.place(0x9E37'79B9'7F4A'7C15u * L * 2 + 1),
                                     seen[wanted[L].after + 1])),
             ...);
        }
        at = place;
    }
    template <std::size_t L>
    static std::uint32_t touch(std::uint32_t* words, std::size_t place, std::uint32_t known) {
        // The words are small numbers: the place is the same, and known only with the other line.
        return ++words[(place + (known >> 31)) * (wanted[L].size / 4)];
    }
};
/// The same where lines come one behind the other: an array of `size` bytes an object.
template <std::size_t Size>
struct walked_lines {
    std::vector<float> all;
    explicit walked_lines(std::size_t objects) : all(objects * Size / sizeof(float)) {}
    void run() {
        for (float& one : all) { one += 0.016f; }
    }
};

}  // namespace lab
