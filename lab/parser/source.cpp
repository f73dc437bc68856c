#include "lab/parser/source.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace lab::parser {

namespace {

/// splitmix64: five lines, the same everywhere (std's distributions are not).
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_{seed} {}
    std::uint64_t below(std::uint64_t n) {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return (z ^ (z >> 31)) % n;
    }

private:
    std::uint64_t state_;
};

/// Programs repeat themselves: the same few dozen shapes of statement, with other names and numbers.
/// So shapes are made first, at random; lines are shapes, the first ones most often, filled in anew.
class shape_maker {
public:
    explicit shape_maker(random_numbers& r) : random_{r} {}

    std::string statement() {
        text_.clear();
        simple(0);
        return text_;
    }
    std::string lambda() {
        text_ = "let N = fn(N, N) {\n";
        simple(1);
        text_ += "  if (N < N) ";
        call(1);
        text_ += " else -0\n};\n";
        return text_;
    }
    std::string block() {
        text_ = "{\n";
        simple(1);
        simple(1);
        text_ += "  N * 0 + N\n};\n";
        return text_;
    }

private:
    void simple(std::size_t by) {
        text_.append(by * 2, ' ');
        if (random_.below(2) == 0) text_ += "let N = ";
        call(0);
        if (random_.below(3) == 0) {
            text_ += " + ";
            call(1);
        }
        text_ += ";\n";
    }
    void call(int depth) {
        static constexpr std::uint8_t counts[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 5, 9};
        const std::uint64_t n = depth == 0 ? 2 + random_.below(3) : counts[random_.below(13)];
        text_ += "N(";
        for (std::uint64_t i = 0; i != n; ++i) {
            if (i != 0) text_ += ", ";
            argument(depth + 1);
        }
        text_ += ')';
    }
    void argument(int depth) {
        const std::uint64_t what = random_.below(10);
        if (depth < 4 && what < 5) {
            call(depth);
        } else if (what == 9) {
            static constexpr const char* const signs[] = {"+", "-", "*", "/", "<", "==", "&&"};
            text_ += "N ";
            text_ += signs[random_.below(std::size(signs))];
            text_ += random_.below(2) == 0 ? " N" : " 0";
        } else {
            text_ += what < 7 ? 'N' : '0';
        }
    }

    random_numbers& random_;
    std::string text_;
};

std::string filled_in(const std::string& shape, random_numbers& random) {
    static constexpr const char* const words[] = {
        "a",   "b",   "i",   "n",    "x",    "y",    "sum",   "max",   "pos",
        "len", "key", "map", "fold", "item", "next", "total", "price", "count"};
    std::string text;
    for (const char c : shape) {
        if (c == 'N')
            text += words[random.below(std::size(words))];
        else if (c == '0')
            text += std::to_string(random.below(1000));
        else
            text += c;
    }
    return text;
}

}  // namespace

std::string generate_source(std::size_t lines, std::uint64_t seed) {
    random_numbers random{seed};
    shape_maker maker{random};
    std::vector<std::string> shapes;
    for (int i = 0; i != 40; ++i) {
        shapes.push_back(i % 10 == 7   ? maker.lambda()
                         : i % 10 == 9 ? maker.block()
                                       : maker.statement());
    }
    std::string text;
    for (std::size_t done = 0; done != lines;) {
        const std::string& shape = shapes[random.below(1 + random.below(shapes.size()))];
        const std::size_t more = count_lines(shape);
        if (more > lines - done) continue;  // ends with one-line shapes
        text += filled_in(shape, random);
        done += more;
    }
    return text;
}

std::size_t count_lines(std::string_view source) {
    const auto ends = static_cast<std::size_t>(std::count(source.begin(), source.end(), '\n'));
    return ends + (source.empty() || source.back() == '\n' ? 0 : 1);
}

}  // namespace lab::parser
