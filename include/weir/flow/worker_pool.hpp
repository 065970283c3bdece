// SPDX-License-Identifier: MIT
// worker_pool: so many jobs at a time, so many more in a queue, and a rule for what comes on top.
//
//     weir::worker_pool pool({.workers = 5, .queue = 100});
//     weir::job_handle<page> page = co_await pool.submit(fetch, "example.com");   // one function per job
//     use(co_await page);
//     co_await pool.shutdown();                                            // all jobs are done first
//
//     weir::handler_pool pages({.workers = 5}, fetch);                     // one handler for all jobs
//     auto job = co_await pages.submit({.id = "front"}, "example.com");
//     pages.status("front"); pages.cancel("front"); co_await pages.get<page>("front");
//
// Jobs begin in the order in which they were let in. A job that fails or is cancelled disturbs
// nobody: its error waits in its handle and under its id, and is reported if nobody ever looks.
// Results stay available by id for a bounded time and up to a bounded number. A job has the
// task-local values of its submitter. Destroying the pool is shutdown_mode::now without the
// waiting. One loop, one thread.
#pragma once

#include <weir/flow/admission.hpp>
#include <weir/flow/detail/signature.hpp>
#include <weir/flow/detail/worker_pool_core.hpp>
#include <weir/flow/job_handle.hpp>

namespace weir {

struct job_options {
    std::string_view id{};  // empty: one is generated. One that is taken is refused
};

// What both kinds of pool have in common.
class basic_worker_pool {
public:
    basic_worker_pool(const basic_worker_pool&) = delete;
    basic_worker_pool& operator=(const basic_worker_pool&) = delete;

    // By id. Empty if there is no such job: there never was, or it has been forgotten since.
    std::optional<job_status> status(std::string_view id) const;
    std::optional<any_job> find(std::string_view id) const;
    // The same for those who know the type of the result: co_await pool.get<int>("a"). Throws
    // invalid_argument if there is no such job, or its result is of another type.
    template <class T>
    job_handle<T> get(std::string_view id) const {
        auto found = std::dynamic_pointer_cast<detail::typed_job<T>>(core_->at(id));
        if (found == nullptr) {
            core_->throw_other_type(id);
        }
        return job_handle<T>(std::move(found));
    }
    // As any_job::cancel(); false also if there is no such job.
    bool cancel(std::string_view id, std::string_view reason = {});

    // From the first step on nothing more is accepted: those who wait to submit are refused.
    // Returns when no job is left. Called again with a harder mode, it does what that says.
    // Cancelling the waiter changes nothing.
    task<void> shutdown(shutdown_mode mode = shutdown_mode::drain) {
        return detail::worker_pool_core::shutdown(core_, mode);
    }
    bool is_shut_down() const noexcept { return core_->is_closed(); }

    worker_pool_stats stats() const noexcept { return core_->stats(); }
    void write_metrics(metric_writer& to) const { core_->write_metrics(to); }
    const std::string& name() const noexcept { return core_->name(); }

protected:
    explicit basic_worker_pool(const worker_pool_options& options)
        : core_(std::make_shared<detail::worker_pool_core>(options)) {}
    ~basic_worker_pool() { core_->close(shutdown_mode::now); }

    template <class T>
    std::shared_ptr<detail::typed_job<T>> make_job(const job_options& how, task<T>&& work) {
        auto made = std::make_shared<detail::typed_job<T>>(std::move(work));
        made->id = how.id;
        return made;
    }
    template <class T>
    admission<job_handle<T>> try_enter(const job_options& how, task<T>&& work) {
        auto made = make_job(how, std::move(work));
        if (const std::optional<refusal> why = core_->try_enter(made)) {
            return *why;
        }
        return job_handle<T>(std::move(made));
    }
    template <class T>
    static task<admission<job_handle<T>>> enter(std::shared_ptr<detail::worker_pool_core> core,
                                                std::shared_ptr<detail::typed_job<T>> made) {
        const std::optional<refusal> why =
            co_await detail::worker_pool_core::enter(std::move(core), made);
        if (why.has_value()) {
            co_return *why;
        }
        co_return job_handle<T>(std::move(made));
    }
    template <class T>
    static task<job_handle<T>> enter_or_throw(std::shared_ptr<detail::worker_pool_core> core,
                                              std::shared_ptr<detail::typed_job<T>> made) {
        const std::optional<refusal> why = co_await detail::worker_pool_core::enter(core, made);
        if (why.has_value()) {
            core->throw_refused(*why, *made);
        }
        co_return job_handle<T>(std::move(made));
    }

