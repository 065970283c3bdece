// SPDX-License-Identifier: MIT
// The shell around the decisions of debouncer and throttler: one timer, one run at a time.
#pragma once

#include <weir/cancel.hpp>
#include <weir/flow/detail/ended_wait.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/future.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace weir {

// The result of a call: that of the run which covers it, shared with other callers. Awaiting it
// gives a reference to the value, or throws the run's error; weir::cancelled if the call was
// dropped. Cancelling the waiter leaves the run alone.
template <class T>
class call_result : public detail::awaited_here {
public:
    using value_type = T;
    call_result() noexcept = default;
    explicit call_result(future<T> of) noexcept : of_(std::move(of)) {}

    auto make_operation() const { return of_.make_operation(); }
    // Until the run has ended, whatever came of it.
    detail::ended_wait wait() const { return detail::ended_wait(of_.make_operation().on); }
    bool done() const { return of_.done(); }
    bool valid() const noexcept { return of_.valid(); }
    // Do both have the same run?
    bool operator==(const call_result& other) const noexcept { return of_ == other.of_; }

private:
    future<T> of_;
};

struct coalescer_stats {
    std::uint64_t calls = 0;
    std::uint64_t runs = 0;     // begun
    std::uint64_t failed = 0;   // of those: ended with an error
    std::uint64_t dropped = 0;  // times that pending calls were cancelled
};

namespace detail {

class coalescer_base {
public:
    coalescer_base(const char* kind, std::string_view name) : name_(name), kind_(kind) {}
    coalescer_base(const coalescer_base&) = delete;
    coalescer_base& operator=(const coalescer_base&) = delete;

    bool is_running() const noexcept { return is_running_; }
    coalescer_stats stats() const noexcept { return counts_; }
    void write_metrics(metric_writer& to) const;
    const std::string& name() const noexcept { return name_; }

protected:
    ~coalescer_base() { timer_.cancel(); }

    std::string name_;
    const char* kind_;
    callback_handle timer_;
    clock::time_point armed_for_ = clock::time_point::max();  // none
    std::uint32_t armed_on_ = 0;                              // the loop
    bool is_running_ = false;
    coalescer_stats counts_;
};

template <class Decision, class Result, class... Args>
class coalescer : public coalescer_base,
                  public std::enable_shared_from_this<coalescer<Decision, Result, Args...>> {
    // Calls that one run covers.
    struct batch {
        explicit batch(std::tuple<Args...>&& given) : args(std::move(given)) {}
        std::tuple<Args...> args;  // of the last call
        promise<Result> result;
    };

public:
    using body_type = unique_function<task<Result>(Args...)>;

    coalescer(const char* kind, std::string_view name, const Decision& decide, body_type body)
        : coalescer_base(kind, name), decide_(decide), body_(std::move(body)) {}

    call_result<Result> call(Args... args) {
        const clock::time_point time = now();
        ++counts_.calls;
        if (!decide_.call(time)) {
            return latest_;
        }
        std::tuple<Args...> given(std::move(args)...);
        if (next_ == nullptr) {
            next_ = std::make_unique<batch>(std::move(given));
        } else {
            std::swap(next_->args,
                      given);  // what it replaces goes last, since that may come back here
        }
        const call_result<Result> mine(next_->result.get_future());
        go_on(time);
        return mine;
    }

    bool cancel_pending(std::string_view why) {
        decide_.cancel();
        if (next_ == nullptr) {
            return false;
        }
        ++counts_.dropped;
        const std::unique_ptr<batch> dropped = std::move(next_);
        dropped->result.get_future().cancel(why);
        return true;
    }
    bool is_pending() const noexcept { return next_ != nullptr; }

    static task<void> flush(std::shared_ptr<coalescer> self) {
        if (self->next_ != nullptr) {
            const call_result<Result> flushed(self->next_->result.get_future());
            self->decide_.flush();
            self->go_on(now());
            co_await flushed.wait();
        } else if (self->is_running_) {
            const call_result<Result> present = self->latest_;
            co_await present.wait();
        }
    }

private:
    // In the frame of the run, from before it starts: however that ends, the run does.
    class running {
    public:
        running(std::shared_ptr<coalescer> of, std::unique_ptr<batch> calls) noexcept
            : of_(std::move(of)), calls_(std::move(calls)) {}
        running(running&&) noexcept = default;
        running& operator=(running&&) = delete;
        ~running() {
            if (of_ != nullptr) {
                of_->ended(*calls_);
            }
        }
        coalescer& of() const noexcept { return *of_; }
        batch& calls() const noexcept { return *calls_; }

    private:
        std::shared_ptr<coalescer> of_;
        std::unique_ptr<batch> calls_;
    };

    // Starts the next run, or arms the timer for it, or leaves it to the end of the present one.
    void go_on(clock::time_point time) {
        if (is_running_ || next_ == nullptr) {
            return;
        }
        const clock::time_point due = decide_.due();
        if (due <= time) {
            start(time);
        } else if (loop& here = loop::current(); due < armed_for_ || armed_on_ != here.id()) {
            // A timer that fires early looks again; one of a loop that is gone never does.
            timer_.cancel();
            armed_for_ = due;
            armed_on_ = here.id();
            timer_ = here.call_at(due, [of = this->weak_from_this()] {
                if (const std::shared_ptr<coalescer> self = of.lock()) {
                    self->armed_for_ = clock::time_point::max();
                    self->go_on(now());
                }
            });
        }
    }

    void start(clock::time_point time) {
        decide_.start(time);
        ++counts_.runs;
        is_running_ = true;
        latest_ = call_result<Result>(next_->result.get_future());
        const context fresh;  // the run is nobody's in particular
        spawn_options how;
        how.name = name_;
        how.context = &fresh;
        try {
            spawn(run(running(this->shared_from_this(), std::move(next_))), how);
        } catch (const misuse&) {
            // The loop takes no more tasks: the calls were cancelled by the end of `running`.
        }
    }

    static task<void> run(running self) {
        batch& calls = self.calls();
        // Made in here, so that a body which throws before it makes a task fails like any other.
        auto call = [&self, &calls]() -> task<Result> {
            co_return co_await std::apply(
                [&](Args&... args) { return self.of().body_(std::move(args)...); }, calls.args);
        };
        outcome<Result> ended = co_await settle(call());
        if (ended.has_value()) {
            if constexpr (std::is_void_v<Result>) {
                calls.result.set_value();
            } else {
                calls.result.set_value(std::move(ended).value());
            }
        } else {
            self.of().counts_.failed += ended.is_cancelled() ? 0u : 1u;
            calls.result.set_error(ended.error());
        }
    }

    void ended(batch& calls) noexcept {
        if (!calls.result.done()) {  // stopped
            calls.result.get_future().cancel("the run was cancelled");
        }
        is_running_ = false;
        if (next_ != nullptr && loop::current_or_null() != nullptr) {
            go_on(now());
        }
    }

    Decision decide_;
    body_type body_;
    std::unique_ptr<batch> next_;  // the pending calls
    call_result<Result> latest_;   // of the run that was begun last
};

}  // namespace detail
}  // namespace weir
