// How does SQLite get its memory from cairn?
#include <cairn/adapt/sqlite.hpp>
#include <cstdio>

int main() {
    // [use]
    cairn::set_sqlite_memory();  // the first call of SQLite in the program
    sqlite3* database = nullptr;
    sqlite3_open(":memory:", &database);
    // [/use]
    const int error = sqlite3_exec(database, "create table t(n); insert into t values(1)", nullptr,
                                   nullptr, nullptr);
    std::printf("%lld bytes in use\n", static_cast<long long>(sqlite3_memory_used()));
    sqlite3_close(database);
    return error;
}
