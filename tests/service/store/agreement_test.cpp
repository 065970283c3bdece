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
        for (const char* const kinds : {"r0", "r0 r1", "r1 r2 unknown"}) {
            worker_kinds_.push_back(kinds);
            workers_.push_back(co_await add_worker(kinds));
        }
    }
    task<> close() { co_await sqlite_->close(); }

    task<> step() {
        now_ += std::chrono::milliseconds(below(5) == 0 ? below(3000) : below(100));
        const unsigned chosen = below(100);
        if (chosen < 25) {
            co_await submit();
        } else if (chosen < 42) {
            co_await claim();
        } else if (chosen < 57) {
            co_await poll();
        } else if (chosen < 64) {
            co_await beat_workers();
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
    std::size_t repeated_count() const { return repeated_count_; }
    std::size_t given_back_count() const { return given_back_count_; }

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
                each.kind = "r" + std::to_string(below(3));
                each.is_remote = true;
            } else if (below(2) == 0) {
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
        compare_tasks(ours.tasks, theirs.tasks);
        claimed_count_ += ours.tasks.size();
        compare_waits(ours.next_at, theirs.next_at);
    }
    void compare_tasks(const std::vector<task_record>& ours,
                       const std::vector<task_record>& theirs) {
        ASSERT_EQ(ours.size(), theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
            EXPECT_EQ(ours[i].id, theirs[i].id) << "turn " << i;
            EXPECT_EQ(ours[i].run, theirs[i].run);
            EXPECT_EQ(ours[i].node, theirs[i].node);
            EXPECT_EQ(ours[i].destination, theirs[i].destination);
            runs_.push_back(ours[i]);
        }
    }
    // SQLite does not look at the keys of tasks that are not due: it may be early, never late.
    void compare_waits(std::optional<timestamp> ours, std::optional<timestamp> theirs) {
        if (theirs.has_value()) {
            ASSERT_TRUE(ours.has_value());
            EXPECT_LE(*ours, *theirs);
            EXPECT_GE(*ours, now_);
            waits_count_ += *ours > now_ ? 1 : 0;
        }
    }
    task<std::string> add_worker(std::string kinds) {
        worker_record worker;
        worker.id = "w" + std::to_string(++nodes_);
        worker.kinds = bench::names(kinds);
        worker.queues = bench::names(below(2) == 0 ? "" : "q0 q2");
        worker.expires_at = now_ + 24h;
        const bool ours = co_await sqlite_->add_worker(worker, now_);
        const bool theirs = co_await memory_.add_worker(worker, now_);
        EXPECT_TRUE(ours);
        EXPECT_TRUE(theirs);
        co_return worker.id;
    }
    task<> poll() {
        std::vector<worker_claim> polls;
        for (unsigned i = 1 + below(4); i > 0; --i) {
            worker_claim& each = polls.emplace_back();
            each.worker = workers_[below(3)];
            each.poll = below(4) == 0 ? polls_ : ++polls_;
            each.free = below(8);
        }
        const worker_claims ours = co_await sqlite_->claim_for_workers(polls, now_);
        const worker_claims theirs = co_await memory_.claim_for_workers(polls, now_);
        WEIR_ASSERT_EQ(ours.answers.size(), theirs.answers.size());
        for (std::size_t i = 0; i < polls.size(); ++i) {
            SCOPED_TRACE("poll " + std::to_string(i) + " of " + polls[i].worker);
            EXPECT_EQ(ours.answers[i].what, theirs.answers[i].what);
            const std::size_t known = runs_.size();
            compare_tasks(ours.answers[i].tasks, theirs.answers[i].tasks);
            if (ours.answers[i].what == worker_claim_answer::verdict::repeated) {
                repeated_count_ += runs_.size() > known ? 1 : 0;
                runs_.resize(known);
            }
        }
        compare_waits(ours.next_at, theirs.next_at);
    }
    task<> beat_workers() {
        std::vector<worker_beat> beats;
        for (const std::string& each : workers_) {
            if (below(3) == 0) {
                continue;
            }
            worker_beat& beat = beats.emplace_back();
            beat.worker = each;
            beat.expires_at = now_ + 24h;
            beat.free = below(3);
            if (below(2) == 0) {
                beat.polled_at = now_ - std::chrono::seconds(below(100));
            }
            if (below(2) == 0) {
                beat.answered_poll = below(6);
            }
            for (const task_record& run : runs_) {
                if (run.node == each && below(3) != 0) {
                    beat.running.push_back({run.id, run.run});
                }
            }
        }
        const std::vector<worker_answer> ours = co_await sqlite_->renew_workers(beats, now_);
        const std::vector<worker_answer> theirs = co_await memory_.renew_workers(beats, now_);
        WEIR_ASSERT_EQ(ours.size(), theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
            EXPECT_EQ(ours[i].is_alive, theirs[i].is_alive);
            EXPECT_EQ(sorted(ours[i].cancelling), sorted(theirs[i].cancelling));
            EXPECT_EQ(sorted(ours[i].lost), sorted(theirs[i].lost));
            EXPECT_EQ(sorted(ours[i].given_back), sorted(theirs[i].given_back));
            given_back_count_ += ours[i].given_back.size();
        }
    }
    static std::vector<std::pair<task_id, std::uint32_t>> sorted(const std::vector<run_key>& runs) {
        std::vector<std::pair<task_id, std::uint32_t>> all;
        for (const run_key& each : runs) {
            all.emplace_back(each.id, each.run);
        }
        std::ranges::sort(all);
        return all;
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
        for (const std::string& each : workers_) {  // those of others are refused
            const auto our_answers = co_await sqlite_->settle_for_worker(each, ended, now_);
            const auto their_answers = co_await memory_.settle_for_worker(each, ended, now_);
            EXPECT_EQ(our_answers, their_answers);
        }
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
        std::erase_if(runs_, [&](const task_record& each) { return each.node == node_; });
        node_ = "n" + std::to_string(++nodes_);
        co_await beat();
        co_await end_worker();
    }
    // A session ends, sooner or later, and another one follows.
    task<> end_worker() {
        const unsigned chosen = below(3);
        const std::string worker = workers_[chosen];
        if (below(2) == 0) {
            const bool ours = co_await sqlite_->drain_worker(worker, now_);
            const bool theirs = co_await memory_.drain_worker(worker, now_);
            EXPECT_EQ(ours, theirs);
            co_return;
        }
        const bool ours = co_await sqlite_->remove_worker(worker, now_);
        const bool theirs = co_await memory_.remove_worker(worker, now_);
        EXPECT_EQ(ours, theirs);
        std::erase_if(runs_, [&](const task_record& each) { return each.node == worker; });
        workers_[chosen] = co_await add_worker(worker_kinds_[chosen]);
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
        const std::vector<worker_kind> our_kinds = co_await sqlite_->worker_kinds(now_);
        const std::vector<worker_kind> their_kinds = co_await memory_.worker_kinds(now_);
        WEIR_ASSERT_EQ(our_kinds.size(), their_kinds.size());
        for (std::size_t i = 0; i < our_kinds.size(); ++i) {
            EXPECT_EQ(our_kinds[i].kind, their_kinds[i].kind);
            EXPECT_EQ(our_kinds[i].due, their_kinds[i].due);
            EXPECT_EQ(our_kinds[i].running, their_kinds[i].running);
            EXPECT_EQ(our_kinds[i].workers, their_kinds[i].workers);
        }
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
    std::vector<std::string> workers_;
    std::vector<std::string> worker_kinds_;
    std::uint64_t polls_ = 1;
    std::size_t repeated_count_ = 0;
    std::size_t given_back_count_ = 0;
};

task<> compare_stores() {
    std::size_t given_back = 0;  // rare: in all programs together
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
        EXPECT_GT(stores.repeated_count(), 0U);
        given_back += stores.given_back_count();
        co_await stores.close();
        co_await inspect_sqlite(folder.path().string());
    }
    EXPECT_GT(given_back, 0U);
}
TEST(StoreAgreement, LimitsThatChangeHoldAlikeInBothStores) {
    weir::run(compare_stores());
}

}  // namespace
