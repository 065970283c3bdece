// SPDX-License-Identifier: MIT
// Each run is a fiber of the service's group. The handler runs inside a scope that ends with its
// timeout; a component that wants a run to end stops that scope and waits, so a task is reported as
// cancelled only after its handler has ended. The objects of ended runs are used again.

#include "service/engine/runner.hpp"

#include "base/fiber_namer.hpp"
#include "service/engine/failure_line.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration unresponsive_after = 30s;
constexpr clock::duration settle_others_limit = 1s;
constexpr clock::duration unknown_kind_delay = 1min;
constexpr clock::duration last_chance_delay = 2s;
constexpr std::size_t max_kept_payload = 4096;  // capacity kept in a run that is free
}  // namespace

struct runner::run {
    run_key key() const noexcept { return {record.id, record.run}; }

    // The first cause counts. An expired timeout is a cause that only a cancel overrides. The run
    // ends when its handler ends.
    void stop(stop_cause reason) {
        const bool is_expired = scope != nullptr && scope->expired();
        if (cause == stop_cause::none && (reason == stop_cause::cancelled || !is_expired)) {
            cause = reason;
            stopped_at = std::min(stopped_at, weir::now());
            if (scope != nullptr) {
                scope->cancel();
            }
        }
    }

    task_record record;
    const handler* handle = nullptr;
    const lease* owner = nullptr;
    run_progress progress;
    task_series* series = nullptr;
    std::unique_ptr<span> traced;  // null: no span
    clock::time_point started_at{};
    clock::time_point deadline{};
    weir::detail::fiber* fiber = nullptr;  // that executes the run
    cancel_scope* scope = nullptr;         // while the handler runs
    stop_cause cause = stop_cause::none;
    clock::time_point stopped_at{};  // the deadline at the latest
    bool is_reported = false;        // as unresponsive
    bool is_lost = false;            // the store does not know it
    std::size_t index = 0;           // in running_
};

// Settles and releases the run when its fiber ends, also if the fiber is stopped.
class runner::run_guard {
public:
    run_guard(runner& owner, run& current) noexcept : owner_(owner), run_(current) {}
    run_guard(const run_guard&) = delete;
    run_guard& operator=(const run_guard&) = delete;
    ~run_guard() {
        if (!has_ended_) {
            end_stopped_fiber();
        }
        owner_.release(run_);
    }

    void end(settlement ended) {
        std::string failure;
        if (ended.state == task_state::failed) {
            failure = failure_line(run_.record, ended.failures, ended.error);
        }
        if (run_.traced != nullptr) {
            owner_.traces_->end_run(std::move(run_.traced), ended);
        }
        if (!run_.is_lost) {
            owner_.ends_.add(*run_.owner, std::move(ended), run_.series, std::move(failure));
        }
        run_.series->runs.record(weir::now() - run_.started_at);
        has_ended_ = true;
    }

private:
    // A handler can stop its own fiber. That counts as a failure, so that it does not run forever.
    void end_stopped_fiber() noexcept {
        try {
            end(run_.cause != stop_cause::none
                    ? owner_.builder_.stopped(run_.record, run_.cause)
                    : owner_.builder_.failed(run_.record, attempt_end::failed,
                                             "the handler stopped its own fiber"));
        } catch (const std::exception&) {
            // Out of memory: the claimer finds it later as a run that is not running here.
        }
    }

    runner& owner_;
    run& run_;
    bool has_ended_ = false;
};

runner::runner(const handler_registry& handlers, endpoint_list& endpoints, settler& ends,
               settlement_builder& builder, progress_writer& progress, step_writer& steps,
               claim_trigger& claims, task_metrics& metrics, const event_log& log,
               const service_options& options, tracer* traces)
    : handlers_(handlers),
      endpoints_(endpoints),
      ends_(ends),
      builder_(builder),
      progress_(progress),
      steps_(steps),
      claims_(claims),
      metrics_(metrics),
      log_(log),
      options_(options),
      traces_(traces != nullptr && traces->is_on() ? traces : nullptr) {}

runner::~runner() = default;

// ---- starting and ending

