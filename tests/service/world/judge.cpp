// SPDX-License-Identifier: MIT
// Each change of the store is judged when it is committed, so the last notes show how a violation
// came about.

#include "judge.hpp"

#include <weir/time.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace weir::service::testing {

namespace {

// WEIR_WORLD_NOTES=n: so many.
std::size_t kept_notes() {
    static const char* const wanted = std::getenv("WEIR_WORLD_NOTES");
    return wanted == nullptr ? 80 : std::strtoull(wanted, nullptr, 10);
}
const std::string whole_queue = "*";

std::string run_text(task_id id, std::uint32_t run) {
    return id.text() + " run " + std::to_string(run);
}

}  // namespace

void judge::note(std::string line) {
    std::array<char, 32> at{};
    std::snprintf(at.data(), at.size(), "%10.3f  ",
                  std::chrono::duration<double>(weir::now().time_since_epoch()).count());
    notes_.push_back(at.data() + std::move(line));
    if (notes_.size() > kept_notes()) {
        notes_.pop_front();
    }
}

void judge::fail(std::string what) {
    if (!is_failed()) {
        note("VIOLATION: " + what);
        violation_ = std::move(what);
    }
}

void judge::add_to(verdict& result) const {
    result.violation = violation_;
    for (const std::string& each : notes_) {
        result.last_events += each + "\n";
    }
    result.tasks = made_;
    result.runs = started_;
    result.fingerprint = fingerprint_;
}

// ---- the store

void judge::changed(std::span<const task_event> events) noexcept {
    for (const task_event& each : events) {
        if (!is_failed()) {
            hear(each);
        }
    }
}

void judge::hear(const task_event& event) {
    entry& task = tasks_[event.id];
    if (task.is_known && task.view == event.view && task.run == event.run) {
        return;  // progress, or a change of when it is due
    }
    mix(static_cast<std::uint64_t>(event.id.number()) ^ event.run);
    mix(static_cast<std::uint64_t>(event.view));
    note("store: " + run_text(event.id, event.run) + " " + event.kind + " in " + event.queue +
         ": " + std::string(to_string(event.view)) +
         (event.message.empty() ? "" : " (" + event.message + ")"));
    if (!task.is_known) {
        ++made_;
        task.is_known = true;
        task.kind = event.kind;
        task.queue = event.queue;
        task.key = key_of(event.kind);
        task.view = event.view;
        if (event.kind.starts_with("tick") && !slots_.emplace(event.kind, event.due_at).second) {
            fail("a slot has made two tasks, the second is " + event.id.text());
        }
    }
    const task_view before = task.view;
    if (is_ended(before) && event.view != before) {
        if (before == task_view::completed || !task.is_retried || !is_pending(event.view)) {
            fail(run_text(event.id, event.run) + " had ended as " + std::string(to_string(before)) +
                 " and is " + std::string(to_string(event.view)) + " now");
        }
    }
    if (is_running(before) && !(is_running(event.view) && event.run == task.run)) {
        ended(task, event);
    }
    if (is_running(event.view) && !(is_running(before) && event.run == task.run)) {
        started(task, event);
    }
    task.view = event.view;
    task.run = event.run;
}

void judge::started(entry& task, const task_event& event) {
    if (event.run != task.run + 1 || !is_pending(task.view)) {
        fail(run_text(event.id, event.run) + " has started after run " + std::to_string(task.run) +
             ", which was " + std::string(to_string(task.view)));
    }
    task.started_at = task.started_at.value_or(event.at);
    const timestamp not_before =
        task.is_retried ? event.due_at : std::max(event.due_at, task.not_before);
    if (is_one_calendar_ && event.at < not_before) {
        fail(run_text(event.id, event.run) + " has started before it was due");
    }
    check_times(event.id, task);
    count(counted_, task, 1);
    task.limits_seen = limits_[task.queue].changes;
    check_limits(task, counted_, "are counted as running");
}

// Of its first start, which may come before its submit is acknowledged, or after.
void judge::check_times(task_id id, const entry& task) {
    if (!is_one_calendar_ || task.is_retried || !task.started_at.has_value()) {
        return;
    }
    if (*task.started_at < task.not_before) {
        fail("task " + id.text() + " has started before its time");
    }
    if (*task.started_at >= task.expires_at) {
        fail("task " + id.text() + " was begun though it had expired");
    }
}

