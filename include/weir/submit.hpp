// SPDX-License-Identifier: MIT
// loop.submit: asynchronous work started from another thread, and waited for there.
//
//     weir::submission<int> answer = loop.submit(fetch, "the question");   // on any thread
//     int value = answer.get();                                            // blocks that thread
#pragma once

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

namespace weir {

namespace detail {

// Shared by the submitting side and the loop. The handle belongs to the loop's thread, the outcome
// to the holder of the mutex.
class submission_base {
public:
    explicit submission_base(loop& home) : home_(&home), mail_(home.mail()) {}
    submission_base(const submission_base&) = delete;
    submission_base& operator=(const submission_base&) = delete;

    bool is_done() const;
    void wait() const;  // throws loop_error on the loop's own thread
    bool wait_until(std::chrono::steady_clock::time_point when) const;
    static bool cancel(const std::shared_ptr<submission_base>& self, std::string reason);

    // On the loop's thread.
    void started(any_handle fiber) noexcept;
    void fail(std::exception_ptr error) noexcept;
    void tell_loop(const std::exception_ptr& error) noexcept;

protected:
    ~submission_base() = default;
    // An error of `set`, such as that of a value whose move throws, becomes the outcome.
    template <class Set>
    void end(Set set) noexcept {
        fiber_ = {};  // the submitting side may destroy this, on its own thread
        {
            const std::lock_guard lock(mutex_);
            if (is_done_) {
                return;
            }
            try {
                set();
            } catch (...) {
                error_ = std::current_exception();
            }
            is_done_ = true;
        }
        ended_.notify_all();
    }
    void check() const {
        if (error_ != nullptr) {
            std::rethrow_exception(error_);
        }
    }

private:
    void check_may_block() const;
    void cancel_here(const std::string& reason);

    mutable std::mutex mutex_;
    mutable std::condition_variable ended_;
    bool is_done_ = false;
    std::exception_ptr error_;
    any_handle fiber_;                           // the loop's thread only, until the end
    std::optional<std::string> pending_cancel_;  // the loop's thread only
    loop* home_;                                 // compared, and used by the loop's thread only
    std::shared_ptr<inbox> mail_;
};

template <class T>
class submission_state final : public submission_base {
public:
    using submission_base::submission_base;

    void deliver(const handle<T>& ended) noexcept {
        std::exception_ptr error;
        try {
            if constexpr (std::is_void_v<T>) {
                ended.result();
                end([] {});
            } else if constexpr (std::is_reference_v<T>) {
                T value = ended.result();
                end([&] { value_.emplace(std::ref(value)); });
            } else {
                ended.result();
                end([&] { value_.emplace(std::move(ended.box().value())); });
            }
            return;
        } catch (...) {
            error = std::current_exception();
        }
        fail(std::move(error));
    }

    T take() {
        wait();
        check();
        if constexpr (std::is_reference_v<T>) {
            return value_->get();
        } else if constexpr (!std::is_void_v<T>) {
            if (!value_.has_value()) {
                throw invalid_state("submission: the value was fetched already");
            }
            T taken = std::move(*value_);
            value_.reset();
            return taken;
        }
    }

private:
    using kept = std::conditional_t<
        std::is_void_v<T>, char,
        std::conditional_t<std::is_reference_v<T>,
                           std::reference_wrapper<std::remove_reference_t<T>>, T>>;
    std::optional<kept> value_;
};

// Makes sure that the submitting side hears of the end, even if the loop is closed first.
template <class T>
class delivery {
public:
    explicit delivery(std::shared_ptr<submission_state<T>> to) noexcept : to_(std::move(to)) {}
    delivery(delivery&&) noexcept = default;
    delivery& operator=(delivery&&) = delete;
    ~delivery() {
        if (to_ != nullptr) {
            to_->fail(std::make_exception_ptr(
                loop_error("submit: the loop was closed before the work had ended")));
        }
    }
    submission_state<T>& state() const noexcept { return *to_; }
    void deliver(const handle<T>& ended) noexcept {
        const std::shared_ptr<submission_state<T>> to = std::move(to_);
        if (to.use_count() > 1 || !ended.failed()) {
            to->deliver(
                ended);  // otherwise no submission is left, and the error is reported as never retrieved
        }
    }
    void fail(std::exception_ptr error) noexcept {
        const std::shared_ptr<submission_state<T>> to = std::move(to_);
        to->tell_loop(error);
        to->fail(std::move(error));
    }

private:
    std::shared_ptr<submission_state<T>> to_;
};

}  // namespace detail

// Work that was submitted. May be used on any thread, by one thread at a time. The work continues
// when the submission is dropped.
template <class T>
class submission {
public:
    using value_type = T;
    explicit submission(std::shared_ptr<detail::submission_state<T>> state) noexcept
        : state_(std::move(state)) {}

    // Blocks until the work has ended. The value, once; or throws the work's error, weir::cancelled
    // if it was cancelled, loop_error if the loop was closed first, or at once if called on the
    // loop's own thread, which would wait for itself.
    T get() { return state_->take(); }
    void wait() const { state_->wait(); }
    // True if it has ended within the time.
    template <class Rep, class Period>
    bool wait_for(std::chrono::duration<Rep, Period> time) const {
        return state_->wait_until(std::chrono::steady_clock::now() +
                                  std::chrono::ceil<std::chrono::steady_clock::duration>(time));
    }
    bool done() const { return state_->is_done(); }
    // Requests that the work stop, also before it was started; get() then waits for its end. False
    // if it has ended already.
    bool cancel(std::string reason = {}) {
        return detail::submission_base::cancel(state_, std::move(reason));
    }

private:
    std::shared_ptr<detail::submission_state<T>> state_;
};

template <class Callable, class... Args>
auto loop::submit(Callable&& callable, Args&&... args) {
    static_assert(
        detail::starts_task<std::decay_t<Callable>&, std::decay_t<Args>...>,
        "submit takes a function that makes a weir::task; for plain callbacks there is post");
    using value =
        typename std::invoke_result_t<std::decay_t<Callable>&, std::decay_t<Args>...>::value_type;
    auto state = std::make_shared<detail::submission_state<value>>(*this);
    auto start = [this, delivery = detail::delivery<value>(state),
                  function = std::decay_t<Callable>(std::forward<Callable>(callable)),
                  parts =
                      std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)]() mutable {
        try {
            handle<value> fiber = spawn(std::apply(
                [&](auto&... each) {
                    return detail::make_task(std::move(function), std::move(each)...);
                },
                parts));
            delivery.state().started(fiber);
            fiber.add_done_callback(
                [delivery = std::move(delivery)](const handle<value>& ended) mutable {
                    delivery.deliver(ended);
                });
        } catch (...) {
            delivery.fail(std::current_exception());
        }
    };
    post(std::move(start));
    return submission<value>(std::move(state));
}

}  // namespace weir
