// SPDX-License-Identifier: MIT
// Power failures at seeded moments while clients work: what was acknowledged is there, once, and
// the counts are right. What does not wait for the disk may be lost, up to the next write that
// does.

#include "power_loss_disk.hpp"
#include "stores.hpp"

#include <weir/gather.hpp>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace power_loss_test {

using namespace store_test;
using power_loss::disk;
using power_loss::disk_image;

// What clients know of a task.
struct known_task {
    std::string payload;
    task_state state = task_state::pending;  // an acknowledged end; or else it may be any
    std::uint32_t run = 0;                   // at least
};

// The acknowledged operations, in the order of their acknowledgements.
class ledger {
public:
    // The claims that a write which begins now makes durable.
    std::size_t claims() const {
        const std::lock_guard lock(mutex_);
        return claims_.size();
    }
    // An operation that waits for the disk, and has changed something, is acknowledged. `claims`:
    // those before it began.
    template <class Change>
    void acknowledge(std::size_t claims, Change change) {
        const std::lock_guard lock(mutex_);
        for (; lasting_claims_ < claims; ++lasting_claims_) {
            const run_key& key = claims_[lasting_claims_];
            known_task& claimed = tasks_[key.id];
            claimed.run = std::max(claimed.run, key.run);
        }
        change(tasks_);
    }
    void acknowledge_claim(const run_key& key) {
        const std::lock_guard lock(mutex_);
        claims_.push_back(key);
    }
    std::map<task_id, known_task> tasks() const {
        const std::lock_guard lock(mutex_);
        return tasks_;
    }

private:
    mutable std::mutex mutex_;
    std::map<task_id, known_task> tasks_;
    std::vector<run_key> claims_;
    std::size_t lasting_claims_ = 0;
};

struct failure {
    unsigned step = 0;
    disk_image image;
    std::map<task_id, known_task> acknowledged;
};

// Takes an image now and then, as long as few wait to be looked at.
class failure_source {
public:
    failure_source(unsigned seed, const ledger& books) : random_(seed), books_(books) {}

    void operator()(disk& on) {
        const std::lock_guard lock(mutex_);
        if (++step_ < next_ || waiting_.size() >= 4) {
            return;
        }
        next_ = step_ + 1 + random_() % 40;
        failure taken;
        taken.step = step_;
        taken.acknowledged = books_.tasks();
        taken.image = on.image_after_failure(random_);
        waiting_.push_back(std::move(taken));
    }
    std::vector<failure> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(waiting_, {});
    }

private:
    std::mutex mutex_;
    std::mt19937 random_;
    const ledger& books_;
    unsigned step_ = 0;
    unsigned next_ = 1;
    std::vector<failure> waiting_;
};

// ---- the load

class clients {
public:
    clients(store& kept, ledger& books, unsigned seed)
        : kept_(kept), books_(books), random_(seed) {}

