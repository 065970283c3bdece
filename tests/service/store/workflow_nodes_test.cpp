// SPDX-License-Identifier: MIT
// Four nodes, each with a store of its own, work on the same workflows in one schema of PostgreSQL
// at the same time, as processes do: members of a group end on all of them at once, while others
// are added, cancelled, retried, removed and purged. Two nodes lose connections at seeded bytes,
// and one of these is killed. What is left is run to its end: each group has one callback, after
// all of its members, whichever node ended the last.

#include "workflow_traffic.hpp"

#include <weir/group.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/time.hpp>

#include <cstdlib>

namespace workflow_nodes_test {

using namespace store_test;
using weir::testing::fault_proxy;

bool is_stress() {
    return std::getenv("WEIR_STRESS") != nullptr;
}

enum class network { good, breaks, fails_for_good };

// A process: its store, and a network of its own to the server.
class flow_node {
public:
    flow_node(network kind, unsigned seed) : kind_(kind), random_(seed) {}

    task<> open(std::string schema) {
        weir_test::postgres& server = weir_test::shared_postgres();
        std::uint16_t port = 0;
        if (kind_ != network::good) {
            wire_ = std::make_unique<fault_proxy>(weir::io::address::loopback(server.port()),
                                                  weir::testing::proxy_faults(), random_());
            port = wire_->address().port();
        }
        postgres_store_options options;
        options.schema = std::move(schema);
        options.readers = 1;
        options.uses_server_clock = false;
        kept_ = co_await open_postgres_store(server.url("postgres", port), options);
    }
    // Several of its fibers use the store at once.
    task<> work(flow_ledger& ledger, flow_targets& targets, std::string name, int operations) {
        if (wire_) {
            wire_->set({.reset_after = wire_->stats().bytes / 4 + 1 + random_() % 200'000});
        }
        auto all = [&](weir::task_group& group) -> task<> {
            for (int i = 0; i < 3; ++i) {
                const std::string fiber = name + "fiber" + std::to_string(i) + ".";
                group.spawn(work_as(ledger, targets, fiber, random_(), operations));
            }
            if (kind_ == network::fails_for_good) {
                group.spawn(kill());
            }
            co_return;
        };
        co_await weir::with_group(all);
    }
    task<> close() {
        co_await kept_->close();
        if (wire_) {
            co_await wire_->close();
        }
    }
    int failed() const { return failed_; }

private:
    task<> work_as(flow_ledger& ledger, flow_targets& targets, std::string name, unsigned seed,
                   int operations) {
        flow_traffic traffic(*kept_, ledger, std::move(name), seed);
        traffic.share(targets);
        failed_ += co_await traffic.work_in_trouble(operations, is_over_);
        ++fibers_ended_;
    }
    task<> kill() {
        while (wire_->stats().resets == 0 && fibers_ended_ < 3) {
            co_await weir::sleep(200us);
        }
        wire_->set({.refusals = 1});
        wire_->reset_all();
        is_over_ = true;
    }

    network kind_;
    std::mt19937 random_;
    std::unique_ptr<fault_proxy> wire_;
    std::unique_ptr<store> kept_;
    bool is_over_ = false;
    int fibers_ended_ = 0;
    int failed_ = 0;
};

// Four processes that live for that many operations of each of their fibers.
task<int> play_processes(std::string schema, flow_ledger& ledger, flow_targets& targets,
                         unsigned seed, int operations) {
    std::mt19937 random(seed);
    std::vector<std::unique_ptr<flow_node>> nodes;
    for (const network each :
         {network::good, network::good, network::breaks, network::fails_for_good}) {
        nodes.push_back(std::make_unique<flow_node>(each, static_cast<unsigned>(random())));
        co_await nodes.back()->open(schema);
    }
    auto all = [&](weir::task_group& group) -> task<> {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const std::string name = std::to_string(seed) + "node" + std::to_string(i) + ".";
            group.spawn(nodes[i]->work(ledger, targets, name, operations));
        }
        co_return;
    };
    co_await weir::with_group(all);
    int failed = 0;
    for (const auto& each : nodes) {
        failed += each->failed();
        co_await each->close();
    }
    co_return failed;
}

task<std::int64_t> deadlocks() {
    weir::pg::connection server =
        co_await weir::pg::connect({.url = weir_test::shared_postgres().url()});
    const weir::pg::rows found = co_await server.query(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
    co_return found.one<std::int64_t>();
}

task<> play_cluster(unsigned seed, std::map<std::string, int>& seen) {
    const store_kind kind = all_stores().back();
    bench at;
    at.kind = &kind;
    at.kept = co_await kind.open(at.folder.path().string());
    const std::string schema = schema_of(at.folder.path().string());
    flow_ledger ledger;
    flow_targets targets;
    int failed = 0;
    const std::int64_t deadlocks_before = co_await deadlocks();
    for (unsigned round = 0; round < 3 && !testing::Test::HasFailure(); ++round) {
        failed += co_await play_processes(schema, ledger, targets, seed * 100 + round, 40);
        co_await let_purge(*at.kept, ledger);
    }
    flow_ending ending(at, ledger, seed);
    co_await ending.check();
    EXPECT_GT(failed, 0);
    for (const auto& [what, times] : ledger.facts().seen) {
        seen[what] += times;
    }
    co_await at.check_counts();
    co_await at.kept->close();
    const std::int64_t deadlocks_after = co_await deadlocks();
    EXPECT_EQ(deadlocks_after, deadlocks_before);
    co_await kind.inspect(at.folder.path().string());
}

TEST(PostgresWorkflowNodes, CallbacksComeOnceAfterAllMembersOnFourNodes) {
    const unsigned clusters = is_stress() ? 40 : 1;
    const char* const setting = std::getenv("WEIR_SEED");
    const unsigned first = setting != nullptr ? static_cast<unsigned>(std::atoi(setting)) : 1;
    std::map<std::string, int> seen;
    for (unsigned seed = first; seed < first + clusters && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("WEIR_SEED=" + std::to_string(seed));
        weir::run(play_cluster(seed, seen));
    }
    check_variety(seen);
}

}  // namespace workflow_nodes_test
