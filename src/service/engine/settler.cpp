// SPDX-License-Identifier: MIT
// Settling. One call at a time: what ends while it is under way goes with the next, so nothing
// waits for company, and under load many share a transaction. What fails is repeated until it is
// answered: fences make that harmless. What the store refuses is found by settling one by one, and
// is a failure then. Progress is told at most ten times a second, the latest of each task.

#include "service/engine/core.hpp"

#include <weir/error.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::service {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration progress_pause = 100ms;
constexpr std::size_t most_settled = 2000;
}  // namespace

task<> service::core::settle_ended() {
    for (;;) {
        const auto next =
            std::ranges::find_if(leases_, [](const lease& each) { return !each.ended.empty(); });
        if (next == leases_.end()) {
            is_settled_.set();
            has_ended_.clear();
            co_await has_ended_.wait();
            continue;
        }
        co_await settle_some(*next);
    }
}

task<> service::core::settle_some(lease& of) {
    if (of.ended.size() <= most_settled) {
        of.settling.swap(of.ended);
    } else {
        const auto end = of.ended.begin() + most_settled;
        of.settling.assign(std::move_iterator(of.ended.begin()), std::move_iterator(end));
        of.ended.erase(of.ended.begin(), end);
    }
    detail::growing_wait trouble;
    for (bool is_repeated = false;; is_repeated = true) {
        const bool is_done = co_await settle_together(of, is_repeated);
        if (is_done) {
            break;
        }
        store_is_back_.clear();
        co_await wait_for(store_is_back_, weir::now() + trouble.next(chance()));
    }
    of.settling.clear();
    look_for_tasks();  // what ran may have been in the way of others
}

// False if it must be repeated.
task<bool> service::core::settle_together(lease& of, bool is_repeated) {
    try {
        const std::vector<bool> written =
            co_await ask(kept.settle(of.node(), of.settling, now()), proof::store_works);
        for (std::size_t i = 0; i < of.settling.size(); ++i) {
            settled(of.settling[i], i < written.size() && written[i], is_repeated);
        }
        co_return true;
    } catch (const store_unavailable&) {
        co_return false;
    } catch (const std::exception& error) {
        log(log_level::error, std::string("settling failed: ") + error.what());
    }
    const bool is_done = co_await settle_one_by_one(of);
    co_return is_done;
}

// One of them is what the store cannot take. False if the rest must be repeated.
task<bool> service::core::settle_one_by_one(lease& of) {
    for (std::size_t i = 0; i < of.settling.size(); ++i) {
        const bool is_done = co_await settle_alone(of, of.settling[i]);
        if (!is_done) {
            of.settling.erase(of.settling.begin(),
                              of.settling.begin() + static_cast<std::ptrdiff_t>(i));
            co_return false;
        }
    }
    co_return true;
}

task<bool> service::core::settle_alone(lease& of, const settlement& how) {
    std::string why;
    try {
        co_await settle_just(of, how);
        co_return true;
    } catch (const store_unavailable&) {
        co_return false;
    } catch (const std::exception& error) {
        why = error.what();
    }
    log(log_level::error, "task " + how.key.id.text() + " cannot be settled: " + why);
    const bool is_done = co_await fail_instead(of, how.key, std::move(why));
    co_return is_done;
}

task<> service::core::settle_just(lease& of, const settlement& how) {
    std::vector<settlement> one(1, how);
    const std::vector<bool> written =
        co_await ask(kept.settle(of.node(), std::move(one), now()), proof::store_works);
    settled(how, !written.empty() && written.front(), true);
}

// What cannot be kept is a failure of the attempt: else it would be run again without end.
task<bool> service::core::fail_instead(lease& of, run_key which, std::string why) {
    try {
        const std::optional<task_detail> found = co_await ask(kept.find(which.id));
        if (found.has_value() && found->task.run == which.run) {
            const settlement how = failed(found->task, attempt_end::failed,
                                          "the store cannot keep what became of it: " + why);
            co_await settle_just(of, how);
        }
    } catch (const store_unavailable&) {
        co_return false;
    } catch (const std::exception& error) {
        // It stays as it is in the store, and is found there later as a run that nobody knows of.
        log(log_level::error,
            "task " + which.id.text() + " cannot be settled at all: " + error.what());
    }
    co_return true;
}

void service::core::settled(const settlement& how, bool is_written, bool is_repeated) {
    if (!is_written) {
        counts.fenced += is_repeated ? 0 : 1;  // the first try may have written it
        return;
    }
    counts.completed += how.state == task_state::completed ? 1 : 0;
    counts.dead += how.state == task_state::failed ? 1 : 0;
    counts.cancelled += how.state == task_state::cancelled ? 1 : 0;
    counts.failed +=
        how.attempt == attempt_end::failed || how.attempt == attempt_end::timed_out ? 1 : 0;
}

bool service::core::has_unsettled() const noexcept {
    return std::ranges::any_of(
        leases_, [](const lease& each) { return !each.ended.empty() || !each.settling.empty(); });
}

task<> service::core::wait_until_settled(clock::duration limit) {
    const clock::time_point latest = weir::now() + limit;
    while (has_unsettled() && weir::now() < latest) {
        is_settled_.clear();
        co_await wait_for(is_settled_, latest);
    }
}

task<> service::core::tell_progress() {
    for (;;) {
        feed_.has_news.clear();
        if (feed_.news.empty()) {
            co_await feed_.has_news.wait();
        }
        std::vector<progress_note> notes;
        lease& mine = current();
        for (running_task* const each : feed_.news) {
            each->has_news = false;
            if (each->by == &mine) {
                progress_note note;
                note.key = each->key();
                note.progress = each->progress;
                note.message = detail::kept_text(each->message, detail::longest_message);
                notes.push_back(std::move(note));
            }
        }
        feed_.news.clear();
        try {
            co_await ask(kept.note_progress(mine.node(), std::move(notes), now()));
        } catch (const std::exception&) {
            // It may be lost: the next one says more.
        }
        co_await sleep(progress_pause);
    }
}

}  // namespace weir::service
