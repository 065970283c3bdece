// SPDX-License-Identifier: MIT
// Upgrades of the tables while nodes of several versions use them, with versions made up for it;
// and limits of destinations, which hold for all nodes.

#include "service/store/postgres/pg_link.hpp"
#include "service/store/postgres/pg_schema.hpp"
#include "service/store/sqlite/file/schema.hpp"
#include "stores.hpp"

#include <weir/service/postgres_store.hpp>

#include <thread>

namespace {

using namespace store_test;
using detail::pg_link;
using detail::pg_settings;
using detail::pg_versions;

constexpr const char* next_step = "ALTER TABLE queues ADD COLUMN colour TEXT;\n";

std::vector<const char*> steps_with_next() {
    const std::span<const char* const> known = detail::schema_steps();
    std::vector<const char*> steps(known.begin(), known.end());
    steps.push_back(next_step);
    return steps;
}

pg_settings settings_of(const std::string& schema) {
    postgres_store_options options;
    options.schema = schema;
    return {weir_test::shared_postgres().url(), options};
}

// What opening the schema as a program of these versions says.
std::string open_as(const pg_settings& settings, const pg_versions& versions,
                    bool* is_too_new = nullptr) {
    std::string problem;
    const auto body = [&] {
        pg_link link(settings, "test");
        try {
            link.open();
            detail::prepare_schema(link, settings.options, versions);
        } catch (const store_too_new& error) {
            if (is_too_new != nullptr) {
                *is_too_new = true;
            }
            problem = error.what();
        } catch (const std::exception& error) {
            problem = error.what();
        }
    };
    std::thread(body).join();  // the link has a loop of its own
    return problem;
}

class made_up_schema {
public:
    explicit made_up_schema(std::string schema) : settings(settings_of(schema)) { drop(); }
    made_up_schema(const made_up_schema&) = delete;
    made_up_schema& operator=(const made_up_schema&) = delete;
    ~made_up_schema() { drop(); }

    void run(std::string sql) const {
        const auto body = [&]() -> task<> {
            weir::pg::connection server =
                co_await weir::pg::connect({.url = settings.servers->url(0)});
            co_await server.script(sql);
        };
        weir::run(body());
    }
    void drop() const { run("DROP SCHEMA IF EXISTS " + settings.options.schema + " CASCADE"); }
    // A node of that version has written just now, or so many seconds ago.
    void add_writer(std::int64_t version, int seconds_ago = 0) const {
        run("INSERT INTO " + settings.options.schema +
            ".writers(id, number, at, version) VALUES ('other', 1, extract(epoch from now()) - " +
            std::to_string(seconds_ago) + ", " + std::to_string(version) +
            ") ON CONFLICT(id) DO UPDATE SET at = EXCLUDED.at, version = EXCLUDED.version");
    }

