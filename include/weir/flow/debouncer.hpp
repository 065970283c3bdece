// SPDX-License-Identifier: MIT
// debouncer and throttler: many calls, few runs of a function.
//
//     weir::debouncer search({.delay = 300ms}, [](std::string text) -> weir::task<hits> {...});
//     hits found = co_await search.call("wei");       // or without waiting: search.call("weir");
//
// A debouncer runs its function when no call has come for `delay`; a throttler at most once per
// `interval`. A run uses the arguments of the last call. call() counts at once, awaited or not;
// awaiting it gives the result (value or error) of the run that covers the call, the same for all
// callers of one burst. Cancelling one caller does not affect the run or the other callers.
//
// A later call never cancels a run, and runs never overlap: a run that falls due while another is
// in progress starts when that has ended. So the last call is always covered by a run that starts
// after it, unless cancel() or the destructor drops it, or trailing is off: then the leading run of
// its burst covers it.
#pragma once

#include <weir/flow/decision/coalesce.hpp>
#include <weir/flow/detail/coalescer.hpp>
#include <weir/flow/detail/signature.hpp>

namespace weir {

struct debounce_options {
    clock::duration delay = std::chrono::milliseconds(100);  // a pause of this length ends a burst
    clock::duration max_wait = clock::duration::max();       // no call waits longer than this
    bool leading = false;  // the first call of a burst runs at once
    bool trailing = true;  // a run at the end of the burst covers the remaining calls
    std::string_view name = "debouncer";
};

struct throttle_options {
    clock::duration interval = std::chrono::milliseconds(100);  // between the starts of two runs
    bool leading = true;   // a call after a pause runs at once, not an interval later
    bool trailing = true;  // calls within an interval run at its end; off: the last run covers them
    std::string_view name = "throttler";
};

namespace detail {
decision::debounce::rules checked(const debounce_options& options);
decision::throttle::rules checked(const throttle_options& options);
}  // namespace detail

// The common interface of debouncer and throttler.
template <class Decision, class Signature>
class basic_coalescer;
template <class Decision, class Result, class... Args>
class basic_coalescer<Decision, Result(Args...)> {
public:
    basic_coalescer(const basic_coalescer&) = delete;
    basic_coalescer& operator=(const basic_coalescer&) = delete;

    // Counts as a call now; the result may be awaited or dropped. Throws loop_error without a loop.
    call_result<Result> call(Args... args) { return state_->call(std::move(args)...); }

    // Drops the pending calls: awaiting one of them throws weir::cancelled. A run in progress
    // continues. False if no calls are pending.
    bool cancel() { return state_->cancel_pending("the debounced call was cancelled"); }
    // co_await flush(): runs the pending calls without further delay and waits for the end of that
    // run; if no calls are pending, for the end of the run in progress. flush() does not throw the
    // run's error: the callers get it.
    task<void> flush() { return detail::coalescer<Decision, Result, Args...>::flush(state_); }

    bool pending() const noexcept { return state_->is_pending(); }  // calls wait for a run
    bool running() const noexcept { return state_->is_running(); }

    coalescer_stats stats() const noexcept { return state_->stats(); }
    void write_metrics(metric_writer& writer) const { state_->write_metrics(writer); }
    const std::string& name() const noexcept { return state_->name(); }

protected:
    template <class Body>
    basic_coalescer(const char* kind, std::string_view name, const Decision& decide, Body&& body)
        : state_(std::make_shared<detail::coalescer<Decision, Result, Args...>>(
              kind, name, decide, [body = std::forward<Body>(body)](Args... args) mutable {
                  return detail::task_of_call(std::ref(body), std::move(args)...);
              })) {}
    ~basic_coalescer() { state_->cancel_pending("the debouncer was destroyed"); }

private:
    std::shared_ptr<detail::coalescer<Decision, Result, Args...>> state_;
};

// debouncer<Result(Args...)>; the signature is deduced unless the body is a generic lambda. The
// body returns a task, another awaitable, or a plain value.
template <class Signature>
class debouncer : public basic_coalescer<decision::debounce, Signature> {
public:
    template <class Body>
    debouncer(const debounce_options& options, Body body)
        : basic_coalescer<decision::debounce, Signature>(
              "debouncer", options.name, decision::debounce(detail::checked(options)),
              std::move(body)) {}
};
template <class Body>
debouncer(const debounce_options&, Body) -> debouncer<typename detail::signature<Body>::type>;

template <class Signature>
class throttler : public basic_coalescer<decision::throttle, Signature> {
public:
    template <class Body>
    throttler(const throttle_options& options, Body body)
        : basic_coalescer<decision::throttle, Signature>(
              "throttler", options.name, decision::throttle(detail::checked(options)),
              std::move(body)) {}
};
template <class Body>
throttler(const throttle_options&, Body) -> throttler<typename detail::signature<Body>::type>;

}  // namespace weir
