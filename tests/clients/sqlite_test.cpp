// A client that was not written for cairn: SQLite, which asks how large a block became, frees
// without a size, and promises a whole database after any refusal.
#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <sqlite3.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

namespace {

// The heap that SQLite's C functions work on, and the requests that it refuses.
template <class Fit>
struct memory {
    static inline std::optional<cairn::heap<Fit>> heap;
    static inline std::size_t live_count = 0;
    static inline std::size_t request_count = 0;
    static inline std::size_t refused_first = SIZE_MAX;
    static inline std::size_t refused_count = 0;

    static bool refuses() {
        const std::size_t number = request_count++;
        return number >= refused_first && number - refused_first < refused_count;
    }
    static void refuse(std::size_t first, std::size_t count) {
        request_count = 0;
        refused_first = first;
        refused_count = count;
    }

    static void* allocate(int size) {
        if (refuses()) { return nullptr; }
        void* const p = heap->allocate(static_cast<std::size_t>(size));
        live_count += p != nullptr;
        return p;
    }
    static void deallocate(void* p) {
        heap->deallocate(p);
        live_count -= p != nullptr;
    }
    static int size_of(void* p) {
        return p == nullptr ? 0 : static_cast<int>(heap->usable_size(p));
    }
    static int round_up(int size) {
        return static_cast<int>(heap->good_size(static_cast<std::size_t>(size)));
    }
    static void* resize(void* p, int size) {
        if (refuses()) { return nullptr; }
        const std::size_t old_size = heap->usable_size(p);
        const auto new_size = static_cast<std::size_t>(size);
        if (heap->try_resize(p, old_size, new_size)) { return p; }
        void* const moved = heap->allocate(new_size);
        if (moved == nullptr) { return nullptr; }
        std::memcpy(moved, p, old_size < new_size ? old_size : new_size);
        heap->deallocate(p);
        return moved;
    }
    static int start(void*) { return SQLITE_OK; }
    static void stop(void*) {}
};

template <class Fit>
class sqlite_on_heap : public testing::Test {
protected:
    using mem = memory<Fit>;

    void SetUp() override {
        sqlite3_shutdown();
        mem::heap.emplace(cairn::grow_by{std::size_t{1} << 20});
        mem::live_count = 0;
        mem::refuse(SIZE_MAX, 0);
        sqlite3_mem_methods calls{mem::allocate, mem::deallocate, mem::resize, mem::size_of,
                                  mem::round_up, mem::start,      mem::stop,   nullptr};
        ASSERT_EQ(sqlite3_config(SQLITE_CONFIG_MALLOC, &calls), SQLITE_OK);
        ASSERT_EQ(sqlite3_initialize(), SQLITE_OK);
    }
    void TearDown() override {
        EXPECT_EQ(sqlite3_shutdown(), SQLITE_OK);
        mem::heap->validate();
        EXPECT_EQ(mem::live_count, 0u) << "what SQLite took came back";
        mem::heap.reset();
    }
};

sqlite3* opened() {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
    return db;
}

// SQLITE_OK or what went wrong; `answer` gets the rows as text.
int run(sqlite3* db, const char* sql, std::string* answer = nullptr) {
    return sqlite3_exec(
        db, sql,
        [](void* to, int count, char** values, char**) {
            if (to == nullptr) { return 0; }
            for (int i = 0; i != count; ++i) {
                static_cast<std::string*>(to)->append(values[i] != nullptr ? values[i] : "null");
                static_cast<std::string*>(to)->append(i + 1 == count ? ";" : ",");
            }
            return 0;
        },
        answer, nullptr);
}

std::string answer_to(sqlite3* db, const char* sql) {
    std::string answer;
    EXPECT_EQ(run(db, sql, &answer), SQLITE_OK) << sql;
    return answer;
}

using fits = testing::Types<cairn::good_fit, cairn::strict_good_fit, cairn::best_fit,
                            cairn::first_fit, cairn::half_fit>;
TYPED_TEST_SUITE(sqlite_on_heap, fits);

TYPED_TEST(sqlite_on_heap, twenty_thousand_rows_are_indexed_changed_grouped_and_vacuumed) {
    sqlite3* const db = opened();
    answer_to(db, "create table t (id integer primary key, word text, n integer)");
    answer_to(db,
              "with recursive c(i) as (select 1 union all select i + 1 from c where i < 20000)"
              "insert into t select i, printf('word %d %s', i * 7919 % 20011, substr("
              "'abcdefghijklmnopqrstuvwxyz', 1, i % 26 + 1)), i % 97 from c");
    answer_to(db, "create index by_word on t (word)");
    answer_to(db, "create index by_n on t (n, word)");
    TestFixture::mem::heap->validate();
    answer_to(db, "update t set word = word || ' and more', n = n + 1 where id % 3 = 0");
    answer_to(db, "delete from t where id % 5 = 0");
    EXPECT_EQ(answer_to(db, "select count(*), sum(n), sum(length(word)) from t"),
              // what SQLite answers with its own allocator
              "16000,772752,431047;");
    EXPECT_EQ(answer_to(db, "select count(*) from (select n, count(*) from t group by n)"), "98;");
    EXPECT_EQ(answer_to(db, "select count(distinct substr(word, -3)) from t"), "36;");
    answer_to(db, "vacuum");
    EXPECT_EQ(answer_to(db, "pragma integrity_check"), "ok;");
    EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
}

TYPED_TEST(sqlite_on_heap, a_refusal_at_every_fifth_request_leaves_the_database_whole) {
    const char* const changes[] = {
        "insert into t select id + 1000, word || 'x', n from t",
        "update t set word = 'longer than it was ' || word where n % 2 = 0",
        "create index another on t (n, word)",
        "delete from t where id % 7 = 0",
        "select group_concat(word) from (select word from t order by n, word desc)",
        "vacuum",
    };
    int failed = 0;
    for (const char* const change : changes) {
        for (const std::size_t count : {std::size_t{1}, SIZE_MAX}) {
            for (std::size_t first = 0, ended_well = 0; ended_well == 0; first += 5) {
                sqlite3* const db = opened();
                answer_to(db, "create table t (id integer primary key, word text, n integer)");
                answer_to(
                    db,
                    "with recursive c(i) as (select 1 union all select i + 1 from c where i < 40)"
                    "insert into t select i, printf('word %d', i * 7919 % 211), i % 9 from c");
                answer_to(db, "create index by_word on t (word)");
                TestFixture::mem::refuse(first, count);
                const int result = run(db, change);
                ended_well =
                    TestFixture::mem::request_count <= first;  // nothing was left to refuse
                TestFixture::mem::refuse(SIZE_MAX, 0);
                EXPECT_TRUE(result == SQLITE_OK || result == SQLITE_NOMEM)
                    << sqlite3_errstr(result);
                failed += result == SQLITE_NOMEM;
                EXPECT_EQ(answer_to(db, "pragma integrity_check"), "ok;");
                EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
                TestFixture::mem::heap->validate();
            }
        }
    }
    EXPECT_GT(failed, 50);
}

}  // namespace
