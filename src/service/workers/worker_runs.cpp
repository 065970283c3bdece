// SPDX-License-Identifier: MIT
// The results of a worker become settlements by the rules for handlers of the service, and one call
// of the store writes those of a request. If the store is not available, the worker is told so and
// repeats the request: it keeps its results until they are accepted. Fences make all of this safe:
// what is remembered here may be old.

#include "service/workers/worker_runs.hpp"

#include "service/engine/failure_line.hpp"
#include "service/engine/secret_texts.hpp"

#include <weir/error.hpp>
#include <weir/service/job.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
// A worker that keeps the timeout by itself reports that within this time.
constexpr clock::duration overdue_after = 5s;

result_verdict accepted_result() {
    result_verdict verdict;
    verdict.is_accepted = true;
    return verdict;
}

result_verdict refused_result(const run_key& key) {
    result_verdict verdict;
    verdict.why = "run " + std::to_string(key.run) + " of task " + key.id.text() +
                  " does not belong to this worker, or has ended otherwise";
    return verdict;
}
}  // namespace

struct worker_runs::held {
    run_key key() const noexcept { return {task.id, task.run}; }

    std::string worker;
    task_record task;
    task_series* series = nullptr;
    std::unique_ptr<span> traced;  // null: no span
    clock::time_point started_at{};
    clock::time_point deadline{};
};

worker_runs::worker_runs(store_client& store, const wall_clock& time, const event_log& log,
                         settlement_builder& builder, claim_trigger& claims, task_metrics& metrics,
                         tracer& traces, const service_options& options)
    : store_(store),
      time_(time),
      log_(log),
      builder_(builder),
      claims_(claims),
      metrics_(metrics),
      traces_(traces),
      options_(options) {}

worker_runs::~worker_runs() = default;

// ---- what runs

worker_task worker_runs::begin(const std::string& worker, task_record claimed) {
    worker_task given;
    held* run = find(worker, {claimed.id, claimed.run});
    if (run == nullptr) {
        given.task = claimed;
        run = &hold(worker, std::move(claimed));
        ++started_;
        run->series->count_start(run->task);
        if (traces_.is_on() && !run->task.traceparent.empty()) {
            run->traced = traces_.begin_run(run->task);
        }
    } else {
        given.task = std::move(claimed);  // its answer is repeated
    }
    given.left = std::max<clock::duration>(run->deadline - weir::now(), 0s);
    given.traceparent =
        run->traced != nullptr ? run->traced->context.traceparent() : given.task.traceparent;
    return given;
}

worker_runs::held& worker_runs::hold(const std::string& worker, task_record task) {
    auto added = std::make_unique<held>();
    added->worker = worker;
    added->series = &metrics_.series_of(task);
    const clock::duration limit =
        task.timeout > 0ms ? clock::duration(task.timeout) : options_.default_timeout;
    const timestamp now = time_.now();
    const auto age = std::max<timestamp::duration>(now - task.started_at.value_or(now), 0s);
    added->started_at = weir::now() - age;
    added->deadline = weir::detail::after(added->started_at, limit);
    added->task = std::move(task);
    added->task.steps.clear();
    if (added->task.secret.empty()) {
        added->task.payload = "null";  // only its secrets are needed
    }
    std::unique_ptr<held>& place = all_[added->task.id.number()];
    place = std::move(added);
    return *place;
}

worker_runs::held* worker_runs::find(const std::string& worker, const run_key& key) {
    const auto found = all_.find(key.id.number());
    return found != all_.end() && found->second->task.run == key.run &&
                   found->second->worker == worker
               ? found->second.get()
               : nullptr;
}

task<> worker_runs::learn(std::string worker, std::vector<run_key> runs) {
    std::erase_if(runs, [&](const run_key& each) { return find(worker, each) != nullptr; });
    if (runs.empty()) {
        co_return;
    }
    std::vector<std::optional<task_record>> found =
        co_await store_.call(store_->runs_of_worker(worker, std::move(runs)));
    for (std::optional<task_record>& each : found) {
        if (each.has_value() && find(worker, {each->id, each->run}) == nullptr) {
            hold(worker, std::move(*each));
        }
    }
}

