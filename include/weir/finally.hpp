// SPDX-License-Identifier: MIT
// Asynchronous clean-up: finally, with, defer.
#pragma once

#include <weir/cancel.hpp>
#include <weir/detail/cleanup.hpp>

#include <tuple>

namespace weir {

// How the work ended: an argument of its clean-up. A weir::cancelled that leaves the work counts as
// stopped.
enum class ending : unsigned char { value, error, stopped };

namespace detail {

// A task to be consumed, or a callable that makes one.
template <class Cleanup>
inline constexpr bool is_cleanup =
    (is_task<std::remove_cvref_t<Cleanup>>::value && !std::is_lvalue_reference_v<Cleanup>) ||
    std::is_invocable_r_v<task<void>, std::remove_reference_t<Cleanup>&, ending> ||
    std::is_invocable_r_v<task<void>, std::remove_reference_t<Cleanup>&>;

template <class Cleanup>
task<void> start_cleanup(Cleanup& cleanup, ending end) {
    if constexpr (std::is_invocable_v<Cleanup&, ending>) {
        return cleanup(end);
    } else {
        return cleanup();
    }
}

// Runs the work, then the clean-up behind a shield, then continues with the ending: the clean-up's
// own error if it throws, else the stop, else the work's value or error.
template <class T, class Cleanup>
class WEIR_MUST_AWAIT finally_call final : public bounded<finally_call<T, Cleanup>, scope> {
public:
    static constexpr const char* boundary_name = "finally";
    finally_call(task<T>&& work, Cleanup&& cleanup)
        : bounded<finally_call, scope>(table_of<finally_call>),
          work_(std::move(work)),
          cleanup_(std::forward<Cleanup>(cleanup)) {}

    void enter(fiber& on) noexcept { work_.enter(*this, on); }

    next_step advance(fiber& on) noexcept {
        if (!is_cleaning_) {
            return clean(on, work_.has_value()                ? ending::value
                             : is_cancellation(work_.error()) ? ending::stopped
                                                              : ending::error);
        }
        leave_scope(*this);
        std::exception_ptr error = cleaning_.error();
        if (stop_target_ != nullptr) {
            if (!beats_stop(error)) {
                on.top = this->parent;
                return continue_stop(on, stop_target_);
            }
            request_answered(on, stop_target_);
        }
        if (error != nullptr) {
            work_.fail(std::move(error));
        }
        return give_way(*this, on, work_);
    }

    next_step stopped(fiber& on, walk& stop) noexcept {
        if (!is_cleaning_) {
            work_.lost();
            if (stop.error != nullptr) {
                work_.fail(std::move(stop.error));
                return clean(on, ending::error);
            }
            stop_target_ = stop.target;
            return clean(on, ending::stopped);
        }
        leave_scope(*this);
        cleaning_.lost();
        if (stop.error != nullptr) {
            work_.fail(std::move(stop.error));
            return return_to_parent(*this, on);
        }
        work_.destroy();
        return let_pass(*this, on);  // past the loop's deadline: the clean-up itself was stopped
    }

    T await_resume() { return work_.take(); }

private:
    next_step clean(fiber& on, ending end) noexcept {
        is_cleaning_ = true;
        try {
            cleaning_.assign(start_cleanup(cleanup_, end));
        } catch (...) {
            work_.fail(std::current_exception());
            return return_to_parent(*this, on);
        }
        this->shielding = true;
        enter_scope(*this, on);
        return cleaning_.start(*this, on);
    }

