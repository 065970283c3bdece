// SPDX-License-Identifier: MIT
// Each thread makes a loop and runs its main task, wrapped in one that signs in and out. Signed in
// means: the crew has the way to the loop, and can have the task cancelled there. Whoever fails or
// is cancelled has all others cancelled, once. Signals need nothing of their own: they cancel the
// main task of the loop that handles them, and the wrapper passes that on while the task is still
// cleaning up.

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
// --------------------------------------------------------------------------

class thread_crew::attendance {
public:
    attendance(thread_crew& crew, std::size_t index) : crew_(crew), index_(index) {
        member& own = crew.members_[index];
        own.main = current_task();
        const std::lock_guard lock(crew.mutex_);
        own.mail = loop::current().mail();
        if (crew.is_cancelled_) {
            own.main.cancel(crew.reason_);
        }
    }
    attendance(const attendance&) = delete;
    attendance& operator=(const attendance&) = delete;
    ~attendance() {
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
    attendance here(*this, index);
    const std::stop_callback passes_on(stop_token_of_current(), [this, index] {
        cancel("one of the threads was cancelled", index);
    });
    if (current_task().cancelling() > 0) {
        co_await yield();  // cancelled before it began: ends here
    }
    try {
        co_await body_.start(index);
    } catch (const cancelled&) {
        throw;
    } catch (...) {
        note_error(std::current_exception());
        throw;
    }
    here.ended_well();
}

// The first error wins; false if there was another one.
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
    } catch (...) {  // there is no loop to be had
        note_error(std::current_exception());
        cancel("another of the threads could not begin", index);
    }
}

// ---- all of them
// ---------------------------------------------------------------------------------

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
        // It has signed out if this comes too late, and may be ending for reasons of its own.
        post_to(each.mail, [this, &each] {
            if (each.main.valid() && each.main.cancelling() == 0) {
                each.main.cancel(reason_);
            }
        });
    }
}

// Handlers of reports cannot be copied: all loops share the one that was given.
report_handler thread_crew::shared_handler() {
    if (!on_report_) {
        return {};
    }
    return [this](const report& about) {
        const std::lock_guard lock(report_mutex_);
        on_report_(about);
    };
}

loop_options thread_crew::options_like(const loop_options& given) {
    loop_options made;
    made.driver = given.driver;
    made.debug = given.debug;
    made.slow_step = given.slow_step;
    made.shutdown_deadline = given.shutdown_deadline;
    made.seed = given.seed;
    made.on_report = shared_handler();
    made.signals = signal_handling::none;  // loop 0 passes them on
    return made;
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

// The last use of the crew by a thread, but for being joined.
void thread_crew::member_ended() noexcept {
    crew_operation* told = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (--running_ == 0) {
            told = waiting_;
        }
    }
    if (told != nullptr) {
        send_mail(std::move(told->mail_), *told);
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
    afterwards.shutdown_deadline = clock::duration::max();  // the others have theirs
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
    } catch (...) {  // there is no loop to be had: they are waited for all the same
    }
}

// ---- from a running loop
// -------------------------------------------------------------------------

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
    crew_->cancel(stop_reason(waiter()));
    return false;
}

void crew_operation::arrive(loop& at) noexcept {
    at.expected_post_came();
    complete();
}

}  // namespace detail
}  // namespace weir
