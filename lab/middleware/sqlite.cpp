// A saved game in SQLite: 3,000 items are written, asked for, changed and summed up.
#include <cairn/adapt/sqlite.hpp>

#include <string>

#include "lab/middleware/run.hpp"

namespace {

/// Runs `statement`. Returns: its first number.
std::uint64_t ask(sqlite3* database, const std::string& statement) {
    std::uint64_t number = 0;
    const auto first = [](void* to, int, char** texts, char**) {
        *static_cast<std::uint64_t*>(to) += std::strtoull(texts[0] ? texts[0] : "0", nullptr, 10);
        return 0;
    };
    if (sqlite3_exec(database, statement.c_str(), first, &number, nullptr) != SQLITE_OK) {
        std::abort();
    }
    return number;
}

}  // namespace

int main(int count, char** words) {
    if (lab::middleware::is_on_cairn(count, words)) cairn::set_sqlite_memory();
    return lab::middleware::run(count, words, [](bool, auto& call) -> std::uint64_t {
        sqlite3* database = nullptr;
        std::uint64_t sum = 0;
        call([&] { sqlite3_open(":memory:", &database); });
        const auto step = [&](const std::string& statement) {
            call([&] { sum += ask(database, statement); });
        };
        step("create table item(id integer primary key, owner integer, name text, data blob)");
        for (int i = 0; i != 30; ++i) {
            const std::string from = std::to_string(i * 100);
            step("with recursive n(i) as (select " + from +
                 " union all select i + 1 from n where i < " + from +
                 " + 99) insert into item select i, i % 97, 'item ' || i, zeroblob(i % 400) "
                 "from n");
        }
        step("create index of_owner on item(owner)");
        for (int i = 0; i != 60; ++i) {
            const std::string owner = std::to_string(i);
            step("select count(*) from item where owner = " + owner + " and name like '%" + owner +
                 "%'");
            step("update item set name = upper(name) || '" + owner + "' where owner = " + owner);
        }
        step(
            "select sum(length(names)) from (select owner, group_concat(name) as names from item "
            "group by owner order by names)");
        step("delete from item where id % 3 = 0");
        step("vacuum");
        call([&] { sqlite3_close(database); });
        return sum;
    });
}
