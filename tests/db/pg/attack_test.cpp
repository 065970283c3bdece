// SPDX-License-Identifier: MIT
// Many queries at once, each with a mark that its answer must carry, under random stops, errors,
// transactions and killed connections: no task may ever get another's rows, and nothing may be left
// behind.

#include "support.hpp"

#include <weir/run.hpp>
#include <weir/timeout.hpp>

#include <memory>
#include <optional>
#include <random>

namespace {

using namespace weir;
using namespace weir_test;
using namespace std::chrono_literals;

struct tally {
    int answered = 0;
    int stopped = 0;
    int failed = 0;
    int lost = 0;
};

// One query of a random kind.
class attacker {
public:
    attacker(pg::database& in, tally& counts, unsigned seed)
        : in_(in), counts_(counts), random_(seed) {}

    task<> run(int count) {
        for (int i = 0; i < count; ++i) {
            const int mark = static_cast<int>(random_() >> 2);
            const bool is_stopped = random_() % 3 == 0;
            const std::chrono::microseconds limit(random_() % 4000);
            try {
                if (is_stopped) {
                    co_await timeout(limit, ask(mark));
                } else {
                    co_await ask(mark);
                }
            } catch (const timed_out&) {
                ++counts_.stopped;
            } catch (const pg::connection_error&) {
                ++counts_.lost;
            }
        }
    }

private:
    task<> ask(int mark) {
        switch (random_() % 8) {
            case 0:
                return bad(mark);
            case 1:
                return slow(mark);
            case 2:
                return transaction(mark);
            default:
                return quick(mark);
        }
    }
    task<> quick(int mark) {
        // A few texts, so that statements come and go.
        const std::string sql = "SELECT $1::int, " + std::to_string(mark % 7) + "::int";
        const pg::rows found = co_await in_.query(sql, mark);
        EXPECT_EQ(found[0].get<int>(0), mark);
        EXPECT_EQ(found[0].get<int>(1), mark % 7);
        ++counts_.answered;
    }
    task<> slow(int mark) {
        const double time = static_cast<double>(random_() % 3) / 1000;
        const pg::rows found = co_await in_.query("SELECT $1::int FROM pg_sleep($2)", mark, time);
        EXPECT_EQ(found.one<int>(), mark);
        ++counts_.answered;
    }
    task<> bad(int mark) {
        std::string message;
        try {
            co_await in_.query("SELECT 'mark " + std::to_string(mark % 5) + "'::int");
        } catch (const pg::connection_error&) {
            throw;
        } catch (const pg::error& error) {
            message = error.message();
        }
        EXPECT_NE(message.find("mark " + std::to_string(mark % 5)), std::string::npos) << message;
        ++counts_.failed;
    }
    task<> transaction(int mark) {
        auto body = [&](pg::transaction& inside) -> task<int> {
            co_await inside.execute("SELECT set_config('weir.mark', $1, true)",
                                    std::to_string(mark));
            const auto seen =
                co_await one<std::string>(inside, "SELECT current_setting('weir.mark')");
            EXPECT_EQ(seen, std::to_string(mark));
            co_return mark;
        };
        const int got = co_await in_.transaction(body);
        EXPECT_EQ(got, mark);
        ++counts_.answered;
    }

