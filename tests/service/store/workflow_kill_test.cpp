// SPDX-License-Identifier: MIT
// The process is killed, or the power fails, at seeded writes to the disk while workflows run; with
// PostgreSQL, the node is killed or loses its connections at seeded bytes between it and the
// server. After each, the store is opened again and all that is left is run to its end: every group
// that a client knows has ended, with one callback, and nothing waits for what has ended.

#include "power_loss_disk.hpp"
#include "workflows.hpp"

#include <weir/group.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/time.hpp>

#include <cstdlib>
#include <functional>
#include <set>

namespace workflow_kill_test {

using namespace store_test;
using power_loss::disk;
using power_loss::disk_image;

struct killed {
    disk_image image;
    std::set<group_id> known;  // groups whose creation was acknowledged
};

// Takes an image at some writes.
class killer {
public:
    explicit killer(unsigned seed) : random_(seed) {}

    void operator()(disk& on) {
        const std::lock_guard lock(mutex_);
        if (++step_ < next_ || waiting_.size() >= 4) {
            return;
        }
        next_ = step_ + 1 + random_() % 30;
        killed taken;
        taken.known = known_;
        taken.image = on.image_after_failure(random_);
        waiting_.push_back(std::move(taken));
    }
    void acknowledge(group_id group) {
        const std::lock_guard lock(mutex_);
        known_.insert(group);
    }
    std::vector<killed> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(waiting_, {});
    }

private:
    std::mutex mutex_;
    std::mt19937 random_;
    unsigned step_ = 0;
    unsigned next_ = 1;
    std::set<group_id> known_;
    std::vector<killed> waiting_;
};

constexpr timestamp day = std::chrono::sys_days(std::chrono::year(2026) / 5 / 17);

// Clients and a node that work on workflows.
class flow_load {
public:
    using note = std::function<void(group_id)>;  // of each group whose creation was acknowledged

    flow_load(store& kept, note acknowledge, unsigned seed)
        : kept_(kept), acknowledge_(std::move(acknowledge)), random_(seed) {}

    task<> begin() { co_await kept_.heartbeat(bench::node("a", now_ + 24h), now_); }
    task<> work(int operations) {
        for (int i = 0; i < operations; ++i) {
            co_await work_once();
        }
    }
    // Goes on after calls that fail, as clients do. Returns how many have failed.
    task<int> work_in_trouble(int operations, const bool& is_over) {
        int failed = 0;
        for (int i = 0; i < operations && !is_over; ++i) {
            try {
                co_await work_once();
            } catch (const store_unavailable&) {
                ++failed;
            }
        }
        co_return failed;
    }

private:
    task_id any_id() { return ids_[random_() % ids_.size()]; }
    task<> work_once() {
        const unsigned choice = random_() % 12;
        if (choice < 3) {
            co_await submit();
        } else if (choice < 9) {
            co_await run_some();
        } else if (choice == 9) {
            co_await change_group();
        } else if (choice == 10 && !ids_.empty()) {
            co_await kept_.workflows().cancel_subtree(any_id(), now_);
        } else if (!ids_.empty()) {
            co_await kept_.retry(any_id(), now_);
        }
    }
    task<> submit() {
        workflow flow;
        for (std::size_t i = 0; i < 1 + random_() % 8; ++i) {
            new_task fresh = named("member");
            if (i > 0) {
                dependency on;
                on.position = random_() % i;
                fresh.after.push_back(on.with(static_cast<failure_policy>(random_() % 2)));
            }
            flow.add(fresh);
        }
        flow.group = with_callback(static_cast<failure_policy>(random_() % 2));
        flow.group->is_sealed = random_() % 4 != 0;
        const workflow_result made = co_await kept_.workflows().submit(flow, now_);
        acknowledge_(made.group);
        groups_.push_back(made.group);
        for (const submit_result& each : made.tasks) {
            ids_.push_back(each.id);
        }
    }
    task<> run_some() {
        claim_request request;
        request.node = "a";
        request.now = now_;
        request.limit = 4;
        const claimed found = co_await kept_.claim(request);
        std::vector<settlement> ended;
        for (const task_record& each : found.tasks) {
            ended.push_back(bench::ending(
                each, random_() % 4 == 0 ? task_state::failed : task_state::completed));
        }
        co_await kept_.settle("a", ended, now_);
    }
    task<> change_group() {
        if (groups_.empty()) {
            co_return;
        }
        const group_id group = groups_[random_() % groups_.size()];
        if (random_() % 2 == 0) {
            co_await kept_.workflows().seal(group, now_);
        } else {
            co_await kept_.workflows().cancel(group, now_);
        }
    }

    store& kept_;
    note acknowledge_;
    std::mt19937 random_;
    timestamp now_ = day + 12h;
    std::vector<task_id> ids_;
    std::vector<group_id> groups_;
};

// ---- after the kill

