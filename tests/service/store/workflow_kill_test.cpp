// SPDX-License-Identifier: MIT
// The process is killed, or the power fails, at seeded writes to the disk while workflows run; with
// PostgreSQL, the node is killed or loses its connections at seeded bytes between it and the
// server. After each, the store is opened again and all that is left is run to its end: every group
// that a client knows has ended, with one callback after all its members, and nothing waits for
// what has ended.

#include "power_loss_disk.hpp"
#include "workflow_traffic.hpp"

#include <weir/group.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/time.hpp>

#include <cstdlib>

namespace workflow_kill_test {

using namespace store_test;
using power_loss::disk;
using power_loss::disk_image;

struct killed {
    disk_image image;
    flow_facts facts;  // what was acknowledged by then
};

// Takes an image at some writes.
class killer {
public:
    killer(const flow_ledger& ledger, unsigned seed) : ledger_(ledger), random_(seed) {}

    void operator()(disk& on) {
        const std::lock_guard lock(mutex_);
        if (++step_ < next_ || waiting_.size() >= 4) {
            return;
        }
        next_ = step_ + 1 + random_() % 150;
        killed taken;
        taken.facts = ledger_.facts();
        taken.image = on.image_after_failure(random_);
        waiting_.push_back(std::move(taken));
    }
    std::vector<killed> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(waiting_, {});
    }

private:
    const flow_ledger& ledger_;
    std::mutex mutex_;
    std::mt19937 random_;
    unsigned step_ = 0;
    unsigned next_ = 1;
    std::vector<killed> waiting_;
};

using counts = std::map<std::string, int>;

void add(counts& to, const flow_ledger& ledger) {
    for (const auto& [what, times] : ledger.facts().seen) {
        to[what] += times;
    }
}

task<> check_after(const killed& happened, std::string folder, unsigned seed, counts& seen) {
    power_loss::write_image(happened.image, folder);
    bench at;
    at.kept = co_await open_sqlite(folder);
    flow_ledger ledger(happened.facts);
    flow_ending ending(at, ledger, seed);
    co_await ending.check();
    add(seen, ledger);
    co_await at.kept->close();
    co_await inspect_sqlite(folder);
}

task<> play_round(unsigned seed, int wanted, int& kills_seen, counts& seen) {
    weir_test::temporary_folder folder;
    flow_ledger ledger;
    killer kills(ledger, seed);
    disk below(folder.path() / "disk", [&kills](disk& on) { kills(on); });
    std::filesystem::create_directories(folder.path() / "disk");
    sqlite_store_options options;
    options.checkpoint_pages = 20 + seed % 100;
    const std::unique_ptr<store> kept =
        co_await open_sqlite_store((folder / "disk/tasks.db").string(), options);
    flow_traffic load(*kept, ledger, "a", seed);
    co_await load.begin();
    const std::string after = (folder / "after").string();
    for (int in_round = 0; in_round < wanted && !testing::Test::HasFailure();) {
        co_await load.work(6);
        for (const killed& each : kills.take()) {
            ++in_round;
            ++kills_seen;
            SCOPED_TRACE("seed " + std::to_string(seed));
            co_await check_after(each, after, seed + static_cast<unsigned>(in_round), seen);
        }
    }
    co_await kept->close();
}

TEST(WorkflowKills, EveryGroupEndsOnceWhereverTheProcessIsKilled) {
    const int wanted = std::getenv("WEIR_STRESS") != nullptr ? 5000 : 80;
    const char* const setting = std::getenv("WEIR_SEED");
    unsigned seed = setting != nullptr ? static_cast<unsigned>(std::atoi(setting)) : 1;
    int done = 0;
    counts seen;
    while (done < wanted && !testing::Test::HasFailure()) {
        weir::run(play_round(seed++, std::min(40, wanted - done), done, seen));
    }
    EXPECT_GE(done, wanted);
    check_variety(seen);
}

// ---- PostgreSQL

// A node of its own, whose connections are reset after some bytes: each of them again and again, or
// all at once and for good, as when the node is killed. Returns how many calls have failed.
task<int> lose_node(bench& at, unsigned seed, flow_ledger& ledger) {
    std::mt19937 random(seed);
    const std::uint16_t port = weir_test::shared_postgres().port();
    weir::testing::fault_proxy wire(weir::io::address::loopback(port), {}, seed);
    postgres_store_options options;
    options.schema = schema_of(at.folder.path().string());
    options.readers = 1;
    options.uses_server_clock = false;
    const std::unique_ptr<store> kept = co_await open_postgres_store(
        weir_test::shared_postgres().url("postgres", wire.address().port()), options);
    flow_traffic load(*kept, ledger, "node" + std::to_string(seed) + ".", seed);
    co_await load.begin();
    const bool is_killed = seed % 2 == 0;
    bool is_over = false;
    wire.set({.reset_after = wire.stats().bytes + 1 + random() % 150'000});
    auto kill = [&]() -> task<> {
        while (wire.stats().resets == 0) {
            co_await weir::sleep(200us);
        }
        wire.set({.refusals = 1});
        wire.reset_all();
        is_over = true;
    };
    int failed = 0;
    auto both = [&](weir::task_group& group) -> task<> {
        if (is_killed) {
            group.spawn(kill());
        }
        failed = co_await load.work_in_trouble(60, is_over);
        group.cancel();
    };
    co_await weir::with_group(both);
    co_await kept->close();
    co_await wire.close();
    co_return failed;
}

task<> lose_nodes(unsigned seed, unsigned rounds, counts& seen) {
    const store_kind kind = all_stores().back();
    bench at;
    at.kind = &kind;
    at.kept = co_await kind.open(at.folder.path().string());
    flow_ledger ledger;
    int failed = 0;
    for (unsigned round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("seed " + std::to_string(seed + round));
        failed += co_await lose_node(at, seed + round, ledger);
        flow_ending ending(at, ledger, seed + round);
        co_await ending.check();
    }
    EXPECT_GT(failed, 0);
    add(seen, ledger);
    co_await at.check_counts();
    co_await at.kept->close();
    co_await kind.inspect(at.folder.path().string());
}

TEST(PostgresWorkflowKills, EveryGroupEndsOnceWhereverTheNodeIsLost) {
    const unsigned wanted = std::getenv("WEIR_STRESS") != nullptr ? 120 : 8;
    const char* const setting = std::getenv("WEIR_SEED");
    const unsigned seed = setting != nullptr ? static_cast<unsigned>(std::atoi(setting)) : 1;
    counts seen;
    for (unsigned done = 0; done < wanted && !testing::Test::HasFailure(); done += 8) {
        weir::run(lose_nodes(seed + done, 8, seen));
    }
    check_variety(seen);
}

}  // namespace workflow_kill_test