std::optional<runner::refusal> runner::start(task_record& claimed, const lease& owner,
                                             bool is_cancelled, const task_group& group) {
    if (has_last_chance(claimed) && runs_last_chance()) {
        return refusal{last_chance_delay, "another task that ran when a process crashed runs now"};
    }
    const handler* const handle = handlers_.find(claimed.kind);
    if (handle == nullptr) {
        log_.write(log_level::warning, "no handler for '" + claimed.kind + "': task " +
                                           claimed.id.text() + " is postponed");
        return refusal{unknown_kind_delay, "no handler for '" + claimed.kind + "'"};
    }
    if (claimed.destination.empty()) {
        // The task is older than the rule of its kind: it waits for its destination in the store.
        std::string destination = handlers_.destination_of(claimed);
        if (!destination.empty()) {
            return refusal{{}, {}, std::move(destination)};
        }
    }
    task_series& series = metrics_.series_of(claimed);
    if (free_runs_.empty()) {
        runs_.push_back(std::make_unique<run>());
        free_runs_.push_back(runs_.back().get());
    }
    run& next = *free_runs_.back();
    free_runs_.pop_back();
    next.record = std::move(claimed);
    next.handle = handle;
    next.owner = &owner;
    next.progress.begin(progress_, next.key(), owner, &next.record);
    next.series = &series;
    next.started_at = weir::now();
    next.deadline = weir::detail::after(next.started_at, next.record.timeout > 0ms
                                                             ? clock::duration(next.record.timeout)
                                                             : options_.default_timeout);
    next.stopped_at = next.deadline;
    next.is_reported = false;
    next.is_lost = false;
    next.index = running_.size();
    running_.push_back(&next);
    ++started_;
    series.count_start(next.record);
    if (is_cancelled) {
        next.stop(stop_cause::cancelled);
    }
    try {
        group.spawn(execute(next));
    } catch (const misuse&) {  // an error ends the group
        release(next);
    }
    return std::nullopt;
}

task<> runner::execute(run& current) {
    run_guard guard(*this, current);
    current.fiber = weir::detail::this_thread.running;
    settlement ended;
    if (has_last_chance(current.record)) {
        // If it crashes the process again, other tasks should be settled before.
        const clock::time_point since = weir::now();
        co_await ends_.wait_until_settled(settle_others_limit);
        current.deadline = weir::detail::after(current.deadline, weir::now() - since);
        if (current.cause == stop_cause::none) {
            current.stopped_at = current.deadline;
        }
    }
    if (std::optional<settlement> unstarted = end_unstarted(current)) {
        ended = std::move(*unstarted);
    } else {
        cancel_scope scope(current.deadline);
        current.scope = &scope;
        run_steps steps(steps_, current.key(), *current.owner);
        job current_job(current.record, current.deadline, &current.progress, &steps);
        if (traces_ != nullptr && !current.record.traceparent.empty()) {
            current.traced = traces_->begin_run(current.record);
            if (current.traced != nullptr) {
                current_job.set_trace(*current.traced, *traces_);
            }
        }
        try {
            weir::task<boost::json::value> body = (*current.handle)(current_job);
            const std::optional<boost::json::value> result = co_await scope.run(std::move(body));
            if (!result.has_value()) {
                ended = builder_.stopped(current.record, current.cause);
            } else {
                const std::optional<std::string>& text = current_job.result();
                ended = text.has_value() ? builder_.completed_text(current.record, *text)
                                         : builder_.completed(current.record, *result);
            }
        } catch (...) {
            ended = builder_.threw(current.record, current.cause, std::current_exception());
        }
        builder_.add_report(ended, current_job);
        if (current_job.is_gone() && ended.state == task_state::failed) {
            note_gone(current, ended);
        }
        current.scope = nullptr;
    }
    guard.end(std::move(ended));
}

std::optional<settlement> runner::end_unstarted(const run& current) {
    if (current.cause != stop_cause::none) {
        return builder_.stopped(current.record, current.cause);
    }
    if (const std::optional<std::string> error = endpoints_.refusal(current.record)) {
        const auto failure = std::make_exception_ptr(permanent_failure(*error));
        return builder_.threw(current.record, stop_cause::none, failure);
    }
    return std::nullopt;
}

void runner::note_gone(const run& ended, settlement& to) const {
    to.learnt.gone = handlers_.endpoint_of(ended.record);
    if (!to.learnt.gone.empty()) {
        endpoint_record endpoint;
        endpoint.kind = ended.record.kind;
        endpoint.name = to.learnt.gone;
        endpoint.reason = to.error;
        endpoints_.disabled(std::move(endpoint));
        log_.write(log_level::warning,
                   "the endpoint " + to.learnt.gone + " is disabled: it answered that it is gone");
    }
}

