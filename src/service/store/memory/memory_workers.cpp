// SPDX-License-Identifier: MIT
// A session has its lease as a node, and the rest here. Its runs are found by looking at all tasks:
// a store for tests has few.

#include "service/store/memory/memory_workers.hpp"

#include "service/store/store_texts.hpp"
#include "service/store/worker_rules.hpp"

#include <algorithm>
#include <tuple>

namespace weir::service::detail {

memory_workers::session* memory_workers::find(const std::string& worker, timestamp now) {
    const auto found = sessions_.find(worker);
    return found != sessions_.end() && nodes_.has_lease(worker, now) ? &found->second : nullptr;
}

std::vector<memory_task*> memory_workers::running(const std::string& worker) {
    std::vector<memory_task*> found;
    for (auto& [id, each] : tasks_.all()) {
        if (each.record.state == task_state::running && each.record.node == worker) {
            found.push_back(&each);
        }
    }
    return found;
}

bool memory_workers::add(const worker_record& worker, moment now) {
    if (nodes_.contains(worker.id)) {
        return false;
    }
    std::set<std::string> known = kinds_;
    known.insert(worker.kinds.begin(), worker.kinds.end());
    if (known.size() > std::max(kinds_.size(), max_worker_kinds)) {
        throw_too_many_worker_kinds();
    }
    kinds_ = std::move(known);
    nodes_.add(worker);
    session& added = sessions_[worker.id];
    static_cast<worker_record&>(added.status) = worker;
    added.status.heard_at = now.steady;
    return true;
}

worker_answer memory_workers::renew(const worker_beat& beat, moment now) {
    worker_answer answer;
    session* const found = find(beat.worker, now.steady);
    if (found == nullptr) {
        return answer;
    }
    answer.is_alive = true;
    answer.is_draining = found->status.is_draining;
    // Another one, sent later, has come before it: its list of runs is out of date.
    const bool is_overtaken = !nodes_.extend(beat.worker, beat.expires_at);
    const unlisted_runs rule(beat, is_overtaken, found->known_claim, found->beat_at, now.steady);
    found->status.heard_at = now.steady;
    found->status.free = beat.free;
    if (beat.polled_at.has_value()) {
        found->status.polled_at =
            std::max(found->status.polled_at.value_or(*beat.polled_at), *beat.polled_at);
    }
    for (const progress_note& each : beat.progress) {
        tasks_.note_progress(beat.worker, each, now.at);
    }
    for (const run_key& each : beat.running) {
        if (tasks_.find_running(beat.worker, each) == nullptr) {
            answer.lost.push_back(each);
        }
    }
    for (memory_task* const each : running(beat.worker)) {
        const run_key key{each->record.id, each->record.run};
        const bool is_listed = std::ranges::find(beat.running, key) != beat.running.end();
        if (!is_listed && rule.is_given_back(each->poll)) {
            give_back(*each, now);
            answer.given_back.push_back(key);
        } else if (each->record.is_cancelling) {
            answer.cancelling.push_back(key);
        }
    }
    if (rule.counts()) {
        found->beat_at = now.steady;
        found->known_claim = found->last_claim;
    }
    return answer;
}

// Without its node, so that a late result of this run is not taken for a repeat.
void memory_workers::give_back(memory_task& task, moment now) {
    settlement returned;
    returned.key = {task.record.id, task.record.run};
    returned.state = task_state::pending;
    returned.due_at = now.steady;
    returned.failures = task.record.failures;
    tasks_.settle(task, returned, now);
    task.record.node.clear();
}

worker_claims memory_workers::claim(std::span<const worker_claim> polls, moment now) {
    worker_claims result;
    for (const worker_claim& each : polls) {
        result.answers.push_back(claim(each, now));
        const worker_claim_answer& answer = result.answers.back();
        if (answer.what == worker_claim_answer::verdict::claimed &&
            answer.tasks.size() < each.free) {
            const auto next =
                queues_.next_at(queues_.scope_of(sessions_.at(each.worker).status), now);
            if (next.has_value()) {
                result.next_at = std::min(result.next_at.value_or(*next), *next);
            }
        }
    }
    return result;
}

worker_claim_answer memory_workers::claim(const worker_claim& poll, moment now) {
    using verdict = worker_claim_answer::verdict;
    worker_claim_answer answer;
    session* const found = find(poll.worker, now.steady);
    if (found == nullptr) {
        return answer;
    }
    if (poll.poll < found->last_poll) {
        answer.what = verdict::outdated;
        return answer;
    }
    if (poll.poll == found->last_claim) {
        answer.what = verdict::repeated;
        for (memory_task* const each : running(poll.worker)) {
            if (each->poll == poll.poll) {
                answer.tasks.push_back(each->record);
            }
        }
        return answer;
    }
    if (found->last_poll < poll.poll) {
        found->last_poll = poll.poll;
        found->status.heard_at = now.steady;
        found->status.polled_at = now.steady;
        found->status.free = poll.free;
    }
    if (found->status.is_draining) {
        answer.what = verdict::draining;
        return answer;
    }
    answer.what = verdict::claimed;
    if (poll.free > 0) {
        queues_.wake(now);
    }
    const claim_scope scope = queues_.scope_of(found->status);
    while (answer.tasks.size() < poll.free) {
        memory_task* const next = queues_.next(scope, now.steady);
        if (next == nullptr) {
            break;
        }
        if (tasks_.end_if_expired(*next, now)) {
            continue;
        }
        next->poll = poll.poll;
        tasks_.start(*next, poll.worker, now);
        queues_.started(scope, next->record, now.steady);
        answer.tasks.push_back(next->record);
    }
    if (!answer.tasks.empty()) {
        found->last_claim = poll.poll;
        found->status.free = poll.free - answer.tasks.size();
    }
    return answer;
}

settle_answer memory_workers::settle(const std::string& worker, const settlement& ended,
                                     moment now) {
    if (memory_task* const run = tasks_.find_running(worker, ended.key)) {
        tasks_.settle(*run, ended, now);
        return settle_answer::written;
    }
    const memory_task* const found = tasks_.find(ended.key.id);
    if (!sessions_.contains(worker) || found == nullptr ||
        found->record.state == task_state::running || found->record.node != worker ||
        found->record.run != ended.key.run) {
        return settle_answer::refused;
    }
    const bool has_crashed = std::ranges::any_of(found->attempts, [&](const attempt_record& each) {
        return each.run == ended.key.run && each.end == attempt_end::crashed;
    });
    const bool is_same =
        (found->record.state == task_state::completed) == (ended.state == task_state::completed);
    return has_crashed || !is_same ? settle_answer::refused : settle_answer::repeated;
}

std::vector<std::optional<task_record>> memory_workers::runs(const std::string& worker,
                                                             std::span<const run_key> keys) {
    std::vector<std::optional<task_record>> all;
    for (const run_key& each : keys) {
        std::optional<task_record>& added = all.emplace_back();
        if (const memory_task* const found = tasks_.find_running(worker, each)) {
            added = found->record;
            added->steps.clear();
            added->result.clear();
            if (added->secret.empty()) {
                added->payload = "null";
            }
        }
    }
    return all;
}

bool memory_workers::drain(const std::string& worker, timestamp now) {
    session* const found = find(worker, now);
    if (found != nullptr) {
        found->status.is_draining = true;
    }
    return found != nullptr;
}

bool memory_workers::remove(const std::string& worker, moment now) {
    if (find(worker, now.steady) == nullptr) {
        return false;
    }
    for (memory_task* const each : running(worker)) {
        give_back(*each, now);
    }
    nodes_.retire(worker);
    return true;
}

std::vector<worker_status> memory_workers::list() {
    std::vector<worker_status> all;
    for (const node_record& each : nodes_.with_lease()) {
        const auto found = sessions_.find(each.id);
        if (found == sessions_.end()) {
            continue;
        }
        worker_status& added = all.emplace_back(found->second.status);
        added.expires_at = each.expires_at;
        for (const memory_task* const run : running(each.id)) {
            worker_run& listed = added.runs.emplace_back();
            listed.key = {run->record.id, run->record.run};
            listed.kind = run->record.kind;
            listed.queue = run->record.queue;
            listed.started_at = run->record.started_at.value_or(timestamp());
            listed.is_cancelling = run->record.is_cancelling;
        }
    }
    std::ranges::sort(all, [](const worker_status& one, const worker_status& other) {
        return std::tie(one.started_at, one.id) < std::tie(other.started_at, other.id);
    });
    return all;
}

std::vector<worker_kind> memory_workers::kinds(timestamp now) const {
    std::set<std::string> names = kinds_;
    for (const std::string& each : queues_.pools()) {
        if (queues_.pool_counts(each) != std::pair<std::uint64_t, std::uint64_t>(0, 0)) {
            names.insert(each);
        }
    }
    std::vector<worker_kind> all;
    for (const std::string& each : names) {
        worker_kind& added = all.emplace_back();
        added.kind = each;
        added.is_known = kinds_.contains(each);
        std::tie(added.due, added.running) = queues_.pool_counts(each);
        for (const auto& [id, session] : sessions_) {
            added.workers +=
                nodes_.has_lease(id, now) && !session.status.is_draining &&
                        std::ranges::find(session.status.kinds, each) != session.status.kinds.end()
                    ? 1
                    : 0;
        }
    }
    return all;
}

void memory_workers::add_holds(const task_record& task, timestamp now,
                               std::vector<hold>& holds) const {
    std::vector<worker_status> takers;
    for (const auto& [id, each] : sessions_) {
        if (nodes_.has_lease(id, now) && takes(each.status, task.kind, task.queue)) {
            takers.push_back(each.status);
        }
    }
    if (const std::optional<hold::reason> why = reason_of(takers, now)) {
        hold& added = holds.emplace_back();
        added.why = *why;
        added.detail = task.kind;
    }
}

void memory_workers::purge() {
    std::erase_if(sessions_, [&](const auto& each) { return !nodes_.contains(each.first); });
}

}  // namespace weir::service::detail
