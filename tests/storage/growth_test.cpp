// Sentences of cairn/storage/inside/growth.hpp, and what the containers that grow by it do where memory
// ends.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/storage/inside/growth.hpp>
#include <gtest/gtest.h>

#include <array>
#include <new>
#include <vector>

using namespace cairn;

namespace {

/// The counts that grow_by_halves() tries when none is served.
std::vector<std::size_t> attempts(std::size_t now, std::size_t needed, std::size_t wish) {
    std::vector<std::size_t> all;
    EXPECT_EQ(detail::grow_by_halves(now, needed, wish,
                                     [&](std::size_t count) {
                                         all.push_back(count);
                                         return false;
                                     }),
              0u);
    return all;
}

/// Memory of `limit` bytes that counts what it served.
class limited_memory {
public:
    explicit limited_memory(std::size_t limit) : free_{limit} {}
    void* allocate(std::size_t size, alignment align) noexcept {
        if (size > free_) { return nullptr; }
        void* const p = ::operator new(size, std::align_val_t{align.bytes()}, std::nothrow);
        if (p == nullptr) { return nullptr; }
        free_ -= size;
        ++served_count;
        served_bytes += size;
        return p;
    }
    void deallocate(void* p, std::size_t size, alignment align) noexcept {
        ::operator delete(p, std::align_val_t{align.bytes()}, std::nothrow);
        free_ += size;
    }
    std::size_t served_count = 0;
    std::size_t served_bytes = 0;

private:
    std::size_t free_;
};

struct kilobyte {
    std::array<std::byte, 1016> bytes;
    std::uint64_t number;
};

/// insert(i) until it says false. Everything was copied a few times by then, and not once for each.
template <class Insert>
void expect_few_growths(limited_memory& memory, std::size_t limit, Insert insert) {
    std::size_t count = 0;
    while (insert(count)) { ASSERT_LT(++count, limit / 100); }
    EXPECT_GE(count * sizeof(kilobyte), limit / 5) << "and much of the memory holds objects";
    EXPECT_LE(memory.served_count, 200u);
    EXPECT_LE(memory.served_bytes, 12 * limit);
    const std::size_t served = memory.served_count;
    EXPECT_FALSE(insert(count)) << "what was refused is refused again";
    EXPECT_EQ(memory.served_count, served);
}

constexpr std::size_t limits[] = {1'400'000, 2'800'000, 5'600'000, 11'000'000, 11'111'111};

}  // namespace

TEST(growth, a_wish_that_is_refused_is_halved_down_to_an_eighth) {
    EXPECT_EQ(attempts(1000, 1001, 2000), (std::vector<std::size_t>{2000, 1500, 1250, 1125}));
    EXPECT_EQ(attempts(0, 1, 16), (std::vector<std::size_t>{16, 8, 4, 2, 1}));
    EXPECT_EQ(attempts(1000, 1900, 2000), (std::vector<std::size_t>{2000, 1900}));
    EXPECT_EQ(attempts(1000, 1001, 1001), (std::vector<std::size_t>{1001}))
        << "no room for an eighth";
    EXPECT_EQ(attempts(7, 8, 16), (std::vector<std::size_t>{16, 11, 9, 8}));
}

TEST(growth, what_is_served_first_is_taken) {
    EXPECT_EQ(detail::grow_by_halves(1000, 1001, 2000, [](std::size_t n) { return n <= 1300; }),
              1250u);
    EXPECT_EQ(detail::grow_by_halves(1000, 1001, 2000, [](std::size_t) { return true; }), 2000u);
}

TEST(growth, packed_arrays_and_maps_end_with_memory_and_do_not_copy_all_for_each_insertion) {
    for (const std::size_t limit : limits) {
        {
            limited_memory memory{limit};
            packed_array<kilobyte> objects{memory};
            expect_few_growths(memory, limit, [&](std::size_t i) {
                return objects.emplace(kilobyte{{}, i}) != nullptr;
            });
            for (std::size_t i = 0; i < objects.size(); ++i) { ASSERT_EQ(objects[i].number, i); }
        }
        {
            limited_memory memory{limit};
            slot_map<kilobyte> map{memory};
            expect_few_growths(memory, limit,
                               [&](std::size_t i) { return !!map.emplace(kilobyte{{}, i}); });
            map.validate();
        }
        {
            limited_memory memory{limit};
            stable_slot_map<kilobyte> map{memory};  // objects stay: it copies its table of pages
            while (map.emplace()) {}
            EXPECT_GE(map.size() * sizeof(kilobyte), limit / 2);
            EXPECT_LE(memory.served_bytes, 2 * limit);
            map.validate();
        }
    }
}