void runner::release(run& ended) noexcept {
    running_[ended.index] = running_.back();
    running_[ended.index]->index = ended.index;
    running_.pop_back();
    progress_.withdraw(ended.progress);
    ended.fiber = nullptr;
    ended.scope = nullptr;
    ended.traced.reset();
    ended.cause = stop_cause::none;
    if (ended.record.payload.capacity() > max_kept_payload) {
        ended.record.payload = std::string();
    }
    free_runs_.push_back(&ended);
    if (running_.empty()) {
        became_idle_.set();
    }
    claims_.worker_freed();
}

// One more crash of the process, and the task has failed. Such tasks run one at a time, so that
// none fails for a crash that another one caused.
bool runner::has_last_chance(const task_record& task) const noexcept {
    return task.crashes > 0 && task.crashes + 1 >= options_.max_crashes;
}

bool runner::runs_last_chance() const noexcept {
    return std::ranges::any_of(running_,
                               [this](const run* each) { return has_last_chance(each->record); });
}

// ---- stopping
// A stop may end a run at once, so these go over copies.

void runner::cancel(task_id id) {
    for (run* const each : std::vector(running_)) {
        if (each->record.id == id) {
            each->stop(stop_cause::cancelled);
        }
    }
}

void runner::cancel(const lease& owner, const run_key& key) {
    for (run* const each : std::vector(running_)) {
        if (each->owner == &owner && each->record.id == key.id && each->record.run == key.run) {
            each->stop(stop_cause::cancelled);
        }
    }
}

void runner::stop_all(stop_cause cause) {
    for (run* const each : std::vector(running_)) {
        each->stop(cause);
    }
}

void runner::stop_all(const lease& owner, stop_cause cause) {
    for (run* const each : std::vector(running_)) {
        if (each->owner == &owner) {
            each->stop(cause);
        }
    }
}

std::size_t runner::stop_lost(const lease& owner, const std::vector<run_key>& lost) {
    std::size_t count = 0;
    for (run* const each : std::vector(running_)) {
        if (each->owner == &owner && !each->is_lost &&
            std::ranges::find(lost, each->key()) != lost.end()) {
            ++count;
            each->is_lost = true;
            each->progress.detach();
            each->stop(stop_cause::lease_lost);
        }
    }
    return count;
}

// A handler cannot be ended by force: it keeps its worker until it returns.
task<> runner::watch() {
    for (;;) {
        warn_unresponsive();
        co_await sleep(options_.heartbeat);
    }
}

void runner::warn_unresponsive() {
    for (run* const each : running_) {
        if (!each->is_reported &&
            weir::now() >= weir::detail::after(each->stopped_at, unresponsive_after)) {
            each->is_reported = true;
            log_.write(log_level::warning, "task " + each->record.id.text() + ", '" +
                                               each->record.kind +
                                               "', was stopped and still runs: its handler does "
                                               "not respond to the stop");
        }
    }
}

// ---- questions

std::size_t runner::running(const lease& owner) const noexcept {
    return static_cast<std::size_t>(std::ranges::count(running_, &owner, &run::owner));
}

bool runner::is_running(task_id id) const noexcept {
    return std::ranges::any_of(running_, [id](const run* each) { return each->record.id == id; });
}

bool runner::has_lost() const noexcept {
    return std::ranges::any_of(running_, &run::is_lost);
}

void runner::append_running(std::vector<run_key>& to) const {
    for (const run* const each : running_) {
        if (!each->is_lost) {
            to.push_back(each->key());
        }
    }
}

task<> runner::wait_until_idle() {
    while (!running_.empty()) {
        became_idle_.clear();
        co_await became_idle_.wait();
    }
}

void runner::name_fibers() const {
    for (const run* const each : running_) {
        if (each->fiber != nullptr) {
            weir::detail::name_fiber(*each->fiber,
                                     each->record.kind + " " + each->record.id.text());
        }
    }
}

void runner::add_to(service_stats& stats) const noexcept {
    stats.started += started_;
    stats.running += running_.size();
}

}  // namespace weir::service::detail