    std::shared_ptr<detail::worker_pool_core> core_;
};

// One function per job: it gives a task, another awaitable, or a plain value.
class worker_pool : public basic_worker_pool {
public:
    explicit worker_pool(const worker_pool_options& options = {}) : basic_worker_pool(options) {}

    // co_await submit(fn, args...): a job_handle<T>. While the queue is full, does what the options say;
    // throws weir::refused. A submitter that is cancelled while it waits has submitted nothing.
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto submit(const job_options& how, Callable&& callable, Args&&... args) {
        WEIR_CHECK_CALLABLE(Callable);
        return enter_or_throw(core_,
                              make_job(how, detail::task_of_call(std::forward<Callable>(callable),
                                                                 std::forward<Args>(args)...)));
    }
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto submit(Callable&& callable, Args&&... args) {
        return submit(job_options{}, std::forward<Callable>(callable), std::forward<Args>(args)...);
    }
    // co_await offer(fn, args...): the same as an admission<job_handle<T>>, a value.
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto offer(const job_options& how, Callable&& callable, Args&&... args) {
        WEIR_CHECK_CALLABLE(Callable);
        return enter(core_, make_job(how, detail::task_of_call(std::forward<Callable>(callable),
                                                               std::forward<Args>(args)...)));
    }
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto offer(Callable&& callable, Args&&... args) {
        return offer(job_options{}, std::forward<Callable>(callable), std::forward<Args>(args)...);
    }
    // At once: refuses where offer() would wait, or run the job here.
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto try_submit(const job_options& how, Callable&& callable, Args&&... args) {
        return try_enter(how, detail::task_of_call(std::forward<Callable>(callable),
                                                   std::forward<Args>(args)...));
    }
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto try_submit(Callable&& callable, Args&&... args) {
        return try_submit(job_options{}, std::forward<Callable>(callable),
                          std::forward<Args>(args)...);
    }
};

// One handler, given with the pool, for jobs that are values. It is called by several workers at a
// time.
template <class Job, class Result>
class handler_pool : public basic_worker_pool {
public:
    template <class Handler>
        requires std::invocable<Handler&, Job>
    handler_pool(const worker_pool_options& options, Handler handler)
        : basic_worker_pool(options),
          handler_(std::make_shared<held>([handler = std::move(handler)](Job job) mutable {
              return detail::task_of_call(std::ref(handler), std::move(job));
          })) {}

    // As those of worker_pool.
    task<job_handle<Result>> submit(const job_options& how, Job what) {
        return enter_or_throw(core_, make_job(how, handle(handler_, std::move(what))));
    }
    task<job_handle<Result>> submit(Job what) { return submit(job_options{}, std::move(what)); }
    task<admission<job_handle<Result>>> offer(const job_options& how, Job what) {
        return enter(core_, make_job(how, handle(handler_, std::move(what))));
    }
    task<admission<job_handle<Result>>> offer(Job what) {
        return offer(job_options{}, std::move(what));
    }
    admission<job_handle<Result>> try_submit(const job_options& how, Job what) {
        return try_enter(how, handle(handler_, std::move(what)));
    }
    admission<job_handle<Result>> try_submit(Job what) {
        return try_submit(job_options{}, std::move(what));
    }

private:
    using held = detail::unique_function<task<Result>(Job)>;
    // Jobs may outlive the pool by the time their clean-up takes: they share the handler.
    static task<Result> handle(std::shared_ptr<held> handler, Job what) {
        co_return co_await (*handler)(std::move(what));
    }
    std::shared_ptr<held> handler_;
};
template <class Handler>
handler_pool(const worker_pool_options&, Handler) -> handler_pool<
    typename detail::handler_parts<typename detail::signature<Handler>::type>::param,
    typename detail::handler_parts<typename detail::signature<Handler>::type>::result>;

}  // namespace weir
