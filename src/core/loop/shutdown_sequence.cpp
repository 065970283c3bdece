// SPDX-License-Identifier: MIT
// Tasks are cancelled and awaited, then generators and pools closed, then the last callbacks run.
// At the deadline shields break, and the tasks that this stops are named; tasks that still do not
// end are named and leaked, since destroying a live operation would be worse.

#include "core/loop/shutdown_sequence.hpp"

#include "core/loop/loop_state.hpp"

#include <weir/detail/group_support.hpp>
#include <weir/error.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

namespace weir::detail {

namespace {

// Rings at a time, for a wait that has a limit.
class alarm final : timer {
public:
    alarm(loop& home, clock::time_point when) : home_(home) { home.arm(*this, when); }
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;
    ~alarm() { home_.disarm(*this); }
    const bool& has_rung() const noexcept { return has_rung_; }

private:
    void fire() noexcept override { has_rung_ = true; }
    loop& home_;
    bool has_rung_ = false;
};

}  // namespace

void closable::register_at(loop_core& at) noexcept {
    home = &at;
    static_cast<loop&>(at).state().shutdown.add(*this);
}

void closable::unregister() noexcept {
    if (home != nullptr) {
        home = nullptr;
        unlink();
    }
}

clock::time_point shutdown_sequence::interrupt(int signal) noexcept {
    signal_ = signal;
    end_by_ = after(home_.now(), deadline_);
    return end_by_;
}

// Waits for the present tasks, and then for those that they have started meanwhile.
void shutdown_sequence::await_tasks(bool cancelling, const bool& give_up) {
    constexpr int enough = 1000;  // tasks that start tasks while they end, for ever
    group_state& root = home_.root();
    for (int round = 0; root.child_count > 0 && !give_up && round < enough; ++round) {
        std::vector<any_handle> waiting = home_.all_tasks();
        for (const any_handle& each : waiting) {
            if (cancelling && each.checked().group == &root) {
                each.cancel();
            }
            if (home_.shields_are_broken()) {
                release_held_stop(each.checked());
            }
        }
        while (!give_up) {
            while (!waiting.empty() && waiting.back().done()) {
                waiting.pop_back();
            }
            if (waiting.empty()) {
                break;
            }
            turns_.go_on_after_stop();
            turns_.work();
            if (!waiting.back().done() && !give_up) {  // the alarm may just have rung
                turns_.wait();
            }
        }
    }
}

std::string shutdown_sequence::describe_late_tasks() const {
    return std::to_string(home_.root().child_count) +
           " task(s) did not end within the shutdown deadline\n" + home_.dump_tasks();
}

// Until the deadline, then once more for a short time without shields.
void shutdown_sequence::end_all_tasks(bool cancelling) {
    constexpr clock::duration last_chance = std::chrono::seconds(1);
    const group_state& root = home_.root();
    std::string late;
    for (const bool is_last_attempt : {false, true}) {
        if (root.child_count == 0) {
            break;
        }
        clock::time_point until = std::min(end_by_, after(home_.now(), deadline_));
        if (is_last_attempt) {
            was_late_ = true;
            late = describe_late_tasks();
            until = after(home_.now(), std::min(last_chance, deadline_));
        }
        home_.set_shields_broken(is_last_attempt);
        try {
            const alarm limit(home_, until);
            await_tasks(cancelling || is_last_attempt, limit.has_rung());
        } catch (const deadlock&) {
            // Only without an alarm, when the deadline is the end of time. The tasks are named
            // below.
        }
    }
    if (root.child_count > 0) {
        throw shutdown_timeout(describe_late_tasks());
    }
    if (!late.empty()) {
        home_.tell({report_kind::shutdown,
                    late + "They were stopped without their clean-up.",
                    nullptr,
                    {},
                    {}});
    }
}

void shutdown_sequence::run() {
    turns_.forget_stop();
    end_all_tasks(true);
    while (!closables_.empty()) {
        closable& each = closables_.front();
        each.leave_at_shutdown(true);
        each.close_at_shutdown();
    }
    turns_.take_mail();  // generators that other threads dropped meanwhile
    end_all_tasks(false);
    turns_.request_stop();  // the last callbacks, but not those that they queue
    while (!turns_.stop_is_reached()) {
        turns_.work();
    }
    end_all_tasks(true);
}

// Leaked tasks are kept where leak checkers can see them; their handles report cancelled.
void shutdown_sequence::abandon() noexcept {
    static std::mutex mutex;
    static auto& abandoned = *new std::vector<any_handle>;
    std::lock_guard lock(mutex);
    for (any_handle& each : home_.all_tasks()) {
        each.checked().raise(is_done);
        each.checked().raise(is_cancelled);
        abandoned.push_back(std::move(each));
    }
    while (!closables_.empty()) {
        closables_.front().leave_at_shutdown(false);
    }
}

}  // namespace weir::detail
