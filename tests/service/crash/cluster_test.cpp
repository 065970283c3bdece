// SPDX-License-Identifier: MIT
// Four processes on one PostgreSQL database under load, while processes are killed at random, and
// all of the server's, too.

#include "support.hpp"

#include <optional>

namespace {

using namespace crash_test;

constexpr int limit = 20;     // tasks that may run at once, in the whole cluster
constexpr int key_limit = 5;  // ... of one key; there are five keys, and callbacks

class cluster_under_fire {
public:
    explicit cluster_under_fire(unsigned seed) : random_(seed) { at_.url = server_.url(); }

    task<> run(weir::clock::duration time) {
        for (int i = 0; i < 4; ++i) {
            co_await start(i);
        }
        co_await limit_queue();
        callers_.target = [this] { return any_url(); };
        callers_.start(12);
        for (const weir::clock::time_point end = weir::now() + time; weir::now() < end;) {
            co_await weir::sleep(milliseconds(100 + random_() % 600));
            if (random_() % 4 == 0) {
                co_await kill_server();
            } else {
                co_await replace(random_() % nodes_.size());
            }
        }
        co_await callers_.stop();
        co_await until_idle(callers_, *nodes_[0]);
        for (std::optional<node>& each : nodes_) {
            each->signal(SIGTERM);
            const weir::exit_status status = co_await each->ended();
            EXPECT_TRUE(status.success()) << status.text();
        }
        co_await check_all();
    }

private:
    task<> start(std::size_t index) {
        static const std::vector<std::string> settings{"max_crashes=1000", "lease=3000",
                                                       "workers=10"};
        std::optional<node>& slot = nodes_[index];
        slot.emplace(at_, ++started_, settings);
        const bool is_there = co_await slot->is_there();
        EXPECT_TRUE(is_there);
    }
    task<> limit_queue() {
        const auto answer =
            co_await callers_.ask(http::method::patch, nodes_[0]->url() + "/queues/default",
                                  R"({"max_running": )" + std::to_string(limit) +
                                      R"(, "key_max_running": )" + std::to_string(key_limit) + "}");
        EXPECT_EQ(answer.first, 200) << answer.second;
    }
    std::string any_url() {
        for (std::size_t tries = 0; tries < nodes_.size(); ++tries) {
            const std::optional<node>& one = nodes_[random_() % nodes_.size()];
            if (one.has_value() && !one->url().empty()) {
                return one->url();
            }
        }
        return {};
    }
    // From this line of the ledger on, the runs of the process do not count.
    void note_kill(int process) const {
        std::ofstream(at_.ledger(), std::ios::app) << "kill 0 0 " << process << "\n" << std::flush;
    }
    task<> replace(std::size_t index) {
        note_kill(nodes_[index]->number());
        co_await nodes_[index]->kill();
        ++kills_;
        co_await start(index);
    }
    task<> kill_server() {
        EXPECT_EQ(server_.log().find("deadlock detected"), std::string::npos);
        server_.kill();
        ++server_kills_;
        co_await weir::sleep(milliseconds(random_() % 300));
        server_.start();
    }

    void check_limits(const contents& kept) const {
        std::ifstream file(at_.ledger());
        std::map<int, std::set<std::int64_t>> running;  // by process
        std::map<std::string, int> of_key;
        std::set<int> killed;
        std::size_t all = 0;
        std::size_t most = 0;
        int most_of_key = 0;
        const auto count = [&](std::int64_t id, int change) {
            all += static_cast<std::size_t>(change);
            const auto found = kept.tasks.find(id);
            const std::string key = found != kept.tasks.end() ? found->second.flow_key : "";
            most = std::max(most, all);
            most_of_key = std::max(most_of_key, of_key[key] += change);
        };
        std::int64_t id = 0;
        book_entry line;
        while (file >> line.what >> id >> line.run >> line.process) {
            if (line.what == "kill") {
                killed.insert(line.process);
                for (const std::int64_t each : running[line.process]) {
                    count(each, -1);
                }
                running.erase(line.process);
            } else if (!killed.contains(line.process)) {
                if (line.what == "begin" && running[line.process].insert(id).second) {
                    count(id, 1);
                } else if (line.what != "begin" && running[line.process].erase(id) > 0) {
                    count(id, -1);
                }
            }
        }
        EXPECT_LE(most, static_cast<std::size_t>(limit)) << "more ran at once than may";
        EXPECT_GE(most, static_cast<std::size_t>(is_stress() ? limit : limit / 2));
        EXPECT_LE(most_of_key, key_limit) << "more of a key ran at once than may";
        EXPECT_GE(most_of_key, is_stress() ? key_limit : key_limit / 2);
    }
    task<> check_all() {
        const contents kept = co_await read_store(at_);  // and that all counts are right
        for (const std::int64_t id : callers_.acknowledged) {
            EXPECT_TRUE(kept.tasks.contains(id)) << "lost: " << task_id(id).text();
        }
        const book ledger = read_ledger(at_);
        for (const auto& [id, task] : kept.tasks) {
            EXPECT_EQ(task.state, task_state::completed) << task.id.text() << ": " << task.error;
            EXPECT_EQ(task.failures, 0U) << task.error;
            EXPECT_EQ(task.result, std::to_string(task.run));
            WEIR_ASSERT_TRUE(ledger.contains(id));
            std::set<std::uint32_t> begun;
            int ends = 0;
            for (const book_entry& line : ledger.at(id)) {
                EXPECT_TRUE(line.what != "begin" || begun.insert(line.run).second)
                    << "run " << line.run << " of " << task.id.text() << " was given out twice";
                ends += line.what == "end" && line.run == task.run ? 1 : 0;
            }
            EXPECT_EQ(ends, 1) << task.id.text() << " has not ended once in the run that counts";
        }
        check_callbacks(kept);
        check_limits(kept);
        EXPECT_EQ(server_.log().find("deadlock detected"), std::string::npos);
        EXPECT_GE(kills_, is_stress() ? 100 : 1);
        EXPECT_GE(server_kills_, is_stress() ? 30 : 0);
        EXPECT_GT(callers_.acknowledged.size(), is_stress() ? 20'000U : 100U);
        std::printf(
            "%zu tasks, %zu acknowledged, %zu refused, %zu unanswered; %d nodes and %d "
            "times the server killed\n",
            kept.tasks.size(), callers_.acknowledged.size(), callers_.refused, callers_.unanswered,
            kills_, server_kills_);
    }

    weir_test::postgres server_;
    place at_;
    std::mt19937 random_;
    clients callers_{40};
    std::array<std::optional<node>, 4> nodes_;
    int started_ = 0;
    int kills_ = 0;
    int server_kills_ = 0;
};

task<> survive(weir::clock::duration time) {
    cluster_under_fire all(11);
    co_await all.run(time);
}

TEST(ServiceCluster, FourNodesAndTheServerAreKilledAtRandom) {
    weir::run(survive(is_stress() ? weir::clock::duration(10min) : weir::clock::duration(15s)));
}

}  // namespace