    task<> begin() {
        co_await kept_.heartbeat(bench::node("a", now_ + 24h), now_);
        worker_record worker;
        worker.id = "w";
        worker.kinds = {"remote"};
        worker.expires_at = now_ + 24h;
        co_await kept_.add_worker(worker, now_);
    }
    task<> work(int operations) {
        for (int i = 0; i < operations; ++i) {
            const unsigned choice = random_() % 10;
            if (choice < 4) {
                co_await submit();
            } else if (choice < 5) {
                co_await poll();
            } else if (choice < 7) {
                co_await claim();
            } else if (choice < 9) {
                co_await settle();
            } else {
                co_await cancel();
            }
        }
    }

private:
    task<> submit() {
        std::vector<new_task> batch;
        for (unsigned i = 1 + random_() % 3; i > 0; --i) {
            new_task fresh = bench::make(random_() % 2 == 0 ? "key" : "");
            const std::string number = std::to_string(++submitted_);
            fresh.payload = '"' + std::string(random_() % 8 == 0 ? 6000 : 0, 'x') + number + '"';
            fresh.idempotency_key = number;
            if (random_() % 2 == 0) {
                fresh.kind = "remote";
                fresh.is_remote = true;
            }
            batch.push_back(std::move(fresh));
        }
        const std::size_t claims = books_.claims();
        const auto answers = co_await kept_.submit(batch, now_);
        books_.acknowledge(claims, [&](auto& tasks) {
            for (std::size_t i = 0; i < answers.size(); ++i) {
                tasks[answers[i].id].payload = batch[i].payload;
            }
        });
        for (const submit_result& each : answers) {
            ids_.push_back(each.id);
        }
    }
    task<> claim() {
        claim_request request;
        request.node = "a";
        request.now = now_;
        request.limit = 3;
        const claimed found = co_await kept_.claim(request);
        for (const task_record& each : found.tasks) {
            books_.acknowledge_claim({each.id, each.run});
            runs_.push_back(each);
        }
    }
    task<> poll() {
        std::vector<worker_claim> polls(1);
        polls[0].worker = "w";
        polls[0].poll = ++polls_;
        polls[0].free = 3;
        const worker_claims found = co_await kept_.claim_for_workers(polls, now_);
        for (const task_record& each : found.answers.at(0).tasks) {
            books_.acknowledge_claim({each.id, each.run});
            runs_.push_back(each);
        }
    }
    task<> settle() {
        std::vector<settlement> ended;
        const std::string node = runs_.empty() ? "a" : runs_.back().node;
        for (unsigned i = random_() % 4; i > 0 && !runs_.empty() && runs_.back().node == node;
             --i) {
            const bool is_good = random_() % 4 != 0;
            ended.push_back(
                bench::ending(runs_.back(), is_good ? task_state::completed : task_state::failed));
            runs_.pop_back();
        }
        const std::size_t claims = books_.claims();
        const std::vector<bool> written = co_await kept_.settle(node, ended, now_);
        if (std::find(written.begin(), written.end(), true) == written.end()) {
            co_return;
        }
        books_.acknowledge(claims, [&](auto& tasks) {
            for (std::size_t i = 0; i < ended.size(); ++i) {
                if (written[i]) {
                    tasks[ended[i].key.id].state = ended[i].state;
                }
            }
        });
    }
    task<> cancel() {
        if (ids_.empty()) {
            co_return;
        }
        const task_id id = ids_[random_() % ids_.size()];
        const std::size_t claims = books_.claims();
        const change_result result = co_await kept_.cancel(id, now_);
        if (result == change_result::done) {
            books_.acknowledge(claims,
                               [&](auto& tasks) { tasks[id].state = task_state::cancelled; });
        }
    }

    store& kept_;
    ledger& books_;
    std::mt19937 random_;
    timestamp now_ = std::chrono::sys_days(std::chrono::year(2026) / 5 / 17) + 12h;
    unsigned submitted_ = 0;
    std::uint64_t polls_ = 0;
    std::vector<task_id> ids_;
    std::vector<task_record> runs_;
};

// ---- after the power has come back

std::string describe(const task_record& found) {
    return "state " + std::to_string(static_cast<int>(found.state)) + ", run " +
           std::to_string(found.run);
}

task<std::vector<std::string>> mistakes_after(const failure& happened, std::string folder,
                                              bool are_tables_checked) {
    std::vector<std::string> mistakes;
    sqlite_store_options options;
    options.is_durable = false;
    const std::unique_ptr<store> kept = co_await open_sqlite_store(folder + "/tasks.db", options);
    const timestamp now = std::chrono::sys_days(std::chrono::year(2026) / 5 / 17) + 13h;
    task_filter everything;
    everything.limit = 1'000'000;
    const task_page listed = co_await kept->list(everything, now);
    std::map<task_id, task_record> found;
    std::set<std::string> payloads;
    for (const task_record& each : listed) {
        const auto detail = co_await kept->find(each.id);
        found[each.id] = detail->task;
        if (!payloads.insert(detail->task.payload).second) {
            mistakes.push_back("twice: " + detail->task.payload);
        }
    }
    for (const auto& [id, known] : happened.acknowledged) {
        const auto at = found.find(id);
        if (at == found.end()) {
            mistakes.push_back("lost: " + known.payload.substr(0, 20));
        } else if (at->second.payload != known.payload || at->second.run < known.run ||
                   (known.state != task_state::pending && at->second.state != known.state)) {
            mistakes.push_back("changed: " + known.payload.substr(0, 20) + " has " +
                               describe(at->second));
        }
    }
    if (!found.empty()) {
        std::vector<new_task> again{bench::make()};
        again[0].kind = found.begin()->second.kind;
        again[0].is_remote = found.begin()->second.is_remote;
        again[0].payload = found.begin()->second.payload;
        again[0].flow_key = found.begin()->second.flow_key;
        again[0].idempotency_key = found.begin()->second.idempotency_key;
        const auto answers = co_await kept->submit(again, now);
        if (answers[0].id != found.begin()->first) {
            mistakes.push_back("made again: " + again[0].payload.substr(0, 20));
        }
    }
    co_await kept->close();
    if (are_tables_checked) {
        co_await inspect_sqlite(folder);
    }
    co_return mistakes;
}

