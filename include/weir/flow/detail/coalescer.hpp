// SPDX-License-Identifier: MIT
// The state of a debouncer or throttler: one timer, one run at a time. The decision object says
// when a run is due.
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

// The result of a call: that of the run that covers it, shared with other callers. Awaiting it
// gives a reference to the value, or throws the run's error, or weir::cancelled if the call was
// dropped. Cancelling the waiter does not affect the run.
template <class T>
class call_result : public detail::awaited_here {
public:
    using value_type = T;
    call_result() noexcept = default;
    explicit call_result(future<T> result) noexcept : future_(std::move(result)) {}

    auto make_operation() const { return future_.make_operation(); }
    // co_await wait(): until the run has ended; does not throw its error.
    detail::ended_wait wait() const { return detail::ended_wait(future_.make_operation().on); }
    bool done() const { return future_.done(); }
    bool valid() const noexcept { return future_.valid(); }
    // True if the same run covers both calls.
    bool operator==(const call_result& other) const noexcept { return future_ == other.future_; }

private:
    future<T> future_;
};

struct coalescer_stats {
    std::uint64_t calls = 0;
    std::uint64_t runs = 0;     // started
    std::uint64_t failed = 0;   // runs that ended with an error
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
    void write_metrics(metric_writer& writer) const;
    const std::string& name() const noexcept { return name_; }

protected:
    ~coalescer_base() { timer_.cancel(); }

    std::string name_;
    const char* kind_;
    callback_handle timer_;
    clock::time_point armed_for_ = clock::time_point::max();  // max: not armed
    std::uint32_t armed_on_ = 0;                              // id of the loop
    bool is_running_ = false;
    coalescer_stats counts_;
};

template <class Decision, class Result, class... Args>
class coalescer : public coalescer_base,
                  public std::enable_shared_from_this<coalescer<Decision, Result, Args...>> {
    // The calls that one run covers.
    struct batch {
        explicit batch(std::tuple<Args...>&& arguments) : args(std::move(arguments)) {}
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
        std::tuple<Args...> arguments(std::move(args)...);
        if (next_ == nullptr) {
            next_ = std::make_unique<batch>(std::move(arguments));
        } else {
            // The old arguments are destroyed last, since their destructors may call this object.
            std::swap(next_->args, arguments);
        }
        const call_result<Result> result(next_->result.get_future());
        start_or_arm(time);
        return result;
    }

    bool cancel_pending(std::string_view reason) {
        decide_.cancel();
        if (next_ == nullptr) {
            return false;
        }
        ++counts_.dropped;
        const std::unique_ptr<batch> dropped = std::move(next_);
        dropped->result.get_future().cancel(reason);
        return true;
    }
    bool is_pending() const noexcept { return next_ != nullptr; }

    static task<void> flush(std::shared_ptr<coalescer> self) {
        if (self->next_ != nullptr) {
            const call_result<Result> flushed(self->next_->result.get_future());
            self->decide_.flush();
            self->start_or_arm(now());
            co_await flushed.wait();
        } else if (self->is_running_) {
            const call_result<Result> current = self->latest_;
            co_await current.wait();
        }
    }

private:
    // Part of the run's frame from before its start. Its destructor ends the run, however the frame
    // is left.
    class running {
    public:
        running(std::shared_ptr<coalescer> owner, std::unique_ptr<batch> calls) noexcept
            : owner_(std::move(owner)), calls_(std::move(calls)) {}
        running(running&&) noexcept = default;
        running& operator=(running&&) = delete;
        ~running() {
            if (owner_ != nullptr) {
                owner_->ended(*calls_);
            }
        }
        coalescer& owner() const noexcept { return *owner_; }
        batch& calls() const noexcept { return *calls_; }

    private:
        std::shared_ptr<coalescer> owner_;
        std::unique_ptr<batch> calls_;
    };

    // Starts the next run if it is due, else arms the timer for it. During a run it does nothing:
    // the end of that run calls it again.
    void start_or_arm(clock::time_point time) {
        if (is_running_ || next_ == nullptr) {
            return;
        }
        const clock::time_point due = decide_.due();
        if (due <= time) {
            start(time);
        } else if (loop& here = loop::current(); due < armed_for_ || armed_on_ != here.id()) {
            // A timer that fires early is armed again; the timer of a destroyed loop never fires.
            timer_.cancel();
            armed_for_ = due;
            armed_on_ = here.id();
            timer_ = here.call_at(due, [weak = this->weak_from_this()] {
                if (const std::shared_ptr<coalescer> self = weak.lock()) {
                    self->armed_for_ = clock::time_point::max();
                    self->start_or_arm(now());
                }
            });
        }
    }

    void start(clock::time_point time) {
        decide_.start(time);
        ++counts_.runs;
        is_running_ = true;
        latest_ = call_result<Result>(next_->result.get_future());
        const context empty_context;  // the run belongs to no single caller
        spawn_options options;
        options.name = name_;
        options.context = &empty_context;
        try {
            spawn(run(running(this->shared_from_this(), std::move(next_))), options);
        } catch (const misuse&) {
            // The loop accepts no more tasks: the destructor of `running` cancelled the calls.
        }
    }

    static task<void> run(running self) {
        batch& calls = self.calls();
        // Called inside a coroutine, so that a body that throws instead of returning a task fails
        // like any other.
        auto call = [&self, &calls]() -> task<Result> {
            co_return co_await std::apply(
                [&](Args&... args) { return self.owner().body_(std::move(args)...); }, calls.args);
        };
        outcome<Result> ended = co_await settle(call());
        if (ended.has_value()) {
            if constexpr (std::is_void_v<Result>) {
                calls.result.set_value();
            } else {
                calls.result.set_value(std::move(ended).value());
            }
        } else {
            self.owner().counts_.failed += ended.is_cancelled() ? 0u : 1u;
            calls.result.set_error(ended.error());
        }
    }

    void ended(batch& calls) noexcept {
        if (!calls.result.done()) {  // the run was stopped
            calls.result.get_future().cancel("the run was cancelled");
        }
        is_running_ = false;
        if (next_ != nullptr && loop::current_or_null() != nullptr) {
            start_or_arm(now());
        }
    }

    Decision decide_;
    body_type body_;
    std::unique_ptr<batch> next_;  // the pending calls
    call_result<Result> latest_;   // of the run that was started last
};

}  // namespace detail
}  // namespace weir
