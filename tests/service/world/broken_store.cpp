// SPDX-License-Identifier: MIT
// The store below keeps all rules, so a bug is made of calls that it allows.

#include "broken_store.hpp"

#include <weir/time.hpp>

#include <utility>

namespace weir::service::testing {

task<task_page> broken_store::tasks_in(task_state state, moment now) {
    task_filter filter;
    filter.state = state;
    filter.limit = 1'000'000;
    return target().list(std::move(filter), now.at);
}

// ---- submitting

task<std::vector<submit_result>> broken_store::submit(std::vector<new_task> batch, moment now) {
    if (is(bug::submit_not_written) && ++calls_ % 50 == 0) {
        return submit_nothing(std::move(batch), now);
    }
    for (new_task& each : batch) {
        if (is(bug::idempotency_key_not_kept)) {
            each.idempotency_key.clear();
        }
        if (is(bug::unique_key_not_kept) && ++calls_ % 5 == 0) {
            each.unique_key.clear();
        }
        if (is(bug::delay_not_kept)) {
            each.run_at.reset();
        }
    }
    return target().submit(std::move(batch), now);
}

task<std::vector<submit_result>> broken_store::submit_nothing(std::vector<new_task> batch,
                                                              moment now) {
    std::vector<submit_result> answers(batch.size());
    for (submit_result& each : answers) {
        each.id = next_id(
            {}, std::chrono::floor<std::chrono::milliseconds>(now.at).time_since_epoch().count());
    }
    co_return answers;
}

// ---- running

task<claimed> broken_store::claim(claim_request request) {
    return is(bug::claim_beyond_limits) || is(bug::claim_given_twice) || is(bug::step_overwritten)
               ? claim_broken(request)
               : target().claim(request);
}

task<claimed> broken_store::claim_broken(claim_request request) {
    const std::string node(request.node);
    request.node = node;
    ++calls_;
    if (is(bug::claim_beyond_limits) && calls_ % 7 == 0) {
        const std::vector<queue_record> before = co_await target().queues();
        for (const queue_record& each : before) {
            co_await target().limit(each.name, {});
        }
        claimed found = co_await target().claim(request);
        for (const queue_record& each : before) {
            co_await target().limit(each.name, each.limits);
        }
        co_return found;
    }
    claimed found = co_await target().claim(request);
    if (is(bug::step_overwritten)) {
        for (task_record& each : found.tasks) {
            each.steps.clear();
        }
    }
    if (is(bug::claim_given_twice) && calls_ % 7 == 0 && found.tasks.size() < request.limit) {
        const task_page running = co_await tasks_in(task_state::running, request.now);
        for (const task_record& each : running) {
            if (!each.is_remote && each.node != node) {
                found.tasks.push_back(each);
                break;
            }
        }
    }
    co_return found;
}

task<> broken_store::remove_fence(settlement& ended, std::string& node) {
    const std::optional<task_detail> found = co_await target().find(ended.key.id);
    if (found.has_value() && found->task.state == task_state::running) {
        ended.key.run = found->task.run;
        node = found->task.node;
    }
}

task<std::vector<bool>> broken_store::settle(std::string_view node, std::vector<settlement> ended,
                                             moment now) {
    return is(bug::settle_without_fence) || is(bug::late_failure_reopens) ||
                   is(bug::settle_not_written)
               ? settle_broken(std::string(node), std::move(ended), now)
               : target().settle(node, std::move(ended), now);
}

task<std::vector<bool>> broken_store::settle_broken(std::string node, std::vector<settlement> ended,
                                                    moment now) {
    std::vector<bool> answers;
    for (settlement& each : ended) {
        if (is(bug::settle_not_written) && ++calls_ % 50 == 0) {
            answers.push_back(true);
            continue;
        }
        std::string owner = node;
        if (is(bug::settle_without_fence)) {
            co_await remove_fence(each, owner);
        }
        const task_id id = each.key.id;
        const bool is_failure = each.state == task_state::pending;
        std::vector<settlement> one;
        one.push_back(std::move(each));
        const std::vector<bool> written = co_await target().settle(owner, std::move(one), now);
        if (is(bug::late_failure_reopens) && !written.at(0) && is_failure) {
            co_await target().retry(id, now);
        }
        answers.push_back(written.at(0));
    }
    co_return answers;
}

task<step_answer> broken_store::keep_step(std::string_view node, run_key key, step_record step) {
    return is(bug::step_overwritten) ? overwrite_step(std::string(node), key, std::move(step))
                                     : target().keep_step(node, key, std::move(step));
}

// Claims return no steps, so each run does its steps anew; and so does the answer.
task<step_answer> broken_store::overwrite_step(std::string node, run_key key, step_record step) {
    const std::string own = step.result;
    step_answer answer = co_await target().keep_step(node, key, std::move(step));
    if (answer.what == step_answer::verdict::known) {
        answer.result = own;
    }
    co_return answer;
}

// ---- nodes

task<heartbeat_answer> broken_store::heartbeat(node_record node, moment now) {
    leases_[node.id] = node.expires_at;
    return target().heartbeat(std::move(node), now);
}

task<rescue_result> broken_store::rescue(moment now, std::uint32_t max_crashes) {
    switch (bug_) {
        case bug::rescue_of_live_nodes:
            now.steady += 6s;
            return target().rescue(now, max_crashes);
        case bug::heartbeat_shortens:
        case bug::rescue_leaks_a_slot:
        case bug::cancel_lost_at_rescue:
        case bug::rescue_does_nothing:
            return rescue_broken(now, max_crashes);
        default:
            return target().rescue(now, max_crashes);
    }
}

task<rescue_result> broken_store::rescue_broken(moment now, std::uint32_t max_crashes) {
    if (is(bug::rescue_does_nothing)) {
        co_return rescue_result();
    }
    if (is(bug::heartbeat_shortens)) {
        for (const auto& [node, expires_at] : leases_) {
            if (expires_at <= now.steady) {
                co_await target().retire(node);
            }
        }
    }
    const task_page before = co_await tasks_in(task_state::running, now);
    rescue_result result = co_await target().rescue(now, max_crashes);
    for (const task_record& each : before) {
        const std::optional<task_detail> after = co_await target().find(each.id);
        if (!after.has_value() || after->task.crashes == each.crashes) {
            continue;
        }
        if (is(bug::rescue_leaks_a_slot)) {
            ++leaked_[each.queue];
        }
        if (is(bug::cancel_lost_at_rescue) && after->task.state == task_state::cancelled) {
            co_await target().retry(each.id, now);
        }
    }
    co_return result;
}

task<std::vector<queue_record>> broken_store::queues() {
    return is(bug::rescue_leaks_a_slot) ? leaked_queues() : target().queues();
}

task<std::vector<queue_record>> broken_store::leaked_queues() {
    std::vector<queue_record> all = co_await target().queues();
    for (queue_record& each : all) {
        each.counts[static_cast<std::size_t>(task_state::running)] += leaked_[each.name];
    }
    co_return all;
}

// ---- workers

task<std::vector<worker_answer>> broken_store::renew_workers(std::vector<worker_beat> beats,
                                                             moment now) {
    if (is(bug::worker_lease_not_extended)) {
        for (worker_beat& each : beats) {
            each.expires_at = now.steady;
        }
    }
    return target().renew_workers(std::move(beats), now);
}

task<worker_claims> broken_store::claim_for_workers(std::vector<worker_claim> polls, moment now) {
    return is(bug::worker_claim_given_twice) ? claim_for_workers_twice(std::move(polls), now)
                                             : target().claim_for_workers(std::move(polls), now);
}

task<worker_claims> broken_store::claim_for_workers_twice(std::vector<worker_claim> polls,
                                                          moment now) {
    const std::string worker = polls.at(0).worker;
    worker_claims claims = co_await target().claim_for_workers(std::move(polls), now);
    worker_claim_answer& answer = claims.answers.at(0);
    if (answer.what == worker_claim_answer::verdict::claimed && ++calls_ % 7 == 0) {
        const task_page running = co_await tasks_in(task_state::running, now);
        for (const task_record& each : running) {
            if (each.is_remote && each.node != worker) {
                answer.tasks.push_back(each);
                break;
            }
        }
    }
    co_return claims;
}

// ---- schedules and upkeep

task<std::optional<submit_result>> broken_store::fire(std::string_view name, timestamp slot,
                                                      timestamp next_slot,
                                                      std::optional<new_task> task, moment now) {
    return is(bug::slot_fires_twice)
               ? fire_again(std::string(name), slot, next_slot, std::move(task), now)
               : target().fire(name, slot, next_slot, std::move(task), now);
}

task<std::optional<submit_result>> broken_store::fire_again(std::string name, timestamp slot,
                                                            timestamp next_slot,
                                                            std::optional<new_task> task,
                                                            moment now) {
    const std::optional<new_task> again = task;
    std::optional<submit_result> fired =
        co_await target().fire(name, slot, next_slot, std::move(task), now);
    if (!fired.has_value() && again.has_value()) {
        std::vector<new_task> batch(1, *again);
        const std::vector<submit_result> made = co_await target().submit(std::move(batch), now);
        fired = made.at(0);
    }
    co_return fired;
}

task<std::size_t> broken_store::purge(retention kept, moment now) {
    return is(bug::purge_of_pending_tasks) ? purge_pending(kept, now) : target().purge(kept, now);
}

task<std::size_t> broken_store::purge_pending(retention kept, moment now) {
    const task_page pending = co_await tasks_in(task_state::pending, now);
    if (!pending.empty()) {
        co_await target().cancel(pending.back().id, now);
        co_await target().remove_task(pending.back().id, now);
    }
    co_return co_await target().purge(kept, now);
}

}  // namespace weir::service::testing
