// SPDX-License-Identifier: MIT
// Each thread makes a loop and runs its main task, wrapped in a task that registers with the crew
// and unregisters. While registered, the crew can reach the loop and cancel the task there. A main
// task that fails or is cancelled has all others cancelled, once. Signals need no mechanism of
// their own: they cancel the main task of the loop that handles them, and the wrapper passes that
// on while the task is still cleaning up.

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/threads.hpp>
#include <weir/stop_token.hpp>
#include <weir/time.hpp>

#include <pthread.h>

#include <algorithm>

namespace weir {

std::size_t processor_count() noexcept {
    return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

namespace detail {

void check_thread_count(std::size_t count) {
    if (count == 0) {
        throw invalid_argument(
            "run_on_threads: the number of threads is 0; it must be at least 1, or left out for "
            "all "
            "processors");
    }
}

// ---- one of the threads

class thread_crew::registration {
public:
    registration(thread_crew& crew, std::size_t index) : crew_(crew), index_(index) {
        member& own = crew.members_[index];
        own.main = current_task();
        const std::lock_guard lock(crew.mutex_);
        own.mail = loop::current().mail();
        if (crew.is_cancelled_) {
            own.main.cancel(crew.reason_);
        }
    }
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    ~registration() {
        if (!has_ended_well_) {
            crew_.cancel("another of the threads has failed or was cancelled", index_);
        }
        member& own = crew_.members_[index_];
        {
            const std::lock_guard lock(crew_.mutex_);
            own.mail.reset();
        }
        own.main = {};
    }
    void ended_well() noexcept { has_ended_well_ = true; }

private:
    thread_crew& crew_;
    std::size_t index_;
    bool has_ended_well_ = false;
};

task<void> thread_crew::watched(std::size_t index) {
    registration registered(*this, index);
    const std::stop_callback passes_on(stop_token_of_current(), [this, index] {
        cancel("one of the threads was cancelled", index);
    });
    if (current_task().cancelling() > 0) {
        co_await yield();  // a task cancelled before it began stops here
    }
    try {
        co_await body_.start(index);
    } catch (const cancelled&) {
        throw;
    } catch (...) {
        note_error(std::current_exception());
        throw;
    }
    registered.ended_well();
}

// Keeps the first error; false if there was one before.
bool thread_crew::note_error(const std::exception_ptr& error) noexcept {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) {
        error_ = error;
    }
    return error_ == error;
}

void thread_crew::run_member(std::size_t index, loop_options options) noexcept {
    try {
        loop home(std::move(options));
        try {
            home.run(watched(index));
        } catch (const cancelled&) {
            const std::lock_guard lock(mutex_);
            if (cancellation_ == nullptr) {
                cancellation_ = std::current_exception();
            }
        } catch (...) {
            if (!note_error(std::current_exception())) {
                home.tell({report_kind::suppressed_error,
                           "run_on_threads: a further error of loop " + std::to_string(index) +
                               ": " + describe(std::current_exception()),
                           std::current_exception(),
                           {},
                           {}});
            }
            cancel("another of the threads has failed", index);
        }
    } catch (...) {  // no loop could be made
        note_error(std::current_exception());
        cancel("another of the threads could not begin", index);
    }
}

// ---- all of them

thread_crew::thread_crew(std::size_t count, thread_body& body) : body_(body) {
    check_thread_count(count);
    members_.resize(count);
    threads_.reserve(count);
}

thread_crew::~thread_crew() {
    for (std::thread& each : threads_) {
        each.join();
    }
}

void thread_crew::cancel(std::string_view reason, std::size_t except) noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_cancelled_, true)) {
        return;
    }
    reason_ = reason;
    for (std::size_t index = 0; index < members_.size(); ++index) {
        member& each = members_[index];
        if (index == except || each.mail == nullptr) {
            continue;
        }
        // If this comes too late the task has unregistered, and may be ending for its own reasons.
        post_to(each.mail, [this, &each] {
            if (each.main.valid() && each.main.cancelling() == 0) {
                each.main.cancel(reason_);
            }
        });
    }
}