void judge::ended(entry& task, const task_event& event) {
    count(counted_, task, -1);
    if (event.run != task.run) {
        fail(run_text(event.id, event.run) + " follows a run that has not ended");
    }
    if (task.view == task_view::cancelling && is_pending(event.view)) {
        fail(run_text(event.id, event.run) + " was cancelled, and will run again");
    }
    if (event.view == task_view::completed && !task.runs[event.run].has_succeeded) {
        fail(run_text(event.id, event.run) + " is completed, and its handler has not succeeded");
    }
    const auto active = active_.find({event.id, event.run});
    if (active != active_.end() && active->second.obeys) {
        fail(run_text(event.id, event.run) + " has ended in the store while its handler runs");
    }
}

void judge::set_limits(const std::string& queue, queue_limits limits) {
    known_limits& known = limits_[queue];
    known.limits = limits;
    ++known.changes;
    note("limits of " + queue + ": " + std::to_string(limits.max_running) + " running, " +
         std::to_string(limits.key_max_running) + " of a key");
}

void judge::count(std::map<place, std::size_t>& running, const entry& task, int change) {
    for (const std::string& key : {task.key, whole_queue}) {
        running[{task.queue, key}] += static_cast<std::size_t>(change);
    }
}

void judge::check_limits(const entry& task, const std::map<place, std::size_t>& running,
                         const std::string& which) {
    const queue_limits& most = limits_[task.queue].limits;
    const std::size_t in_queue = running.at({task.queue, whole_queue});
    if (most.max_running > 0 && in_queue > most.max_running) {
        fail(std::to_string(in_queue) + " tasks of queue " + task.queue + " " + which +
             ", and its limit is " + std::to_string(most.max_running));
    }
    const std::size_t of_key = running.at({task.queue, task.key});
    if (most.key_max_running > 0 && of_key > most.key_max_running) {
        fail(std::to_string(of_key) + " tasks of queue " + task.queue + " and key '" + task.key +
             "' " + which + ", and the limit is " + std::to_string(most.key_max_running));
    }
}

std::string judge::check_all(const std::vector<task_record>& tasks,
                             const std::vector<queue_record>& queues) {
    std::map<std::string, std::array<std::uint64_t, 5>> counts;
    std::map<std::string, task_id> keys;
    std::map<std::string, task_id> holders;
    std::set<task_id> present;
    for (const task_record& each : tasks) {
        present.insert(each.id);
        ++counts[each.queue][static_cast<std::size_t>(each.state)];
        const auto known = tasks_.find(each.id);
        if (known == tasks_.end() || state_of(known->second.view) != each.state ||
            known->second.run != each.run) {
            return "task " + each.id.text() + " is not as the store's events have told";
        }
        if (!each.idempotency_key.empty() && !keys.emplace(each.idempotency_key, each.id).second) {
            return "two tasks have the idempotency key " + each.idempotency_key;
        }
        if (!each.unique_key.empty() && !is_final(each.state) &&
            each.unique_for == unique_while::pending_or_running &&
            !holders.emplace(each.unique_key, each.id).second) {
            return "two tasks hold the unique key " + each.unique_key;
        }
    }
    for (const queue_record& each : queues) {
        if (each.counts != counts[each.name]) {
            return "the counts of queue " + each.name + " are not those of its tasks";
        }
    }
    for (const auto& [id, each] : tasks_) {
        if (each.is_known && !present.contains(id) && (!is_ended(each.view) || kept_ >= 24h)) {
            return "task " + id.text() + " is lost";
        }
    }
    std::erase_if(tasks_, [&](const auto& each) { return !present.contains(each.first); });
    return {};
}

std::optional<task_id> judge::unended() const noexcept {
    const auto found = std::ranges::find_if(tasks_, [](const auto& each) {
        return each.second.is_known && !is_ended(each.second.view);
    });
    return found == tasks_.end() ? std::nullopt : std::optional(found->first);
}

// ---- clients

