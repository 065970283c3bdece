// SPDX-License-Identifier: MIT
// Mail arrives in a lock-free stack that the loop takes whole and turns around, so that what one
// thread sends stays in order; the driver is woken only if the loop sleeps.

#include "core/loop/inbox.hpp"

#include "core/loop/scheduled_call.hpp"

namespace weir {

namespace detail {

mail_item* inbox::closed_mark() noexcept {
    static posted_call mark;
    return &mark;
}

bool inbox::put(mail_item& item) noexcept {
    mail_item* head = posted_.load(std::memory_order_relaxed);
    do {
        if (head == closed_mark()) {
            return false;
        }
        item.next_ = head;
    } while (!posted_.compare_exchange_weak(head, &item, std::memory_order_seq_cst));
    // From here on the item may have arrived, and the loop may be gone.
    if (is_sleeping_.load(std::memory_order_seq_cst) && is_sleeping_.exchange(false)) {
        driver_->wake();
    }
    return true;
}

void inbox::put_signal(int number) noexcept {
    signals_.fetch_or(bit_of(number));
    driver_->wake();
}

// Takes all, and gives the oldest.
mail_item* inbox::take_all(mail_item* replacement) noexcept {
    mail_item* newest = posted_.exchange(replacement, std::memory_order_acquire);
    mail_item* oldest = nullptr;
    while (newest != nullptr && newest != closed_mark()) {
        mail_item* const next = newest->next_;
        newest->next_ = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

void inbox::deliver(loop& home) noexcept {
    mail_item* each = take_all(nullptr);
    while (each != nullptr) {
        mail_item& arriving = *each;
        each = arriving.next_;  // it may be gone when it has arrived
        arriving.arrive(home);
    }
}

void inbox::close() noexcept {
    mail_item* each = take_all(closed_mark());
    while (each != nullptr) {
        mail_item& lost = *each;
        each = lost.next_;
        lost.get_lost();
    }
}

bool send_mail(std::shared_ptr<inbox> to, mail_item& item) noexcept {
    return to->put(item);
}

std::shared_ptr<posted_call> post(inbox& to, unique_function<void()> callback,
                                  const std::source_location& where) {
    auto call = std::make_shared<posted_call>();
    call->callback = std::move(callback);
    call->registered = where;
    call->self = call;
    if (!to.put(*call)) {
        call->self.reset();
        return nullptr;
    }
    return call;
}

bool post_to(const std::shared_ptr<inbox>& mail, unique_function<void()> callback) {
    const std::shared_ptr<inbox> kept = mail;  // the caller may be gone as soon as it has run
    return post(*kept, std::move(callback), std::source_location::current()) != nullptr;
}

// Posts become ordinary callbacks: they take their turn in the ready queue.
void posted_call::arrive(loop& home) noexcept {
    auto run = [each = std::move(self)] { each->run(); };
    home.push(*new scheduled_call(home, std::move(run), registered));
}

void posted_call::run() {
    runner = &this_thread;
    auto expected = stage::waiting;
    if (!at.compare_exchange_strong(expected, stage::running)) {
        return;
    }
    // Also when the callback throws, and after what it holds was destroyed.
    struct end_mark {
        posted_call& ended;
        ~end_mark() {
            if (ended.at.exchange(stage::ended) == stage::awaited) {
                ended.at.notify_all();
            }
        }
    } const mark{*this};
    unique_function<void()> taken = std::move(callback);
    taken();
}

bool posted_call::cancel() noexcept {
    auto expected = stage::waiting;
    if (at.compare_exchange_strong(expected, stage::cancelled)) {
        return true;
    }
    await_end();
    return false;
}

void posted_call::await_end() noexcept {
    stage seen = at.load();
    if ((seen != stage::running && seen != stage::awaited) || runner == &this_thread) {
        return;
    }
    if (seen == stage::running) {
        at.compare_exchange_strong(seen, stage::awaited);
    }
    at.wait(stage::awaited);
}

}  // namespace detail

bool post_handle::cancel() noexcept {
    return call_ != nullptr && call_->cancel();
}

bool post_handle::cancelled() const noexcept {
    if (call_ == nullptr) {
        return false;
    }
    call_->await_end();
    return call_->at.load() == detail::posted_call::stage::cancelled;
}

}  // namespace weir
