// SPDX-License-Identifier: MIT
// COPY in and out, against a real server.

#include <support/io.hpp>
#include <support/peers/postgres.hpp>

#include <weir/db/pg/database.hpp>
#include <weir/gather.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace weir;
using namespace std::chrono_literals;

const std::string& url() {
    static const std::string result = weir_test::shared_postgres().url();
    return result;
}

struct kept_row {
    int id;
    std::optional<std::string> body;
    std::optional<pg::blob> raw;
};

// What COPY gives a meaning, and more.
std::string odd_text(std::mt19937& random) {
    static const std::vector<std::string> pieces = {"\t", "\n", "\r",  "\\", "\\N", "\\.", "N",
                                                    "\"", ",",  "\\x", "",   "ü",   " ",   "{}"};
    std::string text;
    for (auto count = random() % 6; count > 0; --count) {
        text += pieces[random() % pieces.size()];
    }
    return text;
}

task<> make_table(pg::database& database) {
    co_await database.script(
        "DROP TABLE IF EXISTS copied; CREATE TABLE copied (id int, body text, raw bytea)");
}
task<std::int64_t> count_of(pg::database& database) {
    const auto found = co_await database.query("SELECT count(*) FROM copied");
    co_return found.one<std::int64_t>();
}

WEIR_IO_TEST(Copy, RowsArriveUnchanged) {
    pg::database database({.url = url()});
    co_await make_table(database);
    std::mt19937 random(7);
    std::vector<kept_row> rows;
    for (int id = 0; id < 3000; ++id) {
        kept_row each{id, odd_text(random), pg::blob(random() % 5)};
        if (random() % 4 == 0) {
            each.body.reset();
        }
        if (random() % 4 == 0) {
            each.raw.reset();
        }
        rows.push_back(std::move(each));
    }
    auto writes = [&](pg::copy_writer& out) -> task<> {
        for (const kept_row& each : rows) {
            co_await out.row(each.id, each.body, each.raw);
        }
    };
    const std::uint64_t count = co_await database.copy_in("COPY copied FROM STDIN", writes);
    EXPECT_EQ(count, rows.size());
    const auto found = co_await database.query("SELECT id, body, raw FROM copied ORDER BY id");
    const auto back = found.as<kept_row>();
    WEIR_ASSERT_EQ(back.size(), rows.size());
    for (std::size_t index = 0; index < rows.size(); ++index) {
        EXPECT_EQ(back[index].body, rows[index].body);
        EXPECT_EQ(back[index].raw, rows[index].raw);
    }
    // Text of any format, cut anywhere, and a row of some megabytes.
    const std::string large(5'000'000, 'y');
    auto writes_csv = [&](pg::copy_writer& out) -> task<> {
        co_await out.write("10001,\"a");
        co_await out.write("\nb\"\n10002,");
        co_await out.write(large);
        co_await out.write("\n");
    };
    const std::uint64_t more =
        co_await database.copy_in("COPY copied (id, body) FROM STDIN (FORMAT csv)", writes_csv);
    EXPECT_EQ(more, 2U);
    const auto late =
        co_await database.query("SELECT body FROM copied WHERE id > 10000 ORDER BY id");
    EXPECT_EQ(late[0].get<std::string>(0), "a\nb");
    EXPECT_EQ(late[1].get<std::string>(0), large);
    co_await database.close();
}

