// SPDX-License-Identifier: MIT
// debouncer and throttler: many calls, few runs.
//
//     weir::debouncer search({.delay = 300ms}, [](std::string text) -> weir::task<hits> {...});
//     hits found = co_await search.call("wei");       // or without waiting: search.call("weir");
//
// A debouncer runs its body when the calls have paused for the delay; a throttler at most once in
// an interval. The arguments of the last call win. call() counts at once, awaited or not; awaiting
// it gives the result of the run that covers it, value or error, the same to all callers of one
// burst. A caller that is cancelled leaves alone; the run goes on for the others.
//
// A run is never cancelled by a later call, and runs never overlap: what falls due while the body
// runs is run when it has ended. So the last call is always covered by a run that began after it,
// unless cancel() or the destructor drops it, or trailing is off: then the leading run of its burst
// covers it.
#pragma once

#include <weir/flow/decision/coalesce.hpp>
#include <weir/flow/detail/coalescer.hpp>
#include <weir/flow/detail/signature.hpp>

namespace weir {

struct debounce_options {
    clock::duration delay = std::chrono::milliseconds(100);  // a pause of so long ends a burst
    clock::duration max_wait = clock::duration::max();       // no call waits longer than this
    bool leading = false;  // the first call of a burst runs at once
    bool trailing = true;  // calls that no run has covered run when the burst has ended
    std::string_view name = "debouncer";
};

struct throttle_options {
    clock::duration interval = std::chrono::milliseconds(100);  // from start to start of two runs
    bool leading = true;  // a call that comes after a pause runs at once, not an interval later
    bool trailing =
        true;  // calls within an interval run at its end; off: the run before covers them
    std::string_view name = "throttler";
};

namespace detail {
decision::debounce::rules checked(const debounce_options& options);
decision::throttle::rules checked(const throttle_options& options);
}  // namespace detail

// What debouncer and throttler have in common.
template <class Decision, class Signature>
class basic_coalescer;
template <class Decision, class Result, class... Args>
class basic_coalescer<Decision, Result(Args...)> {
public:
    basic_coalescer(const basic_coalescer&) = delete;
    basic_coalescer& operator=(const basic_coalescer&) = delete;

    // Counts as a call now; the result may be awaited or dropped. Throws loop_error without a loop.
    call_result<Result> call(Args... args) { return state_->call(std::move(args)...); }

    // Drops the pending calls: who awaits one gets weir::cancelled. A run that has begun goes on.
    // False if there is nothing to drop.
    bool cancel() { return state_->cancel_pending("the debounced call was cancelled"); }
    // co_await flush(): runs what is pending without further delay, and waits until that run has
    // ended, or the present one, if nothing is pending. Its error is for those who called.
    task<void> flush() { return detail::coalescer<Decision, Result, Args...>::flush(state_); }

    bool pending() const noexcept { return state_->is_pending(); }  // called, and not begun
    bool running() const noexcept { return state_->is_running(); }

    coalescer_stats stats() const noexcept { return state_->stats(); }
    void write_metrics(metric_writer& to) const { state_->write_metrics(to); }
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

// debouncer<Result(Args...)>; the signature is found by itself if the body is no generic lambda.
// The body gives a task, another awaitable, or a plain value.
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
