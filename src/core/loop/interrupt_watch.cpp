// SPDX-License-Identifier: MIT
// The signal cancels the main task and starts the clock of the shutdown: clean-up in the main task
// and the shutdown after it share one deadline. A main task that does not end by then is left to
// the shutdown, by stopping the loop.

#include "core/loop/interrupt_watch.hpp"

#include <weir/error.hpp>

#include <unistd.h>

#include <cstdio>

namespace weir::detail {

interrupt_watch::interrupt_watch(loop& home, fiber& main) : loop_(home), main_(main) {
    loop_state& state = home.state();
    if (!home.get_driver().wakes_from_signals()) {
        return;
    }
    if (state.signal_use == signal_handling::graceful && state.signals.claim_process()) {
        has_signals_ = true;
        for (const int number : {SIGINT, SIGTERM}) {
            state.signals.set_for_run(number, [this, number] { take(number); });
        }
    }
    if (state.dump_on_sigusr1) {
        has_dump_ = true;
        state.signals.set_for_run(SIGUSR1, [&home] {
            std::fprintf(stderr, "weir: the tasks of process %d:\n%s", static_cast<int>(::getpid()),
                         home.dump_tasks().c_str());
        });
    }
}

interrupt_watch::~interrupt_watch() {
    loop_.disarm(*this);
    signal_table& signals = loop_.state().signals;
    if (has_signals_) {
        signals.remove_for_run(SIGINT);
        signals.remove_for_run(SIGTERM);
    }
    if (has_dump_) {
        signals.remove_for_run(SIGUSR1);
    }
    if (has_signals_) {
        signal_table::release_process();
    }
}

void interrupt_watch::take(int number) noexcept {
    if (main_.has(is_done)) {
        return;  // the shutdown is under way
    }
    signal_ = number;
    loop_state& state = loop_.state();
    state.reports.count_failures();
    loop_.arm(*this, state.shutdown.interrupt(number));
    cancel_fiber(main_, number == SIGINT ? "SIGINT" : "SIGTERM");
}

void interrupt_watch::fire() noexcept {
    if (!main_.has(is_done)) {
        is_overdue_ = true;
        loop_.stop();
    }
}

bool interrupt_watch::ended_main() const noexcept {
    if (signal_ == 0) {
        return false;
    }
    return main_.has(is_done) ? main_.has(is_cancelled) && main_.cancel_count == 1 : is_overdue_;
}

bool interrupt_watch::came_too_late() const noexcept {
    return has_signals_ && signal_ == 0 && signal_table::first_signal() != 0 &&
           !main_.has(is_failed) && !main_.has(is_cancelled);
}

std::exception_ptr interrupt_watch::error() const {
    return std::make_exception_ptr(
        interrupted(signal_ != 0 ? signal_ : signal_table::first_signal()));
}

}  // namespace weir::detail
