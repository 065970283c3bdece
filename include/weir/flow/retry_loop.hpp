// SPDX-License-Identifier: MIT
// retry_loop: retrying with the loop in sight.
//
//     weir::retry_loop tries({.max_attempts = 5});
//     for (;;) {
//         co_await tries.next();                    // waits, except before the first attempt
//         try {
//             co_return co_await fetch(url);
//         } catch (const connection_lost&) {
//             tries.failed();                       // throws on if that was the last attempt
//         }
//     }
//
// Everything of retry_options holds, but for one thing: an attempt here is any code at all, so the
// total time does not stop it; it only ends the loop.
#pragma once

#include <weir/flow/retry.hpp>

#include <exception>
#include <memory>

namespace weir {

class retry_loop {
public:
    explicit retry_loop(const retry_options& options);  // throws invalid_argument
    explicit retry_loop(retry_policy& shared);
    retry_loop(const retry_loop&) = delete;
    retry_loop& operator=(const retry_loop&) = delete;

    // Waits until it is time for the next attempt. If the last one was not said to have failed, it
    // had no acceptable result: then throws retries_exhausted where there is no attempt left.
    task<> next();

    // The attempt has failed, with the exception being handled. Throws it on, or retries_exhausted
    // if so wanted, when there is no further attempt. Cancellation is always thrown on.
    void failed();
    // The same with an outcome, which may be a value. True: there is another attempt. False: it is
    // the final outcome. Never throws the outcome itself.
    template <class T>
    [[nodiscard]] bool failed(const outcome<T>& ended) {
        return judge(outcome_view(ended));
    }
    // The attempt has succeeded: only for the counters and the budget.
    void succeeded() noexcept;

    int attempt() const noexcept { return static_cast<int>(call_.attempt()); }  // from 1
    // Before the next attempt; known after failed().
    clock::duration delay() const noexcept { return run_.delay(); }

private:
    enum class stage : unsigned char { fresh, trying, failed, over };
    bool judge(const outcome_view& ended);

    std::unique_ptr<retry_policy> own_;
    retry_policy& policy_;
    call_context call_;
    detail::retry_run run_;
    stage stage_ = stage::fresh;
};

}  // namespace weir
