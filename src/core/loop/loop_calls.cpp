// SPDX-License-Identifier: MIT
// Callbacks: queued on the loop's thread, armed as timers, or posted from other threads. Posts
// arrive in a lock-free stack that the loop takes whole and turns around, so each thread's stay in
// order; the loop is woken only if it sleeps.

#include "core/loop/loop_state.hpp"
#include "core/runtime/fiber_extras.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

namespace weir {

using detail::mail_item;
using detail::posted_call;
using detail::scheduled_call;

namespace detail {

void scheduled_call::fire() noexcept {
    home->push(*this);
}

// Runs the callback with the task-local values of its registration; one that throws is reported.
void scheduled_call::run() noexcept {
    if (!is_cancelled) {
        if (context == nullptr) {
            context = new context_values;
        }
        context_values* const cell = share_context(context);  // cancel() may drop it meanwhile
        this_thread.callback_context = cell;
        try {
            unique_function<void()> taken = std::move(callback);
            taken();
        } catch (...) {
            home->tell({report_kind::callback_error,
                        "a callback threw: " + describe(std::current_exception()),
                        std::current_exception(),
                        {},
                        home->debug() ? describe_place(registered) : std::string()});
        }
        this_thread.callback_context = nullptr;
        release_context(cell);
    }
    release();
}

}  // namespace detail

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

}  // namespace

callback_handle loop::call_soon(detail::unique_function<void()> callback,
                                std::source_location where) {
    check_callback(*this, callback, "call_soon");
    auto* call = new scheduled_call(*this, std::move(callback), where);
    call->context = detail::snapshot_context(detail::current_context());
    call->when = now();
    call->references = 2;
    push(*call);
    return callback_handle(*call);
}

callback_handle loop::call_at(clock::time_point when, detail::unique_function<void()> callback,
                              std::source_location where) {
    check_callback(*this, callback, "call_at");
    auto* call = new scheduled_call(*this, std::move(callback), where);
    call->context = detail::snapshot_context(detail::current_context());
    call->when = when;
    call->references = 2;
    arm(*call, when);
    return callback_handle(*call);
}

callback_handle::callback_handle(const callback_handle& other) noexcept : call_(other.call_) {
    if (call_ != nullptr) {
        ++call_->references;
    }
}
callback_handle::~callback_handle() {
    if (call_ != nullptr) {
        call_->release();
    }
}
void callback_handle::cancel() noexcept {
    if (call_ == nullptr || call_->is_cancelled) {
        return;
    }
    scheduled_call& call = *call_;
    ++call.references;  // this handle may be inside the callback
    call.is_cancelled = true;
    if (call.is_armed()) {
        call.home->disarm(call);
        call.release();  // the timer's reference
    }
    call.drop_callback();
    call.release();
}
bool callback_handle::cancelled() const noexcept {
    return call_ != nullptr && call_->is_cancelled;
}
clock::time_point callback_handle::when() const noexcept {
    return call_ != nullptr ? call_->when : clock::time_point{};
}

mail_item* detail::inbox::closed_mark() noexcept {
    static posted_call mark;
    return &mark;
}

bool detail::inbox::put(mail_item& item) noexcept {
    mail_item* head = posted.load(std::memory_order_relaxed);
    do {
        if (head == closed_mark()) {
            return false;
        }
        item.next_ = head;
    } while (!posted.compare_exchange_weak(head, &item, std::memory_order_seq_cst));
    // From here on the item may have arrived, and the loop may be gone.
    if (is_sleeping.load(std::memory_order_seq_cst) && is_sleeping.exchange(false)) {
        driver->wake();
    }
    return true;
}

