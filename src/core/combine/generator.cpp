// SPDX-License-Identifier: MIT
// A generator's body is a coroutine like a task's, except that it is put on the stack of the fiber
// that awaits next(), and taken off again at each co_yield. While it is off the stack it belongs to
// the generator object; while it is on, to the stack, so that a stop walk may destroy it.
//
// Clean-up of a body that was dropped is run by a fiber of its own. A stop must not keep that from
// happening, not even one that comes before the first step, so the clean-up is attached to the
// fiber's outermost frame the way defer() would have done: it runs, shielded, in whichever way that
// frame ends.
//
// A generator object may be destroyed on a thread that does not run its loop. Then its body goes to
// the loop by mail and is destroyed there. Meanwhile the loop may be shutting down and closing the
// same body, so both sides hold a mutex while they settle which of them ends it. On the loop's own
// thread there is nothing to settle, and no lock is taken.

#include "core/loop/loop_state.hpp"

#include <weir/base/mail.hpp>
#include <weir/error.hpp>
#include <weir/stream.hpp>

#include <mutex>

namespace weir::detail {

namespace {

// Held by threads other than the loop's own while they use the link between a generator and its
// body, and by a loop that closes a body at its shutdown.
constinit std::mutex elsewhere;

// The body of a generator that was dropped on another thread, on its way to its loop.
class dropped_body final : public mail_item {
public:
    explicit dropped_body(generator_promise_base& dropped) noexcept : dropped_(dropped) {}
    void arrive(loop&) noexcept override { end(); }
    void get_lost() noexcept override { end(); }

private:
    void end() noexcept {
        dropped_.end_in_background();
        delete this;
    }
    generator_promise_base& dropped_;
};

task<void> do_nothing() {
    co_return;
}

// An empty task that owns the clean-up as if it had deferred it.
task<void> carry(deferred* cleanup) {
    using carrier = task_promise<void>;
    carrier& made =
        std::coroutine_handle<carrier>::from_address(do_nothing().release_frame()).promise();
    cleanup->settle = [](promise_base& ended, std::exception_ptr error) noexcept {
        auto& outcome = static_cast<carrier&>(ended).outcome;
        if (error != nullptr) {
            outcome.set_error(std::move(error));
        }
        return outcome.error();
    };
    made.cleanup = cleanup;
    return made.get_return_object();
}

void delete_all(deferred* list) noexcept {
    while (list != nullptr) {
        delete std::exchange(list, list->next);
    }
}
// Ends what can be ended without waiting; the rest of the list.
deferred* drop_at_once(deferred* list) noexcept {
    deferred* rest = nullptr;
    deferred** last = &rest;
    while (list != nullptr) {
        deferred* const each = std::exchange(list, list->next);
        each->next = nullptr;
        if (each->drop()) {
            delete each;
        } else {
            *last = each;
            last = &each->next;
        }
    }
    return rest;
}
void run_in_background(deferred* cleanup, loop& home) noexcept {
    try {
        check_spawn(home.root());
    } catch (const std::exception& error) {
        home.tell(
            {report_kind::callback_error,
             std::string("the clean-up of a dropped generator could not be run: ") + error.what(),
             std::current_exception(),
             {},
             {}});
        delete_all(cleanup);
        return;
    }
    start_options options;
    options.name = "generator clean-up";
    start_fiber(home.root(), carry(cleanup), options).release();
}

}  // namespace

// ---- the object ---------------------------------------------------------------------------------

generator_base::generator_base(generator_promise_base& made) noexcept : promise_(&made) {
    made.owner = this;
}

void generator_base::take_over(generator_base& other) noexcept {
    std::unique_lock lock(elsewhere, std::defer_lock);
    if (!other.is_at_home()) [[unlikely]] {
        lock.lock();
    }
    promise_ = std::exchange(other.promise_, nullptr);
    loop_ = std::exchange(other.loop_, 0);
    end_ = std::exchange(other.end_, generator_end::ended);
    if (promise_ != nullptr) {
        promise_->owner = this;
    }
}

generator_base& generator_base::operator=(generator_base&& other) noexcept {
    if (this != &other) {
        abandon();
        take_over(other);
    }
    return *this;
}

void generator_base::abandon() noexcept {
    if (!is_at_home()) [[unlikely]] {
        abandon_elsewhere();
        return;
    }
    generator_promise_base* const dropped = std::exchange(promise_, nullptr);
    if (dropped == nullptr) {
        return;
    }
    dropped->owner = nullptr;
    if (dropped->now != generator_promise_base::state::running) {
        dropped->end_in_background();
    }
}

void generator_base::abandon_elsewhere() noexcept {
    std::unique_lock lock(elsewhere);
    generator_promise_base* const dropped = std::exchange(promise_, nullptr);
    if (dropped == nullptr) {
        return;
    }
    dropped->owner = nullptr;
    if (dropped->now == generator_promise_base::state::running) {
        return;
    }
    const loop_core* const home = dropped->home;
    if (home != nullptr && !home->is_on_own_thread() && dropped->go_home()) {
        return;
    }
    lock.unlock();
    dropped->end_in_background();  // this is the loop's thread, or the loop is gone
}

task<void> close_generator(generator_base& closed) {
    if (!closed.is_at_home()) {
        throw invalid_state("close() of a generator that was started on another loop");
    }
    generator_promise_base* const body = closed.promise_;
    if (body == nullptr) {
        co_return;
    }
    if (body->now == generator_promise_base::state::running) {
        throw invalid_state("close() of a generator whose next() is in progress");
    }
    if (deferred* cleanup = body->end()) {
        co_await carry(cleanup);
    }
}

// ---- the promise --------------------------------------------------------------------------------

generator_promise_base::~generator_promise_base() {
    const bool was_stopped = now == state::running;
    if (was_stopped) {
        static_cast<next_boundary*>(parent)->promise_ = nullptr;
    }
    if (owner != nullptr) {
        owner->promise_ = nullptr;
        owner->end_ = was_stopped ? generator_end::stopped : generator_end::ended;
    }
}

deferred* generator_promise_base::end() noexcept {
    now = state::ended;
    deferred* const rest = std::exchange(cleanup, nullptr);
    std::coroutine_handle<>::from_address(coroutine()).destroy();
    return rest;
}

void generator_promise_base::end_in_background() noexcept {
    // The shutdown of the loop has unregistered it, and is running it.
    loop* const at = home != nullptr ? static_cast<loop*>(home) : loop::current_or_null();
    deferred* rest = end();
    if (at != nullptr && at == this_thread.loop) {
        rest = drop_at_once(rest);
    }
    if (rest != nullptr) {
        if (at != nullptr) {
            run_in_background(rest, *at);
        } else {
            delete_all(rest);  // its loop was closed past the deadline and cannot run it
        }
    }
}

bool generator_promise_base::go_home() noexcept {
    auto* const mail = new dropped_body(*this);
    is_going_home = true;
    if (send_mail(static_cast<loop*>(home)->mail(), *mail)) {
        return true;
    }
    is_going_home = false;
    delete mail;
    return false;
}

void generator_promise_base::leave_at_shutdown(bool closes) noexcept {
    const std::lock_guard lock(elsewhere);
    unregister();
    if (closes && owner != nullptr) {
        owner->promise_ = nullptr;
        owner->end_ = generator_end::ended;
        owner = nullptr;
    }
}

void generator_promise_base::close_at_shutdown() noexcept {
    if (is_going_home) {
        return;
    }
    // The loop still runs what this starts: nothing has to be ended at once.
    loop* const at = loop::current_or_null();
    deferred* const rest = end();
    if (rest != nullptr && at != nullptr) {
        run_in_background(rest, *at);
    } else {
        delete_all(rest);
    }
}

// ---- next() -------------------------------------------------------------------------------------

bool next_boundary::is_decided() noexcept {
    if (stage_ != stage::fresh) {
        mistake_ = mistake::awaited_twice;
        return true;
    }
    stage_ = stage::used;
    const generator_promise_base* body = source_->promise_;
    if (body == nullptr) {
        mistake_ = source_->end_ == generator_end::stopped ? mistake::stopped : mistake::none;
        return true;
    }
    if (body->now == generator_promise_base::state::running) {
        mistake_ = mistake::busy;
    } else if (body->home != nullptr && body->home != this_thread.loop) {
        mistake_ = mistake::other_loop;
    }
    return mistake_ != mistake::none;
}

void next_boundary::enter(fiber& on) noexcept {
    promise_ = source_->promise_;
    before_ = std::exchange(promise_->now, generator_promise_base::state::running);
    promise_->parent = this;
    thread_state& thread = this_thread;
    if (thread.budget <= 0) [[unlikely]] {
        stage_ = stage::must_yield;  // the fiber has had its share: the others first
        on.top = this;
        thread.next = turn().word();
        return;
    }
    --thread.budget;
    thread.next = start(on).word();
}

next_step next_boundary::start(fiber& on) noexcept {
    if (promise_->home == nullptr) {
        promise_->register_at(on.home());
        if (promise_->owner != nullptr) {
            promise_->owner->loop_ = on.home().id();
        }
    }
    stage_ = stage::running;
    on.top = promise_;
    return next_step::resume(promise_->coroutine());
}

next_step next_boundary::advance(fiber& on) noexcept {
    if (stage_ == stage::must_yield) {
        stage_ = stage::queued;
        on.raise(is_stoppable);
        on.home().push(on);
        return next_step::suspended();
    }
    if (stage_ == stage::queued) {
        return start(on);
    }
    error_ = promise_->outcome.error();
    std::exchange(promise_, nullptr)->end();
    return return_to_parent(*this, on);
}

next_step next_boundary::stopped(fiber& on, walk& stop) noexcept {
    generator_promise_base* const body = std::exchange(promise_, nullptr);
    if (stage_ == stage::queued) {
        body->now = before_;  // its turn had not come: it is unchanged
        if (body->owner == nullptr) {
            body->end_in_background();
        }
    } else if (body != nullptr) {
        body->end();  // past the loop's deadline: its clean-up was stopped after the body had ended
    }
    if (stop.error != nullptr) {
        error_ = std::move(stop.error);
        return return_to_parent(*this, on);
    }
    return let_pass(*this, on);
}

generator_promise_base* next_boundary::check_item() {
    if (mistake_ != mistake::none) [[unlikely]] {
        throw_mistake();
    }
    if (error_ != nullptr) [[unlikely]] {
        std::rethrow_exception(error_);
    }
    return std::exchange(promise_, nullptr);
}

void next_boundary::throw_mistake() const {
    switch (mistake_) {
        case mistake::busy:
            throw invalid_state("next() of a generator while another next() of it is in progress");
        case mistake::awaited_twice:
            throw invalid_state(
                "one next() of a generator was awaited twice: call next() each time");
        case mistake::other_loop:
            throw invalid_state("next() of a generator that was started on another loop");
        default:
            throw generator_stopped();
    }
}

// ---- streams ------------------------------------------------------------------------------------

void check_step(bool is_zero) {
    if (is_zero) {
        throw invalid_argument("range: a step of zero");
    }
}
void check_chunk(std::size_t size) {
    if (size == 0) {
        throw invalid_argument("chunk: a size of zero");
    }
}

}  // namespace weir::detail