// Runs everything to its end.
task<> check_ends(bench& at, const std::set<group_id>& known) {
    flow_bench use(at);
    co_await at.kept->rescue(at.now, 1000);
    group_query all;
    all.limit = 1'000'000;
    auto groups = co_await use.flows().list(all);
    for (const group_record& each : groups) {
        co_await use.flows().seal(each.id, at.now);
    }
    co_await use.run_all("another");
    const std::vector<task_record> callbacks = co_await use.all("callback");
    std::map<std::string, int> callbacks_of;
    for (const task_record& each : callbacks) {
        ++callbacks_of[each.payload.substr(0, each.payload.find(",\"state\""))];
    }
    std::set<group_id> left = known;
    groups = co_await use.flows().list(all);
    for (const group_record& each : groups) {
        left.erase(each.id);
        EXPECT_TRUE(is_final(each.state)) << to_string(each.state);
        EXPECT_EQ(callbacks_of[R"({"group":{"id":")" + each.id.text() + '"'], 1);
    }
    EXPECT_TRUE(left.empty()) << left.size() << " groups are lost";
    EXPECT_EQ(callbacks.size(), groups.size());
    const std::vector<task_record> members = co_await use.all("member");
    for (const task_record& each : members) {
        EXPECT_TRUE(is_final(each.state)) << "stuck: " << to_string(view_of(each, at.now));
    }
}

task<> check_after(const killed& happened, std::string folder) {
    power_loss::write_image(happened.image, folder);
    bench at;
    at.now = day + 48h;
    at.kept = co_await open_sqlite(folder);
    co_await check_ends(at, happened.known);
    co_await at.kept->close();
    co_await inspect_sqlite(folder);
}

task<> play_round(unsigned seed, int wanted, int& seen) {
    weir_test::temporary_folder folder;
    killer kills(seed);
    disk below(folder.path() / "disk", [&kills](disk& on) { kills(on); });
    std::filesystem::create_directories(folder.path() / "disk");
    sqlite_store_options options;
    options.checkpoint_pages = 20 + seed % 100;
    const std::unique_ptr<store> kept =
        co_await open_sqlite_store((folder / "disk/tasks.db").string(), options);
    const auto acknowledge = [&kills](group_id group) { kills.acknowledge(group); };
    flow_load load(*kept, acknowledge, seed);
    co_await load.begin();
    const std::string after = (folder / "after").string();
    for (int in_round = 0; in_round < wanted && !testing::Test::HasFailure();) {
        co_await load.work(6);
        for (const killed& each : kills.take()) {
            ++in_round;
            ++seen;
            SCOPED_TRACE("seed " + std::to_string(seed));
            co_await check_after(each, after);
        }
    }
    co_await kept->close();
}

TEST(WorkflowKills, EveryGroupEndsOnceWhereverTheProcessIsKilled) {
    const int wanted = std::getenv("WEIR_STRESS") != nullptr ? 5000 : 60;
    const char* const setting = std::getenv("WEIR_SEED");
    unsigned seed = setting != nullptr ? static_cast<unsigned>(std::atoi(setting)) : 1;
    int seen = 0;
    while (seen < wanted && !testing::Test::HasFailure()) {
        weir::run(play_round(seed++, std::min(20, wanted - seen), seen));
    }
    EXPECT_GE(seen, wanted);
}

// ---- PostgreSQL

// A node of its own, whose connections are reset after some bytes: each of them again and again, or
// all at once and for good, as when the node is killed. Returns how many calls have failed.
task<int> lose_node(bench& at, unsigned seed, std::set<group_id>& known) {
    std::mt19937 random(seed);
    const std::uint16_t port = weir_test::shared_postgres().port();
    weir::testing::fault_proxy wire(weir::io::address::loopback(port), {}, seed);
    postgres_store_options options;
    options.schema = schema_of(at.folder.path().string());
    options.readers = 1;
    options.uses_server_clock = false;
    const std::unique_ptr<store> kept = co_await open_postgres_store(
        weir_test::shared_postgres().url("postgres", wire.address().port()), options);
    const auto acknowledge = [&known](group_id group) { known.insert(group); };
    flow_load load(*kept, acknowledge, seed);
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

task<> lose_nodes(unsigned seed, unsigned rounds) {
    const store_kind kind = all_stores().back();
    bench at;
    at.kind = &kind;
    at.kept = co_await kind.open(at.folder.path().string());
    at.now = day + 48h;
    std::set<group_id> known;
    int failed = 0;
    for (unsigned round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("seed " + std::to_string(seed + round));
        failed += co_await lose_node(at, seed + round, known);
        co_await check_ends(at, known);
    }
    EXPECT_GT(failed, 0);
    co_await at.check_counts();
    co_await at.kept->close();
    co_await kind.inspect(at.folder.path().string());
}

TEST(PostgresWorkflowKills, EveryGroupEndsOnceWhereverTheNodeIsLost) {
    const unsigned wanted = std::getenv("WEIR_STRESS") != nullptr ? 120 : 8;
    const char* const setting = std::getenv("WEIR_SEED");
    const unsigned seed = setting != nullptr ? static_cast<unsigned>(std::atoi(setting)) : 1;
    for (unsigned done = 0; done < wanted && !testing::Test::HasFailure(); done += 8) {
        weir::run(lose_nodes(seed + done, 8));
    }
}

}  // namespace workflow_kill_test