WEIR_IO_TEST(Copy, AnErrorUndoesAllAndKeepsTheConnection) {
    pg::database database({.url = url()}, {.pool = {.max = 1}, .shared = 1});
    co_await make_table(database);
    const auto process = [&]() -> task<int> {
        const auto found = co_await database.query("SELECT pg_backend_pid()");
        co_return found.one<int>();
    };
    const int before = co_await process();

    auto bad = [&](pg::copy_writer& out) -> task<> {
        co_await out.row(1, "good", nullptr);
        co_await out.row("secret", "not a number", nullptr);
        for (int id = 0; id < 20'000; ++id) {
            co_await out.row(id, "never kept", nullptr);
        }
    };
    std::string state;
    std::string message;
    try {
        co_await database.copy_in("COPY copied FROM STDIN", bad);
    } catch (const pg::error& error) {
        state = error.sqlstate();
        message = error.what();
    }
    EXPECT_EQ(state, "22P02");
    EXPECT_EQ(message.find("secret"), std::string::npos) << message;

    auto throws = [&](pg::copy_writer& out) -> task<> {
        for (int id = 0; id < 20'000; ++id) {
            co_await out.row(id, "never kept", nullptr);
        }
        throw std::out_of_range("mine");
    };
    std::string mine;
    try {
        co_await database.copy_in("COPY copied FROM STDIN", throws);
    } catch (const std::out_of_range& error) {
        mine = error.what();
    }
    EXPECT_EQ(mine, "mine");

    auto with_nul = [&](pg::copy_writer& out) -> task<> {
        co_await out.row(1, std::string("a\0b", 3));
    };
    std::string refused;
    try {
        co_await database.copy_in("COPY copied (id, body) FROM STDIN", with_nul);
    } catch (const db::mapping_error& error) {
        refused = error.what();
    }
    EXPECT_EQ(refused.substr(0, 20), "value 2 of a row con");

    auto nothing = [&](pg::copy_writer&) -> task<> { co_return; };
    for (const char* sql : {"SELECT 1", "COPY missing FROM STDIN", "SELEKT", ""}) {
        bool is_refused = false;
        try {
            co_await database.copy_in(sql, nothing);
        } catch (const pg::error&) {
            is_refused = true;
        }
        EXPECT_TRUE(is_refused) << sql;
        auto chunks = database.copy_out(sql);
        is_refused = false;
        try {
            const auto chunk = co_await chunks.next();
        } catch (const pg::error&) {
            is_refused = true;
        }
        EXPECT_TRUE(is_refused) << sql;
    }
    const int after = co_await process();
    EXPECT_EQ(after, before);
    // The wrong way round costs the connection, and no more.
    message.clear();
    try {
        co_await database.copy_in("COPY copied TO STDOUT", nothing);
    } catch (const pg::error& error) {
        message = error.what();
    }
    EXPECT_EQ(message, "pg: copy_in takes a COPY ... FROM STDIN");
    const auto kept = co_await count_of(database);
    EXPECT_EQ(kept, 0);
    co_await database.close();
}

