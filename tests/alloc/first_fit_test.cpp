// The index of first_fit against a list of what is free: small blocks, blocks around 512 KiB, where
// a stretch's entry ends, and larger ones, of which a span holds one.
#include <gtest/gtest.h>

#include <cairn/alloc/first_fit.hpp>
#include <cairn/storage/inside/step_counter.hpp>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <random>

namespace cairn {
namespace {

using index_type = first_fit::index;
using blocks = detail::block_map;

using random_words = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::uint32_t granules = 1u << 20;  // 16 MiB: 32 spans

class indexed_blocks {
public:
    indexed_blocks() { index().clear(granules); }

    index_type& index() { return *index_; }
    blocks map() { return blocks{blocks_.get() + 8}; }
    std::map<std::uint32_t, std::uint32_t> free;  // start, size

    /// Cuts the region into blocks, of which no two neighbours are free.
    void cut(random_words& random) {
        bool was_free = true;
        for (std::uint32_t g = 0; g < granules;) {
            std::uint32_t size = size_from(random);
            if (size > granules - g) { size = granules - g; }
            was_free = !was_free && random() % 4 != 0;
            map().set_header(g, was_free ? detail::block_header::unused(size, 0)
                                         : detail::block_header::used(size, 0));
            if (was_free) {
                free[g] = size;
                index().insert(map(), g, size);
            }
            g += size;
        }
    }

    static std::uint32_t size_from(random_words& random) {
        switch (random() % 8) {
            case 0:
                return 32'760 + random() % 16;
            case 1:
                return 1 + random() % 150'000;
            case 2:
                return 1 + random() % 3;
            default:
                return 1 + random() % 300;
        }
    }

    // ------------------------------------------------------------------ what is right

    std::uint32_t first_from(std::uint32_t from, std::uint32_t size) const {
        for (auto i = free.lower_bound(from); i != free.end(); ++i) {
            if (i->second >= size) { return i->first; }
        }
        return detail::no_block;
    }
    std::uint32_t last(std::uint32_t size) const {
        for (auto i = free.rbegin(); i != free.rend(); ++i) {
            if (i->second >= size) { return i->first; }
        }
        return detail::no_block;
    }

    void compare(random_words& random) {
        std::uint32_t largest = 0;
        for (const auto& [g, size] : free) { largest = size > largest ? size : largest; }
        ASSERT_EQ(index().largest(map()), largest);
        for (int i = 0; i < 30; ++i) {
            const std::uint32_t size = size_from(random);
            const std::uint32_t from = random() % granules;
            ASSERT_EQ(index().find(map(), size).block, first_from(0, size)) << size;
            ASSERT_EQ(index().find_from(map(), from, size), first_from(from, size))
                << from << ' ' << size;
            ASSERT_EQ(index().find_last(map(), size), last(size)) << size;
        }
        std::size_t seen = 0;
        index().validate(map(), [&](std::uint32_t g) { seen += free.count(g); });
        ASSERT_EQ(seen, free.size());
    }

private:
    struct give_back {
        void operator()(void* p) const { std::free(p); }
    };
    // calloc: pages that no header lies in are never touched.
    std::unique_ptr<std::byte[], give_back> blocks_{
        static_cast<std::byte*>(std::calloc(granules + 2, 16))};
    std::unique_ptr<std::byte[], give_back> index_memory_{static_cast<std::byte*>(
        std::malloc(sizeof(index_type) + index_type::array_size(granules)))};
    index_type* index_ = ::new (index_memory_.get()) index_type;
};

}  // namespace

TEST(first_fit_index, finds_what_a_list_finds) {
    for (unsigned seed = 1; seed <= 12; ++seed) {
        random_words random{seed};
        indexed_blocks b;
        b.cut(random);
        ASSERT_NO_FATAL_FAILURE(b.compare(random)) << "seed " << seed;

        // Blocks leave, or lose their front, as an allocation cuts it off.
        int step = 0;
        while (!b.free.empty()) {
            auto victim = random() % 3 == 0 ? std::prev(b.free.end())
                                            : b.free.lower_bound(random() % granules);
            if (victim == b.free.end()) { victim = b.free.begin(); }
            const auto [g, size] = *victim;
            b.free.erase(victim);
            if (const std::uint32_t cut = 1 + random() % size; cut < size && random() % 2 == 0) {
                b.index().change(b.map(), g, size, g + cut, size - cut);
                b.map().set_header(g, detail::block_header::used(cut, 0));
                b.map().set_header(g + cut, detail::block_header::unused(size - cut, cut));
                b.free[g + cut] = size - cut;
            } else {
                b.index().remove(b.map(), g, size);
            }
            if (++step % 64 == 0) { ASSERT_NO_FATAL_FAILURE(b.compare(random)) << "seed " << seed; }
        }
        ASSERT_NO_FATAL_FAILURE(b.compare(random)) << "seed " << seed;
    }
}

TEST(first_fit_index, a_block_that_grows_is_found_by_its_new_size) {
    for (unsigned seed = 1; seed <= 12; ++seed) {
        random_words random{seed};
        indexed_blocks b;
        b.cut(random);
        // [ free ][ used ] => [ --- free --- ], and with the free block behind it where there is one
        for (int step = 0; step < 400 && b.free.size() > 1; ++step) {
            auto i = b.free.lower_bound(random() % granules);
            if (i == b.free.end()) { continue; }
            const auto [g, size] = *i;
            if (g + size == granules) { continue; }
            std::uint32_t total = size + b.map().header(g + size).size();
            const auto right = std::next(i);
            if (right != b.free.end() && right->first == g + total) {
                b.index().remove(b.map(), right->first, right->second);
                total += right->second;
                b.free.erase(right);
            }
            b.index().change(b.map(), g, size, g, total);
            b.map().set_header(g, detail::block_header::unused(total, 0));
            b.free[g] = total;
            if (step % 16 == 0) { ASSERT_NO_FATAL_FAILURE(b.compare(random)) << "seed " << seed; }
        }
        ASSERT_NO_FATAL_FAILURE(b.compare(random)) << "seed " << seed;
    }
}

}  // namespace cairn
