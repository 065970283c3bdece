// SPDX-License-Identifier: MIT
// A call that waits for a thread of a pool, runs there, and returns to its loop. It lives in the
// frame that awaits it, and is itself the node of the pool's queue and the mail to the loop: no
// call allocates.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/mail.hpp>
#include <weir/base/result.hpp>
#include <weir/spawn.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weir::detail {

class thread_pool_core;

// Calls share it: a call in flight can be stopped even after the pool is destroyed.
using shared_pool = std::shared_ptr<thread_pool_core>;
std::size_t max_threads_of(const thread_pool_core& pool) noexcept;

enum class thread_entry : unsigned char { waits, refuses };  // when the queue is full

class thread_call_base : public operation, private mail_item {
public:
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "thread_pool.run"; }

protected:
    thread_call_base(shared_pool pool, thread_entry entry) noexcept
        : pool_(std::move(pool)), entry_(entry) {}
    thread_call_base(thread_call_base&& unawaited) noexcept
        : operation(), mail_item(), pool_(std::move(unawaited.pool_)), entry_(unawaited.entry_) {}
    ~thread_call_base() = default;

private:
    friend class thread_pool_core;
    enum class stage : unsigned char { outside, queued, taken };

    virtual void call() noexcept = 0;  // on the pool's thread
    virtual void fail(std::exception_ptr error) noexcept = 0;
    virtual void request_stop() noexcept {}  // while it runs
    void arrive(loop& at) noexcept override;

    shared_pool pool_;
    thread_call_base* next_ = nullptr;  // in the pool's queue
    thread_call_base* previous_ = nullptr;
    std::shared_ptr<inbox> mail_;  // of the loop it goes back to
    thread_entry entry_;
    stage stage_ = stage::outside;  // guarded by the pool
};

// Called with the token if it cannot be called without one.
template <class Function, class... Args>
inline constexpr bool wants_stop_token =
    !std::invocable<Function, Args...> && std::invocable<Function, std::stop_token, Args...>;

template <class Function, class... Args>
struct thread_result : std::invoke_result<Function, Args...> {};
template <class Function, class... Args>
    requires wants_stop_token<Function, Args...>
struct thread_result<Function, Args...> : std::invoke_result<Function, std::stop_token, Args...> {};
// A result that is an rvalue reference is kept as a value: its target may be gone later.
template <class Function, class... Args>
using thread_result_t =
    std::conditional_t<std::is_rvalue_reference_v<typename thread_result<Function, Args...>::type>,
                       std::remove_cvref_t<typename thread_result<Function, Args...>::type>,
                       typename thread_result<Function, Args...>::type>;

struct no_stop_source {};

template <class Function, class... Args>
class WEIR_MUST_AWAIT thread_call final : public thread_call_base {
    using value = thread_result_t<Function, Args...>;
    static constexpr bool is_stoppable = wants_stop_token<Function, Args...>;
    static_assert(!is_task<std::remove_cvref_t<value>>::value,
                  "thread_pool and run_blocking take plain functions; what makes a weir::task "
                  "belongs on a loop: await it, or use run_on_threads");

public:
    template <class F, class... As>
    thread_call(shared_pool pool, thread_entry entry, F&& function, As&&... args)
        : thread_call_base(std::move(pool), entry),
          function_(std::forward<F>(function)),
          args_(std::forward<As>(args)...) {}
    thread_call(thread_call&& unawaited)
        : thread_call_base(std::move(unawaited)),
          function_(std::move(unawaited.function_)),
          args_(std::move(unawaited.args_)),
          stop_(std::move(unawaited.stop_)) {}

    value resume() { return result_.take(); }

private:
    void call() noexcept override {
        try {
            if constexpr (std::is_void_v<value>) {
                invoke();
                result_.set_value();
            } else {
                result_.set_value(invoke());
            }
        } catch (...) {
            result_.set_error(std::current_exception());
        }
    }
    decltype(auto) invoke() {
        return std::apply(
            [this](Args&... each) -> decltype(auto) {
                if constexpr (is_stoppable) {
                    return std::invoke(std::move(function_), stop_.get_token(), std::move(each)...);
                } else {
                    return std::invoke(std::move(function_), std::move(each)...);
                }
            },
            args_);
    }
    void fail(std::exception_ptr error) noexcept override { result_.set_error(std::move(error)); }
    void request_stop() noexcept override {
        if constexpr (is_stoppable) {
            stop_.request_stop();
        }
    }

    Function function_;
    std::tuple<Args...> args_;
    [[no_unique_address]] std::conditional_t<is_stoppable, std::stop_source, no_stop_source> stop_;
    result<value> result_;
};

// co_await pool.close(): until the last thread has ended.
class WEIR_MUST_AWAIT thread_pool_end final : public operation, private mail_item {
public:
    explicit thread_pool_end(shared_pool pool) noexcept : pool_(std::move(pool)) {}
    thread_pool_end(thread_pool_end&& unawaited) noexcept
        : operation(), mail_item(), pool_(std::move(unawaited.pool_)) {}

    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "thread_pool.close"; }
    void resume() const noexcept {}

private:
    friend class thread_pool_core;
    void arrive(loop& at) noexcept override;

    shared_pool pool_;
    thread_pool_end* next_ = nullptr;
    std::shared_ptr<inbox> mail_;
};

}  // namespace weir::detail