std::string worker_runs::shown_message(const run_key& key, std::string_view message) const {
    const auto found = all_.find(key.id.number());
    return found == all_.end() || found->second->task.secret.empty()
               ? std::string(message)
               : hidden_in(found->second->task, message);
}

void worker_runs::forget(const std::string& worker, const run_key& key) {
    if (find(worker, key) != nullptr) {
        all_.erase(key.id.number());
    }
}

void worker_runs::forget_all_of(const std::string& worker) {
    std::erase_if(all_, [&](const auto& each) { return each.second->worker == worker; });
}

const std::string* worker_runs::note_cancelling(task_id id) {
    const auto found = all_.find(id.number());
    if (found == all_.end()) {
        return nullptr;
    }
    found->second->task.is_cancelling = true;
    return &found->second->worker;
}

// ---- how runs end

task<std::vector<result_verdict>> worker_runs::settle(std::string worker,
                                                      std::vector<worker_result> results) {
    // Whether a client has cancelled the task may be known to another server only.
    std::vector<run_key> unknown;
    for (const worker_result& each : results) {
        const held* const run = find(worker, each.key);
        if (run != nullptr && each.outcome == worker_outcome::cancelled &&
            !run->task.is_cancelling) {
            forget(worker, each.key);
        }
        if (find(worker, each.key) == nullptr) {
            unknown.push_back(each.key);
        }
    }
    co_await learn(worker, std::move(unknown));
    std::vector<settlement> ends;
    ends.reserve(results.size());
    for (const worker_result& each : results) {
        ends.push_back(end_of(each, find(worker, each.key)));
    }
    const std::vector<settle_answer> answers = co_await write(worker, ends);
    std::vector<result_verdict> verdicts;
    verdicts.reserve(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (answers[i] == settle_answer::refused) {
            ++fenced_;
            verdicts.push_back(refused_result(results[i].key));
        } else {
            if (answers[i] == settle_answer::written) {
                count(ends[i], find(worker, results[i].key));
            }
            verdicts.push_back(accepted_result());
        }
        forget(worker, results[i].key);
    }
    claims_.claim_now();  // limits may have kept other tasks waiting, and ends may create tasks
    co_return verdicts;
}

// Without `run`, the worker does not have it: the store says whether the end is a repeated one.
settlement worker_runs::end_of(const worker_result& result, held* run) {
    const bool is_completed = result.outcome == worker_outcome::completed;
    if (run == nullptr) {
        settlement end;
        end.key = result.key;
        end.state = is_completed ? task_state::completed : task_state::pending;
        end.due_at = time_.steady();
        return end;
    }
    const task_record& task = run->task;
    switch (result.outcome) {
        case worker_outcome::completed:
            return builder_.completed_text(task, result.result);
        case worker_outcome::failed: {
            const std::string& error =
                result.error.empty() ? std::string("the worker gave no reason") : result.error;
            if (result.is_permanent) {
                return builder_.threw(task, stop_cause::none,
                                      std::make_exception_ptr(permanent_failure(error)));
            }
            if (result.delay.has_value()) {
                return builder_.threw(task, stop_cause::none,
                                      std::make_exception_ptr(retry_later(error, *result.delay)));
            }
            return builder_.failed(task, attempt_end::failed, error);
        }
        case worker_outcome::postponed:
            return builder_.threw(
                task, stop_cause::none,
                std::make_exception_ptr(postponed(result.error, result.delay.value_or(0ms))));
        case worker_outcome::cancelled:
            if (task.is_cancelling) {
                return builder_.stopped(task, stop_cause::cancelled);
            }
            break;  // nobody has cancelled it: the worker stopped it for reasons of its own
        case worker_outcome::released:
            break;
    }
    return builder_.returned(task);
}