void judge::submitted(const new_task& task, const submit_result& answer) {
    using verdict = submit_result::verdict;
    if (answer.what != verdict::made && answer.what != verdict::duplicate) {
        if (answer.what == verdict::conflict) {
            fail("a repeated submit is told to differ from the first");
        }
        return;
    }
    const auto found = tasks_.find(answer.id);
    if (found == tasks_.end() || !found->second.is_known) {
        fail("task " + answer.id.text() + " was acknowledged, and the store has not got it");
        return;
    }
    if (answer.what == verdict::made) {
        check_made(task, answer.id);
    }
    if (!task.idempotency_key.empty()) {
        task_id& first = idempotency_keys_.emplace(task.idempotency_key, answer.id).first->second;
        // Calendars are hours ahead, so that tasks that have ended may be removed at once, with
        // their keys.
        const bool may_be_gone = kept_ < 24h && is_ended(tasks_[first].view);
        if (first != answer.id && !(may_be_gone && answer.what == verdict::made)) {
            fail("the key " + task.idempotency_key + " has made " + first.text() + " and " +
                 answer.id.text());
        }
        first = answer.id;
    }
}

void judge::check_made(const new_task& task, task_id id) {
    entry& made = tasks_[id];
    made.not_before = task.run_at.value_or(timestamp());
    made.expires_at = task.expires_at.value_or(timestamp::max());
    check_times(id, made);
    if (!task.unique_key.empty() && task.unique_for == unique_while::pending_or_running) {
        // Answers come in any order, and ids grow.
        task_id& last = holders_[task.unique_key];
        const task_id before = std::min(last, id);
        last = std::max(last, id);
        const auto holder = tasks_.find(before);
        if (holder != tasks_.end() && before != last && !is_ended(holder->second.view) &&
            !holder->second.is_retried) {
            fail("the unique key " + task.unique_key + " has made " + last.text() + " while " +
                 before.text() + " held it");
        }
    }
}

void judge::cancel_answered(task_id id, change_result answer) {
    const auto found = tasks_.find(id);
    if (found == tasks_.end() || found->second.is_retried) {
        return;
    }
    const task_view view = found->second.view;
    if ((answer == change_result::done && !is_ended(view)) ||
        (answer == change_result::requested && is_pending(view))) {
        fail("the cancel of " + id.text() + " was acknowledged, and it is " +
             std::string(to_string(view)));
    }
}

task_id judge::any_task(dice& random) const {
    if (tasks_.empty()) {
        return {};
    }
    // Rather one of the latest: others have ended.
    auto chosen = tasks_.end();
    std::advance(chosen, -1 - static_cast<std::ptrdiff_t>(
                                  random.below(std::min<std::size_t>(tasks_.size(), 25))));
    return chosen->first;
}

// ---- runs

void judge::begin(std::size_t process, const task_record& task, bool obeys) {
    const run_key key{task.id, task.run};
    note("node " + std::to_string(process) + ": starts " + run_text(task.id, task.run));
    ++started_;
    entry& known = tasks_[task.id];
    run_info& run = known.runs[task.run];
    if (std::exchange(run.is_started, true)) {
        fail(run_text(task.id, task.run) + " was started twice");
    }
    if (!known.is_known || known.run < task.run) {
        fail(run_text(task.id, task.run) + " was started, and the store does not know of it");
        return;
    }
    if (obeys) {
        for (const auto& [other, active] : active_) {
            if (other.first == task.id && active.obeys) {
                fail(run_text(task.id, task.run) + " was started while run " +
                     std::to_string(other.second) + " runs on node " +
                     std::to_string(active.process));
            }
        }
        count(real_, known, 1);
    }
    active_[{key.id, key.run}] = active_run{process, obeys};
    // One that was claimed before its limits changed may get to its node late.
    if (obeys && known.limits_seen == limits_[known.queue].changes) {
        check_limits(known, real_, "really run");
    }
}

void judge::end(run_key key) {
    const auto found = active_.find({key.id, key.run});
    if (found != active_.end()) {
        if (found->second.obeys) {
            count(real_, tasks_[key.id], -1);
        }
        active_.erase(found);
    }
}

void judge::settled(run_key key, task_state state, bool is_written) {
    const auto found = tasks_.find(key.id);
    if (is_written && state == task_state::completed &&
        (found == tasks_.end() || found->second.view != task_view::completed)) {
        fail(run_text(key.id, key.run) + " was acknowledged as completed, and it is not");
    }
}

void judge::died(std::size_t process) {
    for (auto each = active_.begin(); each != active_.end();) {
        const auto current = each++;
        if (current->second.process == process) {
            end({current->first.first, current->first.second});
        }
    }
}

void judge::step_returned(task_id id, const std::string& result) {
    std::string& first = tasks_[id].step;
    if (first.empty()) {
        first = result;
    } else if (first != result) {
        fail("a step of " + id.text() + " has returned " + first + " and later " + result);
    }
}

}  // namespace weir::service::testing
