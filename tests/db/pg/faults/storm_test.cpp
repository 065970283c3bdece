// SPDX-License-Identifier: MIT
// Thousands of queries that name their task, while tasks are stopped, timeouts expire, connections
// are cut and sessions are ended: every answer, also every error, must belong to its question,
// every transaction be done wholly or not at all, and all must work when the storm is over. With
// WEIR_STRESS it lasts longer.

#include "support.hpp"

#include <iostream>
#include <map>
#include <random>
#include <set>

namespace {

using namespace pg_test;

class storm {
public:
    storm(pg::database& database, std::uint64_t seed) : database_(database), random_(seed) {}

    // One after the other, until there were enough in all.
    task<> worker(int total, std::chrono::steady_clock::time_point end) {
        while (asked_ < total && std::chrono::steady_clock::now() < end) {
            ++asked_;
            const std::int64_t tag = ++last_tag_;
            const std::string ended = co_await outcome_of(limited(tag));
            ++outcomes_[ended];
        }
    }

    // Committed: twice there. Undone or unknown: twice, or not at all.
    void check_kept(const pg::rows& found) {
        std::set<std::int64_t> there;
        for (const pg::row each : found) {
            EXPECT_EQ(each.get<int>(1), 2)
                << "half of the transaction " << each.get<std::int64_t>(0);
            there.insert(each.get<std::int64_t>(0));
        }
        for (const std::int64_t each : committed_) {
            EXPECT_TRUE(there.contains(each)) << "lost the transaction " << each;
        }
        for (const std::int64_t each : undone_) {
            EXPECT_FALSE(there.contains(each)) << "kept the transaction " << each;
        }
    }

    int asked() const noexcept { return asked_; }
    int count(const std::string& outcome) const {
        const auto found = outcomes_.find(outcome);
        return found == outcomes_.end() ? 0 : found->second;
    }
    std::string summary() const {
        std::string text;
        for (const auto& [outcome, count] : outcomes_) {
            text += outcome + ": " + std::to_string(count) + "; ";
        }
        return text + "committed: " + std::to_string(committed_.size());
    }
    // Errors that no task may get: other SQLSTATEs, mapping errors, ...
    void check_outcomes() const {
        for (const auto& [outcome, count] : outcomes_) {
            EXPECT_TRUE(outcome == "answered" || outcome == "late" || outcome.starts_with("lost"))
                << outcome << ", " << count << " times";
        }
        EXPECT_EQ(wrong_, 0) << "answers went to who had not asked";
    }

    std::uint64_t below(std::uint64_t end) { return random_() % end; }

private:
    task<> limited(std::int64_t tag) {
        const std::uint64_t kind = below(8);
        if (kind > 2) {
            co_await one(tag);
        } else if (kind == 2) {
            co_await timeout(std::chrono::microseconds(below(4000)), one(tag));
        } else if (kind == 1) {
            co_await timeout(std::chrono::milliseconds(below(20)), one(tag));
        } else {
            auto running = spawn(one(tag));
            co_await sleep(std::chrono::microseconds(below(6000)));
            running.cancel();
            try {
                co_await std::move(running);
            } catch (const cancelled&) {
                throw timed_out();
            }
        }
    }

    task<> one(std::int64_t tag) {
        switch (below(8)) {
            case 0:
                return refused(tag);
            case 1:
                return counted(tag);
            case 2:
                return transacted(tag);
            case 3:
                return nested(tag);
            default:
                return notify(tag);
        }
    }

    void expect(bool is_right) { wrong_ += is_right ? 0 : 1; }

    // Many texts, so that prepared statements come and go.
    task<> notify(std::int64_t tag) {
        const std::string variant = "v" + std::to_string(below(24));
        const std::string word = "word of " + std::to_string(tag);
        const std::string sql = "SELECT $1::bigint, '" + variant + "', $2::text, repeat('x', $3)" +
                                (below(6) == 0 ? ", pg_sleep(0.003)" : "");
        const int size = below(50) == 0 ? 100'000 : static_cast<int>(below(300));
        const auto found = co_await database_.query(sql, tag, word, size);
        expect(found.size() == 1 && found[0].get<std::int64_t>(0) == tag &&
               found[0].get<std::string_view>(1) == variant &&
               found[0].get<std::string_view>(2) == word &&
               found[0].get<std::string_view>(3).size() == static_cast<std::size_t>(size));
    }
    task<> refused(std::int64_t tag) {
        const std::string secret = "no number: " + std::to_string(tag);
        try {
            co_await database_.query("SELECT $1::text::int", secret);
            expect(false);
        } catch (const pg::connection_error&) {
            throw;
        } catch (const pg::error& error) {
            if (error.sqlstate() != "22P02") {
                throw;
            }
            expect(error.message().find("\"" + secret + "\"") != std::string_view::npos);
        }
    }
    task<> counted(std::int64_t tag) {
        const std::int64_t rows = tag % 97 + 1;
        const std::uint64_t count =
            co_await database_.execute("SELECT generate_series(1, $1::bigint)", rows);
        expect(count == static_cast<std::uint64_t>(rows));
    }
    task<> transacted(std::int64_t tag) {
        bool is_whole = false;
        auto body = [&](pg::transaction& inside) -> task<> {
            co_await inside.execute("INSERT INTO tags VALUES ($1)", tag);
            const auto seen =
                co_await inside.query("SELECT count(*), min(tag) FROM tags WHERE tag = $1", tag);
            expect(seen[0].get<int>(0) == 1 && seen[0].get<std::int64_t>(1) == tag);
            co_await inside.execute("INSERT INTO tags VALUES ($1)", tag);
            is_whole = true;
        };
        co_await ending(tag, is_whole, database_.transaction(body));
    }
    // The inner part is undone, so the outer one makes up for it.
    task<> nested(std::int64_t tag) {
        bool is_whole = false;
        auto inner = [&](pg::transaction& inside) -> task<> {
            co_await inside.execute("INSERT INTO tags VALUES ($1)", tag);
            throw std::out_of_range("undone");
        };
        auto body = [&](pg::transaction& inside) -> task<> {
            co_await inside.execute("INSERT INTO tags VALUES ($1)", tag);
            try {
                co_await inside.nested(inner);
            } catch (const std::out_of_range&) {
            }
            co_await inside.execute("INSERT INTO tags VALUES ($1)", tag);
            is_whole = true;
        };
        co_await ending(tag, is_whole, database_.transaction(body));
    }
    // Before the body has ended there is nothing to commit; then only a commit that was answered is
    // sure.
    task<> ending(std::int64_t tag, const bool& is_whole, task<> work) {
        struct at_the_end {
            storm& owner;
            std::int64_t tag;
            const bool& is_whole;
            ~at_the_end() {
                if (!is_whole) {
                    owner.undone_.insert(tag);
                }
            }
        };
        const at_the_end tells{*this, tag, is_whole};
        co_await std::move(work);
        committed_.insert(tag);
    }

