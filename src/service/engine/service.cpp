// SPDX-License-Identifier: MIT
// What users of a service call: checks what is asked, asks the store, and wakes what has to act on
// it.

#include "service/engine/core.hpp"

#include <weir/error.hpp>
#include <weir/flow/bad_option.hpp>
#include <weir/http/json.hpp>

#include <algorithm>

namespace weir::service {

namespace {

constexpr std::size_t longest_kind = 100;

const service_options& checked(const service_options& given) {
    using weir::detail::throw_bad_option;
    const auto positive = [](std::string_view option, clock::duration value) {
        if (value <= clock::duration::zero()) {
            throw_bad_option("service", option, value, "it must be more than 0");
        }
    };
    if (given.workers == 0) {
        throw_bad_option("service", "workers", 0, "it must be 1 or more");
    }
    if (given.claim_batch == 0) {
        throw_bad_option("service", "claim_batch", 0, "it must be 1 or more");
    }
    if (given.max_crashes == 0) {
        throw_bad_option("service", "max_crashes", 0, "it must be 1 or more");
    }
    if (given.max_result_bytes < 4) {
        throw_bad_option("service", "max_result_bytes", given.max_result_bytes,
                         "it must be 4 or more: the least result is null");
    }
    positive("default_timeout", given.default_timeout);
    positive("lease", given.lease);
    positive("heartbeat", given.heartbeat);
    positive("poll", given.poll);
    positive("store_timeout", given.store_timeout);
    if (given.heartbeat > given.lease / 3) {
        throw_bad_option("service", "heartbeat", given.heartbeat,
                         "it must be a third of the lease at most");
    }
    if (given.drain_limit < clock::duration::zero()) {
        throw_bad_option("service", "drain_limit", given.drain_limit, "it must be 0 or more");
    }
    return given;
}

}  // namespace

service::core::core(store& with, const service_options& given)
    : kept(with), options(checked(given)) {}

void service::core::check_handled(const new_task& asked) const {
    const auto found = handlers.find(asked.kind);
    if (found == handlers.end()) {
        throw_unknown(asked.kind);
    }
    if (!found->second.accepts) {
        return;
    }
    try {
        found->second.accepts(http::parse_json(asked.payload));
    } catch (const permanent_failure& error) {
        throw invalid_argument(std::string("task: payload: ") + error.what());
    }
}

void service::core::throw_unknown(std::string_view kind) const {
    std::vector<std::string_view> known;
    for (const auto& each : handlers) {
        known.push_back(each.first);
    }
    std::ranges::sort(known);
    std::string what = "there is no handler for '";
    what += kind;
    what += known.empty() ? "'; there are none" : "'; there are:";
    for (const std::string_view each : known) {
        what += ' ';
        what += each;
    }
    throw unknown_kind(what);
}

void service::core::check_new(const new_task& asked) const {
    weir::service::check(asked);
    check_handled(asked);
}

service::service(store& with, const service_options& options)
    : core_(std::make_unique<core>(with, options)) {}
service::~service() = default;

service& service::handle(std::string kind, handler run, payload_check accepts) {
    if (kind.empty() || kind.size() > longest_kind) {
        throw invalid_argument("service::handle: the kind is '" + kind.substr(0, longest_kind) +
                               "'; it must have 1 to " + std::to_string(longest_kind) + " bytes");
    }
    if (!run) {
        throw invalid_argument("service::handle: the handler of '" + kind + "' is empty");
    }
    const auto [known, is_new] = core_->handlers.try_emplace(
        std::move(kind), detail::known_handler{std::move(run), std::move(accepts)});
    if (!is_new) {
        throw invalid_argument("service::handle: '" + known->first + "' has a handler already");
    }
    return *this;
}

std::vector<std::string> service::kinds() const {
    std::vector<std::string> all;
    for (const auto& each : core_->handlers) {
        all.push_back(each.first);
    }
    std::ranges::sort(all);
    return all;
}

void service::check(const new_task& asked) const {
    core_->check_new(asked);
}

task<> service::run() {
    return core_->run();
}

// ---- tasks
// ---------------------------------------------------------------------------------------------

task<submit_result> service::submit(new_task asked) {
    std::vector<new_task> one;
    one.push_back(std::move(asked));
    const std::vector<submit_result> results = co_await submit(std::move(one));
    co_return results.at(0);
}

task<std::vector<submit_result>> service::submit(std::vector<new_task> asked) {
    const timestamp at = now();
    timestamp first = timestamp::max();
    for (const new_task& each : asked) {
        core_->check_new(each);
        first = std::min(first, each.run_at.value_or(at));
    }
    std::vector<submit_result> results =
        co_await core_->ask(core_->kept.submit(std::move(asked), at), core::proof::store_works);
    const auto made =
        std::ranges::count(results, submit_result::verdict::made, &submit_result::what);
    core_->counts.submitted += static_cast<std::uint64_t>(made);
    if (made > 0) {
        core_->look_for_tasks_at(first);
    }
    co_return results;
}

task<std::optional<task_detail>> service::find(task_id id) {
    return core_->ask(core_->kept.find(id));
}

task<std::vector<task_record>> service::list(task_filter filter) {
    return core_->ask(core_->kept.list(std::move(filter), now()));
}

task<std::vector<hold>> service::why(task_id id) {
    std::vector<hold> holds = co_await core_->ask(core_->kept.why(id, now()));
    const auto waits_for_us = std::ranges::find(holds, hold::reason::its_turn, &hold::why);
    if (waits_for_us == holds.end()) {
        co_return holds;
    }
    const std::optional<task_detail> found = co_await find(id);
    hold reason;
    if (found.has_value() && !core_->handlers.contains(found->task.kind)) {
        reason.why = hold::reason::no_handler;
        reason.detail = found->task.kind;
    } else if (core_->is_draining) {
        reason.why = hold::reason::draining;
    } else if (!core_->has_free_workers()) {
        reason.why = hold::reason::workers_busy;
    } else {
        co_return holds;
    }
    *waits_for_us = std::move(reason);
    co_return holds;
}

task<change_result> service::cancel(task_id id) {
    const change_result result =
        co_await core_->ask(core_->kept.cancel(id, now()), core::proof::store_works);
    if (result == change_result::requested) {
        core_->stop_cancelled(id);
    }
    co_return result;
}

task<change_result> service::retry(task_id id) {
    const change_result result =
        co_await core_->ask(core_->kept.retry(id, now()), core::proof::store_works);
    core_->look_for_tasks();
    co_return result;
}

task<std::size_t> service::redrive(task_filter filter) {
    const std::size_t count = co_await core_->ask(core_->kept.redrive(std::move(filter), now()),
                                                  core::proof::store_works);
    core_->look_for_tasks();
    co_return count;
}

// ---- queues and schedules
// ------------------------------------------------------------------------------

task<std::vector<queue_record>> service::queues() {
    return core_->ask(core_->kept.queues());
}

task<> service::pause(std::string queue, bool is_paused) {
    co_await core_->ask(core_->kept.pause(queue, is_paused), core::proof::store_works);
    core_->look_for_tasks();
}

task<> service::limit(std::string queue, queue_limits limits) {
    weir::service::check(limits);
    co_await core_->ask(core_->kept.limit(queue, limits), core::proof::store_works);
    core_->look_for_tasks();
}

task<> service::put_schedule(schedule asked) {
    weir::service::check(asked);
    core_->check_handled(asked.task);
    if (!asked.task.idempotency_key.empty()) {
        throw invalid_argument("schedule: its task has the idempotency_key '" +
                               asked.task.idempotency_key +
                               "'; it must have none, or only its first slot would make one");
    }
    const timestamp next = cron::parse(asked.cron).next_after(now(), asked.zone);
    co_await core_->ask(core_->kept.put_schedule(std::move(asked), next), core::proof::store_works);
    core_->schedules_changed();
}

task<bool> service::remove_schedule(std::string name) {
    const bool was_there =
        co_await core_->ask(core_->kept.remove_schedule(name), core::proof::store_works);
    co_return was_there;
}

task<std::vector<schedule_record>> service::schedules() {
    return core_->ask(core_->kept.schedules());
}

// ---- itself
// --------------------------------------------------------------------------------------------

void service::observe(store_observer* by) noexcept {
    core_->kept.observe(by);
}

timestamp service::now() const {
    return core_->now();
}

service_stats service::stats() const noexcept {
    service_stats all = core_->counts;
    all.running = core_->running();
    all.is_draining = core_->is_draining;
    return all;
}

store& service::kept_in() noexcept {
    return core_->kept;
}

void service::write_metrics(metric_writer& to) const {
    const service_stats now = stats();
    const auto total = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        to.counter(name, help, {}, static_cast<double>(value));
    };
    total("weir_service_submitted_total", "Tasks submitted", now.submitted);
    total("weir_service_started_total", "Runs begun", now.started);
    total("weir_service_completed_total", "Tasks completed", now.completed);
    total("weir_service_failed_total", "Runs that failed or timed out", now.failed);
    total("weir_service_dead_total", "Tasks that will not be tried again", now.dead);
    total("weir_service_cancelled_total", "Tasks cancelled", now.cancelled);
    total("weir_service_rescued_total", "Tasks of nodes that are gone", now.rescued);
    total("weir_service_fenced_total", "Results that came too late", now.fenced);
    to.gauge("weir_service_running", "Tasks that run", {}, static_cast<double>(now.running));
    to.gauge("weir_service_workers", "Tasks that may run at a time", {},
             static_cast<double>(core_->options.workers));
    to.gauge("weir_service_draining", "1 while it ends", {}, now.is_draining ? 1 : 0);
    to.gauge("weir_service_store_up", "1 if the store can be used", {}, now.store_is_well ? 1 : 0);
}

}  // namespace weir::service