    given_work<T> work_;
    Cleanup cleanup_;  // a reference if an lvalue was given
    child_call<void> cleaning_;
    frame* stop_target_ = nullptr;
    bool is_cleaning_ = false;
};

// A clean-up that is a ready-made task.
struct cleanup_task {
    task<void> work;
    task<void> operator()() { return std::move(work); }
};

template <class Callable, class... Args>
class deferred_call final : public deferred {
public:
    template <class... Given>
    explicit deferred_call(Given&&... given) : parts_(std::forward<Given>(given)...) {}
    task<void> invoke() override {
        return std::apply(
            [](auto& callable, auto&... args) {
                return make_task(std::move(callable), std::move(args)...);
            },
            parts_);
    }

private:
    std::tuple<Callable, Args...> parts_;
};

// Registers with the frame that awaits it.
class WEIR_MUST_AWAIT defer_awaiter : public boundary_awaitable {
public:
    explicit defer_awaiter(deferred* made) noexcept : made_(made) {}
    defer_awaiter(const defer_awaiter&) = delete;
    defer_awaiter& operator=(const defer_awaiter&) = delete;
    ~defer_awaiter() {
        if (made_ != nullptr) [[unlikely]] {
            report_unawaited_call("weir::defer or weir::closing");
            delete made_;
        }
    }

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> frame) noexcept {
        Promise& promise = frame.promise();
        made_->settle = [](promise_base& ended, std::exception_ptr error) noexcept {
            auto& outcome = static_cast<Promise&>(ended).outcome;
            if (error != nullptr) {
                outcome.set_error(std::move(error));
            }
            return outcome.error();
        };
        made_->next = promise.cleanup;
        promise.cleanup = std::exchange(made_, nullptr);
        return false;
    }
    void await_resume() const noexcept {}

private:
    deferred* made_;
};

template <class Resource>
concept opens = requires(Resource& resource) {
    { resource.open() } -> awaitable;
};
template <class Resource>
concept closes_told = requires(Resource& resource) { resource.close(ending::value); };

template <class Resource, class Body>
auto use_and_close(Resource resource, Body body) -> std::invoke_result_t<Body&, Resource&> {
    if constexpr (opens<Resource>) {
        co_await resource.open();
    }
    auto close = [&resource](ending end) -> task<void> {
        if constexpr (closes_told<Resource>) {
            return resource.close(end);
        } else {
            (void)end;
            return resource.close();
        }
    };
    co_return co_await finally_call<typename std::invoke_result_t<Body&, Resource&>::value_type,
                                    decltype(close)&>(call_with<Body&, Resource&>(body, resource),
                                                      close);
}

template <class Resource, class Body>
auto open_use_and_close(task<Resource> opening, Body body)
    -> std::invoke_result_t<Body&, Resource&> {
    Resource resource = co_await std::move(opening);
    co_return co_await use_and_close<Resource&, Body&>(resource, body);
}

}  // namespace detail

// co_await finally(work, cleanup): the clean-up runs however the work ends: value, error or stop.
// It is a task, or a callable that makes one and may take an `ending`. It is shielded; its
// exception replaces the ending.
template <detail::task_like Work, class Cleanup, bool IsCleanup = detail::is_cleanup<Cleanup>>
auto finally(Work&& work, Cleanup&& cleanup) {
    WEIR_CHECK_CALLABLE(Work);
    WEIR_CHECK_CALLABLE(Cleanup);
    using value = detail::task_value_t<Work>;
    if constexpr (!IsCleanup) {
        static_assert(IsCleanup,
                      "the clean-up is a task, or a function that returns task<> and takes nothing "
                      "or a weir::ending: write [&]() -> weir::task<> { ... }, or std::move(task)");
        return detail::refused_call();
    } else if constexpr (detail::is_task<std::remove_cvref_t<Cleanup>>::value) {
        return detail::finally_call<value, detail::cleanup_task>(
            detail::to_task(std::forward<Work>(work)), detail::cleanup_task{std::move(cleanup)});
    } else {
        return detail::finally_call<value, Cleanup>(detail::to_task(std::forward<Work>(work)),
                                                    std::forward<Cleanup>(cleanup));
    }
}

// co_await with(resource, body): opens it (if it has open()), runs body(resource), and closes it
// with close() or close(ending), however the body ends. The resource is an object, or a task that
// makes one. Pass an lvalue to keep ownership.
template <class Resource, class Body>
auto with(Resource&& resource, Body&& body) {
    WEIR_CHECK_CALLABLE(Body);
    using held = detail::held_t<Resource>;
    using called = detail::held_t<Body>;
    if constexpr (detail::is_task<std::remove_cvref_t<Resource>>::value) {
        return detail::open_use_and_close<typename std::remove_cvref_t<Resource>::value_type,
                                          called>(std::move(resource), std::forward<Body>(body));
    } else {
        return detail::use_and_close<held, called>(std::forward<Resource>(resource),
                                                   std::forward<Body>(body));
    }
}

template <class Work, class Cleanup>
    requires(!detail::task_like<Work>)
detail::refused_call finally(Work&&, Cleanup&&) {
    detail::explain_work<Work>();
    return {};
}

// co_await defer(fn, args...): fn(args...) makes a task that is run when this coroutine has ended,
// after its locals are gone; last registered, first run; shielded. It owns what it is given.
template <class Callable, class... Args>
    requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<Args>...>
detail::defer_awaiter defer(Callable&& callable, Args&&... args) {
    WEIR_CHECK_CALLABLE(Callable);
    return detail::defer_awaiter(
        new detail::deferred_call<std::decay_t<Callable>, std::decay_t<Args>...>(
            std::forward<Callable>(callable), std::forward<Args>(args)...));
}

template <bool IsCall = false, class Callable, class... Args>
    requires(!detail::starts_task<std::decay_t<Callable>&, std::decay_t<Args>...>)
detail::refused_call defer(Callable&&, Args&&...) {
    static_assert(IsCall,
                  "defer(fn, args...) calls fn with args later, and fn returns task<>: write "
                  "defer([](state& s) -> weir::task<> { ... }, std::ref(s)), not defer(fn(args))");
    return {};
}

}  // namespace weir
