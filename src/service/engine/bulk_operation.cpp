// SPDX-License-Identifier: MIT
// A search reads a page of ids, newest first, and changes follow in transactions that are as large
// as they can be without holding up other calls: each step is followed by a pause of its own
// length. The transaction checks again whether the task is in a state that the filter names, so a
// task that has moved on since the search stays as it is. The cursor only goes to older tasks: the
// operation reaches no task twice, and ends however many are submitted meanwhile.
//
// A step whose answer was lost is repeated. Tasks that the first try has changed then count as
// skipped.

#include "service/engine/bulk_operation.hpp"

#include <weir/timeout.hpp>

#include <algorithm>
#include <utility>

namespace weir::service {

using namespace std::chrono_literals;

namespace {

bool can_change(task_action action, task_state state) noexcept {
    switch (action) {
        case task_action::cancel:
            return !is_final(state);
        case task_action::retry:
            return state != task_state::running && state != task_state::completed;
        case task_action::remove:
            break;
    }
    return is_final(state);
}

bool can_change(task_action action, task_view view) noexcept {
    // A pending task that is due cannot run earlier.
    return can_change(action, state_of(view)) &&
           (action != task_action::retry || view != task_view::pending);
}

std::string_view changeable(task_action action) noexcept {
    switch (action) {
        case task_action::cancel:
            return "pending and running tasks can be cancelled";
        case task_action::retry:
            return "failed, cancelled, scheduled and retrying tasks can be retried";
        case task_action::remove:
            break;
    }
    return "completed, failed and cancelled tasks can be deleted";
}

[[noreturn]] void throw_bad_state(std::string_view member, std::string_view value,
                                  task_action action) {
    throw invalid_value(member, "operation: " + std::string(member) + " is '" + std::string(value) +
                                    "'; " + std::string(changeable(action)));
}

bool has_condition(const task_filter& filter) noexcept {
    return filter.state || filter.view || !filter.queue.empty() || !filter.kind.empty() ||
           !filter.tag.empty() || !filter.flow_key.empty() || filter.created_from ||
           filter.created_to;
}

// The states of tasks that it changes if the filter names none. Cancelled tasks are retried only if
// the filter names them: somebody did not want them to run.
std::vector<task_state> default_states(task_action action) {
    switch (action) {
        case task_action::cancel:
            return {task_state::pending, task_state::running};
        case task_action::retry:
            return {task_state::failed};
        case task_action::remove:
            break;
    }
    return {task_state::completed, task_state::failed, task_state::cancelled};
}

task_filter search_of(const new_operation& operation) {
    task_filter filter = operation.filter;
    filter.before = {};
    filter.is_brief = true;
    filter.max_scanned = task_filter().max_scanned;
    filter.any_of.clear();
    if (!filter.state && !filter.view) {
        filter.any_of = default_states(operation.action);
    }
    return filter;
}

}  // namespace

void check(const new_operation& operation) {
    if (!operation.is_for_all && !has_condition(operation.filter)) {
        throw invalid_value("filter",
                            "operation: the filter has no condition; name one, or say with 'all' "
                            "that all tasks are meant");
    }
    if (operation.filter.state && !can_change(operation.action, *operation.filter.state)) {
        throw_bad_state("state", to_string(*operation.filter.state), operation.action);
    }
    if (operation.filter.view && !can_change(operation.action, *operation.filter.view)) {
        throw_bad_state("status", to_string(*operation.filter.view), operation.action);
    }
    if (operation.limit == 0) {
        throw invalid_value("limit", "operation: limit is 0; it must be 1 or more");
    }
}

std::string_view to_string(operation_state state) noexcept {
    constexpr std::string_view names[] = {"running", "done", "stopped", "failed"};
    return names[static_cast<std::size_t>(state)];
}

namespace detail {

namespace {

constexpr std::size_t ids_per_search = 2000;
constexpr clock::duration step_target = 4ms;
constexpr std::size_t min_step = 20;
constexpr std::size_t max_step = 500;
// An operation fails if the store is unavailable for that long.
constexpr clock::duration patience = 60s;

}  // namespace

void step_size::took(clock::duration time, std::size_t count) noexcept {
    if (time > 2 * step_target) {
        size_ = std::max(min_step, size_ / 2);
    } else if (time < step_target && count == size_) {
        size_ = std::min(max_step, size_ + size_ / 2);
    }
}

clock::duration step_size::pause_after(clock::duration time) noexcept {
    return std::clamp<clock::duration>(time, 1ms, 100ms);
}

// However the run ends, the record says so.
class bulk_operation::run_guard {
public:
    explicit run_guard(bulk_operation& operation) noexcept : operation_(operation) {}
    run_guard(const run_guard&) = delete;
    run_guard& operator=(const run_guard&) = delete;
    ~run_guard() {
        if (!operation_.has_ended()) {
            operation_.end(operation_state::stopped);
        }
    }

private:
    bulk_operation& operation_;
};

bulk_operation::bulk_operation(operation_record record, store_client& store, const wall_clock& time,
                               claim_trigger& trigger, claimer& claims, runner& runs)
    : store_(store),
      time_(time),
      trigger_(trigger),
      claims_(claims),
      runs_(runs),
      record_(std::move(record)),
      search_(search_of(record_)) {}

task<> bulk_operation::run() {
    const run_guard guard(*this);
    decision::backoff delays(store_backoff_options);
    clock::time_point last_success = weir::now();
    while (!has_ended() && !is_stopping_) {
        const clock::time_point begun = weir::now();
        const bool is_made = co_await step();
        clock::duration pause = step_size::pause_after(weir::now() - begun);
        if (is_made) {
            last_success = weir::now();
            delays = decision::backoff(store_backoff_options);
        } else if (weir::now() - last_success > patience) {
            record_.error = last_error_;
            end(operation_state::failed);
        } else {
            pause = store_.next_delay(delays);
        }
        if (!has_ended() && !is_stopping_) {
            co_await wait_until(wake_, weir::now() + pause);
        }
    }
}

task<bool> bulk_operation::step() {
    try {
        if (!found_.empty()) {
            co_await change_some();
        } else {
            co_await search();
        }
        if (has_found_all_ && found_.empty()) {
            end(operation_state::done);
        }
        co_return true;
    } catch (const store_unavailable& error) {
        last_error_ = error.what();
    }
    co_return false;
}

task<> bulk_operation::search() {
    std::uint64_t wanted = ids_per_search;
    if (record_.limit.has_value()) {
        wanted = std::min(wanted, *record_.limit - record_.matched);
    }
    search_.limit = static_cast<std::size_t>(wanted);
    const task_page found = co_await store_.call(store_->list(search_, time_.now()));
    record_.matched += found.size();
    if (!record_.is_dry_run) {
        for (const task_record& each : found) {
            found_.push_back(each.id);
        }
    }
    const bool is_full = found.size() == search_.limit;
    search_.before = is_full ? found.back().id : found.searched_to;
    has_found_all_ = !search_.before || record_.matched == record_.limit;
}

task<> bulk_operation::change_some() {
    const std::size_t count = std::min(size_.next(), found_.size());
    bulk_change change;
    change.action = record_.action;
    change.ids.assign(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count));
    change.only = search_;
    const std::vector<task_id> ids = change.ids;
    const moment now = time_.moment_now();
    const clock::time_point begun = weir::now();
    const std::vector<change_result> results =
        co_await store_.write(store_->change_tasks(std::move(change), now));
    size_.took(weir::now() - begun, count);
    found_.erase(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count));
    this->count(ids, results);
}

void bulk_operation::count(const std::vector<task_id>& ids,
                           const std::vector<change_result>& results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
        const bool is_changed =
            results[i] == change_result::done || results[i] == change_result::requested;
        ++(is_changed ? record_.changed : record_.skipped);
        if (results[i] == change_result::requested) {
            claims_.note_cancelled(ids[i]);
            runs_.cancel(ids[i]);
        }
    }
    if (record_.action == task_action::retry) {
        trigger_.claim_now();
    }
}

void bulk_operation::end(operation_state state) {
    record_.state = state;
    record_.ended_at = time_.now();
    ended_.set();
}

task<> bulk_operation::stop() {
    is_stopping_ = true;
    wake_.set();
    co_await ended_.wait();
}

}  // namespace detail

}  // namespace weir::service
