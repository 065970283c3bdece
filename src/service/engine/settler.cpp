// SPDX-License-Identifier: MIT
// One call at a time: runs that end while it is in flight go with the next call, so no run waits
// for others, and under load many share a transaction. A call that fails is repeated until it is
// answered; fences make that harmless. If the store refuses a batch, the settler settles its runs
// one by one, and a run that the store cannot keep becomes a failed attempt.

#include "service/engine/settler.hpp"

#include "service/engine/failure_line.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::service::detail {

namespace {
constexpr std::size_t max_batch = 2000;
}  // namespace

void settler::add(const lease& owner, settlement ended, task_series* series, std::string failure) {
    const auto found = std::ranges::find(outboxes_, &owner, &outbox::owner);
    outbox& to = found != outboxes_.end() ? *found : outboxes_.emplace_back(outbox{&owner, {}, {}});
    to.waiting.push_back(run_end{std::move(ended), series, std::move(failure)});
    has_waiting_.set();
}

void settler::forget(const lease& owner) noexcept {
    std::erase_if(outboxes_, [&](const outbox& each) { return each.owner == &owner; });
}

void settler::forget(const lease& owner, const std::vector<run_key>& lost) noexcept {
    const auto found = std::ranges::find(outboxes_, &owner, &outbox::owner);
    if (found == outboxes_.end()) {
        return;
    }
    for (std::vector<run_end>* const each : {&found->waiting, &found->in_flight}) {
        for (run_end& end : *each) {
            end.is_forgotten = end.is_forgotten || std::ranges::find(lost, end.key()) != lost.end();
        }
    }
    erase_forgotten(found->waiting);
}

const settler::outbox* settler::find(const lease& owner) const noexcept {
    const auto found = std::ranges::find(outboxes_, &owner, &outbox::owner);
    return found == outboxes_.end() ? nullptr : &*found;
}

bool settler::has_unsettled() const noexcept {
    return !std::ranges::all_of(outboxes_, &outbox::is_empty);
}

bool settler::has_unsettled(const lease& owner) const noexcept {
    const outbox* const found = find(owner);
    return found != nullptr && !found->is_empty();
}

void settler::append_unsettled(const lease& owner, std::vector<run_key>& to) const {
    if (const outbox* const found = find(owner)) {
        std::ranges::transform(found->waiting, std::back_inserter(to), &run_end::key);
        std::ranges::transform(found->in_flight, std::back_inserter(to), &run_end::key);
    }
}

task<> settler::wait_until_settled(clock::duration limit) {
    const clock::time_point latest = weir::now() + limit;
    while (has_unsettled() && weir::now() < latest) {
        all_settled_.clear();
        co_await wait_until(all_settled_, latest);
    }
}

task<> settler::run() {
    for (;;) {
        const auto next = std::ranges::find_if(
            outboxes_, [](const outbox& each) { return !each.waiting.empty(); });
        if (next == outboxes_.end()) {
            all_settled_.set();
            has_waiting_.clear();
            co_await has_waiting_.wait();
            continue;
        }
        co_await settle_waiting(*next);
    }
}

task<> settler::settle_waiting(outbox& from) {
    if (from.waiting.size() <= max_batch) {
        from.in_flight.swap(from.waiting);
    } else {
        const auto end = from.waiting.begin() + max_batch;
        from.in_flight.assign(std::move_iterator(from.waiting.begin()), std::move_iterator(end));
        from.waiting.erase(from.waiting.begin(), end);
    }
    decision::backoff delays(store_backoff_options);
    for (bool is_repeated = false; !from.in_flight.empty(); is_repeated = true) {
        const bool is_done = co_await settle_batch(from, is_repeated);
        if (is_done) {
            break;
        }
        co_await store_.wait_before_retry(delays);
        erase_forgotten(from.in_flight);
    }
    from.in_flight.clear();
    claims_.claim_now();  // limits may have kept other tasks waiting for these runs
}