task<std::vector<settle_answer>> worker_runs::write(std::string worker,
                                                    std::vector<settlement> ends) {
    try {
        std::vector<settle_answer> answers =
            co_await store_.write(store_->settle_for_worker(worker, ends, time_.moment_now()));
        co_return answers;
    } catch (const store_unavailable&) {
        throw;
    } catch (const std::exception& error) {
        log_.write(log_level::error, std::string("settling failed: ") + error.what());
    }
    // The store refuses at least one of them.
    std::vector<settle_answer> answers;
    for (const settlement& each : ends) {
        const settle_answer answer = co_await write_one(worker, each);
        answers.push_back(answer);
    }
    co_return answers;
}

// A result that the store cannot keep fails the attempt: otherwise the worker repeats it forever.
task<settle_answer> worker_runs::write_one(std::string worker, settlement end) {
    std::string refusal;
    try {
        std::vector<settlement> one(1, end);
        const std::vector<settle_answer> answers = co_await store_.write(
            store_->settle_for_worker(worker, std::move(one), time_.moment_now()));
        co_return answers.at(0);
    } catch (const store_unavailable&) {
        throw;
    } catch (const std::exception& error) {
        refusal = error.what();
    }
    log_.write(log_level::error, "task " + end.key.id.text() + " cannot be settled: " + refusal);
    const held* const run = find(worker, end.key);
    if (run == nullptr) {
        co_return settle_answer::refused;
    }
    std::vector<settlement> one(1, builder_.failed(run->task, attempt_end::failed,
                                                   "the store cannot keep the result: " + refusal));
    const std::vector<settle_answer> answers = co_await store_.write(
        store_->settle_for_worker(worker, std::move(one), time_.moment_now()));
    co_return answers.at(0);
}

void worker_runs::count(const settlement& end, held* run) {
    completed_ += end.state == task_state::completed ? 1 : 0;
    dead_ += end.state == task_state::failed ? 1 : 0;
    cancelled_ += end.state == task_state::cancelled ? 1 : 0;
    failed_ += end.attempt == attempt_end::failed || end.attempt == attempt_end::timed_out ? 1 : 0;
    if (run == nullptr) {
        return;
    }
    run->series->count_end(end);
    run->series->runs.record(weir::now() - run->started_at);
    if (end.state == task_state::failed) {
        log_.write(log_level::warning, failure_line(run->task, end.failures, end.error));
    }
    if (run->traced != nullptr) {
        traces_.end_run(std::move(run->traced), end);
    }
}

task<> worker_runs::end_overdue(std::function<void(const std::string& worker)> on_end) {
    std::vector<std::pair<std::string, run_key>> overdue;
    for (const auto& [number, each] : all_) {
        if (weir::now() >= weir::detail::after(each->deadline, overdue_after)) {
            overdue.emplace_back(each->worker, each->key());
        }
    }
    for (const auto& [worker, key] : overdue) {
        held* const run = find(worker, key);
        if (run == nullptr) {
            continue;
        }
        const stop_cause cause = run->task.is_cancelling ? stop_cause::cancelled : stop_cause::none;
        const settlement end = builder_.stopped(run->task, cause);
        const settle_answer answer = co_await write_one(worker, end);
        if (answer == settle_answer::written) {
            log_.write(log_level::warning, "task " + key.id.text() +
                                               " took longer than its timeout"
                                               ", and its worker has not reported its end");
            count(end, find(worker, key));
            on_end(worker);
            claims_.claim_now();
        }
        forget(worker, key);
    }
}

void worker_runs::add_to(service_stats& stats) const noexcept {
    stats.started += started_;
    stats.completed += completed_;
    stats.failed += failed_;
    stats.dead += dead_;
    stats.cancelled += cancelled_;
    stats.fenced += fenced_;
}

}  // namespace weir::service::detail
