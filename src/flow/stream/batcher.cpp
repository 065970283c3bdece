// SPDX-License-Identifier: MIT
// Calls wait in one line, in the order of their arrival; each is part of its caller's frame. One
// timer is armed for the first call while a batch may be sent. After every change (a new call, the
// timer, the end of a batch, a flush) all batches that are due are sent. A batch has pointers to
// its calls; a call that is stopped removes itself from the line or from its batch.

#include <weir/error.hpp>
#include <weir/flow/batcher.hpp>

#include <algorithm>

namespace weir::detail {

// ---- batch_operation

bool batch_operation::start() noexcept {
    state_ = core_->add(*this);
    if (state_ != batch_wait::waiting) {
        return false;
    }
    if (core_->waiting_count_ >= core_->options_.size) {
        core_->send_due_batches();
    }
    return true;
}

void batch_operation::leave() noexcept {
    if (state_ == batch_wait::waiting) {
        ++core_->stats_.withdrawn;
        core_->remove(*this);
    } else if (state_ == batch_wait::sent) {
        batch_->callers_[index_] = nullptr;
    }
    state_ = batch_wait::fresh;
}

void batch_operation::finish(batch_wait state) noexcept {
    state_ = state;
    batch_ = nullptr;
    complete_on(waiter().home());
}

batch_wait batch_operation::checked_state() const {
    if (state_ == batch_wait::orphaned) {
        throw invalid_state("the batcher was destroyed while a call waited for its result");
    }
    if (state_ == batch_wait::wrong_loop) {
        throw invalid_state("the batcher belongs to another loop");
    }
    return state_;
}

// ---- sent_batch

sent_batch::sent_batch(std::shared_ptr<batcher_core> core) noexcept : core_(std::move(core)) {
    ++core_->running_count_;
    ++core_->stats_.batches;
}

sent_batch::sent_batch(sent_batch&& other) noexcept
    : core_(std::move(other.core_)), callers_(std::move(other.callers_)) {
    for (batch_operation* each : callers_) {
        if (each != nullptr) {
            each->batch_ = this;
        }
    }
}

sent_batch::~sent_batch() {
    if (core_ == nullptr) {
        return;
    }
    for (batch_operation* each : callers_) {
        if (each != nullptr) {
            each->finish(core_->is_abandoned_ ? batch_wait::orphaned : batch_wait::cancelled);
        }
    }
    core_->batch_ended();
}

batch_operation& sent_batch::take() {
    batch_operation& first = core_->first();
    callers_.push_back(&first);
    core_->remove(first);
    first.state_ = batch_wait::sent;
    first.batch_ = this;
    first.index_ = callers_.size() - 1;
    ++core_->stats_.items;
    return first;
}

void sent_batch::mark_answered(std::size_t index) noexcept {
    std::exchange(callers_[index], nullptr)->finish(batch_wait::answered);
}

// ---- batcher_core

batcher_core::batcher_core(const batcher_options& options)
    : options_(options), name_(options.name) {
    check_limit(options.size, "batcher", "size");
    check_limit(options.concurrency, "batcher", "concurrency");
    check_limit(options.capacity, "batcher", "capacity");
    check_duration(options.linger, "batcher", "linger", true);
    options_.name = name_;
}

batch_operation& batcher_core::first() const noexcept {
    return static_cast<batch_operation&>(waiting_.first_waiting());
}

batch_wait batcher_core::add(batch_operation& call) noexcept {
    if (is_closed_ || waiting_count_ >= options_.capacity) {
        ++stats_.refused;
        call.refusal_ = is_closed_ ? refusal{refusal_reason::shut_down, refusal::never}
                                   : refusal{refusal_reason::queue_full, {}};
        return batch_wait::refused;
    }
    loop& here = static_cast<loop&>(*this_thread.loop);
    if (home_ != &here) {
        if (waiting_count_ != 0 || running_count_ != 0) {
            return batch_wait::wrong_loop;
        }
        home_ = &here;
    }
    call.number_ = ++last_number_;
    call.due_ = after(here.now(), options_.linger);
    waiting_.append(call);
    ++waiting_count_;
    set_timer();
    return batch_wait::waiting;
}

void batcher_core::remove(batch_operation& call) noexcept {
    waiting_.remove(call);
    --waiting_count_;
    if (waiting_count_ == 0) {
        set_timer();
        notify_if_idle();
    }
}

bool batcher_core::is_due() const noexcept {
    return waiting_count_ >= options_.size || first().number_ <= flushed_number_ ||
           first().due_ <= home_->now();
}

void batcher_core::send_due_batches() noexcept {
    if (std::exchange(is_sending_, true)) {
        return;
    }
    while (waiting_count_ != 0 && running_count_ < options_.concurrency && is_due()) {
        try {
            std::erase_if(running_, [](const any_handle& each) { return each.done(); });
            running_.push_back(send(std::min(waiting_count_, options_.size)));
        } catch (...) {
            // The loop is closing, or memory is exhausted: the batch's destructor ended the calls.
        }
    }
    is_sending_ = false;
    set_timer();
}

// The timer never fires later than the first call is due. It may fire earlier, if the call it was
// armed for has left; then it is armed again.
void batcher_core::set_timer() noexcept {
    const bool is_needed = waiting_count_ != 0 && running_count_ < options_.concurrency;
    if (is_needed && !is_armed()) {
        home_->arm(*this, first().due_);
    } else if (!is_needed && is_armed()) {
        home_->disarm(*this);
    }
}

void batcher_core::batch_ended() noexcept {
    --running_count_;
    send_due_batches();
    notify_if_idle();
}

void batcher_core::notify_if_idle() noexcept {
    if (is_closed_ && waiting_count_ == 0 && running_count_ == 0) {
        idle_.set();
    }
}

void batcher_core::flush() {
    flushed_number_ = last_number_;
    send_due_batches();
}

task<void> batcher_core::close() {
    is_closed_ = true;
    flush();
    while (waiting_count_ != 0 || running_count_ != 0) {
        idle_.clear();
        co_await idle_.wait();
    }
}

void batcher_core::abandon() noexcept {
    is_closed_ = is_abandoned_ = true;
    while (waiting_count_ != 0) {
        batch_operation& call = first();
        remove(call);
        call.finish(batch_wait::orphaned);
    }
    for (const any_handle& each : running_) {
        each.cancel();
    }
}

batcher_stats batcher_core::stats() const noexcept {
    batcher_stats now = stats_;
    now.waiting = waiting_count_;
    now.running = running_count_;
    return now;
}

void batcher_core::write_metrics(metric_writer& writer) const {
    const batcher_stats now = stats();
    const metric_label name{"name", name_};
    writer.gauge("weir_batcher_waiting", "Items that have not been sent", {name},
                 static_cast<double>(now.waiting));
    writer.gauge("weir_batcher_running", "Batches in flight", {name},
                 static_cast<double>(now.running));
    writer.counter("weir_batcher_items_total", "Items sent", {name},
                   static_cast<double>(now.items));
    writer.counter("weir_batcher_batches_total", "Batches sent", {name},
                   static_cast<double>(now.batches));
    writer.counter("weir_batcher_failed_batches_total", "Batches whose function failed", {name},
                   static_cast<double>(now.failed_batches));
    writer.counter("weir_batcher_withdrawn_total",
                   "Items whose caller was stopped before they were sent", {name},
                   static_cast<double>(now.withdrawn));
    writer.counter("weir_batcher_refused_total", "Items refused", {name},
                   static_cast<double>(now.refused));
}

std::exception_ptr batcher_core::wrong_count(std::size_t results, std::size_t items) {
    return std::make_exception_ptr(invalid_state("the function of the batcher returned " +
                                                 std::to_string(results) + " results for " +
                                                 std::to_string(items) + " items"));
}

}  // namespace weir::detail