task<std::vector<std::string>> mistakes_or_error(const failure& happened, std::string folder,
                                                 bool are_tables_checked) {
    std::vector<std::string> mistakes;
    try {
        power_loss::write_image(happened.image, folder);
        mistakes = co_await mistakes_after(happened, folder, are_tables_checked);
    } catch (const std::exception& error) {
        mistakes.push_back(error.what());
    }
    for (std::string& each : mistakes) {
        each += ", at step " + std::to_string(happened.step);
    }
    co_return mistakes;
}

// ---- rounds: a store of its own, some failures each

struct result {
    unsigned failures = 0;
    std::size_t acknowledged = 0;  // tasks that the failures could have lost
    std::vector<std::string> mistakes;
};

task<> play_round(unsigned seed, unsigned failures, bool forgets_the_log, result& all) {
    weir_test::temporary_folder folder;
    ledger books;
    failure_source source(seed, books);
    disk below(folder.path() / "disk", [&source](disk& on) { source(on); });
    if (forgets_the_log) {
        below.ignore_syncs_of_the_log();
    }
    std::filesystem::create_directories(folder.path() / "disk");
    sqlite_store_options options;
    options.checkpoint_pages = 20 + seed % 100;
    const std::unique_ptr<store> kept =
        co_await open_sqlite_store((folder / "disk/tasks.db").string(), options);
    clients load(*kept, books, seed);
    co_await load.begin();
    const std::string after = (folder / "after").string();
    for (unsigned seen = 0; seen < failures && all.mistakes.empty();) {
        co_await weir::gather(load.work(3), load.work(3), load.work(3));
        for (const failure& each : source.take()) {
            ++seen;
            ++all.failures;
            all.acknowledged += each.acknowledged.size();
            const auto mistakes = co_await mistakes_or_error(each, after, !forgets_the_log);
            for (const std::string& mistake : mistakes) {
                all.mistakes.push_back("seed " + std::to_string(seed) + ": " + mistake);
            }
        }
    }
    co_await kept->close();
}

result play(unsigned failures, bool forgets_the_log) {
    const char* const setting = std::getenv("WEIR_SEED");
    unsigned seed = setting != nullptr ? static_cast<unsigned>(std::atoi(setting)) : 1;
    result all;
    auto rounds = [&]() -> task<> {
        while (all.failures < failures && all.mistakes.empty()) {
            co_await play_round(seed++, std::min(50U, failures - all.failures), forgets_the_log,
                                all);
        }
    };
    weir::run(rounds());
    return all;
}

TEST(StorePowerLoss, WhatWasAcknowledgedIsThereOnce) {
    const result all = play(std::getenv("WEIR_STRESS") != nullptr ? 10'000 : 250, false);
    for (const std::string& each : all.mistakes) {
        ADD_FAILURE() << each;
    }
    EXPECT_GT(all.acknowledged, 10U * all.failures);
}

TEST(StorePowerLoss, AMissingSyncIsFound) {
    const result all = play(100, true);
    EXPECT_FALSE(all.mistakes.empty()) << "the test would not find a store that loses tasks";
    EXPECT_LE(all.failures, 100U);
}

}  // namespace power_loss_test
