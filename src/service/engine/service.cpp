// SPDX-License-Identifier: MIT
// The service wires its components together and is the door to them. All live on one loop: between
// two awaits nothing else happens, so they need no locks.
//
//   handler_registry   which handler runs which kind
//   store_client       calls the store with a deadline
//   claim_trigger      tells the claimer that a task may be claimable
//   claimer            claims tasks for free workers       -> runner
//   runner             runs them with their handlers       -> settler, progress_writer, step_writer
//   settler            writes their ends to the store
//   progress_writer    writes their progress to the store
//   step_writer        keeps the results of their steps in the store
//   lease_keeper       sends heartbeats; on a lost lease   -> runner
//   rescuer            returns tasks of dead nodes, and retires old leases
//   scheduler          submits tasks of schedules
//   sweeper            removes tasks whose retention has expired
//   expirer            ends tasks that were not begun in time
//   hold_finder        why a task does not run
//   endpoint_list      which endpoints are gone: tasks for them fail without a run
//   operation_desk     changes all tasks that match a filter
//   store_workflows    submits tasks that come after others, and changes groups
//   task_metrics       counts runs and their ends, by queue and kind
//   tracer             makes spans of submits and runs
//   node_news          tells other processes on the store what happens here, and hears of theirs
//   worker_desk        hands tasks to workers over the API, and takes their results
//
// run() waits in the body of its group until it is stopped, and intercepts that stop, so that the
// components keep running. Then the service claims no more tasks and waits for its runs. Runs that
// take longer than drain_limit, or are still running at a second stop, are stopped and returned to
// the store. Only then the components end, the leases are released, and the stop takes effect.

#include "base/fiber_namer.hpp"
#include "service/engine/checked_options.hpp"
#include "service/engine/claimer.hpp"
#include "service/engine/destination_limits.hpp"
#include "service/engine/engine_news.hpp"
#include "service/engine/expirer.hpp"
#include "service/engine/hold_finder.hpp"
#include "service/engine/node_list.hpp"
#include "service/engine/observer_relay.hpp"
#include "service/engine/operation_desk.hpp"
#include "service/engine/rescuer.hpp"
#include "service/engine/scheduler.hpp"
#include "service/engine/stats_metrics.hpp"
#include "service/engine/store_workflows.hpp"
#include "service/engine/sweeper.hpp"
#include "service/workers/worker_desk.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/service/cron.hpp>
#include <weir/service/service.hpp>

#include <algorithm>
#include <tuple>

namespace weir::service {

using namespace std::chrono_literals;

namespace {

// A queue with a million tasks is removed in many steps.
constexpr clock::duration removal_limit = 10min;

}  // namespace

struct service::components {
    components(weir::service::store& target, const service_options& settings)
        : options(detail::checked_options(settings)), store(target, options.store_timeout, log) {
        workers.on_first_use([this] { observers.set_inner(&workers); });
        if (news.is_shared()) {
            claimer.set_news(news);
        }
    }

    const service_options options;
    const detail::event_log log{options.log};
    detail::wall_clock time{options.wall_clock};
    detail::store_client store;
    detail::handler_registry handlers{options.remote_kinds};
    detail::task_metrics metrics{handlers};
    detail::tracer traces{time, options.tracing};
    detail::settlement_builder builder{time, options.max_result_bytes};
    detail::claim_trigger trigger{time};
    detail::settler settler{store, time, log, builder, trigger};
    detail::progress_writer progress{store, time};
    detail::endpoint_list endpoints{store, handlers};
    detail::step_writer steps{store, time};
    detail::runner runner{handlers, endpoints, settler, builder, progress, steps,
                          trigger,  metrics,   log,     options, &traces};
    detail::lease_keeper leases{store, time, log, runner, trigger, options};
    detail::claimer claimer{store, time, log, trigger, leases, runner, settler, builder, options};
    detail::rescuer rescuer{store,  time,    log,     leases,  claimer,
                            runner, settler, trigger, metrics, options};
    detail::scheduler scheduler{
        store, time, log, handlers, trigger, &traces, [this](const submit_result& fired) {
            stop_replaced(fired);
        }};
    detail::sweeper sweeper{store, time, options.kept};
    detail::expirer expirer{store, time, trigger};
    detail::hold_finder holds{store, handlers, claimer, runner};
    detail::operation_desk operations{store, time, trigger, claimer, runner};
    detail::store_workflows workflows{store, time, trigger, traces, claimer, runner, handlers};
    detail::worker_desk workers{store,   time,    log,    handlers, builder,
                                trigger, metrics, traces, options};
    detail::engine_news engine{
        handlers, runner, claimer, leases, workers, time, [this] { return stats(); }};
    detail::node_news news{store.target(), engine, options.heartbeat};
    detail::observer_relay observers{store.target()};
    hook<void()> on_drain;
    std::uint64_t submitted = 0;
    bool is_running = false;

