// SPDX-License-Identifier: MIT
// A retry_loop drives the same retry_run as retry() does; the caller's code makes the attempts.

#include <weir/flow/retry_loop.hpp>

namespace weir {

retry_loop::retry_loop(const retry_options& options)
    : own_(std::make_unique<retry_policy>(options)),
      policy_(*own_),
      call_(policy_.name()),
      run_(policy_, call_) {}

retry_loop::retry_loop(retry_policy& shared)
    : policy_(shared), call_(shared.name()), run_(shared, call_) {}

bool retry_loop::judge(const outcome_view& ended) {
    if (stage_ != stage::trying) {
        throw invalid_state("retry_loop: failed() without an attempt; co_await next() first");
    }
    stage_ = stage::over;
    if (!run_.judge(ended, call_)) {
        return false;
    }
    stage_ = stage::failed;
    return true;
}

void retry_loop::failed() {
    const std::exception_ptr error = std::current_exception();
    if (error == nullptr) {
        throw invalid_state("retry_loop: failed() called outside of a catch block");
    }
    const outcome<> ended = outcome<>::from_error(error);
    if (judge(outcome_view(ended))) {
        return;
    }
    if (policy_.options().exhausted == when_exhausted::throws) {
        if (std::exception_ptr exhausted = run_.exhaustion(outcome_view(ended))) {
            std::rethrow_exception(std::move(exhausted));
        }
    }
    throw;
}

void retry_loop::succeeded() noexcept {
    if (stage_ == stage::trying) {
        run_.succeeded(call_.attempt());
        stage_ = stage::over;
    }
}

task<> retry_loop::next() {
    if (stage_ == stage::over) {
        throw invalid_state("retry_loop: next() after the last attempt");
    }
    if (stage_ == stage::fresh) {
        stage_ = stage::trying;
        co_return;
    }
    if (stage_ == stage::trying) {
        const outcome<> unwanted = outcome<>::from_value();
        if (!run_.schedule(outcome_view(unwanted), call_)) {
            stage_ = stage::over;
            throw retries_exhausted(attempt(), run_.end(), policy_.name());
        }
    }
    co_await sleep(run_.delay());
    run_.begin_attempt(call_);
    stage_ = stage::trying;
}

}  // namespace weir
