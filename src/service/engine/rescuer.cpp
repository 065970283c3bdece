// SPDX-License-Identifier: MIT
// Looks at the nodes in the store at every heartbeat interval. Tasks of a node whose lease has
// expired, or whose process ran on this machine and has ended, are rescued: they run again. The
// node must not rescue its own tasks: not while its lease may have expired, nor while an old lease
// has runs to settle.

#include "service/engine/rescuer.hpp"

#include "service/engine/failure_line.hpp"
#include "service/engine/node_identity.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration rescue_interval = 30s;  // also if no node seems to be dead
constexpr clock::duration max_settle_time = 1min;
}  // namespace

rescuer::rescuer(store_client& store, const wall_clock& time, const event_log& log,
                 lease_keeper& leases, claimer& claims, const runner& runs, settler& ends,
                 claim_trigger& trigger, task_metrics& metrics,
                 const service_options& options) noexcept
    : store_(store),
      time_(time),
      log_(log),
      leases_(leases),
      claims_(claims),
      runs_(runs),
      ends_(ends),
      trigger_(trigger),
      metrics_(metrics),
      options_(options) {}

task<> rescuer::run() {
    next_rescue_ = clock::time_point::min();
    for (;;) {
        if (leases_.is_confirmed()) {
            try {
                co_await retire_old_leases();
                co_await rescue_tasks();
            } catch (const std::exception&) {
                // The store_client has logged it if the store is unavailable.
            }
        }
        co_await leases_.wait_for_registration(weir::now() + options_.heartbeat);
    }
}

bool rescuer::has_unsettled(const lease& old) const noexcept {
    return claims_.has_lost_claims(old) || ends_.has_unsettled(old);
}

// A lease without work in flight is ended in the store, too: a late write then finds nothing.
task<> rescuer::retire_old_leases() {
    for (auto next = leases_.all().begin(); &*next != &leases_.current();) {
        const lease& old = *next++;
        if (claims_.is_claiming(old)) {
            continue;
        }
        if (claims_.has_lost_claims(old)) {
            co_await claims_.return_lost_claims(old);
        }
        if (runs_.running(old) == 0 && !has_unsettled(old)) {
            ends_.forget(old);
            co_await leases_.retire(old);
        }
    }
}

bool rescuer::may_rescue() const {
    const clock::duration registered_for = weir::now() - leases_.current().registered_at;
    for (const lease& each : leases_.all()) {
        if (&each == &leases_.current()) {
            continue;
        }
        // A handler may never end; a settlement that waits for the store is written soon.
        if ((has_unsettled(each) && registered_for < max_settle_time) ||
            (runs_.running(each) != 0 && registered_for < 3 * options_.store_timeout)) {
            return false;
        }
    }
    return leases_.is_valid();
}

task<> rescuer::rescue_tasks() {
    if (!may_rescue()) {
        co_return;
    }
    const bool is_needed = co_await has_dead_nodes();
    // That took time, in which this node may have lost its own lease.
    if (!(is_needed || weir::now() >= next_rescue_) || !may_rescue()) {
        co_return;
    }
    const rescue_result result =
        co_await store_.call(store_->rescue(time_.moment_now(), options_.max_crashes));
    next_rescue_ = weir::now() + rescue_interval;
    rescued_.returned += result.returned;
    rescued_.failed += result.failed;
    rescued_.cancelled += result.cancelled;
    const std::size_t count = result.returned + result.failed + result.cancelled;
    if (count > 0) {
        log_.write(log_level::warning,
                   "rescued " + std::to_string(count) + " tasks of dead nodes, of which " +
                       std::to_string(result.failed) + " have crashed too often");
        trigger_.claim_now();
    }
    co_await report_failures(result.failed_tasks);
}

task<> rescuer::report_failures(std::vector<task_id> failed) {
    for (const task_id id : failed) {
        std::optional<task_detail> found;
        try {
            found = co_await store_.call(store_->find(id));
        } catch (const db::error&) {
            // The line is shorter then.
        }
        if (found.has_value()) {
            const task_record& task = found->task;
            log_.write(log_level::warning,
                       failure_line(task, task.failures + task.crashes, task.error));
            ++metrics_.series_of(task).failed;
        } else {
            log_.write(log_level::warning,
                       "task " + id.text() + " has failed: it crashed too often");
        }
    }
}

// Also ends the leases of nodes whose process has ended.
task<bool> rescuer::has_dead_nodes() {
    const std::vector<node_record> nodes = co_await store_.call(store_->nodes());
    bool is_found = false;
    for (const node_record& each : nodes) {
        if (each.id == leases_.current().node()) {
            continue;
        }
        if (each.expires_at > time_.steady() && is_gone(each)) {
            log_.write(log_level::warning, "the process of node " + each.id + " has ended");
            co_await store_.call(store_->retire(each.id));
            is_found = true;
        }
        is_found = is_found || each.expires_at <= time_.steady();
    }
    co_return is_found;
}

void rescuer::add_to(service_stats& stats) const noexcept {
    stats.rescued += rescued_.returned + rescued_.failed + rescued_.cancelled;
    stats.dead += rescued_.failed;
    stats.cancelled += rescued_.cancelled;
}

}  // namespace weir::service::detail