    weir::task<> run();
    service_stats stats() const noexcept;
    // A task that a schedule has replaced runs perhaps here; other nodes learn of it by their
    // heartbeats.
    void stop_replaced(const submit_result& fired) {
        if (fired.replaced) {
            claimer.note_cancelled(fired.replaced);
            runner.cancel(fired.replaced);
        }
    }

private:
    class run_guard;

    weir::task<> run_all();
    weir::task<> run_in(task_group group);
    weir::task<bool> drain();
    weir::task<> finish(any_handle claiming, any_handle rescuing, bool in_a_hurry);
};

service::service(store& target, const service_options& options)
    : parts_(std::make_unique<components>(target, options)) {}
service::~service() = default;

service& service::handle(std::string kind, handler run, payload_check accepts,
                         destination_rule where) {
    parts_->handlers.add(std::move(kind), std::move(run), std::move(accepts), std::move(where));
    return *this;
}

void service::keep(const retention& kept) noexcept {
    parts_->sweeper.keep(kept);
}

std::vector<std::string> service::kinds() const {
    return parts_->handlers.all_kinds();
}

void service::check(const new_task& task) const {
    weir::service::check(task);
    parts_->handlers.check(task);
}

// ---- running

// From the first lease to the last, however the run ends. Names the fibers of tasks meanwhile.
class service::components::run_guard final : private weir::detail::fiber_namer {
public:
    explicit run_guard(components& parts) : parts_(parts) {
        if (parts.is_running) {
            throw invalid_state("service::run(): it runs already");
        }
        parts.is_running = true;
        parts.store.seed(loop::current().fresh_seed());
        parts.builder.seed(loop::current().fresh_seed());
        parts.leases.take_first();
        parts.claimer.open();
        parts.workers.open();
        if (parts.news.is_shared()) {
            parts.observers.set_news(&parts.news);
        }
    }
    run_guard(const run_guard&) = delete;
    run_guard& operator=(const run_guard&) = delete;
    ~run_guard() {
        parts_.observers.set_news(nullptr);
        parts_.settler.forget_all();
        parts_.leases.forget_all();
        parts_.is_running = false;
    }

private:
    void name_fibers() override { parts_.runner.name_fibers(); }

