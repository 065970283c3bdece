// SPDX-License-Identifier: MIT
// Each operation is one function on the tables.

#include "service/store/memory/memory_tables.hpp"
#include "service/store/memory/memory_workflows.hpp"
#include "service/store/store_texts.hpp"

#include <weir/service/memory_store.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace weir::service {

namespace {

constexpr std::size_t purged_per_round = 1000;
constexpr std::chrono::seconds min_node_retention = std::chrono::hours(24);

hold make_hold(hold::reason why, std::optional<timestamp> until = {}, std::string detail = {}) {
    hold result;
    result.why = why;
    result.until = until;
    result.detail = std::move(detail);
    return result;
}

}  // namespace

memory_store::memory_store(clock::duration latency, std::size_t max_queues)
    : tables_(std::make_unique<tables>(max_queues)),
      workflows_(std::make_unique<workflow_calls>(*this)),
      latency_(latency) {}
memory_store::~memory_store() = default;

void memory_store::on_call(std::function<store_fault(store_call)> decide) {
    decide_ = std::move(decide);
}

void memory_store::observe(store_observer* observer) noexcept {
    observer_ = observer;
}

void memory_store::notify_observer() {
    const std::vector<task_event> events = tables_->tasks.take_events();
    const std::vector<std::string> queues = std::exchange(tables_->changed_queues, {});
    if (observer_ == nullptr) {
        return;
    }
    if (!events.empty()) {
        observer_->changed(events);
    }
    for (const std::string& each : queues) {
        observer_->queue_changed(each);
    }
}

// ---- submitting

task<std::vector<submit_result>> memory_store::submit(std::vector<new_task> batch, moment now) {
    return perform(store_call::submit, [batch = std::move(batch), now](tables& in) {
        std::vector<submit_result> results;
        results.reserve(batch.size());
        for (const new_task& each : batch) {
            results.push_back(in.tasks.add(each, now));
        }
        return results;
    });
}

// ---- running

task<claimed> memory_store::claim(claim_request request) {
    return perform(store_call::claim, [node = std::string(request.node), now = request.now,
                                       limit = request.limit](tables& in) {
        claimed result;
        if (!in.nodes.has_lease(node, now.steady)) {
            return result;
        }
        in.graph.work(in.tasks, now);
        in.queues.wake(now);
        while (result.tasks.size() < limit) {
            detail::memory_task* const next = in.queues.next({}, now.steady);
            if (next == nullptr) {
                break;
            }
            if (in.tasks.end_if_expired(*next, now)) {
                continue;
            }
            in.tasks.start(*next, node, now);
            in.queues.started({}, next->record, now.steady);
            result.tasks.push_back(next->record);
        }
        result.next_at = in.queues.next_at({}, now);
        return result;
    });
}

task<std::vector<run_key>> memory_store::running_on(std::string_view node) {
    return perform(store_call::running_on, [node = std::string(node)](tables& in) {
        std::vector<run_key> found;
        for (const auto& [id, each] : in.tasks.all()) {
            if (each.record.state == task_state::running && each.record.node == node) {
                found.push_back({id, each.record.run});
            }
        }
        return found;
    });
}

task<std::vector<bool>> memory_store::settle(std::string_view node, std::vector<settlement> ended,
                                             moment now) {
    return perform(store_call::settle,
                   [node = std::string(node), ended = std::move(ended), now](tables& in) {
                       std::vector<bool> written;
                       written.reserve(ended.size());
                       for (const settlement& each : ended) {
                           detail::memory_task* const found = in.tasks.find_running(node, each.key);
                           written.push_back(found != nullptr);
                           if (found != nullptr) {
                               in.tasks.settle(*found, each, now);
                           }
                       }
                       return written;
                   });
}

task<> memory_store::note_progress(std::string_view node, std::vector<progress_note> notes,
                                   timestamp now) {
    return perform(store_call::note_progress,
                   [node = std::string(node), notes = std::move(notes), now](tables& in) {
                       for (const progress_note& each : notes) {
                           in.tasks.note_progress(node, each, now);
                       }
                   });
}

task<step_answer> memory_store::keep_step(std::string_view node, run_key key, step_record step) {
    return perform(store_call::keep_step,
                   [node = std::string(node), key, step = std::move(step)](tables& in) {
                       return in.tasks.keep_step(node, key, step);
                   });
}

// ---- nodes

task<heartbeat_answer> memory_store::heartbeat(node_record node, moment now) {
    return perform(store_call::heartbeat, [node = std::move(node), now](tables& in) {
        heartbeat_answer answer = in.nodes.beat(node, now.steady);
        if (!answer.is_alive) {
            return answer;
        }
        for (const auto& [id, each] : in.tasks.all()) {
            const task_record& record = each.record;
            if (record.state == task_state::running && record.is_cancelling &&
                record.node == node.id) {
                answer.cancelling.push_back({id, record.run});
            }
        }
        return answer;
    });
}