// A report handler cannot be copied: all loops share it.
report_handler thread_crew::shared_handler() {
    if (!on_report_) {
        return {};
    }
    return [this](const report& about) {
        const std::lock_guard lock(report_mutex_);
        on_report_(about);
    };
}

loop_options thread_crew::options_like(const loop_options& main_options) {
    loop_options options;
    options.driver = main_options.driver;
    options.debug = main_options.debug;
    options.slow_step = main_options.slow_step;
    options.shutdown_deadline = main_options.shutdown_deadline;
    options.seed = main_options.seed;
    options.on_report = shared_handler();
    options.signals = signal_handling::none;  // loop 0 handles signals for all
    return options;
}

void thread_crew::start_threads(std::size_t first, const loop_options& like) {
    {
        const std::lock_guard lock(mutex_);
        running_ = members_.size() - first;
    }
    for (std::size_t index = first; index < members_.size(); ++index) {
        try {
            threads_.emplace_back([this, index, options = options_like(like)]() mutable {
                ::pthread_setname_np(::pthread_self(), ("weir-" + std::to_string(index)).c_str());
                run_member(index, std::move(options));
                member_ended();
            });
        } catch (const std::system_error& error) {
            note_error(std::make_exception_ptr(
                io_error(error.code(), "run_on_threads: start thread " + std::to_string(index))));
            cancel("another of the threads could not be started");
            for (; index < members_.size(); ++index) {
                member_ended();
            }
        }
    }
}

// A thread's last use of the crew before it is joined.
void thread_crew::member_ended() noexcept {
    crew_operation* waiting = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (--running_ == 0) {
            waiting = waiting_;
        }
    }
    if (waiting != nullptr) {
        send_mail(std::move(waiting->mail_), *waiting);
    }
}

void thread_crew::check() {
    for (std::thread& each : threads_) {
        each.join();
    }
    threads_.clear();
    if (error_ != nullptr) {
        std::rethrow_exception(error_);
    }
    if (cancellation_ != nullptr) {
        std::rethrow_exception(cancellation_);
    }
}

void thread_crew::run_here(loop_options options, std::stop_token stop) {
    if (loop::current_or_null() != nullptr) {
        throw loop_error(
            "run_on_threads: a loop runs on this thread, and would be blocked; await on_threads");
    }
    on_report_ = std::move(options.on_report);
    options.on_report = shared_handler();
    const std::stop_callback cancels(std::move(stop),
                                     [this] { cancel("the stop token was requested"); });
    start_threads(1, options);
    loop_options afterwards = options_like(options);
    afterwards.signals = options.signals;
    afterwards.dump_on_sigusr1 = options.dump_on_sigusr1;
    afterwards.shutdown_deadline =
        clock::duration::max();  // the other loops have deadlines of their own
    run_member(0, std::move(options));
    mind_signals(std::move(afterwards));
    check();
}

task<void> thread_crew::others_ended() {
    co_await crew_operation(*this, false);
}

void thread_crew::mind_signals(loop_options options) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (running_ == 0 || is_cancelled_ || options.signals == signal_handling::none) {
            return;
        }
    }
    try {
        loop(std::move(options)).run(others_ended());
    } catch (const interrupted&) {
        note_error(std::current_exception());
    } catch (...) {  // no loop could be made: wait for the threads without one
    }
}

// ---- from a running loop

bool crew_operation::start() noexcept {
    auto& home = static_cast<loop&>(waiter().home());
    mail_ = home.mail();
    home.expect_post();
    if (starts_) {
        crew_->waiting_ = this;
        crew_->start_threads(0, {});
        return true;
    }
    const std::lock_guard lock(crew_->mutex_);
    if (crew_->running_ == 0) {
        home.expected_post_came();
        return false;
    }
    crew_->waiting_ = this;
    return true;
}

bool crew_operation::cancel() noexcept {
    crew_->cancel(pending_reason(waiter()));
    return false;
}

void crew_operation::arrive(loop& at) noexcept {
    at.expected_post_came();
    complete();
}

}  // namespace detail
}  // namespace weir
