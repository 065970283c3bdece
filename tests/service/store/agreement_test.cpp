// SPDX-License-Identifier: MIT
// SQLite's store and the one in memory, which decides each start on its own, take the same random
// calls, and must give the same answers: which tasks are claimed, in which order, and when to ask
// again. Limits and rates change all the time, also while they hold tasks back.

#include "stores.hpp"

#include <algorithm>
#include <map>
#include <random>

namespace {

using namespace store_test;

class twin_stores {
public:
    explicit twin_stores(unsigned seed) : random_(seed) {}

    task<> open(std::string folder) {
        sqlite_ = co_await open_sqlite(folder);
        for (const char* const queue : {"q0", "q1", "q2"}) {  // in the order of their names
            co_await sqlite_->limit(queue, {});
            co_await memory_.limit(queue, {});
        }
        co_await beat();
    }
    task<> close() { co_await sqlite_->close(); }

    task<> step() {
        now_ += std::chrono::milliseconds(below(5) == 0 ? below(3000) : below(100));
        const unsigned chosen = below(100);
        if (chosen < 25) {
            co_await submit();
        } else if (chosen < 60) {
            co_await claim();
        } else if (chosen < 80) {
            co_await settle();
        } else if (chosen < 84) {
            co_await change_task();
        } else if (chosen < 86) {
            co_await change_key();
        } else if (chosen < 92) {
            co_await limit();
        } else if (chosen < 96) {
            co_await limit_destinations();
        } else if (chosen < 98) {
            const std::string queue = any_queue();
            const bool is_paused = below(4) == 0;
            co_await sqlite_->pause(queue, is_paused);
            co_await memory_.pause(queue, is_paused);
        } else {
            co_await crash();
        }
        co_await compare_queues();
    }
    std::size_t claimed_count() const { return claimed_count_; }
    std::size_t waits_count() const { return waits_count_; }

private:
    unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
    std::string any_queue() { return "q" + std::to_string(below(3)); }