task<std::vector<node_record>> memory_store::nodes() {
    return perform(store_call::nodes, [](tables& in) { return in.nodes.with_lease(); });
}

task<> memory_store::retire(std::string_view node) {
    return perform(store_call::retire,
                   [node = std::string(node)](tables& in) { in.nodes.retire(node); });
}

task<rescue_result> memory_store::rescue(moment now, std::uint32_t max_crashes) {
    return perform(store_call::rescue, [now, max_crashes](tables& in) {
        rescue_result result;
        for (auto& [id, each] : in.tasks.all()) {
            const task_record& record = each.record;
            if (record.state != task_state::running ||
                in.nodes.has_lease(record.node, now.steady)) {
                continue;
            }
            in.tasks.add_attempt(each, attempt_end::crashed, detail::crash_error, now.at);
            in.tasks.change(each, now, detail::crash_error, [&](task_record& crashed) {
                ++crashed.crashes;
                crashed.error = detail::crash_error;
                if (crashed.is_cancelling) {
                    in.tasks.set_state(crashed, task_state::cancelled, now.at);
                    ++result.cancelled;
                } else if (crashed.crashes >= max_crashes) {
                    crashed.error = detail::crash_limit_error(crashed.crashes);
                    in.tasks.set_state(crashed, task_state::failed, now.at);
                    ++result.failed;
                    result.failed_tasks.push_back(crashed.id);
                } else {
                    crashed.due_at = now.at;
                    each.delayed_until.reset();
                    in.tasks.set_state(crashed, task_state::pending, now.at);
                    ++result.returned;
                }
            });
        }
        in.nodes.end_expired(now.steady);
        in.graph.work(in.tasks, now);
        return result;
    });
}

// ---- workers

task<bool> memory_store::add_worker(worker_record worker, moment now) {
    return perform(store_call::add_worker, [worker = std::move(worker), now](tables& in) {
        return in.workers.add(worker, now);
    });
}

task<std::vector<worker_answer>> memory_store::renew_workers(std::vector<worker_beat> beats,
                                                             moment now) {
    return perform(store_call::renew_workers, [beats = std::move(beats), now](tables& in) {
        std::vector<worker_answer> answers;
        for (const worker_beat& each : beats) {
            answers.push_back(in.workers.renew(each, now));
        }
        return answers;
    });
}

task<worker_claims> memory_store::claim_for_workers(std::vector<worker_claim> polls, moment now) {
    return perform(store_call::claim_for_workers, [polls = std::move(polls), now](tables& in) {
        in.graph.work(in.tasks, now);
        return in.workers.claim(polls, now);
    });
}

task<std::vector<settle_answer>> memory_store::settle_for_worker(std::string_view worker,
                                                                 std::vector<settlement> ended,
                                                                 moment now) {
    return perform(store_call::settle_for_worker,
                   [worker = std::string(worker), ended = std::move(ended), now](tables& in) {
                       std::vector<settle_answer> answers;
                       for (const settlement& each : ended) {
                           answers.push_back(in.workers.settle(worker, each, now));
                       }
                       return answers;
                   });
}

task<std::vector<std::optional<task_record>>> memory_store::runs_of_worker(
    std::string_view worker, std::vector<run_key> runs) {
    return perform(store_call::runs_of_worker,
                   [worker = std::string(worker), runs = std::move(runs)](tables& in) {
                       return in.workers.runs(worker, runs);
                   });
}

task<bool> memory_store::drain_worker(std::string_view worker, moment now) {
    return perform(store_call::drain_worker, [worker = std::string(worker), now](tables& in) {
        return in.workers.drain(worker, now.steady);
    });
}

task<bool> memory_store::remove_worker(std::string_view worker, moment now) {
    return perform(store_call::remove_worker, [worker = std::string(worker), now](tables& in) {
        return in.workers.remove(worker, now);
    });
}

task<std::vector<worker_status>> memory_store::workers() {
    return perform(store_call::workers, [](tables& in) { return in.workers.list(); });
}

task<std::vector<worker_kind>> memory_store::worker_kinds(moment now) {
    return perform(store_call::worker_kinds,
                   [now](tables& in) { return in.workers.kinds(now.steady); });
}

task<bool> memory_store::forget_worker_kind(std::string_view kind) {
    return perform(store_call::forget_worker_kind,
                   [kind = std::string(kind)](tables& in) { return in.workers.forget_kind(kind); });
}

// ---- requests of clients