    pg::database& in_;
    tally& counts_;
    std::minstd_rand random_;
};

task<> attack(pg::database& shop, tally& counts, unsigned seed, int tasks, int each) {
    auto all = [&](task_group& group) -> task<> {
        for (int i = 0; i < tasks; ++i) {
            auto one_of_them = [&, i]() -> task<> {
                attacker own(shop, counts, seed * 1000 + static_cast<unsigned>(i) + 1);
                co_await own.run(each);
            };
            group.spawn(one_of_them);
        }
        co_return;
    };
    co_await with_group(all);
}

WEIR_IO_TEST(PgAttack, NobodyGetsAnothersRows) {
    tally counts;
    std::uint64_t cancels = 0;
    unsigned seed = 0;
    for (unsigned kind = 0; kind < 8; ++kind) {
        pg::database shop({.url = pg_url(),
                           .kept_statements = kind % 5,
                           .cancel_after = kind % 4 == 0 ? 0us : 2000us},
                          {.pool = {.max = 4}, .shared = 1 + kind % 3, .pipeline = 1 + kind * 3});
        for (int round = 0; round < 13; ++round) {
            co_await attack(shop, counts, ++seed, 12, 3);
        }
        EXPECT_EQ(shop.stats().lost, 0U) << kind;
        EXPECT_EQ(shop.stats().waiting, 0U) << kind;
        cancels += shop.stats().cancels;
        if (kind > 3) {
            co_await shop.close();
        }
    }
    EXPECT_EQ(counts.lost, 0);
    EXPECT_GT(counts.answered, 1000);
    EXPECT_GT(counts.stopped, 100);
    EXPECT_GT(cancels, 10U);
    EXPECT_EQ(counts.answered + counts.stopped + counts.failed, 8 * 13 * 12 * 3);
}

WEIR_IO_TEST(PgAttack, AlsoWhenConnectionsAreKilled) {
    pg::database shop({.url = pg_url(), .application_name = "attacked"},
                      {.pool = {.max = 4}, .shared = 2});
    pg::connection other = co_await pg::connect({.url = pg_url()});
    tally counts;
    auto kills = [&]() -> task<> {
        for (int i = 0; i < 30; ++i) {
            co_await sleep(7ms);
            co_await other.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'attacked' ORDER BY random() LIMIT 1");
        }
    };
    handle<void> killing = spawn(kills);
    for (unsigned seed = 1; seed <= 8; ++seed) {
        co_await attack(shop, counts, seed, 12, 8);
    }
    killing.cancel();
    co_await killing.wait();
    EXPECT_EQ(counts.answered + counts.stopped + counts.failed + counts.lost, 8 * 12 * 8);
    EXPECT_GT(counts.answered, 100);
    // The last kills may take effect only now; then it is over.
    std::optional<int> after;
    while (!after.has_value()) {
        try {
            const int got = co_await one<int>(shop, "SELECT 42");
            after = got;
        } catch (const pg::connection_error&) {
        }
    }
    EXPECT_EQ(after, 42);
}

// Every waiting query gets an error: in line, sent, or waiting for a connection.
WEIR_IO_TEST(PgAttack, ADatabaseMayGoWhileQueriesWait) {
    for (int round = 0; round < 20; ++round) {
        std::vector<handle<std::string>> queries;
        {
            pg::database shop({.url = pg_url()}, {.pool = {.max = 2}, .shared = 1, .pipeline = 3});
            auto query = [](pg::database& database) -> task<std::string> {
                co_return co_await state_of(database.query("SELECT pg_sleep(5)"));
            };
            for (int i = 0; i < 10; ++i) {
                queries.push_back(spawn(query(shop)));
            }
            co_await sleep(std::chrono::milliseconds(round));
        }
        for (handle<std::string>& each : queries) {
            const std::string message = co_await each;
            EXPECT_NE(message.find("closed"), std::string::npos) << message;
        }
    }
}

// What still runs when the loop ends is ended with it; what owned it may go later.
TEST(PgAttack, ALoopMayEndWhileQueriesRun) {
    pg_server();
    const std::ptrdiff_t before = open_descriptors();
    for (const driver_kind kind : {driver_kind::epoll, driver_kind::automatic}) {
        std::unique_ptr<pg::database> shop;
        std::optional<pg::connection> own;
        auto leaves = [&]() -> task<> {
            shop = std::make_unique<pg::database>(pg::connect_options{.url = pg_url()});
            own.emplace(co_await pg::connect({.url = pg_url()}));
            static_cast<void>(spawn(one<int>(*shop, "SELECT 1 FROM pg_sleep(3)")));
            static_cast<void>(spawn(one<int>(*own, "SELECT 1 FROM pg_sleep(3)")));
            auto body = [&](pg::transaction& inside) -> task<> {
                co_await inside.query("SELECT pg_sleep(3)");
            };
            static_cast<void>(spawn(shop->transaction(body)));
            co_await sleep(30ms);
        };
        run(leaves(), {.driver = kind});
    }
    expect_descriptors(before);
}

// A part that is stopped before its savepoint was sent has none to go back to, nor has one that is
// stopped when it was released: either way the rest is not spoilt.
WEIR_IO_TEST(PgAttack, APartThatIsStoppedAtItsEndsSpoilsNothing) {
    pg::connection own = co_await pg::connect({.url = pg_url()});
    co_await make_table(own, "parts", "id int");
    auto nothing = [](pg::transaction&) -> task<> { co_return; };
    auto whole = [&](pg::transaction& inside) -> task<> {
        co_await inside.execute("INSERT INTO parts VALUES (1)");
        for (int turns = 0; turns < 12; ++turns) {
            auto part = [&]() -> task<> { co_await inside.nested(nothing); };
            handle<void> stopped = spawn(part);
            for (int i = 0; i < turns; ++i) {
                co_await yield();
            }
            stopped.cancel();
            co_await stopped.wait();
        }
        co_await inside.execute("INSERT INTO parts VALUES (2)");
    };
    co_await own.transaction(whole);
    const int count = co_await one<int>(own, "SELECT count(*) FROM parts");
    EXPECT_EQ(count, 2);
}

}  // namespace
