// SPDX-License-Identifier: MIT
// retry_loop: retries in a loop that the caller writes.
//
//     weir::retry_loop tries({.max_attempts = 5});
//     for (;;) {
//         co_await tries.next();                    // waits, except before the first attempt
//         try {
//             co_return co_await fetch(url);
//         } catch (const connection_lost&) {
//             tries.failed();                       // rethrows after the last attempt
//         }
//     }
//
// All of retry_options applies, with one exception: an attempt is arbitrary code, so the total time
// does not stop an attempt; it only ends the loop.
#pragma once

#include <weir/flow/retry_policy.hpp>

#include <exception>
#include <memory>

namespace weir {

class retry_loop {
public:
    explicit retry_loop(const retry_options& options);  // throws invalid_argument
    explicit retry_loop(retry_policy& shared);
    retry_loop(const retry_loop&) = delete;
    retry_loop& operator=(const retry_loop&) = delete;

    // Waits until the next attempt is due. An attempt for which neither failed() nor succeeded()
    // was called counts as one without an acceptable result: next() then throws retries_exhausted
    // if no attempt is left.
    task<> next();

    // Called in a catch block: the attempt has failed with this exception. If no attempt is left,
    // rethrows it, or throws retries_exhausted if the options say so. Always rethrows cancellation.
    void failed();
    // The same for an outcome, which may be a value. True: another attempt follows. False: this is
    // the final outcome, which is not thrown.
    template <class T>
    [[nodiscard]] bool failed(const outcome<T>& ended) {
        return judge(outcome_view(ended));
    }
    // The attempt has succeeded: updates the statistics and the budget.
    void succeeded() noexcept;

    int attempt() const noexcept { return static_cast<int>(call_.attempt()); }  // from 1
    // The delay before the next attempt. Valid after failed().
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