    pg::database& database_;
    std::mt19937_64 random_;
    int asked_ = 0;
    int wrong_ = 0;
    std::int64_t last_tag_ = 0;
    std::map<std::string, int> outcomes_;
    std::set<std::int64_t> committed_;
    std::set<std::int64_t> undone_;
};

task<> run_storm(bool with_cuts) {
    const int total = is_stress() ? 1'000'000 : 3000;
    const auto end = std::chrono::steady_clock::now() + (is_stress() ? 12s : 1s);
    const std::uint64_t seed = is_stress() ? std::random_device()() : 4711;
    weir_test::postgres& server = weir_test::shared_postgres();
    const std::string direct = server.url();
    fault_proxy proxy(io::address::loopback(server.port()), {.jitter = 200us}, seed + 1);
    const std::string url =
        server.url("postgres", proxy.address().port()) + "?application_name=storm";
    pg::database observer({.url = direct}, {.pool = {.max = 2}, .shared = 1});
    co_await observer.script("DROP TABLE IF EXISTS tags; CREATE TABLE tags (tag bigint)");
    pg::database database({.url = url, .kept_statements = 10, .cancel_after = 1ms},
                          {.pool = {.max = 8}, .shared = 3, .pipeline = 8});
    storm all(database, seed);
    const auto chaos = [&]() -> task<> {
        for (;;) {
            // On a slow machine too something must go well in between.
            const int before = all.count("answered");
            do {
                co_await sleep(std::chrono::milliseconds(5 + all.below(20)));
            } while (all.count("answered") < before + 10);
            switch (all.below(4)) {
                case 0:
                    proxy.reset_all();
                    break;
                case 1:
                    proxy.set({.jitter = 200us, .resets = 0.01});
                    break;
                case 2:
                    proxy.set({.latency = 1ms, .jitter = 2ms});
                    break;
                default:
                    co_await observer.query(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE application_name = 'storm' ORDER BY random() LIMIT 1");
            }
        }
    };
    auto makes_trouble = spawn([&]() -> task<> {
        if (with_cuts) {
            co_await chaos();
        }
    });
    co_await with_group([&](task_group& group) -> task<> {
        for (int each = 0; each < 24; ++each) {
            group.spawn(all.worker(total, end));
        }
        co_return;
    });
    makes_trouble.cancel();
    proxy.set({});
    all.check_outcomes();
    EXPECT_GT(all.count("answered"), all.asked() / 10) << all.summary();
    EXPECT_GT(all.count("late"), 0);
    if (!with_cuts) {
        EXPECT_EQ(all.count("lost, if harmless") + all.count("lost, try again"), 0)
            << all.summary();
    }
    const pg::database_stats stats = database.stats();
    EXPECT_GT(stats.cancels, 0U);
    if (is_stress()) {
        std::cout << "seed " << seed << ": " << all.summary() << "; queries: " << stats.queries
                  << ", batches: " << stats.batches << ", cancels: " << stats.cancels
                  << ", sent again: " << stats.resent << "\n";
    }

    // All works again, except connections whose end was not noticed yet.
    int answered = 0;
    for (int number = 0; number < 100; ++number) {
        const std::string outcome = co_await outcome_of(database.query("SELECT $1::int", number));
        answered += outcome == "answered" ? 1 : 0;
    }
    EXPECT_GE(answered, 92);
    co_await database.close();
    const auto kept = co_await observer.query("SELECT tag, count(*) FROM tags GROUP BY tag");
    all.check_kept(kept);
    co_await until(observer,
                   "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'storm'");
    co_await observer.close();
    co_await proxy.close();
}

WEIR_IO_TEST(PgStorm, StopsNeverMixUpAnswers) {
    co_await run_storm(false);
}

WEIR_IO_TEST(PgStorm, StopsAndCutsNeverMixUpAnswers) {
    co_await run_storm(true);
}

}  // namespace
