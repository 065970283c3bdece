// SPDX-License-Identifier: MIT
// worker_pool: runs a fixed number of jobs at a time, queues a bounded number more, and has a rule
// for a full queue.
//
//     weir::worker_pool pool({.workers = 5, .queue = 100});
//     weir::job_handle<page> page = co_await pool.submit(fetch, "example.com");
//     use(co_await page);
//     co_await pool.close();                               // waits until all jobs are done
//
//     weir::handler_pool pages({.workers = 5}, fetch);     // one handler for all jobs
//     auto job = co_await pages.submit({.id = "front"}, "example.com");
//     pages.status("front"); pages.cancel("front"); co_await pages.get<page>("front");
//
// Jobs start in the order in which they were accepted. A job that fails or is cancelled does not
// affect the others: its error stays in its handle and under its id, and is reported if it is never
// retrieved. Results stay available by id for a limited time and up to a limited number. A job has
// the task-local values of its submitter. Destroying the pool is shutdown_mode::now without the
// waiting. One loop, one thread.
#pragma once

#include <weir/flow/admission.hpp>
#include <weir/flow/detail/signature.hpp>
#include <weir/flow/job_handle.hpp>
#include <weir/flow/shutdown_mode.hpp>
#include <weir/flow/telemetry.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

// What a submission does when all workers are busy and the queue is full.
enum class when_queue_full : unsigned char {
    wait,             // waits for room; submitters are served in order
    refuse,           // is refused: queue_full
    displace_oldest,  // the oldest queued job is dropped, with the refusal `displaced`
    run_here,         // the submitter runs the job itself before it continues
};

struct worker_pool_options {
    std::string_view name = "workers";
    std::size_t workers = 4;  // jobs that run at a time
    std::size_t queue = 100;  // jobs that wait for a worker; 0: a job needs a free worker
    weir::when_queue_full when_full = weir::when_queue_full::wait;
    // How long, and how many, finished jobs can be found by id. A handle keeps its job regardless.
    clock::duration keep_results = std::chrono::minutes(5);
    std::size_t most_results = 1000;
    weir::observer* observer = nullptr;  // "failed", "refused", "displaced", "shut_down"
};

struct worker_pool_stats {
    std::uint64_t submitted = 0;  // accepted, including those that their submitters ran
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t displaced = 0;
    std::uint64_t refused = 0;        // not accepted
    std::uint64_t run_by_caller = 0;  // included in `submitted`
    // Now:
    std::size_t queued = 0;
    std::size_t running = 0;  // on a worker
    std::size_t kept = 0;     // finished, and can be found by id
    std::size_t workers = 0;
};

struct job_options {
    std::string_view id{};  // empty: one is generated. A duplicate is refused
};

namespace detail {
class worker_pool_core;
}  // namespace detail

// The common part of worker_pool and handler_pool.
class basic_worker_pool {
public:
    basic_worker_pool(const basic_worker_pool&) = delete;
    basic_worker_pool& operator=(const basic_worker_pool&) = delete;

    // By id. Empty if the id is unknown, or its job is no longer kept.
    std::optional<job_status> status(std::string_view id) const;
    std::optional<any_job> find(std::string_view id) const;
    // With the type of the result: co_await pool.get<int>("a"). Throws invalid_argument if the id
    // is unknown, or the result has another type.
    template <class T>
    job_handle<T> get(std::string_view id) const {
        auto found = std::dynamic_pointer_cast<detail::typed_job<T>>(at(id));
        if (found == nullptr) {
            throw_other_type(id);
        }
        return job_handle<T>(std::move(found));
    }
    // As any_job::cancel(); false also if the id is unknown.
    bool cancel(std::string_view id, std::string_view reason = {});

    // Accepts nothing from its first step on: submitters that wait are refused. Returns when no
    // job is left. A further call with a harder mode applies that mode. Cancelling the waiter
    // changes nothing.
    task<void> close(shutdown_mode mode = shutdown_mode::drain);
    bool is_closed() const noexcept;
    [[deprecated("use close()")]] task<void> shutdown(shutdown_mode mode = shutdown_mode::drain) {
        return close(mode);
    }
    [[deprecated("use is_closed()")]] bool is_shut_down() const noexcept { return is_closed(); }

    worker_pool_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;
    const std::string& name() const noexcept;

protected:
    using core_pointer = std::shared_ptr<detail::worker_pool_core>;
    using job_pointer = std::shared_ptr<detail::worker_job>;

    explicit basic_worker_pool(const worker_pool_options& options);
    ~basic_worker_pool();