    components& parts_;
};

task<> service::components::run() {
    const run_guard guard(*this);
    outcome<> ended = co_await intercept(run_all());
    co_await shield(leases.release_all());
    co_await shield(news.leave());
    co_await std::move(ended);
}

task<> service::components::run_all() {
    co_await detail::limit_destinations(store, handlers);
    co_await endpoints.load();
    co_await leases.register_node();
    auto body = [this](task_group& group) { return run_in(group); };
    co_await with_group(body);
}

task<> service::components::run_in(task_group group) {
    const any_handle claiming = group.spawn(claimer.run(group), {.name = "service claimer"});
    const any_handle rescuing = group.spawn(rescuer.run(), {.name = "service rescuer"});
    const any_handle until_the_end[] = {
        group.spawn(settler.run(), {.name = "service settler"}),
        group.spawn(leases.run(), {.name = "service lease keeper"}),
        group.spawn(news.run(), {.name = "service news"}),
        group.spawn(endpoints.run(), {.name = "service endpoint list"}),
        group.spawn(progress.run(), {.name = "service progress writer"}),
        group.spawn(workers.run(), {.name = "service workers"}),
        group.spawn(runner.watch(), {.name = "service watchdog"})};
    const any_handle until_draining[] = {
        group.spawn(scheduler.run(), {.name = "service scheduler"}),
        group.spawn(sweeper.run(), {.name = "service sweeper"}),
        group.spawn(expirer.run(), {.name = "service expirer"}),
        group.spawn(operations.run(), {.name = "service operations"})};
    outcome<> stop = co_await intercept(sleep_forever());
    for (const any_handle& each : until_draining) {
        each.cancel();
    }
    const bool in_a_hurry = co_await drain();
    co_await shield(finish(claiming, rescuing, in_a_hurry));
    for (const any_handle& each : until_the_end) {
        each.cancel();
    }
    co_await std::move(stop);
}

// Waits for the runs, and stops those that still run after that. True if a second stop came.
task<bool> service::components::drain() {
    claimer.close();
    workers.close();
    if (on_drain) {
        on_drain();
    }
    log.write(log_level::info, "draining: " + std::to_string(runner.running()) + " running");
    auto idle = timeout_or(options.drain_limit, runner.wait_until_idle(), unit{});
    const auto waited = co_await intercept(std::move(idle));
    if (runner.running() > 0) {
        log.write(log_level::warning, "stopping " + std::to_string(runner.running()) +
                                          " tasks that still run, to return them");
    }
    runner.stop_all(detail::stop_cause::given_back);
    co_return waited.is_stop();
}

// All runs have been stopped. Runs that cannot be settled in time are repeated by other nodes.
task<> service::components::finish(any_handle claiming, any_handle rescuing, bool in_a_hurry) {
    if (in_a_hurry) {
        claiming.cancel();
    }
    co_await runner.wait_until_idle();
    co_await claiming.wait();
    rescuing.cancel();
    co_await rescuing.wait();
    clock::duration limit = options.store_timeout;
    if (in_a_hurry) {
        limit = std::min<clock::duration>(limit, 1s);
    }
    const clock::time_point latest = weir::now() + limit;
    cancel_scope in_time(latest);
    static_cast<void>(co_await in_time.run(claimer.return_all_lost_claims()));
    co_await settler.wait_until_settled(latest - weir::now());
}

task<> service::run() {
    return parts_->run();
}

// ---- tasks

task<submit_result> service::submit(new_task task) {
    std::vector<new_task> batch;
    batch.push_back(std::move(task));
    const std::vector<submit_result> results = co_await submit(std::move(batch));
    co_return results.at(0);
}

task<std::vector<submit_result>> service::submit(std::vector<new_task> tasks) {
    if (std::ranges::any_of(tasks, [](const new_task& each) { return !each.after.empty(); })) {
        co_return co_await parts_->workflows.submit_together(std::move(tasks));
    }
    const moment at = parts_->time.moment_now();
    timestamp first = timestamp::max();
    for (new_task& each : tasks) {
        if (parts_->workers.may_learn(each.kind)) {
            co_await parts_->workers.learn_kinds();
        }
        check(each);
        parts_->handlers.assign(each);
        first = std::min(first, each.run_at.value_or(at.at));
    }
    detail::traced_submit traced(parts_->traces, tasks);
    std::vector<submit_result> results =
        co_await parts_->store.write(parts_->store->submit(std::move(tasks), at));
    traced.end(results);
    const auto new_count =
        std::ranges::count(results, submit_result::verdict::made, &submit_result::what);
    parts_->submitted += static_cast<std::uint64_t>(new_count);
    if (new_count > 0) {
        parts_->trigger.claim_at(first);
    }
    co_return results;
}

task<std::optional<task_detail>> service::find(task_id id) {
    return parts_->store.call(parts_->store->find(id));
}

task<task_page> service::list(task_filter filter) {
    return parts_->store.call(parts_->store->list(std::move(filter), now()));
}

task<std::vector<hold>> service::why(task_id id) {
    return parts_->holds.find(id, parts_->time.moment_now());
}

task<change_result> service::cancel(task_id id) {
    const change_result result =
        co_await parts_->store.write(parts_->store->cancel(id, parts_->time.moment_now()));
    if (result == change_result::requested) {
        parts_->claimer.note_cancelled(id);
        parts_->runner.cancel(id);
    } else if (result == change_result::done) {
        parts_->trigger.claim_now();  // the end may have created tasks
    }
    co_return result;
}

task<change_result> service::retry(task_id id, step_policy steps) {
    bulk_change change;
    change.action = task_action::retry;
    change.ids.push_back(id);
    change.steps = steps;
    const std::vector<change_result> results = co_await parts_->store.write(
        parts_->store->change_tasks(std::move(change), parts_->time.moment_now()));
    parts_->trigger.claim_now();
    co_return results.at(0);
}

task<std::size_t> service::redrive(task_filter filter) {
    const std::size_t count = co_await parts_->store.write(
        parts_->store->redrive(std::move(filter), parts_->time.moment_now()));
    parts_->trigger.claim_now();
    co_return count;
}

task<change_result> service::remove_task(task_id id) {
    return parts_->store.write(parts_->store->remove_task(id, parts_->time.moment_now()));
}

task<change_result> service::edit(task_id id, task_edit edit) {
    const std::optional<task_detail> found = co_await find(id);
    if (!found.has_value()) {
        co_return change_result::not_found;
    }
    const new_task changed = edit.applied_to(found->task);
    weir::service::check(changed);
    if (edit.payload.has_value()) {
        check(changed);
        edit.destination = parts_->handlers.destination_of(changed);
    }
    const timestamp due_at = edit.run_at.value_or(found->task.due_at);
    const moment at = parts_->time.moment_now();
    const change_result result =
        co_await parts_->store.write(parts_->store->edit(id, std::move(edit), at));
    parts_->trigger.claim_at(due_at);
    co_return result;
}

// ---- operations

workflow_desk& service::workflows() noexcept {
    return parts_->workflows;
}

operation_record service::start_operation(new_operation request) {
    return parts_->operations.start(std::move(request));
}

std::vector<operation_record> service::operations() const {
    return parts_->operations.list();
}

std::optional<operation_record> service::find_operation(std::string_view id) const {
    return parts_->operations.find(id);
}

task<std::optional<operation_record>> service::stop_operation(std::string id) {
    return parts_->operations.stop(std::move(id));
}

// ---- queues and schedules

task<std::vector<queue_record>> service::queues() {
    return parts_->store.call(parts_->store->queues());
}

task<std::vector<due_queue>> service::oldest_due() {
    return parts_->store.call(parts_->store->oldest_due(parts_->time.moment_now()));
}

task<> service::pause(std::string queue, bool is_paused) {
    co_await parts_->store.write(parts_->store->pause(queue, is_paused));
    parts_->trigger.claim_now();
}

task<> service::limit(std::string queue, queue_limits limits) {
    weir::service::check(limits);
    co_await parts_->store.write(parts_->store->limit(queue, limits));
    parts_->trigger.claim_now();
}

task<key_settings> service::change_key(std::string queue, std::string key, key_change change) {
    weir::service::check(change.applied_to({}));
    const moment at = parts_->time.moment_now();
    const key_settings changed =
        co_await parts_->store.write(parts_->store->change_key(queue, key, std::move(change), at));
    parts_->trigger.claim_now();
    co_return changed;
}

task<std::vector<key_record>> service::keys(std::string queue, key_query query) {
    std::vector<key_record> found =
        co_await parts_->store.call(parts_->store->keys(queue, std::move(query)));
    co_return found;
}

task<std::vector<destination_record>> service::destinations(std::size_t limit) {
    return parts_->store.call(parts_->store->destinations(limit, parts_->time.steady()));
}

task<std::vector<node_info>> service::nodes() {
    std::string self = parts_->is_running ? std::string(parts_->leases.current().node()) : "";
    return detail::list_nodes(parts_->store, parts_->time.moment_now(), std::move(self),
                              parts_->news.others(), parts_->options.lease, max_listed_nodes);
}

task<std::vector<endpoint_record>> service::disabled_endpoints() {
    return parts_->store.call(parts_->store->disabled_endpoints());
}

task<bool> service::enable_endpoint(std::string kind, std::string name) {
    const bool is_enabled =
        co_await parts_->store.write(parts_->store->enable_endpoint(kind, name));
    parts_->endpoints.enabled(kind, name);
    co_return is_enabled;
}

task<queue_removal> service::remove_queue(std::string queue, bool with_pending) {
    const queue_removal result = co_await parts_->store.call_within(
        removal_limit, parts_->store->remove_queue(queue, with_pending));
    co_return result;
}

task<> service::put_schedule(schedule plan) {
    weir::service::check(plan);
    if (parts_->workers.may_learn(plan.task.kind)) {
        co_await parts_->workers.learn_kinds();
    }
    parts_->handlers.check(plan.task);
    const timestamp next = cron::parse(plan.cron).next_after(now(), plan.zone);
    co_await parts_->store.write(parts_->store->put_schedule(std::move(plan), next));
    parts_->scheduler.wake();
}

task<bool> service::remove_schedule(std::string name) {
    const bool is_removed = co_await parts_->store.write(parts_->store->remove_schedule(name));
    co_return is_removed;
}

task<std::vector<schedule_record>> service::schedules() {
    return parts_->store.call(parts_->store->schedules());
}

task<std::optional<submit_result>> service::run_schedule(std::string name) {
    const std::vector<schedule_record> all = co_await schedules();
    const auto found = std::ranges::find(all, name, &schedule_record::name);
    if (found == all.end()) {
        co_return std::nullopt;
    }
    new_task fresh = found->task;
    check(fresh);
    parts_->handlers.assign(fresh);
    detail::traced_submit traced(parts_->traces, fresh);
    const std::optional<submit_result> result = co_await parts_->store.write(
        parts_->store->run_schedule(name, std::move(fresh), parts_->time.moment_now()));
    traced.end(result);
    if (result.has_value()) {
        parts_->stop_replaced(*result);
        parts_->submitted += result->what == submit_result::verdict::made ? 1 : 0;
        parts_->trigger.claim_now();
    }
    co_return result;
}

task<bool> service::pause_schedule(std::string name, bool is_paused) {
    const std::vector<schedule_record> all = co_await schedules();
    const auto found = std::ranges::find(all, name, &schedule_record::name);
    if (found == all.end()) {
        co_return false;
    }
    const timestamp next = cron::parse(found->cron).next_after(now(), found->zone);
    const bool is_known =
        co_await parts_->store.write(parts_->store->pause_schedule(name, is_paused, next));
    parts_->scheduler.wake();
    co_return is_known;
}

// ---- the service itself

void service::observe(store_observer* observer) noexcept {
    parts_->observers.set_outer(observer);
}

detail::worker_desk& service::workers() noexcept {
    return parts_->workers;
}

void service::on_drain(hook<void()> call) noexcept {
    parts_->on_drain = call;
}

timestamp service::now() const {
    return parts_->time.now();
}

moment service::moment_now() const {
    return parts_->time.moment_now();
}

detail::node_news& service::news() noexcept {
    return parts_->news;
}

service_stats service::components::stats() const noexcept {
    service_stats all;
    all.submitted = submitted + workflows.submitted();
    runner.add_to(all);
    settler.add_to(all);
    rescuer.add_to(all);
    scheduler.add_to(all);
    workers.add_to(all);
    all.is_draining = claimer.is_closed();
    all.store_is_well = store.is_available();
    all.can_claim = claimer.has_succeeded();
    return all;
}

service_stats service::stats() const noexcept {
    return parts_->stats();
}

store& service::kept_in() noexcept {
    return parts_->store.target();
}

void service::write_metrics(metric_writer& to) const {
    detail::write_stats(to, stats(), parts_->options.workers);
    parts_->metrics.write(to);
    parts_->workers.write_metrics(to);
    parts_->news.write_metrics(to);
}

}  // namespace weir::service