task<std::optional<task_detail>> memory_store::find(task_id id) {
    return perform(store_call::find, [id](tables& in) {
        std::optional<task_detail> result;
        if (const detail::memory_task* const found = in.tasks.find(id)) {
            result.emplace();
            result->task = found->record;
            result->attempts = found->attempts;
            result->callbacks = in.tasks.follow_ups(id);
            result->children = in.graph.children(id, 100);
        }
        return result;
    });
}

task<task_page> memory_store::list(task_filter filter, timestamp now) {
    return perform(store_call::list, [filter = std::move(filter), now](tables& in) {
        return in.tasks.list(filter, now);
    });
}

task<std::vector<hold>> memory_store::why(task_id id, moment now) {
    return perform(store_call::why, [id, now](tables& in) {
        std::vector<hold> holds;
        detail::memory_task* const found = in.tasks.find(id);
        if (found == nullptr) {
            return holds;
        }
        const task_record& record = found->record;
        if (record.state != task_state::pending) {
            holds.push_back(make_hold(record.state == task_state::running
                                          ? hold::reason::running
                                          : hold::reason::finished));
            return holds;
        }
        in.graph.add_unmet(record, holds);
        for (hold& each : in.queues.holds(record, now)) {
            holds.push_back(std::move(each));
        }
        if (record.is_remote) {
            in.workers.add_holds(record, now.steady, holds);
        }
        const timestamp due_at =
            found->delayed_until ? now.calendar_of(*found->delayed_until) : record.due_at;
        if (due_at > now.at) {
            holds.insert(holds.begin(), make_hold(record.held_by.empty() ? hold::reason::not_due
                                                                         : hold::reason::postponed,
                                                  due_at, record.held_by));
        }
        if (holds.empty()) {
            holds.push_back(make_hold(hold::reason::its_turn));
        }
        return holds;
    });
}

task<change_result> memory_store::cancel(task_id id, moment now) {
    return perform(store_call::cancel, [id, now](tables& in) { return in.tasks.cancel(id, now); });
}

task<change_result> memory_store::retry(task_id id, moment now) {
    return perform(store_call::retry, [id, now](tables& in) { return in.tasks.retry(id, now); });
}

task<std::size_t> memory_store::redrive(task_filter filter, moment now) {
    return perform(store_call::redrive, [filter = std::move(filter), now](tables& in) {
        if (filter.state.value_or(task_state::failed) != task_state::failed) {
            return std::size_t{0};
        }
        task_filter failed = filter;
        failed.state = task_state::failed;
        failed.limit = in.tasks.all().size();
        std::vector<task_record> found = in.tasks.list(failed, now.at);
        std::ranges::sort(found, {}, [](const task_record& each) {
            return std::pair(each.finished_at, each.id);
        });
        std::size_t count = 0;
        for (const task_record& each : found) {
            const bool is_wanted = count < filter.limit;
            count +=
                is_wanted && in.tasks.run_again(*in.tasks.find(each.id), now) == change_result::done
                    ? 1
                    : 0;
        }
        return count;
    });
}

task<change_result> memory_store::remove_task(task_id id, moment now) {
    return perform(store_call::remove_task,
                   [id, now](tables& in) { return in.tasks.remove_ended(id, now.at); });
}

task<std::vector<change_result>> memory_store::change_tasks(bulk_change change, moment now) {
    return perform(store_call::change_tasks, [change = std::move(change), now](tables& in) {
        return in.tasks.change_all(change, now);
    });
}

task<change_result> memory_store::edit(task_id id, task_edit edit, moment now) {
    return perform(store_call::edit, [id, edit = std::move(edit), now](tables& in) {
        return in.tasks.edit(id, edit, now);
    });
}

// ---- queues and schedules

task<std::vector<queue_record>> memory_store::queues() {
    return perform(store_call::queues, [](tables& in) { return in.queues.records(); });
}

task<std::vector<due_queue>> memory_store::oldest_due(moment now) {
    return perform(store_call::oldest_due, [now](tables& in) { return in.queues.oldest_due(now); });
}

task<> memory_store::pause(std::string_view queue, bool is_paused) {
    return perform(store_call::pause, [queue = std::string(queue), is_paused](tables& in) {
        in.queues.checked_record(queue).is_paused = is_paused;
        in.changed_queues.push_back(queue);
    });
}

task<> memory_store::limit(std::string_view queue, queue_limits limits) {
    return perform(store_call::limit, [queue = std::string(queue), limits](tables& in) {
        in.queues.checked_record(queue).limits = limits;
        in.changed_queues.push_back(queue);
    });
}

task<key_settings> memory_store::change_key(std::string_view queue, std::string_view key,
                                            key_change change, moment now) {
    return perform(store_call::change_key, [queue = std::string(queue), key = std::string(key),
                                            change, now](tables& in) {
        const key_settings changed = in.queues.change_key(queue, key, change, now.at);
        in.changed_queues.push_back(queue);
        return changed;
    });
}

