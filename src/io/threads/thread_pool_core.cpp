// SPDX-License-Identifier: MIT
// One mutex, one queue. A loop queues a call and a thread takes it; under the lock it is known
// which of the two has the call, so a cancel either removes it from the queue or comes too late.
// After the call has run, the thread mails it to its loop and does not use it again: its frame may
// be gone.
//
// Each idle thread sleeps on a condition variable of its own, and the thread that fell asleep last
// is woken first: under light load the others reach their idle time and end. A thread that ends
// joins the one that ended before it, so at most one is unjoined, and only the destructor waits for
// that one.

#include "io/threads/thread_pool_core.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/loop.hpp>
#include <weir/refusal.hpp>

#include <pthread.h>

#include <algorithm>

namespace weir::detail {

namespace {

std::size_t checked_threads(const thread_pool_options& options) {
    if (options.queue_limit == 0) {
        throw invalid_argument("thread_pool: queue_limit is 0; it must be at least 1");
    }
    if (options.idle_time < clock::duration::zero()) {
        throw invalid_argument("thread_pool: idle_time is negative; it must be zero or more");
    }
    if (options.max_threads != 0) {
        return options.max_threads;
    }
    return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

}  // namespace

// ---- the operations

bool thread_call_base::start() noexcept {
    auto& home = static_cast<loop&>(waiter().home());
    mail_ = home.mail();
    home.expect_post();
    if (pool_->enter(*this)) {
        return true;
    }
    home.expected_post_came();
    return false;
}

bool thread_call_base::cancel() noexcept {
    if (pool_->withdraw(*this)) {
        static_cast<loop&>(waiter().home()).expected_post_came();
        return true;
    }
    request_stop();
    return false;
}

void thread_call_base::arrive(loop& at) noexcept {
    at.expected_post_came();
    complete();
}

bool thread_pool_end::start() noexcept {
    auto& home = static_cast<loop&>(waiter().home());
    mail_ = home.mail();
    home.expect_post();
    if (pool_->shut_down(*this)) {
        return true;
    }
    home.expected_post_came();
    return false;
}

bool thread_pool_end::cancel() noexcept {
    if (!pool_->forget(*this)) {
        return false;
    }
    static_cast<loop&>(waiter().home()).expected_post_came();
    return true;
}

void thread_pool_end::arrive(loop& at) noexcept {
    at.expected_post_came();
    complete();
}

// ---- the queue

thread_pool_core::thread_pool_core(const thread_pool_options& options)
    : max_threads_(checked_threads(options)),
      queue_limit_(options.queue_limit),
      idle_time_(options.idle_time),
      name_(options.name) {}

void thread_pool_core::append(thread_call_base& call) noexcept {
    call.next_ = nullptr;
    call.previous_ = last_;
    (last_ != nullptr ? last_->next_ : first_) = &call;
    last_ = &call;
    ++counts_.queued;
    call.stage_ = thread_call_base::stage::queued;
}

void thread_pool_core::unlink(thread_call_base& call) noexcept {
    (call.previous_ != nullptr ? call.previous_->next_ : first_) = call.next_;
    (call.next_ != nullptr ? call.next_->previous_ : last_) = call.previous_;
    --counts_.queued;
    call.stage_ = thread_call_base::stage::taken;
}

thread_call_base* thread_pool_core::take_first() noexcept {
    thread_call_base* const call = first_;
    if (call != nullptr) {
        unlink(*call);
        ++counts_.running;
    }
    return call;
}

bool thread_pool_core::enter(thread_call_base& call) noexcept {
    worker* sleeper = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (is_closing_) {
            refuse(call, refusal_reason::shut_down);
            return false;
        }
        // A call in the queue that a thread is about to take does not wait.
        const std::size_t accepted = counts_.queued + counts_.running;
        if (call.entry_ == thread_entry::refuses && accepted >= max_threads_ &&
            accepted - max_threads_ >= queue_limit_) {
            refuse(call, refusal_reason::queue_full);
            return false;
        }
        append(call);
        sleeper = wake_one();
        if (sleeper == nullptr && counts_.threads < max_threads_) {
            try {
                start_worker();
            } catch (...) {
                if (counts_.threads == 0) {  // otherwise the existing threads will run it
                    unlink(call);
                    call.fail(std::current_exception());
                    return false;
                }
            }
        }
    }
    if (sleeper != nullptr) {
        sleeper->wake.notify_one();
    }
    return true;
}

bool thread_pool_core::withdraw(thread_call_base& call) noexcept {
    const std::lock_guard lock(mutex_);
    if (call.stage_ != thread_call_base::stage::queued) {
        return false;
    }
    unlink(call);
    ++counts_.withdrawn;
    return true;
}

void thread_pool_core::refuse(thread_call_base& call, refusal_reason why) noexcept {
    ++counts_.refused;
    try {
        const bool is_final = why == refusal_reason::shut_down;
        throw refused({.reason = why, .retry_after = is_final ? refusal::never : clock::duration{}},
                      "thread_pool '" + name_ + "'");
    } catch (...) {
        call.fail(std::current_exception());
    }
}

// The last use of the call and of its frame.
void thread_pool_core::send_back(thread_call_base& call) noexcept {
    send_mail(std::move(call.mail_), call);
}

// ---- the threads

void thread_pool_core::start_worker() {
    if (unused_.empty()) {
        idle_.reserve(workers_.size() + 1);
        unused_.reserve(workers_.size() + 1);
        unused_.push_back(&workers_.emplace_back());
    }
    worker& fresh = *unused_.back();
    try {
        fresh.thread = std::thread([this, &fresh] { work(fresh); });
    } catch (const std::system_error& error) {
        throw io_error(error.code(), "start a thread of thread_pool '" + name_ + "'");
    }
    unused_.pop_back();
    ++counts_.threads;
    counts_.most_threads = std::max(counts_.most_threads, counts_.threads);
}

thread_pool_core::worker* thread_pool_core::wake_one() noexcept {
    if (idle_.empty()) {
        return nullptr;
    }
    worker* const sleeper = idle_.back();
    idle_.pop_back();
    sleeper->is_woken = true;
    return sleeper;
}

void thread_pool_core::work(worker& self) noexcept {
    ::pthread_setname_np(::pthread_self(), name_.substr(0, 15).c_str());
    locked lock(mutex_);
    for (;;) {
        thread_call_base* call = take_first();
        if (call == nullptr && (is_closing_ || !wait_for_work(self, lock))) {
            break;
        }
        while (call != nullptr) {
            lock.unlock();
            call->call();
            lock.lock();
            --counts_.running;
            ++counts_.completed;
            thread_call_base& done = *call;
            call = take_first();
            lock.unlock();
            send_back(done);
            lock.lock();
        }
    }
    end_work(self, lock);
}

// False if no call came for so long that the thread may end.
bool thread_pool_core::wait_for_work(worker& self, locked& lock) noexcept {
    self.is_woken = false;
    idle_.push_back(&self);
    const auto woken = [&self] { return self.is_woken; };
    // More than a year means no limit; adding it to the current time could overflow.
    if (idle_time_ > std::chrono::hours(24 * 365)) {
        self.wake.wait(lock, woken);
        return true;
    }
    if (self.wake.wait_for(lock, idle_time_, woken)) {
        return true;
    }
    idle_.erase(std::find(idle_.begin(), idle_.end(), &self));
    return false;
}

void thread_pool_core::end_work(worker& self, locked& lock) noexcept {
    --counts_.threads;
    worker* const before = std::exchange(ended_, &self);
    thread_pool_end* woken = nullptr;
    if (is_closing_) {
        thread_ended_.notify_all();
        if (counts_.threads == 0) {
            woken = std::exchange(waiters_, nullptr);
        }
    }
    lock.unlock();
    while (woken != nullptr) {
        thread_pool_end& each = *woken;
        woken = each.next_;
        send_mail(std::move(each.mail_), each);
    }
    if (before != nullptr) {
        before->thread.join();
        lock.lock();
        unused_.push_back(before);
        lock.unlock();
    }
}

// ---- the end

void thread_pool_core::begin_close() noexcept {
    is_closing_ = true;
    while (worker* sleeper = wake_one()) {
        sleeper->wake.notify_one();
    }
}

bool thread_pool_core::shut_down(thread_pool_end& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    begin_close();
    if (counts_.threads == 0) {
        return false;
    }
    waiter.next_ = std::exchange(waiters_, &waiter);
    return true;
}

bool thread_pool_core::forget(thread_pool_end& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    for (thread_pool_end** place = &waiters_; *place != nullptr; place = &(*place)->next_) {
        if (*place == &waiter) {
            *place = waiter.next_;
            return true;
        }
    }
    return false;
}

void thread_pool_core::wait_for_threads(locked& lock, bool also_busy) noexcept {
    thread_ended_.wait(lock, [&] { return counts_.threads <= (also_busy ? 0 : counts_.running); });
    worker* const last = std::exchange(ended_, nullptr);
    lock.unlock();
    if (last != nullptr) {
        last->thread.join();
    }
}

void thread_pool_core::leave() noexcept {
    locked lock(mutex_);
    begin_close();
    wait_for_threads(lock, false);
}

void thread_pool_core::end() noexcept {
    locked lock(mutex_);
    begin_close();
    thread_call_base* refused_calls = first_;
    for (thread_call_base* each = first_; each != nullptr; each = each->next_) {
        each->stage_ = thread_call_base::stage::taken;
        refuse(*each, refusal_reason::shut_down);
    }
    first_ = last_ = nullptr;
    counts_.queued = 0;
    lock.unlock();
    while (refused_calls != nullptr) {
        thread_call_base& each = *refused_calls;
        refused_calls = each.next_;
        send_back(each);
    }
    lock.lock();
    wait_for_threads(lock, true);
}

std::size_t max_threads_of(const thread_pool_core& pool) noexcept {
    return pool.max_threads();
}

thread_pool_stats thread_pool_core::stats() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

}  // namespace weir::detail