    template <class T>
    std::shared_ptr<detail::typed_job<T>> make_job(const job_options& options, task<T>&& work) {
        auto made = std::make_shared<detail::typed_job<T>>(std::move(work));
        made->id = options.id;
        return made;
    }
    template <class T>
    admission<job_handle<T>> try_enter(const job_options& options, task<T>&& work) {
        auto made = make_job(options, std::move(work));
        if (const std::optional<refusal> refused = try_add(made)) {
            return *refused;
        }
        return job_handle<T>(std::move(made));
    }
    template <class T>
    static task<admission<job_handle<T>>> enter(core_pointer core,
                                                std::shared_ptr<detail::typed_job<T>> made) {
        const std::optional<refusal> refused = co_await add(std::move(core), made);
        if (refused.has_value()) {
            co_return *refused;
        }
        co_return job_handle<T>(std::move(made));
    }
    template <class T>
    static task<job_handle<T>> enter_or_throw(core_pointer core,
                                              std::shared_ptr<detail::typed_job<T>> made) {
        const std::optional<refusal> refused = co_await add(core, made);
        if (refused.has_value()) {
            throw_refused(*core, *refused, made->id);
        }
        co_return job_handle<T>(std::move(made));
    }

    core_pointer core_;

private:
    std::optional<refusal> try_add(const job_pointer& job);
    static task<std::optional<refusal>> add(core_pointer core, job_pointer job);
    job_pointer at(std::string_view id) const;  // throws invalid_argument if the id is unknown
    [[noreturn]] void throw_other_type(std::string_view id) const;
    [[noreturn]] static void throw_refused(const detail::worker_pool_core& core,
                                           const refusal& reason, std::string_view id);
};

// One function per job: it returns a task, another awaitable, or a plain value.
class worker_pool : public basic_worker_pool {
public:
    explicit worker_pool(const worker_pool_options& options = {}) : basic_worker_pool(options) {}

    // co_await submit(fn, args...): a job_handle<T>. If the queue is full, does what the options
    // say; throws weir::refused. A submitter that is cancelled while it waits has submitted
    // nothing.
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto submit(const job_options& options, Callable&& callable, Args&&... args) {
        WEIR_CHECK_CALLABLE(Callable);
        return enter_or_throw(
            core_, make_job(options, detail::task_of_call(std::forward<Callable>(callable),
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
    auto offer(const job_options& options, Callable&& callable, Args&&... args) {
        WEIR_CHECK_CALLABLE(Callable);
        return enter(core_, make_job(options, detail::task_of_call(std::forward<Callable>(callable),
                                                                   std::forward<Args>(args)...)));
    }
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto offer(Callable&& callable, Args&&... args) {
        return offer(job_options{}, std::forward<Callable>(callable), std::forward<Args>(args)...);
    }
    // Never waits: refuses where offer() would wait or run the job itself.
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto try_submit(const job_options& options, Callable&& callable, Args&&... args) {
        return try_enter(options, detail::task_of_call(std::forward<Callable>(callable),
                                                       std::forward<Args>(args)...));
    }
    template <class Callable, class... Args>
        requires std::invocable<std::decay_t<Callable>&, std::decay_t<Args>...>
    auto try_submit(Callable&& callable, Args&&... args) {
        return try_submit(job_options{}, std::forward<Callable>(callable),
                          std::forward<Args>(args)...);
    }
};

// One handler for all jobs, which are values. Several workers call it at the same time.
template <class Job, class Result>
class handler_pool : public basic_worker_pool {
public:
    template <class Handler>
        requires std::invocable<Handler&, Job>
    handler_pool(const worker_pool_options& options, Handler handler)
        : basic_worker_pool(options),
          handler_(
              std::make_shared<handler_function>([handler = std::move(handler)](Job job) mutable {
                  return detail::task_of_call(std::ref(handler), std::move(job));
              })) {}

    // As those of worker_pool.
    task<job_handle<Result>> submit(const job_options& options, Job job) {
        return enter_or_throw(core_, make_job(options, handle(handler_, std::move(job))));
    }
    task<job_handle<Result>> submit(Job job) { return submit(job_options{}, std::move(job)); }
    task<admission<job_handle<Result>>> offer(const job_options& options, Job job) {
        return enter(core_, make_job(options, handle(handler_, std::move(job))));
    }
    task<admission<job_handle<Result>>> offer(Job job) {
        return offer(job_options{}, std::move(job));
    }
    admission<job_handle<Result>> try_submit(const job_options& options, Job job) {
        return try_enter(options, handle(handler_, std::move(job)));
    }
    admission<job_handle<Result>> try_submit(Job job) {
        return try_submit(job_options{}, std::move(job));
    }

private:
    using handler_function = detail::unique_function<task<Result>(Job)>;
    // Jobs share the handler: their clean-up may outlive the pool.
    static task<Result> handle(std::shared_ptr<handler_function> handler, Job job) {
        co_return co_await (*handler)(std::move(job));
    }
    std::shared_ptr<handler_function> handler_;
};
template <class Handler>
handler_pool(const worker_pool_options&, Handler) -> handler_pool<
    typename detail::handler_parts<typename detail::signature<Handler>::type>::param,
    typename detail::handler_parts<typename detail::signature<Handler>::type>::result>;

}  // namespace weir