WEIR_IO_TEST(Copy, AStopUndoesAll) {
    pg::database database({.url = url()}, {.pool = {.max = 2}, .shared = 1});
    co_await make_table(database);
    for (const int rows : {0, 10, 50'000}) {
        auto writes = [&](pg::copy_writer& out) -> task<> {
            for (int id = 0; id < rows; ++id) {
                co_await out.row(id, "never kept", nullptr);
            }
            co_await sleep(1h);
        };
        bool is_late = false;
        try {
            co_await timeout(60ms, database.copy_in("COPY copied FROM STDIN", writes));
        } catch (const timed_out&) {
            is_late = true;
        }
        EXPECT_TRUE(is_late);
        const auto kept = co_await count_of(database);
        EXPECT_EQ(kept, 0);
    }
    co_await database.close();
}

// If the caller ignores the error of a row, the other rows are not kept, and no half row precedes
// the next.
WEIR_IO_TEST(Copy, AFailedRowFailsTheCopy) {
    pg::database database({.url = url()}, {.pool = {.max = 2}, .shared = 1});
    co_await make_table(database);
    auto stops_a_row = [&](pg::copy_writer& out) -> task<> {
        try {
            co_await timeout(1ms, out.write(std::string(std::size_t{64} << 20, 'x')));
        } catch (const timed_out&) {
        }
    };
    std::string message;
    try {
        co_await database.copy_in("COPY copied (body) FROM STDIN", stops_a_row);
    } catch (const pg::error& error) {
        message = error.what();
    }
    EXPECT_NE(message.find("failed or was stopped"), std::string::npos) << message;

    const std::chrono::sys_time<std::chrono::hours> far(std::chrono::hours(1'000'000'000'000));
    auto skips_a_row = [&](pg::copy_writer& out) -> task<> {
        try {
            co_await out.row(7, far);
            ADD_FAILURE() << "outside of what PostgreSQL holds";
        } catch (const db::mapping_error&) {
        }
        co_await out.row(8, "kept");
    };
    const std::uint64_t count =
        co_await database.copy_in("COPY copied (id, body) FROM STDIN", skips_a_row);
    EXPECT_EQ(count, 1U);
    const auto found = co_await database.query("SELECT id FROM copied");
    EXPECT_EQ(found.one<int>(), 8);
    co_await database.close();
}

WEIR_IO_TEST(Copy, IsPartOfATransaction) {
    pg::database database({.url = url()});
    co_await make_table(database);
    auto writes = [&](pg::copy_writer& out) -> task<> {
        co_await out.row(1, "x", nullptr);
        co_await out.row(2, "y", nullptr);
    };
    auto gives_up = [&](pg::transaction& inside) -> task<> {
        co_await inside.copy_in("COPY copied FROM STDIN", writes);
        const auto seen = co_await inside.query("SELECT count(*) FROM copied");
        EXPECT_EQ(seen.one<int>(), 2);
        throw std::out_of_range("mine");
    };
    bool is_thrown = false;
    try {
        co_await database.transaction(gives_up);
    } catch (const std::out_of_range&) {
        is_thrown = true;
    }
    EXPECT_TRUE(is_thrown);
    auto kept = co_await count_of(database);
    EXPECT_EQ(kept, 0);
    auto keeps = [&](pg::transaction& inside) -> task<std::string> {
        co_await inside.copy_in("COPY copied FROM STDIN", writes);
        co_await inside.execute("UPDATE copied SET body = body || '!'");
        auto chunks = inside.copy_out("COPY copied (id, body) TO STDOUT");
        std::string all;
        for (;;) {
            const auto chunk = co_await chunks.next();
            if (!chunk.has_value()) {
                break;
            }
            all += *chunk;
        }
        co_return all;
    };
    const std::string text = co_await database.transaction(keeps);
    EXPECT_EQ(text, "1\tx!\n2\ty!\n");
    kept = co_await count_of(database);
    EXPECT_EQ(kept, 2);
    co_await database.close();
}

WEIR_IO_TEST(Copy, RowsGoOutInChunks) {
    pg::database database({.url = url()}, {.pool = {.max = 2}, .shared = 1});
    auto chunks = database.copy_out(
        "COPY (SELECT n, repeat('z', 40) FROM generate_series(1, 60000) AS n) TO STDOUT");
    std::size_t lines = 0;
    std::size_t count = 0;
    bool is_whole = true;
    for (;;) {
        const auto chunk = co_await chunks.next();
        if (!chunk.has_value()) {
            break;
        }
        ++count;
        lines += static_cast<std::size_t>(std::count(chunk->begin(), chunk->end(), '\n'));
        is_whole = is_whole && chunk->ends_with('\n');
    }
    EXPECT_EQ(lines, 60'000U);
    EXPECT_TRUE(is_whole);
    EXPECT_LT(count, 10'000U);
    // Left half-way, many times: the pool gets over it.
    for (int round = 0; round < 5; ++round) {
        auto left = database.copy_out("COPY (SELECT generate_series(1, 10000000)) TO STDOUT");
        const auto first = co_await left.next();
        EXPECT_TRUE(first.has_value() && first->starts_with("1\n2\n3\n"));
    }
    // An error in the middle.
    auto broken = database.copy_out(
        "COPY (SELECT 1 / (5000 - n) FROM generate_series(1, 10000) AS n) TO STDOUT");
    std::string state;
    try {
        for (;;) {
            const auto chunk = co_await broken.next();
            if (!chunk.has_value()) {
                break;
            }
        }
    } catch (const pg::error& error) {
        state = error.sqlstate();
    }
    EXPECT_EQ(state, "22012");
    const auto alive = co_await database.query("SELECT 1");
    EXPECT_EQ(alive.one<int>(), 1);
    co_await database.close();
}

WEIR_IO_TEST(Copy, WaitsUntilTheConnectionIsQuiet) {
    pg::connection own = co_await pg::connect({.url = url()});
    co_await own.script("CREATE TEMPORARY TABLE turns (n int)");
    auto writes = [&](pg::copy_writer& out) -> task<> {
        for (int n = 0; n < 100; ++n) {
            co_await out.row(n);
            co_await sleep(100us);
        }
    };
    const auto query = [&]() -> task<int> {
        const auto found = co_await own.query("SELECT count(*) FROM turns");
        co_return found.one<int>();
    };
    const auto [first, second, seen, third] = co_await gather(
        own.copy_in("COPY turns FROM STDIN", writes), own.copy_in("COPY turns FROM STDIN", writes),
        query(), own.copy_in("COPY turns FROM STDIN", writes));
    EXPECT_EQ(first + second + third, 300U);
    EXPECT_EQ(seen % 100, 0);
    const int all = co_await query();
    EXPECT_EQ(all, 300);
}

}  // namespace
