// SPDX-License-Identifier: MIT
// The part of a batcher that does not depend on the types of items and results: the waiting calls,
// the time of the next batch, and the batches in flight.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/timer_wheel.hpp>
#include <weir/base/wait_list.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/handle.hpp>
#include <weir/loop.hpp>
#include <weir/outcome.hpp>
#include <weir/refusal.hpp>
#include <weir/sync/event.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir {

struct batcher_options {
    std::size_t size = 100;         // items in a batch, at most
    clock::duration linger{};       // how long the first item waits for others; zero: one turn
    std::size_t concurrency = 1;    // batches in flight at the same time
    std::size_t capacity = 10'000;  // waiting items, at most
    std::string_view name = "batcher";
};

struct batcher_stats {
    std::size_t waiting = 0;           // items that have not been sent
    std::size_t running = 0;           // batches in flight
    std::uint64_t items = 0;           // sent so far
    std::uint64_t batches = 0;         // sent so far
    std::uint64_t failed_batches = 0;  // batches whose function failed
    std::uint64_t withdrawn = 0;       // items whose caller was stopped before they were sent
    std::uint64_t refused = 0;         // calls
};

namespace detail {

class batcher_core;
class sent_batch;

// The state of a call.
enum class batch_wait : unsigned char {
    fresh,
    waiting,
    sent,
    answered,
    refused,
    cancelled,   // its batch was cancelled
    orphaned,    // the batcher was destroyed
    wrong_loop,  // the batcher belongs to another loop
};

// A call of the batcher: it waits in the line, then for its batch.
class batch_operation : public operation, public wait_link {
public:
    bool start() noexcept override;
    bool cancel() noexcept override {
        leave();
        return true;
    }
    const char* name() const noexcept override { return "batcher.call"; }

protected:
    explicit batch_operation(batcher_core& core) noexcept : core_(&core) {}
    batch_operation(batch_operation&& other) noexcept
        : operation(), wait_link(), core_(other.core_) {}
    ~batch_operation() { leave(); }

    // Throws invalid_state if the batcher was destroyed or belongs to another loop.
    batch_wait checked_state() const;
    const refusal& stored_refusal() const noexcept { return refusal_; }

private:
    friend class batcher_core;
    friend class sent_batch;

    void leave() noexcept;
    void finish(batch_wait state) noexcept;

    batcher_core* core_;
    sent_batch* batch_ = nullptr;  // while the state is `sent`
    std::size_t index_ = 0;        // in the batch
    std::uint64_t number_ = 0;     // counts calls
    clock::time_point due_;
    refusal refusal_;
    batch_wait state_ = batch_wait::fresh;
};

// A batch in flight and its callers. Keeps the batcher's state alive. Its destructor ends the calls
// that have no result.
class sent_batch {
public:
    explicit sent_batch(std::shared_ptr<batcher_core> core) noexcept;
    sent_batch(sent_batch&& other) noexcept;
    sent_batch& operator=(sent_batch&&) = delete;
    ~sent_batch();

    batcher_core& core() const noexcept { return *core_; }
    // Moves the first waiting call into the batch.
    batch_operation& take();
    // Null if the caller was stopped meanwhile.
    batch_operation* caller(std::size_t index) const noexcept { return callers_[index]; }
    void mark_answered(std::size_t index) noexcept;

private:
    friend class batch_operation;
    std::shared_ptr<batcher_core> core_;
    std::vector<batch_operation*> callers_;
};

class batcher_core : private timer {
public:
    explicit batcher_core(const batcher_options& options);
    batcher_core(const batcher_core&) = delete;
    batcher_core& operator=(const batcher_core&) = delete;
    virtual ~batcher_core() = default;

    void flush();
    task<void> close();
    // The batcher is being destroyed: ends the waiting calls and cancels the batches.
    void abandon() noexcept;

    batcher_stats stats() const noexcept;
    void write_metrics(metric_writer& writer) const;

protected:
    // Takes `count` waiting calls and starts their batch.
    virtual any_handle send(std::size_t count) = 0;
    void note_failure() noexcept { ++stats_.failed_batches; }
    static std::exception_ptr wrong_count(std::size_t results, std::size_t items);
    std::string_view name() const noexcept { return name_; }

private:
    friend class batch_operation;
    friend class sent_batch;

    batch_wait add(batch_operation& call) noexcept;
    void remove(batch_operation& call) noexcept;
    void send_due_batches() noexcept;
    bool is_due() const noexcept;
    void set_timer() noexcept;
    void batch_ended() noexcept;
    void notify_if_idle() noexcept;
    void fire() noexcept override { send_due_batches(); }
    batch_operation& first() const noexcept;

    batcher_options options_;
    std::string name_;
    split_list waiting_;
    std::size_t waiting_count_ = 0;
    std::size_t running_count_ = 0;
    std::uint64_t last_number_ = 0;
    std::uint64_t flushed_number_ = 0;  // calls up to this number do not linger
    std::vector<any_handle> running_;
    loop* home_ = nullptr;  // may be destroyed when nothing waits and nothing runs
    event idle_;
    batcher_stats stats_;
    bool is_sending_ = false;
    bool is_closed_ = false;
    bool is_abandoned_ = false;
};

}  // namespace detail

}  // namespace weir