    task<> beat() {
        co_await sqlite_->heartbeat(bench::node(node_, now_ + 24h), now_);
        co_await memory_.heartbeat(bench::node(node_, now_ + 24h), now_);
    }
    task<> submit() {
        std::vector<new_task> fresh;
        for (unsigned i = 1 + below(8); i > 0; --i) {
            new_task& each =
                fresh.emplace_back(bench::make("k" + std::to_string(below(5)), any_queue()));
            each.priority = static_cast<int>(below(3));
            if (below(2) == 0) {
                // Shared with no other key: which of several keys is first at a destination that
                // has room again is up to the store.
                each.destination = each.queue + each.flow_key + std::to_string(below(2));
            }
            if (below(5) == 0) {
                each.run_at = now_ + std::chrono::milliseconds(below(3000));
            }
        }
        const auto ours = co_await sqlite_->submit(fresh, now_);
        const auto theirs = co_await memory_.submit(fresh, now_);
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            EXPECT_EQ(ours[i].what, theirs[i].what);
            EXPECT_EQ(ours[i].id, theirs[i].id);
            if (ours[i].id) {
                ids_.push_back(ours[i].id);
            }
        }
    }
    task<> claim() {
        claim_request request;
        request.node = node_;
        request.now = now_;
        request.limit = below(3) == 0 ? 100 : 1 + below(8);
        const claimed ours = co_await sqlite_->claim(request);
        const claimed theirs = co_await memory_.claim(request);
        WEIR_ASSERT_EQ(ours.tasks.size(), theirs.tasks.size());
        for (std::size_t i = 0; i < ours.tasks.size(); ++i) {
            EXPECT_EQ(ours.tasks[i].id, theirs.tasks[i].id) << "turn " << i;
            EXPECT_EQ(ours.tasks[i].run, theirs.tasks[i].run);
            EXPECT_EQ(ours.tasks[i].destination, theirs.tasks[i].destination);
            runs_.push_back(ours.tasks[i]);
        }
        claimed_count_ += ours.tasks.size();
        // SQLite does not look at the keys of tasks that are not due: it may be early, never late.
        if (theirs.next_at.has_value()) {
            WEIR_ASSERT_TRUE(ours.next_at.has_value());
            EXPECT_LE(*ours.next_at, *theirs.next_at);
            EXPECT_GE(*ours.next_at, now_);
            waits_count_ += *ours.next_at > now_ ? 1 : 0;
        }
    }
    task<> settle() {
        std::vector<settlement> ended;
        std::shuffle(runs_.begin(), runs_.end(), random_);
        for (std::size_t i = below(static_cast<unsigned>(runs_.size()) + 1); i > 0; --i) {
            const task_record run = runs_.back();
            runs_.pop_back();
            const unsigned chosen = below(5);
            settlement& each = ended.emplace_back(
                bench::ending(run, chosen == 0 ? task_state::failed : task_state::completed));
            if (chosen == 1) {
                each = bench::ending(run, task_state::pending);
                each.due_at = now_ + std::chrono::milliseconds(below(1000) * below(2));
            }
            each.learnt.outcome = static_cast<destination_outcome>(below(3));
            if (below(10) == 0) {
                each.learnt.not_before = now_ + std::chrono::milliseconds(below(2000));
            }
        }
        const auto ours = co_await sqlite_->settle(node_, ended, now_);
        const auto theirs = co_await memory_.settle(node_, ended, now_);
        EXPECT_EQ(ours, theirs);
    }
    task<> change_task() {
        if (ids_.empty()) {
            co_return;
        }
        const task_id id = ids_[below(static_cast<unsigned>(ids_.size()))];
        change_result ours{};
        change_result theirs{};
        switch (below(5)) {
            case 3: {
                co_await change_several();
                co_return;
            }
            case 4: {
                task_edit edit;
                if (below(2) == 0) {
                    edit.priority = static_cast<int>(below(5)) - 2;
                }
                if (below(2) == 0) {
                    edit.run_at = now_ + std::chrono::milliseconds(below(3000)) - 1s;
                }
                ours = co_await sqlite_->edit(id, edit, now_);
                theirs = co_await memory_.edit(id, edit, now_);
                break;
            }
            case 0:
                ours = co_await sqlite_->cancel(id, now_);
                theirs = co_await memory_.cancel(id, now_);
                break;
            case 1:
                ours = co_await sqlite_->retry(id, now_);
                theirs = co_await memory_.retry(id, now_);
                break;
            default:
                ours = co_await sqlite_->remove_task(id, now_);
                theirs = co_await memory_.remove_task(id, now_);
                break;
        }
        EXPECT_EQ(ours, theirs);
    }
    task<> change_several() {
        bulk_change change;
        change.action = static_cast<task_action>(below(3));
        for (unsigned i = below(10); i > 0; --i) {
            change.ids.push_back(ids_[below(static_cast<unsigned>(ids_.size()))]);
        }
        if (below(2) == 0) {
            change.only.any_of = {static_cast<task_state>(below(5)),
                                  static_cast<task_state>(below(5))};
        }
        const std::vector<change_result> ours = co_await sqlite_->change_tasks(change, now_);
        const std::vector<change_result> theirs = co_await memory_.change_tasks(change, now_);
        EXPECT_EQ(ours, theirs);
    }
    task<> change_key() {
        constexpr double rates[] = {0, 0.5, 3};
        key_change change = key_change::reset();
        if (below(3) != 0) {
            change.is_paused = below(4) == 0;
            if (below(2) == 0) {
                change.max_running = below(4);
            }
            if (below(2) == 0) {
                change.rate = rates[below(3)];
                change.burst = 1 + below(3);
            }
        }
        const std::string queue = any_queue();
        const std::string key = "k" + std::to_string(below(5));
        co_await sqlite_->change_key(queue, key, change, now_);
        co_await memory_.change_key(queue, key, change, now_);
        const std::vector<key_record> ours = co_await sqlite_->keys(queue, {});
        const std::vector<key_record> theirs = co_await memory_.keys(queue, {});
        WEIR_ASSERT_EQ(ours.size(), theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
            EXPECT_EQ(ours[i].key, theirs[i].key);
            EXPECT_EQ(ours[i].settings, theirs[i].settings);
            EXPECT_EQ(ours[i].pending, theirs[i].pending) << ours[i].key;
            EXPECT_EQ(ours[i].due, theirs[i].due) << ours[i].key;
            EXPECT_EQ(ours[i].running, theirs[i].running) << ours[i].key;
        }
    }
    task<> limit() {
        constexpr double rates[] = {0, 0.5, 3, 40};
        queue_limits limits;
        if (below(4) != 0) {
            limits.max_running = below(3) == 0 ? 1 + below(5) : 0;
            limits.key_max_running = below(3) == 0 ? 1 + below(3) : 0;
            limits.rate = rates[below(4)] * (below(2) == 0 ? 1 : 10);
            limits.burst = 1 + below(4);
            limits.key_rate = rates[below(4)];
            limits.key_burst = 1 + below(3);
        }
        const std::string queue = any_queue();
        co_await sqlite_->limit(queue, limits);
        co_await memory_.limit(queue, limits);
    }
    task<> limit_destinations() {
        constexpr double rates[] = {0, 0.5, 3, 40};
        destination_limits limits;
        if (below(4) != 0) {
            limits.max_running = below(3);
            limits.rate = rates[below(4)];
            limits.burst = 1 + below(3);
            limits.open_after = below(4);
            limits.open_for = std::chrono::milliseconds(100 + below(2000));
        }
        co_await sqlite_->limit_destinations("work", limits);
        co_await memory_.limit_destinations("work", limits);
    }
    // All runs are rescued, and another node goes on.
    task<> crash() {
        co_await sqlite_->retire(node_);
        co_await memory_.retire(node_);
        const rescue_result ours = co_await sqlite_->rescue(now_, 3);
        const rescue_result theirs = co_await memory_.rescue(now_, 3);
        EXPECT_EQ(ours.returned, theirs.returned);
        EXPECT_EQ(ours.failed, theirs.failed);
        EXPECT_EQ(ours.cancelled, theirs.cancelled);
        EXPECT_EQ(sorted(ours.failed_tasks), sorted(theirs.failed_tasks));
        EXPECT_EQ(ours.failed_tasks.size(), ours.failed);
        runs_.clear();
        node_ = "n" + std::to_string(++nodes_);
        co_await beat();
    }
    static std::vector<task_id> sorted(std::vector<task_id> ids) {
        std::ranges::sort(ids);
        return ids;
    }
    task<std::map<std::string, timestamp>> oldest_due(store& in) {
        const std::vector<due_queue> found = co_await in.oldest_due(now_);
        std::map<std::string, timestamp> all;
        for (const due_queue& each : found) {
            all.emplace(each.name, each.since);
        }
        co_return all;
    }
    task<> compare_queues() {
        const std::vector<queue_record> ours = co_await sqlite_->queues();
        const std::vector<queue_record> theirs = co_await memory_.queues();
        WEIR_ASSERT_EQ(ours.size(), theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
            EXPECT_EQ(ours[i].name, theirs[i].name);
            EXPECT_EQ(ours[i].counts, theirs[i].counts);
            EXPECT_EQ(ours[i].due, theirs[i].due) << ours[i].name;
            EXPECT_EQ(ours[i].limits, theirs[i].limits);
            EXPECT_EQ(ours[i].is_paused, theirs[i].is_paused);
        }
        const std::map<std::string, timestamp> our_oldest = co_await oldest_due(*sqlite_);
        const std::map<std::string, timestamp> their_oldest = co_await oldest_due(memory_);
        EXPECT_EQ(our_oldest, their_oldest);
        if (!ids_.empty()) {
            const task_id some = ids_[below(static_cast<unsigned>(ids_.size()))];
            const std::vector<hold> mine = co_await sqlite_->why(some, now_);
            const std::vector<hold> others = co_await memory_.why(some, now_);
            WEIR_ASSERT_EQ(mine.size(), others.size());
            for (std::size_t i = 0; i < mine.size(); ++i) {
                EXPECT_EQ(to_string(mine[i].why), to_string(others[i].why));
                EXPECT_EQ(mine[i].until, others[i].until);
            }
        }
    }

    std::mt19937 random_;
    std::unique_ptr<store> sqlite_;
    memory_store memory_;
    timestamp now_ = bench().now;
    std::string node_ = "n0";
    int nodes_ = 0;
    std::vector<task_id> ids_;
    std::vector<task_record> runs_;
    std::size_t claimed_count_ = 0;
    std::size_t waits_count_ = 0;
};

task<> compare_stores() {
    for (unsigned seed = 1; seed <= 4 && !testing::Test::HasFailure(); ++seed) {
        const weir_test::temporary_folder folder;
        twin_stores stores(seed);
        co_await stores.open(folder.path().string());
        for (int step = 0; step < 500 && !testing::Test::HasFailure(); ++step) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
            co_await weir::timeout(10s, stores.step());
        }
        EXPECT_GT(stores.claimed_count(), 100U);
        EXPECT_GT(stores.waits_count(), 20U);
        co_await stores.close();
        co_await inspect_sqlite(folder.path().string());
    }
}
TEST(StoreAgreement, LimitsThatChangeHoldAlikeInBothStores) {
    weir::run(compare_stores());
}

}  // namespace