mail_item* detail::inbox::take_all(bool for_the_last_time) noexcept {
    mail_item* newest =
        posted.exchange(for_the_last_time ? closed_mark() : nullptr, std::memory_order_acquire);
    mail_item* oldest = nullptr;
    while (newest != nullptr && newest != closed_mark()) {
        mail_item* const next = newest->next_;
        newest->next_ = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

bool detail::send_mail(std::shared_ptr<inbox> to, mail_item& item) noexcept {
    return to->put(item);
}

namespace {

bool put(detail::inbox& mail, const std::shared_ptr<posted_call>& call) noexcept {
    call->self = call;
    if (!mail.put(*call)) {
        call->self.reset();
        return false;
    }
    return true;
}

}  // namespace

post_handle loop::post(detail::unique_function<void()> callback, std::source_location where) {
    if (!callback) {
        throw invalid_argument("post: the callback is empty");
    }
    const std::shared_ptr<detail::inbox> mail = state_->mail;
    auto call = std::make_shared<posted_call>();
    call->callback = std::move(callback);
    call->registered = where;
    if (!put(*mail, call)) {
        throw loop_error("post: the loop is closed");
    }
    return post_handle(std::move(call));
}

bool detail::post_to(const std::shared_ptr<inbox>& mail, unique_function<void()> callback) {
    const std::shared_ptr<inbox> kept = mail;  // the caller may be gone as soon as it has run
    auto call = std::make_shared<posted_call>();
    call->callback = std::move(callback);
    call->registered = std::source_location::current();
    return put(*kept, call);
}

bool post_handle::cancel() noexcept {
    if (call_ == nullptr) {
        return false;
    }
    auto expected = posted_call::stage::waiting;
    return call_->at.compare_exchange_strong(expected, posted_call::stage::cancelled);
}

// Posts become ordinary callbacks: they take their turn in the ready queue.
void posted_call::arrive(loop& home) noexcept {
    auto run = [each = std::move(self)] {
        auto expected = stage::waiting;
        if (each->at.compare_exchange_strong(expected, stage::taken)) {
            auto taken = std::move(each->callback);
            taken();
        }
    };
    home.push(*new scheduled_call(home, std::move(run), registered));
}

void loop::take_mail() noexcept {
    if (state_->mail->signals.load(std::memory_order_relaxed) != 0) {
        take_signals();
    }
    detail::mail_item* each = state_->mail->take_all(false);
    while (each != nullptr) {
        detail::mail_item& arriving = *each;
        each = detail::inbox::after(arriving);  // it may be gone when it has arrived
        arriving.arrive(*this);
    }
}

void loop::run_callback(detail::ready_item& item) noexcept {
    if (&item == &state_->stop_marker) {
        state_->stop_is_queued = false;
        state_->stop_met = true;
        return;
    }
    auto& call = static_cast<scheduled_call&>(item);
    if (!debug_) [[likely]] {
        call.run();
        return;
    }
    const std::string place = detail::describe_place(call.registered);
    const clock::time_point begin = now();
    call.run();
    const clock::duration held = now() - begin;
    if (held >= state_->slow_step) {
        tell({report_kind::slow_step,
              "the callback registered at " + place + " held the loop for " +
                  std::to_string(held / std::chrono::milliseconds(1)) + " ms",
              nullptr,
              {},
              place});
    }
}

namespace detail {

void schedule_callbacks(fiber& ended) noexcept {
    auto& home = static_cast<loop&>(ended.home());
    for (done_callback& each : ended.extras->callbacks) {
        auto run = [keep = any_handle(ended), callback = std::move(each.run)]() mutable {
            callback(keep.checked());
        };
        auto* call = new scheduled_call(home, std::move(run), each.registered);
        call->context = each.context;
        home.push(*call);
    }
    ended.extras->callbacks.clear();
}

std::uint64_t next_callback_number() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

callback_id add_callback(fiber& to, unique_function<void(fiber&)> callback,
                         std::source_location where) {
    // A finished task may have outlived its loop. Its group knows, if it is the loop's root group.
    const bool runs_here = this_thread.loop != nullptr && this_thread.loop == to.group->home;
    if (to.has(is_done) && !runs_here && (to.group->is_closed || !to.group->is_root)) {
        throw loop_error("add_done_callback: the task has ended, and its loop does not run");
    }
    to.home().check_thread("add_done_callback");
    const std::uint64_t id = next_callback_number();
    fiber_extras& extras = to.extra();
    extras.callbacks.push_back(
        {id, std::move(callback), snapshot_context(current_context()), where});
    if (to.has(is_done)) {
        schedule_callbacks(to);
    }
    return callback_id{id};
}

std::size_t remove_callback(fiber& from, callback_id id) noexcept {
    if (from.extras == nullptr) {
        return 0;
    }
    // Taken out before anything is destroyed: a callback's destructor may come back here.
    std::vector<done_callback> removed;
    auto& callbacks = from.extras->callbacks;
    for (std::size_t index = 0; index < callbacks.size();) {
        if (callback_id{callbacks[index].id} == id) {
            removed.push_back(std::move(callbacks[index]));
            callbacks.erase(callbacks.begin() + static_cast<std::ptrdiff_t>(index));
        } else {
            ++index;
        }
    }
    for (done_callback& each : removed) {
        release_context(each.context);
    }
    return removed.size();
}

}  // namespace detail
}  // namespace weir