task<std::vector<key_record>> memory_store::keys(std::string_view queue, key_query query) {
    return perform(store_call::keys, [queue = std::string(queue), query = std::move(query)](
                                         tables& in) { return in.queues.keys(queue, query); });
}

task<> memory_store::limit_destinations(std::string_view kind, destination_limits limits) {
    return perform(store_call::limit_destinations, [kind = std::string(kind), limits](tables& in) {
        in.queues.destinations().limit(kind, limits);
    });
}

task<std::vector<destination_record>> memory_store::destinations(std::size_t limit, timestamp now) {
    return perform(store_call::destinations, [limit, now](tables& in) {
        return in.queues.destinations().records(limit, now);
    });
}

task<std::vector<endpoint_record>> memory_store::disabled_endpoints() {
    return perform(store_call::disabled_endpoints,
                   [](tables& in) { return in.queues.destinations().disabled(); });
}

task<bool> memory_store::enable_endpoint(std::string_view kind, std::string_view name) {
    return perform(store_call::enable_endpoint,
                   [kind = std::string(kind), name = std::string(name)](tables& in) {
                       return in.queues.destinations().enable(kind, name);
                   });
}

task<queue_removal> memory_store::remove_queue(std::string_view queue, bool with_pending) {
    return perform(store_call::remove_queue,
                   [queue = std::string(queue), with_pending](tables& in) {
                       queue_removal result;
                       const std::optional<queue_record> found = in.queues.find(queue);
                       if (!found) {
                           return result;
                       }
                       result.pending = found->count(task_state::pending);
                       result.running = found->count(task_state::running);
                       result.what = queue_removal::verdict::has_tasks;
                       if (result.running == 0 && (result.pending == 0 || with_pending)) {
                           result.what = queue_removal::verdict::removed;
                           result.tasks = in.tasks.remove_all(queue);
                           in.queues.forget(queue);
                           in.changed_queues.push_back(queue);
                       }
                       return result;
                   });
}

task<> memory_store::put_schedule(schedule plan, timestamp next_slot) {
    return perform(store_call::put_schedule, [plan = std::move(plan), next_slot](tables& in) {
        in.schedules.put(plan, next_slot);
    });
}

task<bool> memory_store::remove_schedule(std::string_view name) {
    return perform(store_call::remove_schedule,
                   [name = std::string(name)](tables& in) { return in.schedules.remove(name); });
}

task<std::vector<schedule_record>> memory_store::schedules() {
    return perform(store_call::schedules, [](tables& in) { return in.schedules.records(); });
}

task<std::optional<submit_result>> memory_store::fire(std::string_view name, timestamp slot,
                                                      timestamp next_slot,
                                                      std::optional<new_task> task, moment now) {
    return perform(store_call::fire,
                   [name = std::string(name), slot, next_slot, task = std::move(task), now](
                       tables& in) { return in.schedules.fire(name, slot, next_slot, task, now); });
}

task<std::optional<submit_result>> memory_store::run_schedule(std::string_view name, new_task task,
                                                              moment now) {
    return perform(store_call::run_schedule,
                   [name = std::string(name), task = std::move(task), now](tables& in) {
                       return in.schedules.run(name, task, now);
                   });
}

task<bool> memory_store::pause_schedule(std::string_view name, bool is_paused,
                                        timestamp next_slot) {
    return perform(store_call::pause_schedule,
                   [name = std::string(name), is_paused, next_slot](tables& in) {
                       return in.schedules.pause(name, is_paused, next_slot);
                   });
}

// ---- maintenance

task<std::size_t> memory_store::expire(moment now) {
    return perform(store_call::expire, [now](tables& in) { return in.tasks.end_expired(now); });
}

task<std::size_t> memory_store::purge(retention kept, moment now) {
    return perform(store_call::purge, [kept, now](tables& in) {
        const std::size_t removed = in.tasks.purge(kept, now.at, purged_per_round);
        in.queues.purge(now.at - kept.queues, now);
        in.purge_nodes(std::max({min_node_retention, kept.completed, kept.failed, kept.cancelled}),
                       now.at);
        return removed;
    });
}

void memory_store::tables::purge_nodes(std::chrono::seconds age, timestamp now) {
    std::set<std::string> busy;
    for (const auto& [id, each] : tasks.all()) {
        if (each.record.state == task_state::running) {
            busy.insert(each.record.node);
        }
    }
    nodes.purge(busy, age, now);
    workers.purge();
}

task<> memory_store::probe(moment) {
    return perform(store_call::probe, [](tables&) {});
}

workflow_store& memory_store::workflows() noexcept {
    return *workflows_;
}

task<> memory_store::close() {
    co_return;
}

}  // namespace weir::service
