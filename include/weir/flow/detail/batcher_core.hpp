// SPDX-License-Identifier: MIT
// What a batcher knows that does not depend on its items: who waits, when to send, what is on its
// way.
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
    clock::duration linger{};       // how long the first one waits for others; zero: one turn
    std::size_t concurrency = 1;    // batches on their way at the same time
    std::size_t capacity = 10'000;  // items that wait to be sent, at most
    std::string_view name = "batcher";
};

struct batcher_stats {
    std::size_t waiting = 0;           // items that have not been sent
    std::size_t running = 0;           // batches on their way
    std::uint64_t items = 0;           // sent
    std::uint64_t batches = 0;         // sent
    std::uint64_t failed_batches = 0;  // whose function failed
    std::uint64_t withdrawn = 0;       // items whose caller was stopped before they were sent
    std::uint64_t refused = 0;
};

namespace detail {

class batcher_core;
class sent_batch;

enum class batch_wait : unsigned char {
    fresh,
    waiting,
    sent,
    answered,
    refused,
    cancelled,  // the batch was
    orphaned,   // the batcher was destroyed
    elsewhere,  // the batcher belongs to another loop
};

class batch_operation : public operation, public wait_link {
public:
    bool start() noexcept override;
    bool cancel() noexcept override {
        leave();
        return true;
    }
    const char* name() const noexcept override { return "batcher.call"; }

protected:
    explicit batch_operation(batcher_core& at) noexcept : core_(&at) {}
    batch_operation(batch_operation&& other) noexcept
        : operation(), wait_link(), core_(other.core_) {}
    ~batch_operation() { leave(); }

    // Throws invalid_state if the batcher is gone, or belongs to another loop.
    batch_wait checked_state() const;
    const refusal& why() const noexcept { return why_; }

private:
    friend class batcher_core;
    friend class sent_batch;

    void leave() noexcept;
    void go_on(batch_wait how) noexcept;

    batcher_core* core_;
    sent_batch* batch_ = nullptr;  // while it is sent
    std::size_t index_ = 0;        // in the batch
    std::uint64_t number_ = 0;     // in the order of asking
    clock::time_point due_;
    refusal why_;
    batch_wait state_ = batch_wait::fresh;
};

// A batch on its way, and who waits for it. Keeps the batcher's state alive. If it ends without
// having answered, the callers are told.
class sent_batch {
public:
    explicit sent_batch(std::shared_ptr<batcher_core> of) noexcept;
    sent_batch(sent_batch&& other) noexcept;
    sent_batch& operator=(sent_batch&&) = delete;
    ~sent_batch();

    batcher_core& core() const noexcept { return *core_; }
    // The first that waits joins the batch.
    batch_operation& take();
    // Null if it was stopped meanwhile.
    batch_operation* caller(std::size_t index) const noexcept { return callers_[index]; }
    void answered(std::size_t index) noexcept;

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
    // The batcher is destroyed.
    void abandon() noexcept;

    batcher_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

protected:
    // Takes so many of those that wait, and starts their batch.
    virtual any_handle send(std::size_t count) = 0;
    void note_failure() noexcept { ++counted_.failed_batches; }
    static std::exception_ptr wrong_count(std::size_t given, std::size_t wanted);
    std::string_view name() const noexcept { return name_; }

private:
    friend class batch_operation;
    friend class sent_batch;

    batch_wait add(batch_operation& last) noexcept;
    void remove(batch_operation& gone) noexcept;
    void send_what_is_due() noexcept;
    bool is_due() const noexcept;
    void set_timer() noexcept;
    void batch_ended() noexcept;
    void look_if_idle() noexcept;
    void fire() noexcept override { send_what_is_due(); }
    batch_operation& first() const noexcept;

    batcher_options options_;
    std::string name_;
    split_list waiting_;
    std::size_t waiting_count_ = 0;
    std::size_t running_count_ = 0;
    std::uint64_t last_number_ = 0;
    std::uint64_t flushed_number_ = 0;  // those up to it do not linger
    std::vector<any_handle> running_;
    loop* home_ = nullptr;  // may be gone when nothing waits and nothing runs
    event idle_;
    batcher_stats counted_;
    bool is_sending_ = false;
    bool is_closed_ = false;
    bool is_abandoned_ = false;
};

}  // namespace detail

}  // namespace weir
