// SPDX-License-Identifier: MIT
// Callbacks run with the task-local values of their registration. A handle can cancel one at any
// time, also while it runs, so the callback and its values are moved out before anything of the
// user's is run or destroyed.

#include "core/loop/scheduled_call.hpp"

#include "base/source_place.hpp"

#include <weir/error.hpp>

namespace weir {

namespace detail {

void scheduled_call::fire() noexcept {
    home->push(*this);
}

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

void queue_callback(loop& home, unique_function<void()> callback, context_values* context,
                    const std::source_location& registered) {
    auto* call = new scheduled_call(home, std::move(callback), registered);
    call->context = context;
    home.push(*call);
}

}  // namespace detail

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
    detail::scheduled_call& call = *call_;
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

}  // namespace weir
