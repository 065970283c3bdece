// SPDX-License-Identifier: MIT
// The loop. One turn: up to 64 entries of the ready queue, then what other threads posted, then
// timers that are due, then the driver, which waits if nothing is ready. A fiber that yields for
// ever therefore starves neither timers nor sockets, and a turn costs no system call while work is
// there.

#include "core/driver/driver_choice.hpp"
#include "core/loop/interrupt_watch.hpp"
#include "core/loop/loop_state.hpp"
#include "core/runtime/fiber_extras.hpp"

#include <weir/detail/group_support.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace weir {

using detail::loop_state;

namespace {

constexpr int resumptions_per_turn = 64;

bool debug_by_environment() noexcept {
    const char* value = std::getenv("WEIR_DEBUG");
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace

detail::loop_core::loop_core() noexcept
    : id_([] {
          static constinit std::atomic<std::uint32_t> last{0};
          return last.fetch_add(1, std::memory_order_relaxed) + 1;
      }()) {}

loop::loop(loop_options options) : loop(detail::make_driver(options.driver), std::move(options)) {}

loop::loop(std::unique_ptr<driver> custom, loop_options options)
    : state_(std::make_unique<loop_state>()) {
    if (custom == nullptr) {
        throw invalid_argument("loop: the driver is null");
    }
    if (options.shutdown_deadline < clock::duration::zero()) {
        throw invalid_argument("loop: shutdown_deadline is negative");
    }
    if (options.slow_step < clock::duration::zero()) {
        throw invalid_argument("loop: slow_step is negative");
    }
    state_->driver = custom.get();
    state_->mail->driver = std::move(custom);
    state_->thread = std::this_thread::get_id();
    state_->slow_step = options.slow_step;
    state_->shutdown_deadline = options.shutdown_deadline;
    if (options.seed != 0) {
        state_->exploration = std::make_unique<detail::explorer>(options.seed);
    }
    on_report(std::move(options.on_report));
    state_->signal_use = options.signals;
    state_->dump_on_sigusr1 = options.dump_on_sigusr1.value_or(false);
    state_->stop_marker.flags = detail::is_callback;
    debug_ = options.debug.value_or(debug_by_environment());
    root_ = detail::make_group(*this);
    root_->is_root = true;
}

loop::~loop() {
    try {
        close();
    } catch (...) {
        tell({report_kind::shutdown,
              describe(std::current_exception()),
              std::current_exception(),
              {},
              {}});
        abandon_tasks();
    }
    detail::release_group(root_);
}

loop* loop::current_or_null() noexcept {
    return static_cast<loop*>(detail::this_thread.loop);
}

loop& loop::current() {
    if (loop* running = current_or_null()) {
        return *running;
    }
    throw loop_error("no loop runs on this thread: this call belongs inside weir::run");
}

bool loop::is_running() const noexcept {
    return state_->is_running;
}
bool loop::is_closed() const noexcept {
    return state_->is_closed;
}
driver& loop::get_driver() noexcept {
    return *state_->driver;
}

loop_service* loop::find_service(const void* key) const {
    check_thread("service");
    for (const auto& [known, made] : state_->services) {
        if (known == key) {
            return made.get();
        }
    }
    if (state_->is_closed) {
        throw loop_error("service: the loop is closed");
    }
    return nullptr;
}

loop_service& loop::add_service(const void* key, std::unique_ptr<loop_service> made) {
    return *state_->services.emplace_back(key, std::move(made)).second;
}

std::uint64_t loop::fresh_seed() noexcept {
    // Multiples of an odd number are all different.
    std::uint64_t seed = ++state_->seeds * 0xd1342543de82ef95U;
    if (!state_->driver->is_simulated()) {
        std::uint64_t entropy = 0;
        if (::getentropy(&entropy, sizeof entropy) != 0) {
            entropy = static_cast<std::uint64_t>(now().time_since_epoch().count());
        }
        seed ^= entropy;
    }
    return seed;
}
int loop::fd() const noexcept {
    return state_->driver->fd();
}
void loop::set_slow_step(clock::duration limit) noexcept {
    state_->slow_step = limit;
}
detail::start_options loop::start_options(const spawn_options& how,
                                          const std::source_location& where) {
    detail::start_options made = detail::to_start_options(how, *this);
    made.created = where;
    return made;
}
clock::time_point loop::now() noexcept {
    return clock::time_point(clock::duration(state_->driver->now()));
}
clock::time_point clock::now() {
    return weir::now();
}

// ---- running
// -------------------------------------------------------------------------------------

void loop::start() {
    if (state_->is_closed) {
        throw loop_error("the loop is closed");
    }
    if (state_->is_running) {
        throw loop_error("this loop is running already: await the task instead of running it");
    }
    if (detail::this_thread.loop != nullptr) {
        throw loop_error(
            "another loop is running on this thread: await the task instead of running it");
    }
}

void loop::run_until_done(detail::fiber& main) {
    if (&main.home() != this) {
        throw loop_error("run_until: the task belongs to another loop");
    }
    any_handle keep(main);
    if (!run_turns(&main)) {
        throw stopped_early("the loop was stopped before the main task had ended");
    }
}

void loop::run_forever() {
    run_turns(nullptr);
}

// True when the task has ended, false when stop() ended the run.
bool loop::run_turns(const detail::fiber* main) {
    start();
    detail::running_mark mark(*this);
    if (state_->stop_is_queued) {  // stopped before it ran: one turn over what is there, without
                                   // waiting
        forget_stop();
        state_->driver->wait(0);
        take_mail();
        fire_timers();
        stop();
    }
    struct stop_is_for_this_run {
        loop& run;
        ~stop_is_for_this_run() { run.forget_stop(); }
    } at_end{*this};
    for (;;) {
        work();
        if (main != nullptr && main->has(detail::is_done)) {
            return true;
        }
        if (state_->stop_met) {
            return false;
        }
        wait();
    }
}

// Runs the task, then ends everything else. What run was called for goes before what the end
// brings.
void loop::run_and_shut_down(detail::fiber& main) {
    any_handle keep(main);
    std::exception_ptr failure;
    detail::interrupt_watch watch(*this, main);
    try {
        run_until_done(main);
    } catch (...) {
        failure = std::current_exception();
    }
    if (watch.ended_main()) {
        failure = watch.error();
    }
    try {
        shutdown();
    } catch (...) {
        if (failure == nullptr && !main.has(detail::is_failed) && !main.has(detail::is_cancelled)) {
            throw;
        }
        tell({report_kind::shutdown,
              describe(std::current_exception()),
              std::current_exception(),
              {},
              {}});
    }
    if (failure == nullptr && watch.came_too_late()) {
        failure = watch.error();
    }
    if (failure != nullptr) {
        std::rethrow_exception(failure);
    }
}

void loop::stop() noexcept {
    if (!std::exchange(state_->stop_is_queued, true)) {
        push(state_->stop_marker);
    }
}

void loop::forget_stop() noexcept {
    state_->stop_met = false;
    if (!std::exchange(state_->stop_is_queued, false)) {
        return;
    }
    detail::ready_item** place = &ready_head_;
    while (*place != &state_->stop_marker) {
        place = &(*place)->next;
    }
    take(place);
}

bool loop::poll() {
    start();
    detail::running_mark mark(*this);
    detail::inbox& mail = *state_->mail;
    mail.is_sleeping.store(false, std::memory_order_relaxed);
    state_->stop_met = false;  // there is no run to stop
    state_->driver->wait(0);
    work();
    if (ready_head_ == nullptr && state_->driver->has_sources()) {
        state_->driver->wait(0);  // what was begun now goes to the kernel before the host sleeps
    }
    if (ready_head_ != nullptr) {
        return true;
    }
    // The host may sleep now: whoever posts after this look makes the descriptor readable.
    mail.is_sleeping.store(true, std::memory_order_seq_cst);
    return mail.posted.load(std::memory_order_seq_cst) != nullptr || mail.signals.load() != 0;
}

std::optional<clock::time_point> loop::next_deadline() noexcept {
    if (state_->is_closed) {
        return std::nullopt;
    }
    if (ready_head_ != nullptr || state_->mail->has_mail()) {
        return clock::time_point::min();
    }
    const std::int64_t deadline = state_->timers.next_deadline();
    if (deadline == detail::timer_wheel::never) {
        return std::nullopt;
    }
    return clock::time_point(clock::duration(deadline));
}

void loop::work() {
    run_ready();
    loop_state& state = *state_;
    if (state.mail->has_mail()) [[unlikely]] {
        take_mail();
    }
    if (!state.timers.empty()) {
        fire_timers();
    }
}

void loop::wait() {
    if (ready_head_ == nullptr) {
        wait_for_something();
    } else if (state_->driver->has_sources()) {
        state_->driver->wait(0);
    }
}

void loop::run_ready() noexcept {
    const bool plain = !debug_ && state_->exploration == nullptr;
    int count = resumptions_per_turn;
    while (count > 0 && ready_head_ != nullptr && !state_->stop_met) {
        if (plain) [[likely]] {
            count = run_fibers(count);
            if (count == 0 || ready_head_ == nullptr) {
                return;
            }
        }
        detail::ready_item& item = pop();
        if ((item.flags & detail::is_callback) != 0) {
            run_callback(item);
        } else if (debug_) {
            step_watched(static_cast<detail::fiber&>(item));
        } else {
            step(static_cast<detail::fiber&>(item), step_budget());
        }
        --count;
    }
}

unsigned loop::step_budget() noexcept {
    return state_->exploration != nullptr ? state_->exploration->budget()
                                          : detail::operations_per_step;
}

detail::ready_item& loop::pop() noexcept {
    return state_->exploration != nullptr ? take(state_->exploration->choose(ready_head_))
                                          : take(&ready_head_);
}

void loop::fire_timers() noexcept {
    const std::int64_t now = state_->driver->now();
    detail::explorer* const shuffle =
        state_->exploration != nullptr && state_->exploration->shuffles()
            ? state_->exploration.get()
            : nullptr;
    while (detail::timer* due = state_->timers.pop_due(now, shuffle)) {
        due->fire();
    }
}

void loop::wait_for_something() {
    loop_state& state = *state_;
    if (state.idle != nullptr && !state.mail->has_mail()) {
        state.idle->nothing_is_ready();  // one at a time: it may make others ready
        return;
    }
    const std::int64_t deadline = state.timers.next_deadline();
    detail::inbox& mail = *state.mail;
    if (state.driver->is_simulated() && deadline == detail::timer_wheel::never &&
        mail.outside_work.load() == 0 && !mail.has_mail()) {
        const std::string message =
            "deadlock: no task is ready, no timer is armed, and nothing outside can wake one\n" +
            dump_tasks();
        if (debug_) {
            tell({report_kind::deadlock, message, nullptr, {}, {}});
        }
        throw deadlock(message);
    }
    // Say that we sleep, then look once more: whoever posts after that look wakes us.
    mail.is_sleeping.store(true, std::memory_order_seq_cst);
    if (mail.posted.load(std::memory_order_seq_cst) == nullptr) {
        // Simulated time must not run ahead of work that is done elsewhere in real time.
        const bool for_outside = state.driver->is_simulated() && mail.outside_work.load() != 0;
        state.driver->wait(for_outside ? driver::forever : deadline);
    }
    mail.is_sleeping.store(false, std::memory_order_relaxed);
    if (mail.has_mail()) {
        take_mail();
    }
    if (!state.timers.empty()) {
        fire_timers();
    }
}

// ---- timers, for operations
// ----------------------------------------------------------------------

void loop::arm(detail::timer& timer, clock::time_point when) noexcept {
    state_->timers.arm(timer, when.time_since_epoch().count());
}
void loop::disarm(detail::timer& timer) noexcept {
    state_->timers.disarm(timer);
}
std::shared_ptr<detail::inbox> loop::mail() const noexcept {
    return state_->mail;
}
void loop::expect_post() noexcept {
    state_->mail->outside_work.fetch_add(1);
}
void loop::expected_post_came() noexcept {
    state_->mail->outside_work.fetch_sub(1);
}

}  // namespace weir
