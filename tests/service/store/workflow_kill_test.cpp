// SPDX-License-Identifier: MIT
// The process is killed, or the power fails, at seeded writes to the disk while workflows run.
// After each, the store is opened again and all that is left is run to its end: every group that a
// client knows has ended, with one callback, and nothing waits for what has ended.

#include "power_loss_disk.hpp"
#include "workflows.hpp"

#include <cstdlib>
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
    flow_load(store& kept, killer& kills, unsigned seed)
        : kept_(kept), kills_(kills), random_(seed) {}

    task<> begin() { co_await kept_.heartbeat(bench::node("a", now_ + 24h), now_); }
    task<> work(int operations) {
        for (int i = 0; i < operations; ++i) {
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
    }

private:
    task_id any_id() { return ids_[random_() % ids_.size()]; }
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
        kills_.acknowledge(made.group);
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
    killer& kills_;
    std::mt19937 random_;
    timestamp now_ = day + 12h;
    std::vector<task_id> ids_;
    std::vector<group_id> groups_;
};

// ---- after the kill

task<> check_after(const killed& happened, std::string folder) {
    power_loss::write_image(happened.image, folder);
    bench at;
    at.now = day + 48h;
    at.kept = co_await open_sqlite(folder);
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
    std::set<group_id> left = happened.known;
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
    flow_load load(*kept, kills, seed);
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

}  // namespace workflow_kill_test