// False if it must be repeated.
task<bool> settler::settle_batch(outbox& from, bool is_repeated) {
    try {
        std::vector<settlement> batch;
        batch.reserve(from.in_flight.size());
        for (const run_end& each : from.in_flight) {
            batch.push_back(each.ended);
        }
        const std::vector<bool> written = co_await store_.write(
            store_->settle(from.owner->node(), std::move(batch), time_.moment_now()));
        for (std::size_t i = 0; i < from.in_flight.size(); ++i) {
            count(from.in_flight[i], i < written.size() && written[i], is_repeated);
        }
        co_return true;
    } catch (const store_unavailable&) {
        co_return false;
    } catch (const std::exception& error) {
        log_.write(log_level::error, std::string("settling failed: ") + error.what());
    }
    const bool is_done = co_await settle_each(from);
    co_return is_done;
}

// The store refuses at least one of the batch. False if the rest must be repeated.
task<bool> settler::settle_each(outbox& from) {
    for (std::size_t i = 0; i < from.in_flight.size(); ++i) {
        const bool is_done = from.in_flight[i].is_forgotten ||
                             co_await settle_or_fail(*from.owner, from.in_flight[i]);
        if (!is_done) {
            from.in_flight.erase(from.in_flight.begin(),
                                 from.in_flight.begin() + static_cast<std::ptrdiff_t>(i));
            co_return false;
        }
    }
    co_return true;
}

task<bool> settler::settle_or_fail(const lease& owner, const run_end& run) {
    std::string refusal;
    try {
        co_await settle_one(owner, run);
        co_return true;
    } catch (const store_unavailable&) {
        co_return false;
    } catch (const std::exception& error) {
        refusal = error.what();
    }
    log_.write(log_level::error, "task " + run.key().id.text() + " cannot be settled: " + refusal);
    const bool is_done = co_await fail_instead(owner, run, std::move(refusal));
    co_return is_done;
}

task<> settler::settle_one(const lease& owner, const run_end& run) {
    std::vector<settlement> batch(1, run.ended);
    const std::vector<bool> written =
        co_await store_.write(store_->settle(owner.node(), std::move(batch), time_.moment_now()));
    count(run, !written.empty() && written.front(), true);
}

// A result that the store cannot keep fails the attempt: otherwise the task would run forever.
task<bool> settler::fail_instead(const lease& owner, const run_end& run, std::string error) {
    const run_key key = run.key();
    try {
        const std::optional<task_detail> found = co_await store_.call(store_->find(key.id));
        if (found.has_value() && found->task.run == key.run) {
            run_end instead;
            instead.ended = builder_.failed(found->task, attempt_end::failed,
                                            "the store cannot keep the result: " + error);
            instead.series = run.series;
            if (instead.ended.state == task_state::failed) {
                instead.failure =
                    failure_line(found->task, instead.ended.failures, instead.ended.error);
            }
            co_await settle_one(owner, instead);
        }
    } catch (const store_unavailable&) {
        co_return false;
    } catch (const std::exception& second) {
        // The run stays in the store; the claimer finds it later as a run that is not running here.
        log_.write(log_level::error, "task " + key.id.text() +
                                         " cannot be settled as failed either: " + second.what());
    }
    co_return true;
}

void settler::count(const run_end& run, bool is_written, bool is_repeated) {
    const settlement& ended = run.ended;
    if (!run.failure.empty() && (is_written || is_repeated)) {
        log_.write(log_level::warning, run.failure);
    }
    if (!is_written) {
        fenced_ += is_repeated ? 0 : 1;  // the first call may have written it
        return;
    }
    completed_ += ended.state == task_state::completed ? 1 : 0;
    dead_ += ended.state == task_state::failed ? 1 : 0;
    cancelled_ += ended.state == task_state::cancelled ? 1 : 0;
    failed_ +=
        ended.attempt == attempt_end::failed || ended.attempt == attempt_end::timed_out ? 1 : 0;
    if (run.series != nullptr) {
        run.series->count_end(ended);
    }
}

void settler::add_to(service_stats& stats) const noexcept {
    stats.completed += completed_;
    stats.failed += failed_;
    stats.dead += dead_;
    stats.cancelled += cancelled_;
    stats.fenced += fenced_;
}

}  // namespace weir::service::detail
