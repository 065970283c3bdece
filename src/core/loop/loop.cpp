// SPDX-License-Identifier: MIT
// The loop is a facade over its components (loop_state.hpp): the scheduler runs its turns, the
// inbox takes the posts of other threads, the signal table handles signals, the shutdown sequence
// ends its tasks. This file contains the beginning and end of a run, and the order in which a loop
// closes.

#include "core/debug/task_tree.hpp"
#include "core/driver/driver_choice.hpp"
#include "core/loop/interrupt_watch.hpp"
#include "core/loop/loop_state.hpp"
#include "core/loop/scheduled_call.hpp"

#include <weir/detail/group_support.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

namespace {

bool debug_by_environment() noexcept {
    const char* value = std::getenv("WEIR_DEBUG");
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

std::unique_ptr<driver> check_options(std::unique_ptr<driver> own, const loop_options& options) {
    if (own == nullptr) {
        throw invalid_argument("loop: the driver is null");
    }
    if (options.shutdown_deadline < clock::duration::zero()) {
        throw invalid_argument("loop: shutdown_deadline is negative");
    }
    if (options.slow_step < clock::duration::zero()) {
        throw invalid_argument("loop: slow_step is negative");
    }
    return own;
}

// Makes the loop the running one of this thread.
class running_mark {
public:
    explicit running_mark(loop& marked) : marked_(marked), state_(marked.state()) {
        state_.is_running = true;
        state_.mail->end_sleep();
        marked.move_to_this_thread();
        marked.set_running(true);
        detail::this_thread.loop = &marked;
        detail::this_thread.plain_loop = marked.debug() ? nullptr : &marked;
    }
    running_mark(const running_mark&) = delete;
    running_mark& operator=(const running_mark&) = delete;
    ~running_mark() {
        state_.is_running = false;
        state_.mail->begin_sleep();
        detail::this_thread.loop = nullptr;
        marked_.set_running(false);
        detail::this_thread.plain_loop = nullptr;
    }

private:
    loop& marked_;
    detail::loop_state& state_;
};

void tell_shutdown_error(loop& of_run) noexcept {
    of_run.tell({report_kind::shutdown,
                 describe(std::current_exception()),
                 std::current_exception(),
                 {},
                 {}});
}

}  // namespace

loop::loop(loop_options options) : loop(detail::make_driver(options.driver), std::move(options)) {}

loop::loop(std::unique_ptr<driver> custom, loop_options options)
    : state_(std::make_unique<detail::loop_state>(
          *this, ready_, check_options(std::move(custom), options), options)) {
    if (options.seed != 0) {
        state_->turns.explore(options.seed);
    }
    on_report(std::move(options.on_report));
    debug_ = options.debug.value_or(debug_by_environment());
    root_ = detail::make_group(*this);
    root_->is_root = true;
}

loop::~loop() {
    try {
        close();
    } catch (...) {
        tell_shutdown_error(*this);
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

// ---- running ------------------------------------------------------------------------------------

void loop::check_can_run() const {
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
    check_can_run();
    running_mark mark(*this);
    detail::scheduler& turns = state_->turns;
    if (turns.stop_is_requested()) {  // stopped before it ran: one turn that does not wait
        turns.forget_stop();
        turns.take_events();
        turns.request_stop();
    }
    struct stop_is_for_this_run {
        detail::scheduler& stopped;
        ~stop_is_for_this_run() { stopped.forget_stop(); }
    } at_end{turns};
    for (;;) {
        turns.work();
        if (main != nullptr && main->has(detail::is_done)) {
            return true;
        }
        if (turns.stop_is_reached()) {
            return false;
        }
        turns.wait();
    }
}

// Runs the task, then ends everything else. The result of the task goes before errors of the
// shutdown.
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
        tell_shutdown_error(*this);
    }
    if (failure == nullptr && watch.came_too_late()) {
        failure = watch.error();
    }
    if (failure != nullptr) {
        std::rethrow_exception(failure);
    }
}

void loop::stop() noexcept {
    state_->turns.request_stop();
}

int loop::fd() const noexcept {
    return state_->mail->driver().fd();
}

bool loop::poll() {
    check_can_run();
    running_mark mark(*this);
    return state_->turns.poll();
}

std::optional<clock::time_point> loop::next_deadline() noexcept {
    return state_->is_closed ? std::nullopt : state_->turns.next_deadline();
}

// ---- the end ------------------------------------------------------------------------------------

void loop::shutdown() {
    if (state_->is_closed) {
        return;
    }
    check_can_run();
    try {
        running_mark running(*this);
        state_->shutdown.run();
    } catch (...) {
        abandon_tasks();
        throw;
    }
    release_everything();
}

void loop::close() {
    if (state_->is_closed) {
        return;
    }
    if (state_->is_running) {
        throw loop_error("close: the loop is running; stop() it first");
    }
    if (debug_) {
        for (detail::fiber& each : root_->children) {
            tell({report_kind::pending_destroyed,
                  "a task had not ended when its loop was closed: " + detail::fiber_name(each),
                  nullptr,
                  any_handle(each),
                  {}});
        }
    }
    if (root_->child_count > 0 || state_->shutdown.has_closables()) {
        shutdown();
    } else {
        release_everything();
    }
}

void loop::abandon_tasks() noexcept {
    if (!state_->is_closed) {
        state_->shutdown.abandon();
        release_everything();
    }
}

void loop::release_everything() noexcept {
    state_->is_closed = true;
    state_->signals.close();
    state_->turns.close();
    root_->is_closed = true;
    state_->services.close();
}

// ---- callbacks and tasks ------------------------------------------------------------------------

namespace {

void check_callback(const loop& used, const detail::unique_function<void()>& callback,
                    const char* what) {
    if (!callback) {
        throw invalid_argument(std::string(what) + ": the callback is empty");
    }
    if (used.is_closed()) {
        throw loop_error(std::string(what) + ": the loop is closed");
    }
    used.check_thread(what);
}

// With one reference for the loop and one for the handle.
detail::scheduled_call& make_call(loop& home, detail::unique_function<void()> callback,
                                  clock::time_point when, const std::source_location& where) {
    auto* call = new detail::scheduled_call(home, std::move(callback), where);
    call->context = detail::snapshot_context(detail::current_context());
    call->when = when;
    call->references = 2;
    return *call;
}

}  // namespace

callback_handle loop::call_soon(detail::unique_function<void()> callback,
                                std::source_location where) {
    check_callback(*this, callback, "call_soon");
    detail::scheduled_call& call = make_call(*this, std::move(callback), now(), where);
    push(call);
    return callback_handle(call);
}

callback_handle loop::call_at(clock::time_point when, detail::unique_function<void()> callback,
                              std::source_location where) {
    check_callback(*this, callback, "call_at");
    detail::scheduled_call& call = make_call(*this, std::move(callback), when, where);
    arm(call, when);
    return callback_handle(call);
}

post_handle loop::post(detail::unique_function<void()> callback, std::source_location where) {
    if (!callback) {
        throw invalid_argument("post: the callback is empty");
    }
    const std::shared_ptr<detail::inbox> mail = state_->mail;  // the loop may go meanwhile
    std::shared_ptr<detail::posted_call> call = detail::post(*mail, std::move(callback), where);
    if (call == nullptr) {
        throw loop_error("post: the loop is closed");
    }
    return post_handle(std::move(call));
}

std::shared_ptr<detail::inbox> loop::mail() const noexcept {
    return state_->mail;
}

void loop::expect_post() noexcept {
    state_->mail->expect_post();
}

void loop::expected_post_came() noexcept {
    state_->mail->expected_post_came();
}

void loop::on_signal(int number, detail::unique_function<void()> callback,
                     std::source_location where) {
    check_callback(*this, callback, "on_signal");
    state_->signals.set(number, std::move(callback), where);
}

bool loop::remove_signal(int number) noexcept {
    return state_->signals.remove(number);
}

detail::start_options loop::start_options(const spawn_options& options,
                                          const std::source_location& where) {
    detail::start_options converted = detail::to_start_options(options, *this);
    converted.created = where;
    return converted;
}

std::vector<any_handle> loop::all_tasks() {
    check_thread("all_tasks");
    return detail::list_tasks(*root_);
}

std::string loop::dump_tasks() {
    check_thread("dump_tasks");
    return detail::describe_tasks(*root_);
}

std::vector<any_handle> all_tasks() {
    return loop::current().all_tasks();
}

std::string dump_tasks() {
    return loop::current().dump_tasks();
}

// ---- time, reports, services --------------------------------------------------------------------

clock::time_point loop::now() noexcept {
    return state_->turns.now();
}

clock::time_point clock::now() {
    return weir::now();
}

void loop::arm(detail::timer& timer, clock::time_point when) noexcept {
    state_->turns.timers().arm(timer, when.time_since_epoch().count());
}

void loop::disarm(detail::timer& timer) noexcept {
    state_->turns.timers().disarm(timer);
}

void loop::set_debug(bool on) noexcept {
    debug_ = on;
    if (detail::this_thread.loop == this) {
        detail::this_thread.plain_loop = on ? nullptr : this;
    }
}

void loop::on_report(report_handler handler) {
    state_->reports.set_handler(std::move(handler));
}

void loop::tell(report about) noexcept {
    state_->reports.tell(std::move(about));
}

void loop::set_slow_step(clock::duration limit) noexcept {
    state_->turns.set_slow_step(limit);
}

driver& loop::get_driver() noexcept {
    return state_->mail->driver();
}

std::uint64_t loop::fresh_seed() noexcept {
    // Multiples of an odd number are all different.
    std::uint64_t seed = ++state_->seeds * 0xd1342543de82ef95U;
    if (!get_driver().is_simulated()) {
        std::uint64_t entropy = 0;
        if (::getentropy(&entropy, sizeof entropy) != 0) {
            entropy = static_cast<std::uint64_t>(now().time_since_epoch().count());
        }
        seed ^= entropy;
    }
    return seed;
}

loop_service* loop::find_service(const void* key) const {
    check_thread("service");
    loop_service* const found = state_->services.find(key);
    if (found == nullptr && state_->is_closed) {
        throw loop_error("service: the loop is closed");
    }
    return found;
}

loop_service& loop::add_service(const void* key, std::unique_ptr<loop_service> service) {
    return state_->services.add(key, std::move(service));
}

}  // namespace weir
