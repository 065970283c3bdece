// SPDX-License-Identifier: MIT
// Callbacks: queued on the loop's thread, armed as timers, or posted from other threads. Posts arrive in
// a lock-free stack that the loop takes whole and turns around, so each thread's stay in order; the
// loop is woken only if it sleeps.

#include <weir/detail/fiber_extras.hpp>
#include <weir/detail/loop_state.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

namespace weir {

using detail::posted_call;
using detail::scheduled_call;

namespace detail {

void scheduled_call::fire() noexcept {
    home->push(*this);
}

// Runs the callback with the task-local values of its registration; one that throws is reported.
void run_guarded(loop& at, unique_function<void()>& callback, context_values*& context) noexcept {
    // A cell of its own, so that what the callback sets stays in it.
    context_values* cell = snapshot_context(context);
    if (cell == nullptr) {
        cell = new context_values;
    }
    this_thread.callback_context = cell;
    try {
        callback();
    } catch (...) {
        at.tell({report_kind::callback_error, "a callback threw: " + describe(std::current_exception()),
                 std::current_exception(), {}, {}});
    }
    this_thread.callback_context = nullptr;
    release_context(cell);
}

void scheduled_call::run() noexcept {
    if (!is_cancelled) {
        unique_function<void()> taken = std::move(callback);
        run_guarded(*home, taken, context);
    }
    release();
}

}  // namespace detail

namespace {

void check_open(const loop& used) {
    if (used.is_closed()) {
        throw loop_error("the loop is closed");
    }
    used.check_thread("scheduling a callback");
}

}  // namespace

callback_handle loop::call_soon(detail::unique_function<void()> callback) {
    check_open(*this);
    auto* call = new scheduled_call(*this);
    call->callback = std::move(callback);
    call->context = detail::snapshot_context(detail::current_context());
    call->when = now();
    call->references = 2;
    push(*call);
    return callback_handle(*call);
}

callback_handle loop::call_later(clock::duration delay, detail::unique_function<void()> callback) {
    return call_at(detail::after(now(), delay), std::move(callback));
}

callback_handle loop::call_at(clock::time_point when, detail::unique_function<void()> callback) {
    check_open(*this);
    auto* call = new scheduled_call(*this);
    call->callback = std::move(callback);
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
    call_->is_cancelled = true;
    call_->drop_callback();
    if (call_->is_armed()) {
        call_->home->disarm(*call_);
        call_->release();  // the timer's reference
    }
}
bool callback_handle::cancelled() const noexcept {
    return call_ != nullptr && call_->is_cancelled;
}
clock::time_point callback_handle::when() const noexcept {
    return call_ != nullptr ? call_->when : clock::time_point{};
}

post_handle loop::post(detail::unique_function<void()> callback) {
    auto call = std::make_shared<posted_call>();
    call->callback = std::move(callback);
    call->self = call;
    detail::loop_state& state = *state_;
    if (!state.is_accepting.load(std::memory_order_acquire)) {
        call->self.reset();
        throw loop_error("post: the loop is closed");
    }
    posted_call* head = state.posted.load(std::memory_order_relaxed);
    do {
        call->next = head;
    } while (!state.posted.compare_exchange_weak(head, call.get(), std::memory_order_seq_cst));
    if (state.is_sleeping.load(std::memory_order_seq_cst) && state.is_sleeping.exchange(false)) {
        state.driver->wake();
    }
    return post_handle(std::move(call));
}

bool post_handle::cancel() noexcept {
    auto expected = posted_call::stage::waiting;
    return call_->at.compare_exchange_strong(expected, posted_call::stage::cancelled);
}

// Posts become ordinary callbacks: they take their turn in the ready queue.
void loop::take_posts() noexcept {
    posted_call* newest = state_->posted.exchange(nullptr, std::memory_order_acquire);
    posted_call* oldest = nullptr;
    while (newest != nullptr) {
        posted_call* next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != nullptr) {
        std::shared_ptr<posted_call> each = std::move(oldest->self);
        oldest = oldest->next;
        auto* call = new scheduled_call(*this);
        call->callback = [each] {
            auto expected = posted_call::stage::waiting;
            if (each->at.compare_exchange_strong(expected, posted_call::stage::taken)) {
                auto taken = std::move(each->callback);
                taken();
            }
        };
        push(*call);
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
    const clock::time_point begin = now();
    call.run();
    const clock::duration held = now() - begin;
    if (held >= state_->slow_step) {
        tell({report_kind::slow_step,
              "a callback held the loop for " + std::to_string(held / std::chrono::milliseconds(1)) + " ms",
              nullptr, {}, {}});
    }
}

namespace detail {

void schedule_callbacks(fiber& ended) noexcept {
    auto& home = static_cast<loop&>(ended.home());
    for (done_callback& each : ended.extras->callbacks) {
        auto* call = new scheduled_call(home);
        call->context = each.context;
        call->callback = [keep = any_handle(ended), run = std::move(each.run)]() mutable {
            run(keep.checked());
        };
        home.push(*call);
    }
    ended.extras->callbacks.clear();
}

callback_id add_callback(fiber& to, unique_function<void(fiber&)> callback) {
    static std::uint64_t last = 0;
    const auto id = ++last;
    fiber_extras& extras = to.extra();
    extras.callbacks.push_back({id, std::move(callback), snapshot_context(current_context())});
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
