// SPDX-License-Identifier: MIT
// How the tasks of a pool report back to it, and how other tasks wait for it.
#pragma once

#include <weir/flow/detail/pool_core.hpp>

#include <exception>
#include <utility>

namespace weir::detail {

// The report that a task of the pool owes it. It is a parameter of the task, so that it exists even
// if the task is stopped before its first step; its destructor reports a task without a result.
class pool_work {
public:
    pool_work(pool_core& pool, pool_job job, pool_entry* entry = nullptr) noexcept
        : pool_(&pool), entry_(entry), generation_(pool.begin_task(job)), job_(job) {
        pool.retain();
    }
    pool_work(pool_work&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          entry_(other.entry_),
          generation_(other.generation_),
          job_(other.job_) {}
    pool_work& operator=(pool_work&&) = delete;
    ~pool_work() {
        if (pool_ != nullptr) {
            report([this](pool_core& pool) { pool.stopped(job_, entry_); });
        }
    }

    pool_core& pool() const noexcept { return *pool_; }
    pool_entry& entry() const noexcept { return *entry_; }

    // The results: one of them, once.
    void connected(pool_entry& fresh) noexcept {
        fresh.generation = generation_;
        report([&](pool_core& pool) { pool.connected(fresh); });
    }
    void connect_failed(std::exception_ptr error) noexcept {
        report([&](pool_core& pool) { pool.connect_failed(std::move(error)); });
    }
    void checked(bool is_good) noexcept {
        report([&](pool_core& pool) { pool.checked(*entry_, is_good); });
    }
    void was_reset(bool is_good) noexcept {
        report([&](pool_core& pool) { pool.was_reset(*entry_, is_good); });
    }
    void was_closed() noexcept {
        report([&](pool_core& pool) { pool.was_closed(*entry_); });
    }

private:
    template <class Result>
    void report(Result result) noexcept {
        pool_core& pool = *std::exchange(pool_, nullptr);
        pool.end_task(job_);
        result(pool);
        pool.release();
    }

    pool_core* pool_;
    pool_entry* entry_;
    std::uint64_t generation_;
    pool_job job_;
};

// Waits for an object. acquire() and admit() differ in how they return a refusal. Keeps the core of
// the pool alive: the pool may be destroyed before the operation starts.
class pool_waiter : public pool_request {
public:
    bool ready() noexcept override {
        entry_ = pool_->take(where_);
        return entry_ != nullptr;
    }
    bool start() noexcept override { return pool_->wait(*this); }
    bool cancel() noexcept override {
        pool_->leave(*this);
        return true;
    }
    const char* name() const noexcept override { return "pool.acquire"; }

protected:
    pool_waiter(pool_core& pool, const std::source_location& where) noexcept
        : pool_request(where), pool_(&pool) {
        pool.retain();
    }
    pool_waiter(pool_waiter&& unawaited) noexcept
        : pool_request(std::move(unawaited)), pool_(std::exchange(unawaited.pool_, nullptr)) {}
    ~pool_waiter() {
        if (pool_ != nullptr) {
            if (state_ != wait_state::idle) [[unlikely]] {
                pool_->abandon(*this);
            }
            pool_->release();
        }
    }

    // The object; null if refused. Throws the error of a connect.
    pool_entry* claim() {
        if (state_ != wait_state::idle) [[unlikely]] {
            settle();
        }
        return std::exchange(entry_, nullptr);
    }

    pool_core* pool_;

private:
    void settle();
};

}  // namespace weir::detail
