// Sentences of cairn/adapt/sqlite.hpp, with the real SQLite.
#include <cairn/adapt/sqlite.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/refusals.hpp"

using namespace cairn;

namespace {

failing<heap<>> memory;

int first_number(void* number, int, char** texts, char**) {
    *static_cast<int*>(number) = std::atoi(texts[0]);
    return 0;
}

/// Fills a table, asks it, and ends SQLite.
outcome run() {
    sqlite3* database = nullptr;
    int sum = 0;
    int error = sqlite3_initialize();
    if (error == SQLITE_OK) { error = sqlite3_open(":memory:", &database); }
    for (const char* const statement :
         {"create table t(n integer, name text); begin;",
          "with recursive c(x) as (values(1) union all select x + 1 from c where x < 300) "
          "insert into t select x, printf('row %d', x) from c; commit;",
          "create index i on t(name);", "update t set name = upper(name) where n % 3 = 0;",
          "select sum(n) from t where name like 'ROW%';"}) {
        if (error != SQLITE_OK) { break; }
        error = sqlite3_exec(database, statement, &first_number, &sum, nullptr);
    }
    if (database != nullptr) { EXPECT_EQ(sqlite3_close(database), SQLITE_OK); }
    sqlite3_shutdown();
    if (error != SQLITE_OK) {
        EXPECT_EQ(error & 0xff, SQLITE_NOMEM) << sqlite3_errstr(error);
        return outcome::refused;
    }
    EXPECT_EQ(sum, 45150);
    return outcome::done;
}

}  // namespace

TEST(sqlite, takes_the_default_memory_and_says_when_it_is_too_late) {
    ASSERT_EQ(set_sqlite_memory(), SQLITE_OK);
    EXPECT_EQ(sqlite3_initialize(), SQLITE_OK);
    EXPECT_GT((detail::never_ended<concurrent_heap, sqlite3>().stats().segment_size), 0u);
    EXPECT_EQ(set_sqlite_memory(), SQLITE_MISUSE);
    sqlite3_shutdown();
}

TEST(sqlite, reports_each_refusal) {
    ASSERT_EQ(set_sqlite_memory<memory>(), SQLITE_OK);
    run_with_refusals(memory, run);
}