    pg_settings settings;
};

TEST(PostgresVersions, TablesAreNotUpgradedUnderNodesThatCouldNotGoOn) {
    made_up_schema here("versions_flip");
    const pg_versions now = pg_versions::of_this_program();
    const std::vector<const char*> steps = steps_with_next();
    const pg_versions next{steps, now.newest() + 1};  // older programs cannot use them
    EXPECT_EQ(open_as(here.settings, now), "");
    here.add_writer(now.newest());
    const std::string refused = open_as(here.settings, next);
    EXPECT_NE(refused.find("1 older programs"), std::string::npos) << refused;
    EXPECT_NE(refused.find("stop them"), std::string::npos) << refused;
    EXPECT_EQ(open_as(here.settings, now), "") << "nothing has changed";

    here.add_writer(now.newest(), 31);  // it is gone
    EXPECT_EQ(open_as(here.settings, next), "");
    bool is_too_new = false;
    const std::string too_new = open_as(here.settings, now, &is_too_new);
    EXPECT_TRUE(is_too_new);
    EXPECT_NE(too_new.find("use a newer program"), std::string::npos) << too_new;
    EXPECT_EQ(open_as(here.settings, next), "");
}

TEST(PostgresVersions, AnUpgradeInUseIsMadeIfToldSo) {
    made_up_schema here("versions_told");
    const pg_versions now = pg_versions::of_this_program();
    const std::vector<const char*> steps = steps_with_next();
    EXPECT_EQ(open_as(here.settings, now), "");
    here.add_writer(now.newest());
    here.settings.options.upgrades_in_use = true;
    EXPECT_EQ(open_as(here.settings, {steps, now.newest() + 1}), "");
}

// Both versions work beside each other: a column that older programs do not know.
TEST(PostgresVersions, AStepThatOlderProgramsCanLiveWithIsMadeBesideThem) {
    made_up_schema here("versions_expand");
    const pg_versions now = pg_versions::of_this_program();
    const std::vector<const char*> steps = steps_with_next();
    EXPECT_EQ(open_as(here.settings, now), "");
    const auto body = [&]() -> task<> {
        std::unique_ptr<store> kept =
            co_await open_postgres_store(here.settings.servers->url(0), here.settings.options);
        const auto submit = [&](store& to) -> task<> {
            std::vector<new_task> all(3, new_task("work"));
            const moment at{timestamp(1s), timestamp(1s)};
            const std::vector<submit_result> made = co_await to.submit(std::move(all), at);
            EXPECT_EQ(made.at(0).what, submit_result::verdict::made);
        };
        co_await submit(*kept);
        EXPECT_EQ(open_as(here.settings, {steps, now.newest()}), "");
        co_await submit(*kept);  // it was open before
        std::unique_ptr<store> later =
            co_await open_postgres_store(here.settings.servers->url(0), here.settings.options);
        co_await submit(*later);  // older than the tables
        const std::vector<queue_record> queues = co_await later->queues();
        EXPECT_EQ(queues.at(0).count(task_state::pending), 9U);
        co_await kept->close();
        co_await later->close();
    };
    weir::run(body());
}

// The step to the tables of this program is of that kind for the programs that it names.
TEST(PostgresVersions, CompatibleProgramsGoOnWithTheTablesOfThisOne) {
    made_up_schema here("versions_compatible");
    const pg_versions now = pg_versions::of_this_program();
    ASSERT_LT(now.oldest_program, now.newest()) << "version 12 is such a step";
    const pg_versions oldest{now.scripts.first(static_cast<std::size_t>(now.oldest_program)),
                             now.oldest_program};
    EXPECT_EQ(open_as(here.settings, oldest), "");
    here.add_writer(oldest.newest() - 1);
    const std::string refused = open_as(here.settings, now);
    EXPECT_NE(refused.find("1 older programs"), std::string::npos) << refused;
    here.add_writer(oldest.newest());
    EXPECT_EQ(open_as(here.settings, now), "");
    EXPECT_EQ(open_as(here.settings, oldest), "") << "it starts again";
}

TEST(PostgresVersions, AnUpgradeWaitsForNoTransactionForLongAndComesBack) {
    made_up_schema here("versions_locked");
    const pg_versions now = pg_versions::of_this_program();
    const std::vector<const char*> steps = steps_with_next();
    EXPECT_EQ(open_as(here.settings, now), "");
    const auto body = [&]() -> task<> {
        weir::pg::connection other =
            co_await weir::pg::connect({.url = here.settings.servers->url(0)});
        co_await other.query("BEGIN");
        co_await other.query("LOCK TABLE versions_locked.queues IN ACCESS SHARE MODE");
        std::string problem = "it has not ended";
        std::thread upgrading([&] { problem = open_as(here.settings, {steps, now.newest() + 1}); });
        co_await weir::sleep(1500ms);  // the first attempt has given up
        co_await other.query("COMMIT");
        upgrading.join();
        EXPECT_EQ(problem, "");
    };
    weir::run(body());
}

// ---- destinations

task<std::vector<task_record>> claim_on(store& at, std::string node, timestamp now,
                                        std::size_t limit) {
    claim_request request;
    request.node = node;
    request.now = now;
    request.limit = limit;
    claimed got = co_await at.claim(request);
    co_return std::move(got.tasks);
}

// The rate, the number of running tasks and the circuit of a destination are those of the cluster.
TEST(PostgresNodes, LimitsOfADestinationHoldAcrossNodes) {
    const store_kind kind = all_stores().back();
    run_on(kind, [](bench& at) -> task<> {
        std::unique_ptr<store> other = co_await open_postgres(at.folder.path().string());
        destination_limits limits;
        limits.rate = 1;
        limits.burst = 4;
        limits.max_running = 3;
        limits.open_after = 2;
        limits.open_for = 10s;
        co_await at.kept->limit_destinations("work", limits);
        for (int i = 0; i < 20; ++i) {
            co_await at.submit(bench::make_for("https://example.com"));
        }
        co_await at.beat("a", 1h);
        co_await other->heartbeat(bench::node("b", at.now + 1h), at.now);
        // Two here, so one there: three may run. Of the burst one is left.
        const std::vector<task_record> here = co_await claim_on(*at.kept, "a", at.now, 2);
        EXPECT_EQ(here.size(), 2U);
        const std::vector<task_record> there = co_await claim_on(*other, "b", at.now, 10);
        WEIR_ASSERT_EQ(there.size(), 1U);
        co_await at.complete(here);
        const std::vector<task_record> fourth = co_await claim_on(*other, "b", at.now, 10);
        WEIR_ASSERT_EQ(fourth.size(), 1U) << "the rate: four at once";
        at.now += 1s;
        const std::vector<task_record> fifth = co_await claim_on(*at.kept, "a", at.now, 10);
        WEIR_ASSERT_EQ(fifth.size(), 1U);
        // A failure on each node opens the circuit for both.
        const auto fail = [&](store& on, std::string node, const task_record& run) -> task<> {
            std::vector<settlement> ended(1, bench::ending(run, task_state::failed));
            ended[0].learnt.outcome = destination_outcome::failed;
            const std::vector<bool> written = co_await on.settle(node, std::move(ended), at.now);
            EXPECT_TRUE(written.at(0));
        };
        co_await fail(*at.kept, "a", fifth[0]);
        co_await fail(*other, "b", there[0]);
        std::vector<settlement> rest(1, bench::ending(fourth[0], task_state::completed));
        co_await other->settle("b", std::move(rest), at.now);  // a trial is alone
        at.now += 5s;
        const std::vector<task_record> none_here = co_await claim_on(*at.kept, "a", at.now, 10);
        EXPECT_TRUE(none_here.empty()) << "the circuit is open";
        const std::vector<task_record> none_there = co_await claim_on(*other, "b", at.now, 10);
        EXPECT_TRUE(none_there.empty());
        at.now += 6s;
        const std::vector<task_record> trial = co_await claim_on(*at.kept, "a", at.now, 10);
        EXPECT_EQ(trial.size(), 1U) << "one trial";
        const std::vector<task_record> second = co_await claim_on(*other, "b", at.now, 10);
        EXPECT_TRUE(second.empty()) << "of all nodes together";
        co_await other->close();
    });
}

}  // namespace
