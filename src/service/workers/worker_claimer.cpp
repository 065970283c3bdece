// SPDX-License-Identifier: MIT
// One claim at a time; what becomes ready while it is in flight is noted on the board for the next.
// The store tells of tasks that become ready, so a task reaches a waiting worker without a look at
// the store in between. One look a second finds those that other servers have submitted.
//
// If the answer to a claim is lost, the claim is repeated with the same numbers: the store gives
// the tasks that it has claimed with them.

#include "service/workers/worker_claimer.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <utility>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
// A task of a kind of the service has ended: the limits of its queue may let another one run. Such
// ends are many, so one look serves those of this time.
constexpr clock::duration look_after_end = 20ms;
constexpr clock::duration min_look_pause = 1ms;
}  // namespace

void worker_claimer::add(std::shared_ptr<waiting_poll> poll, const worker_session& session) {
    board_.add(std::move(poll), session.kinds, session.queues);
    wake_.set();
}

void worker_claimer::end_all(poll_answer::verdict how) {
    for (const std::shared_ptr<waiting_poll>& each : board_.all()) {
        each->end(how);
    }
}

void worker_claimer::look_at(clock::time_point when) {
    if (when < next_look_) {
        next_look_ = when;
        wake_.set();
    }
}

void worker_claimer::tasks_changed(std::span<const task_event> events) {
    if (board_.empty()) {
        return;
    }
    const timestamp now = time_.now();
    bool is_wanted = false;
    for (const task_event& each : events) {
        switch (each.view) {
            case task_view::pending:
            case task_view::retrying:
            case task_view::scheduled:
                if (each.due_at <= now) {
                    is_wanted = board_.tasks_ready(each.kind, each.queue) || is_wanted;
                } else {
                    look_at(time_.loop_time(each.due_at));
                }
                break;
            case task_view::completed:
            case task_view::failed:
            case task_view::cancelled:
                if (board_.task_ended(each.kind)) {
                    is_wanted = true;
                } else {
                    look_at(weir::now() + look_after_end);
                }
                break;
            case task_view::waiting:
            case task_view::running:
            case task_view::cancelling:
                break;
        }
    }
    if (is_wanted) {
        wake_.set();
    }
}

void worker_claimer::queue_changed() {
    board_.anything_ready();
    wake_.set();
}

task<> worker_claimer::run() {
    for (;;) {
        wake_.clear();
        if (board_.empty()) {
            co_await wake_.wait();
            continue;
        }
        const clock::time_point now = weir::now();
        if (now >= next_look_) {
            board_.anything_ready();
        }
        if (now >= not_before_ && board_.is_wanted()) {
            std::vector<std::shared_ptr<waiting_poll>> polls = board_.begin_claim();
            if (!polls.empty()) {
                next_look_ = std::min(next_look_ <= now ? clock::time_point::max() : next_look_,
                                      now + options_.poll);
                co_await claim(std::move(polls));
                continue;
            }
        }
        if (now >= next_look_) {
            next_look_ = now + options_.poll;
        }
        co_await wait_until(wake_, now < not_before_ ? not_before_ : next_look_);
        if (weir::now() < not_before_) {
            co_await sleep_until(not_before_);
        }
    }
}

task<> worker_claimer::claim(std::vector<std::shared_ptr<waiting_poll>> polls) {
    // Also if this fiber is stopped: the polls do not wait for an answer any more.
    class in_flight {
    public:
        in_flight(poll_board& board, const std::vector<std::shared_ptr<waiting_poll>>& polls)
            : board_(board), polls_(polls) {}
        in_flight(const in_flight&) = delete;
        in_flight& operator=(const in_flight&) = delete;
        ~in_flight() {
            if (!is_answered) {
                board_.claim_failed(polls_);
            }
        }
        bool is_answered = false;

    private:
        poll_board& board_;
        const std::vector<std::shared_ptr<waiting_poll>>& polls_;
    };
    std::vector<worker_claim> requests;
    requests.reserve(polls.size());
    for (const std::shared_ptr<waiting_poll>& each : polls) {
        worker_claim& request = requests.emplace_back();
        request.worker = each->worker;
        request.poll = each->asked.number;
        request.free = each->asked.free;
    }
    worker_claims claims;
    {
        in_flight guard(board_, polls);
        try {
            claims = co_await store_.call(
                store_->claim_for_workers(std::move(requests), time_.moment_now()));
            guard.is_answered = true;
        } catch (const store_unavailable&) {
            // The store_client has logged it.
        } catch (const std::exception& error) {
            log_.write(log_level::error,
                       std::string("claiming for workers failed: ") + error.what());
        }
        if (!guard.is_answered) {
            not_before_ = weir::now() + store_.next_delay(delays_);
            co_return;
        }
    }
    delays_.restart();
    if (claims.next_at.has_value()) {
        look_at(std::max(time_.steady_loop_time(*claims.next_at), weir::now() + min_look_pause));
    }
    for (std::size_t i = 0; i < polls.size(); ++i) {
        take_answer(*polls[i], i < claims.answers.size() ? std::move(claims.answers[i])
                                                         : worker_claim_answer());
    }
}

void worker_claimer::take_answer(waiting_poll& poll, worker_claim_answer answer) {
    using verdict = worker_claim_answer::verdict;
    const bool was_looked_at = poll.was_looked_at();
    poll_answer ended;
    for (task_record& each : answer.tasks) {
        ended.tasks.push_back(runs_.begin(poll.worker, std::move(each)));
    }
    board_.claim_answered(poll, ended.tasks.size());
    if (!ended.tasks.empty()) {
        ended.what = poll_answer::verdict::claimed;
    } else if (answer.what == verdict::gone) {
        ended.what = poll_answer::verdict::gone;
        sessions_.forget(poll.worker);
        runs_.forget_all_of(poll.worker);
    } else if (answer.what == verdict::outdated && !was_looked_at) {
        ended.what = poll_answer::verdict::outdated;
    } else if (answer.what == verdict::draining && !was_looked_at) {
        board_.remove(poll);  // it waits for its time, so that the worker does not ask in a loop
        return;
    } else if (answer.what == verdict::claimed) {
        return;  // it waits
    }
    board_.remove(poll);
    poll.end(std::move(ended));
}

}  // namespace weir::service::detail
