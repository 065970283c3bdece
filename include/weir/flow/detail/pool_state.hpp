// SPDX-License-Identifier: MIT
// The part of a pool that depends on the type of its objects: the user's functions, and the tasks
// that call them.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/error.hpp>
#include <weir/flow/detail/pool_work.hpp>
#include <weir/timeout.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

namespace weir::detail {

template <class Signature>
class pool_function;

// A function of the user's: a coroutine, or a plain function, which is called without a task.
template <class Result, class... Args>
class pool_function<Result(Args...)> {
    template <class Callable>
    using returned = std::invoke_result_t<Callable&, Args...>;

public:
    pool_function() noexcept = default;
    pool_function(std::nullptr_t) noexcept {}  // NOLINT: implicit
    template <class Callable>
        requires(!std::same_as<std::remove_cvref_t<Callable>, pool_function> &&
                 std::is_invocable_v<std::decay_t<Callable>&, Args...>)
    pool_function(Callable&& callable) {  // NOLINT: implicit, as std::function is
        using plain = std::decay_t<Callable>;
        if constexpr (is_task<returned<plain>>::value) {
            static_assert(std::same_as<returned<plain>, task<Result>>,
                          "this function of a pool returns a task of another type than expected: "
                          "connect: task<T>, check: task<bool>, reset and close: task<>");
            awaited_ = std::forward<Callable>(callable);
        } else {
            static_assert(std::is_invocable_r_v<Result, plain&, Args...>,
                          "this function of a pool returns another type than expected: connect: T, "
                          "check: bool, reset and close: nothing; or a task of that");
            plain_ = std::forward<Callable>(callable);
        }
    }

    explicit operator bool() const noexcept { return is_plain() || static_cast<bool>(awaited_); }
    bool is_plain() const noexcept { return static_cast<bool>(plain_); }
    Result call_now(Args... args) { return plain_(std::forward<Args>(args)...); }
    task<Result> call(Args... args) {
        return is_plain() ? wrap(*this, std::forward<Args>(args)...)
                          : awaited_(std::forward<Args>(args)...);
    }

private:
    static task<Result> wrap(pool_function& self, Args... args) {
        co_return self.plain_(std::forward<Args>(args)...);
    }

    unique_function<task<Result>(Args...)> awaited_;
    unique_function<Result(Args...)> plain_;
};

}  // namespace weir::detail

namespace weir {

// The functions that a pool calls for its objects. Each is a coroutine, or a plain function, which
// must not block. The pool's own tasks call and await them; everything they refer to must outlive
// the pool.
template <class T>
struct pool_functions {
    detail::pool_function<T()> connect;       // makes one
    detail::pool_function<bool(T&)> check{};  // before it is lent: false closes it
    detail::pool_function<void(T&)> reset{};  // when it comes back; one that throws is closed
    detail::pool_function<void(T&)> close{};  // before it is destroyed
};

}  // namespace weir

namespace weir::detail {

template <class T>
class pool_state final : public pool_core {
public:
    struct entry final : pool_entry {
        entry(pool_core& owner, T&& made) : pool_entry(&owner), object(std::move(made)) {}
        T object;
    };

    pool_state(const pool_options& options, pool_functions<T>&& functions)
        : pool_core(options,
                    {static_cast<bool>(functions.check), static_cast<bool>(functions.reset),
                     static_cast<bool>(functions.close)}),
          functions_(std::move(functions)) {
        if (!functions_.connect) {
            throw invalid_argument("pool '" + name() + "': there is no connect function");
        }
        begin();
    }

    void destroy(pool_entry& gone) noexcept override { delete &typed(gone); }

private:
    static entry& typed(pool_entry& any) noexcept { return static_cast<entry&>(any); }
    static pool_state& pool_of(const pool_work& work) noexcept {
        return static_cast<pool_state&>(work.pool());
    }

    void start_connect() noexcept override { start<pool_job::connecting>(connect_one, nullptr); }
    void start_check(pool_entry& one) noexcept override {
        start<pool_job::checking>(check_one, &one);
    }
    void start_reset(pool_entry& one) noexcept override {
        if (!functions_.reset.is_plain()) {
            start<pool_job::resetting>(reset_one, &one);
            return;
        }
        bool is_good = true;
        try {
            functions_.reset.call_now(typed(one).object);
        } catch (...) {
            report_current_error(pool_stage::resetting);
            is_good = false;
        }
        was_reset(one, is_good);
    }
    void start_close(pool_entry& one) noexcept override {
        if (!functions_.close.is_plain()) {
            start<pool_job::closing>(close_one, &one);
            return;
        }
        try {
            functions_.close.call_now(typed(one).object);
        } catch (...) {  // it counts as closed
            report_current_error(pool_stage::closing);
        }
        destroy(one);
    }
    check_result check_now(pool_entry& one) noexcept override {
        if (!functions_.check.is_plain()) {
            return check_result::takes_time;
        }
        try {
            return functions_.check.call_now(typed(one).object) ? check_result::good
                                                                : check_result::bad;
        } catch (...) {
            report_current_error(pool_stage::checking);
            return check_result::bad;
        }
    }

    // If there is no memory for the task, the work reports that it was stopped.
    template <pool_job Job>
    void start(task<> (*body)(pool_work), pool_entry* one) noexcept {
        pool_work work(*this, Job, one);
        try {
            launch(Job, body(std::move(work)));
        } catch (...) {  // NOLINT
        }
    }

    static task<> connect_one(pool_work work) {
        pool_state& self = pool_of(work);
        entry* fresh = nullptr;
        std::exception_ptr error;
        try {
            task<T> connecting = self.functions_.connect.call();
            T made = co_await timeout(self.connect_timeout_, std::move(connecting));
            fresh = new entry(self, std::move(made));
        } catch (...) {
            self.report_current_error(pool_stage::connecting);
            error = std::current_exception();
        }
        if (fresh != nullptr) {
            work.connected(*fresh);
        } else {
            work.connect_failed(std::move(error));
        }
    }
    static task<> check_one(pool_work work) {
        pool_state& self = pool_of(work);
        bool is_good = false;
        try {
            task<bool> checking = self.functions_.check.call(typed(work.entry()).object);
            is_good = co_await timeout(self.check_timeout_, std::move(checking));
        } catch (...) {  // counts as a failed check
            self.report_current_error(pool_stage::checking);
        }
        work.checked(is_good);
    }
    static task<> reset_one(pool_work work) {
        pool_state& self = pool_of(work);
        bool is_good = false;
        try {
            task<> resetting = self.functions_.reset.call(typed(work.entry()).object);
            co_await timeout(self.check_timeout_, std::move(resetting));
            is_good = true;
        } catch (...) {  // counts as a failed check
            self.report_current_error(pool_stage::resetting);
        }
        work.was_reset(is_good);
    }
    static task<> close_one(pool_work work) {
        pool_state& self = pool_of(work);
        try {
            task<> closing = self.functions_.close.call(typed(work.entry()).object);
            co_await timeout(self.close_timeout_, std::move(closing));
        } catch (...) {  // it counts as closed
            self.report_current_error(pool_stage::closing);
        }
        work.was_closed();
    }

    pool_functions<T> functions_;
};

}  // namespace weir::detail
