// string_pool: its upstream may look up; what needs memory meanwhile stops.
#include <cairn/containers/string_pool.hpp>

#include <optional>
#include <string>
#include <utility>

#include "script.hpp"

namespace { namespace string_pool_cells {

using namespace cairn;
using namespace callback_tests;

enum class act { find, loop, known, insert, shrink, clear, move };
constexpr const char* names_of_acts[] = {"looks up",         "loops",   "interns what is there",
                                         "interns the next", "shrinks", "clears",
                                         "moves it away"};

void act_once(string_pool& pool, act what) {
    switch (what) {
        case act::find:
            for (const char* const text : {"a", "b", "c"}) {
                const std::string_view found = pool.find(text);
                check(found.data() == nullptr || found == text, "a string finds its own");
                check(pool.empty() || found == text, "a string is found");
            }
            return;
        case act::loop:
            return pool.for_each([](std::string_view) {});
        case act::known:
            return check(pool.empty() || pool.intern("b") == "b", "a string is found");
        case act::insert:
            return (void)pool.reserve(1000);
        case act::shrink:
            return (void)pool.shrink_to_fit();
        case act::clear:
            return pool.clear();
        case act::move: {
            const string_pool away{std::move(pool)};
            return;
        }
    }
}

template <class Cause>
void expect_cells(const char* name, call function, Cause cause) {
    for (int a = 0; a <= static_cast<int>(act::move); ++a) {
        const act what = static_cast<act>(a);
        expect("string_pool", name, names_of_acts[a], what == act::find || what == act::known, [&] {
            told_memory upstream;
            std::optional<string_pool> pool{std::in_place, allocator_ref{upstream}};
            for (const char* const text : {"a", "b", "c"}) {
                check(pool->intern(text) == text, "memory");
            }
            string_pool& p = *pool;
            const auto once = [&] { act_once(p, what); };
            const script told{function, once};
            cause(pool);
            check(told.has_run(), "the function was called");
            if (pool) { pool->validate(); }
        });
    }
}

void intern(std::optional<string_pool>& pool, std::size_t size) {
    check(pool->intern(std::string(size, 'x')).size() == size, "memory");
}
void fill(std::optional<string_pool>& pool) {
    for (std::size_t size = 2; size < 30; ++size) { intern(pool, size); }
}
void reserve(std::optional<string_pool>& pool) { check(pool->reserve(100), "memory"); }

TEST(callbacks, of_the_upstream_of_a_string_pool) {
    expect_cells("growth", call::allocate, fill);
    expect_cells("growth", call::deallocate, fill);
    expect_cells("reserve", call::allocate, reserve);
    expect_cells("reserve", call::deallocate, reserve);
    expect_cells("a text", call::allocate, [](auto& pool) { intern(pool, 5000); });
    expect_cells("shrink_to_fit", call::deallocate, [](auto& pool) {
        script::pause([&] { reserve(pool); });
        check(pool->shrink_to_fit(), "memory");
    });
    expect_cells("clear", call::deallocate, [](auto& pool) {
        script::pause([&] {
            for (std::size_t size = 5000; size < 5010; ++size) { intern(pool, size); }
        });
        pool->clear();
    });
    expect_cells("shrink_to_fit when empty", call::deallocate, [](auto& pool) {
        script::pause([&] { pool->clear(); });
        check(pool->shrink_to_fit(), "memory");
    });
    expect_cells("the end", call::deallocate, [](auto& pool) { pool.reset(); });
}

}}  // namespace ::string_pool_cells
