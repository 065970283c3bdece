// SPDX-License-Identifier: MIT
// Waiters are linked in the order they came and are completed in it; callbacks follow through the
// ready queue.

#include <weir/detail/group_support.hpp>
#include <weir/error.hpp>
#include <weir/future.hpp>
#include <weir/loop.hpp>

namespace weir::detail {

namespace {

// Keeps a future's state for a callback that is queued.
class owner {
public:
    explicit owner(future_base& shared) noexcept : kept_(&shared) { shared.retain(); }
    owner(owner&& other) noexcept : kept_(std::exchange(other.kept_, nullptr)) {}
    owner& operator=(owner&&) = delete;
    ~owner() {
        if (kept_ != nullptr) {
            kept_->release();
        }
    }
    future_base& operator*() const noexcept { return *kept_; }

private:
    future_base* kept_;
};

}  // namespace

future_base::future_base(loop_core& home) noexcept : group_(&home.root()) {
    retain_group(group_);
}

future_base::~future_base() = default;

void future_base::destroy() noexcept {
    if (now_ == state::error && !is_retrieved_ && !group_->is_closed) {
        static_cast<loop&>(*group_->home)
            .tell({report_kind::unretrieved_error,
                   "a promise was given an error, and nothing retrieved it: " + describe(error_),
                   error_,
                   {},
                   {}});
    }
    group_state* const group = group_;
    delete this;
    release_group(group);
}

void future_base::check_unset(const char* what) const {
    if (!group_->is_closed) {
        group_->home->check_thread(what);
    }
    if (is_done()) {
        throw invalid_state(std::string(what) + ": the promise " +
                            (now_ == state::value   ? "has a value already"
                             : now_ == state::error ? "has an error already"
                                                    : "was cancelled by a future of it"));
    }
}

void future_base::set_error(std::exception_ptr error) {
    check_unset("set_error");
    if (error == nullptr) {
        throw invalid_argument("set_error: the error is null");
    }
    if (is_cancellation(error)) {
        try {
            std::rethrow_exception(error);
        } catch (const cancelled& stop) {
            reason_ = stop.reason();
        }
        finish(state::cancelled);
        return;
    }
    error_ = std::move(error);
    finish(state::error);
}

void future_base::abandon() noexcept {
    if (!is_done()) {
        error_ = std::make_exception_ptr(broken_promise());
        is_retrieved_ = true;  // waiters are notified, and a promise may be dropped
        finish(state::error);
    }
}

bool future_base::cancel(std::string_view reason) {
    if (is_done()) {
        is_retrieved_ = true;  // the caller that cancels it has given up on its error
        return false;
    }
    check_unset("cancel");
    reason_ = reason;
    finish(state::cancelled);
    return true;
}

void future_base::check_value(const char* what) {
    switch (now_) {
        case state::value:
            return;
        case state::pending:
            throw invalid_state(std::string(what) +
                                " of a future that is not done yet; co_await it");
        case state::error:
            is_retrieved_ = true;
            std::rethrow_exception(error_);
        case state::cancelled:
            throw cancelled(reason_);
    }
}

std::exception_ptr future_base::error() {
    if (now_ == state::error) {
        is_retrieved_ = true;
        return error_;
    }
    check_value("error()");
    return nullptr;
}

void future_base::finish(state end) noexcept {
    now_ = end;
    while (!waiters_.empty()) {
        waiters_.pop_front().complete();
    }
    if (!callbacks_.empty()) {
        schedule_callbacks();
    }
}

void future_base::schedule_callbacks() noexcept {
    if (group_->is_closed) {
        return;
    }
    callbacks_.schedule(static_cast<loop&>(*group_->home), [this] { return owner(*this); });
}

callback_id future_base::add_callback(unique_function<void(future_base&)> added,
                                      std::source_location where) {
    if (group_->is_closed) {
        throw loop_error("add_done_callback: the loop of the future is closed");
    }
    const callback_id id = callbacks_.add(std::move(added), where);
    if (is_done()) {
        schedule_callbacks();
    }
    return id;
}

// ---- waiting ------------------------------------------------------------------------------------

bool future_wait::ready() noexcept {
    if (on_->is_done()) {
        return true;
    }
    is_foreign_ = !on_->is_home();
    return is_foreign_;
}

bool future_wait::start() noexcept {
    on_->waiters_.push_back(*this);
    return true;
}

void future_wait::check() const {
    if (is_foreign_) {
        throw invalid_state("a task of one loop awaits a future that belongs to another loop");
    }
    on_->check_value("co_await");
}

void throw_empty_future(const char* what) {
    throw invalid_state(std::string(what) + " of an empty promise or future");
}

loop_core& current_home() {
    return loop::current();
}

}  // namespace weir::detail
