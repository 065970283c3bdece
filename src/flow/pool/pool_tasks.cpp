// SPDX-License-Identifier: MIT
// The tasks that connect, check, reset and close a pool's objects, as the pool sees them.
//
// They are children of the loop's root group, so that the end of the loop stops and awaits them;
// the pool keeps their handles to cancel them when it ends earlier. Each holds a pool_work, through
// which it answers, and whose destructor answers if the task was stopped or never started: the
// count of tasks and of objects is right on every path.

#include <weir/error.hpp>
#include <weir/flow/detail/pool_work.hpp>
#include <weir/loop.hpp>

#include <algorithm>

namespace weir::detail {

void pool_core::connected(pool_entry& fresh) noexcept {
    ++counted_.connects;
    failures_ = 0;
    const clock::time_point now = time();
    fresh.since = fresh.known_good = now;
    if (options_.max_lifetime != pool_options::forever) {
        const double share = 1 - options_.lifetime_jitter * random_.next_fraction();
        const auto lifetime = std::chrono::duration<double, std::nano>(
            static_cast<double>(options_.max_lifetime.count()) * share);
        fresh.expires = after(now, to_nanoseconds(lifetime));
        wake_at(fresh.expires);
    }
    tell("connected");
    offer(fresh, true);
}

// The one who has waited longest is told, unless what is on its way is enough for everybody.
void pool_core::connect_failed(std::exception_ptr error) noexcept {
    if (is_closed_ || (is_draining_ && waiting_ == 0)) {  // close() has cancelled it
        note_change();
        return;
    }
    ++counted_.connect_failures;
    ++failures_;
    back_off();
    tell("connect_failed", static_cast<double>(failures_));
    if (waiting_ > count_of(pool_job::checking) + count_of(pool_job::connecting)) {
        refuse_first({}, std::move(error));
    }
    pump();
}

void pool_core::sink_current_error(pool_stage stage) noexcept {
    const std::exception_ptr error = std::current_exception();
    if (options_.on_error && !is_orphaned_ && !is_cancellation(error)) {
        options_.on_error({name_, stage, error});
    }
}

void pool_core::checked(pool_entry& entry, bool is_good) noexcept {
    if (is_good) {
        entry.known_good = time();
    } else {
        ++counted_.check_failures;
        entry.is_retired = true;
        tell("check_failed");
    }
    offer(entry, true);
}

void pool_core::was_closed(pool_entry& entry) noexcept {
    destroy(entry);
    pump();
}

void pool_core::stopped(pool_job job, pool_entry* entry) noexcept {
    switch (job) {
        case pool_job::connecting:
            connect_failed(std::make_exception_ptr(cancelled("the pool's connect was stopped")));
            return;
        case pool_job::closing:
            was_closed(*entry);
            return;
        case pool_job::checking:
        case pool_job::resetting:
            retire(*entry);
            pump();
            return;
    }
}

void pool_core::launch(pool_job job, task<> work) noexcept {
    loop* here = loop::current_or_null();
    if (here == nullptr || here->id() != loop_) {
        work.discard();
        return;
    }
    try {
        if (tasks_.size() == tasks_.capacity()) {
            std::erase_if(tasks_, [](const running_task& each) { return each.task.done(); });
            tasks_.reserve(std::max<std::size_t>(8, 2 * tasks_.size()));
        }
        tasks_.push_back(
            {here->spawn(std::move(work), {.name = {}, .start = start::later, .context = nullptr}),
             job});
    } catch (...) {  // out of memory, or the loop is closed: the task is gone and has answered
    }
}

void pool_core::cancel_tasks(bool connects_only) noexcept {
    for (const running_task& each : tasks_) {
        if (!connects_only || each.job == pool_job::connecting) {
            each.task.cancel("the pool is closed");
        }
    }
}

}  // namespace weir::detail
