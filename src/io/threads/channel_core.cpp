// SPDX-License-Identifier: MIT
// One mutex guards the items and both lines of waiters. A waiter gets its answer under the lock,
// and is woken after the unlock: directly on this loop, by mail on another. Until the mail arrives
// the fiber does not go on, even if it is cancelled, so its operation can be used without the lock.
// Threads are notified under the lock, since their waiter is on their stack.

#include <weir/error.hpp>
#include <weir/io/detail/channel_core.hpp>
#include <weir/loop.hpp>

#include <string>

namespace weir::detail {

namespace {

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

}  // namespace

void waiter_line::append(channel_waiter& waiter) noexcept {
    waiter.next_ = nullptr;
    waiter.previous_ = last;
    (last != nullptr ? last->next_ : first) = &waiter;
    last = &waiter;
    ++count;
}

void waiter_line::remove(channel_waiter& waiter) noexcept {
    (waiter.previous_ != nullptr ? waiter.previous_->next_ : first) = waiter.next_;
    (waiter.next_ != nullptr ? waiter.next_->previous_ : last) = waiter.previous_;
    --count;
}

// ---- a fiber that waits

void channel_operation::enter_line() noexcept {
    auto& here = static_cast<loop&>(*this_thread.loop);
    home_ = here.id();
    mail_ = here.mail();
    core_->enter_line(*this, side_);
}

bool channel_operation::cancel() noexcept {
    const channel_core::lock locked(*core_);
    if (answer_ != answer::none) {
        return false;  // its mail has been sent
    }
    (side_ == channel_side::receives ? core_->receivers_ : core_->senders_).remove(*this);
    return true;
}

void channel_operation::wake() noexcept {
    if (this_thread.loop != nullptr && this_thread.loop->id() == home_) {
        complete_on(*this_thread.loop);
    } else if (!send_mail(std::move(mail_), *this)) {
        get_lost();
    }
}

void channel_operation::arrive(loop& at) noexcept {
    complete_on(at);
}

// The loop was closed and has abandoned the fiber.
void channel_operation::get_lost() noexcept {
    if (answer_ == answer::granted) {
        give_back();
    }
}

void channel_operation::give_back() noexcept {
    channel_core::wake_list woken;
    const channel_core::lock locked(*core_);
    answer_ = answer::refused;
    core_->pass_claim_on(side_, woken);
}

// ---- a thread that waits

namespace {

class blocked_thread final : public channel_waiter {
public:
    answer wait(std::unique_lock<std::mutex>& lock) {
        answered_.wait(lock, [this] { return answer_ != answer::none; });
        return answer_;
    }
    void notify() noexcept { answered_.notify_one(); }

private:
    bool is_thread() const noexcept override { return true; }
    std::condition_variable answered_;
};

}  // namespace

void channel_core::check_may_block(const char* what) {
    if (this_thread.loop != nullptr) {
        throw loop_error(std::string(what) +
                         ": a loop runs on this thread, and would be held up; await instead");
    }
}

channel_waiter::answer channel_core::block(channel_side side) noexcept {
    std::unique_lock lock(mutex_, std::adopt_lock);
    blocked_thread here;
    enter_line(here, side);
    const channel_waiter::answer result = here.wait(lock);
    lock.release();  // the caller's guard owns it
    return result;
}

// ---- the channel

channel_core::channel_core(std::size_t capacity) : capacity_(capacity) {
    if (capacity == 0) {
        throw invalid_argument("channel: the capacity is 0; it must be at least 1");
    }
}

void channel_core::lock_slowly() const noexcept {
    constexpr int attempts = 100;  // about as long as other threads hold the lock
    for (int attempt = 0; attempt < attempts; ++attempt) {
        pause();
        if (mutex_.try_lock()) {
            return;
        }
    }
    mutex_.lock();
}

void channel_core::answer_first(waiter_line& line, channel_waiter::answer result,
                                wake_list& woken) noexcept {
    channel_waiter& first = *line.first;
    line.remove(first);
    first.answer_ = result;
    if (first.is_thread()) {
        static_cast<blocked_thread&>(first).notify();
        return;
    }
    first.next_ = nullptr;
    *woken.end_ = &first;
    woken.end_ = &first.next_;
}

void channel_core::grant(waiter_line& line, wake_list& woken) noexcept {
    answer_first(line, channel_waiter::answer::granted, woken);
}

void channel_core::refuse_all(waiter_line& line, wake_list& woken) noexcept {
    while (line.first != nullptr) {
        answer_first(line, channel_waiter::answer::refused, woken);
    }
}

void channel_core::pass_claim_on(channel_side side, wake_list& woken) noexcept {
    waiter_line& line = side == channel_side::receives ? receivers_ : senders_;
    if (line.first != nullptr) {
        grant(line, woken);
    } else {
        end_claim(side);
    }
}

void channel_core::close(wake_list& woken) noexcept {
    is_closed_ = true;
    refuse_all(senders_, woken);
    if (items_ == 0) {
        refuse_all(receivers_, woken);
    }
}

void channel_core::wake_list::wake_all() noexcept {
    while (first_ != nullptr) {
        auto& each = static_cast<channel_operation&>(*first_);
        first_ = first_->next_;  // the waiter may be destroyed once it is woken
        each.wake();
    }
}

}  // namespace weir::detail