TEST(growth, tables_and_their_columns_end_with_memory_and_do_not_copy_all_for_each_insertion) {
    struct row {
        kilobyte object;
        std::uint32_t number;
    };
    struct small_row {
        std::uint32_t first;
        std::uint32_t second;
    };
    for (const std::size_t limit : limits) {
        {
            limited_memory memory{limit};
            table<row, soa> rows{memory};
            expect_few_growths(memory, limit, [&](std::size_t i) {
                return rows.emplace_back(kilobyte{}, static_cast<std::uint32_t>(i));
            });
            rows.validate();
        }
        {
            limited_memory memory{limit};
            slot_table<row, soa> map{memory};
            expect_few_growths(memory, limit, [&](std::size_t i) {
                return !!map.emplace(kilobyte{}, static_cast<std::uint32_t>(i));
            });
            map.validate();
        }
        {
            limited_memory memory{limit};
            table<small_row, aos> rows;
            attached_column<kilobyte> column{rows, {}, memory};
            std::size_t grown = 0;
            for (std::size_t count = 1; rows.reserve(count); ++count) { ++grown; }
            EXPECT_GE(grown * sizeof(kilobyte), limit / 10);
            EXPECT_LE(memory.served_count, 60u);
            EXPECT_LE(memory.served_bytes, 12 * limit);
        }
    }
}

TEST(growth, slots_alone_end_with_memory_too) {
    for (const std::size_t limit : {100'000u, 140'000u, 200'000u, 333'333u}) {
        limited_memory memory{limit};
        detail::slot_directory<reuse::lifo> slots{{0xffff'fffd, 0x7fff'ffff, 0}, memory};
        std::size_t count = 0;
        for (; slots.next() != detail::slot_directory<>::none; ++count) {
            slots.occupy(slots.next(), 0);
        }
        EXPECT_GE(count * 12, limit / 4);
        EXPECT_LE(memory.served_count, 60u);
        slots.validate();
    }
}

TEST(growth,
     a_builder_at_the_end_of_its_arena_copies_only_for_an_eighth_and_takes_the_rest_in_place) {
    arena memory{100'000};
    builder<std::uint64_t> numbers{memory};
    std::size_t moves = 0;
    for (std::uint64_t i = 0;; ++i) {
        const std::size_t moved = numbers.moved_count();
        if (!numbers.push_back(i)) { break; }
        moves += numbers.moved_count() != moved ? 1u : 0u;
        if (i % 100 == 0 && i < 2000) { (void)memory.allocate(16); }  // the tip is taken
    }
    EXPECT_LE(moves, 12u);
    for (std::size_t i = 0; i < numbers.size(); ++i) { ASSERT_EQ(numbers[i], i); }

    arena small{1024};
    builder<std::uint64_t> all{small, 8};
    std::uint64_t count = 0;
    while (all.push_back(count)) { ++count; }
    EXPECT_EQ(count, 128u) << "at the tip nothing is copied: the arena is used to its end";
}

TEST(growth, an_object_pool_near_the_end_of_memory_does_not_copy_its_stack_for_each_object) {
    limited_memory memory{200'000};
    object_pool<std::uint64_t> pool{memory};
    std::vector<std::uint64_t*> all;
    while (std::uint64_t* const object = pool.acquire_raw()) { all.push_back(object); }
    EXPECT_GE(all.size() * 24, 60'000u);
    EXPECT_LE(memory.served_count, 100u);
    for (std::uint64_t* const object : all) { pool.release(object); }
}

TEST(growth, a_table_grows_to_the_last_of_its_reserved_rows) {
    struct pair {
        std::uint64_t a = 0;
        std::uint32_t b = 0;
    };
    table<pair, soa> t;
    ASSERT_TRUE(t.reserve_address_space(1 << 16));
    EXPECT_TRUE(t.reserve(1 << 16));
    EXPECT_EQ(t.capacity(), 1u << 16);
    EXPECT_FALSE(t.reserve((1 << 16) + 1));
    EXPECT_EQ(t.capacity(), 1u << 16);
}
