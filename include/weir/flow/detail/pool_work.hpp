// SPDX-License-Identifier: MIT
// How the tasks of a pool answer to it, and how others wait for it.
#pragma once

#include <weir/flow/detail/pool_core.hpp>

#include <exception>
#include <utility>

namespace weir::detail {

// What a task of the pool owes it: an answer. It is a parameter of the task, so that it exists even
// if the task is stopped before its first step.
class pool_work {
public:
    pool_work(pool_core& of, pool_job job, pool_entry* on = nullptr) noexcept
        : pool_(&of), entry_(on), generation_(of.generation_), job_(job) {
        of.retain();
        ++of.count_of(job);
    }
    pool_work(pool_work&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          entry_(other.entry_),
          generation_(other.generation_),
          job_(other.job_) {}
    pool_work& operator=(pool_work&&) = delete;
    ~pool_work() {
        if (pool_ != nullptr) {
            end().stopped(job_, entry_);
            pool_->release();
        }
    }

    pool_core& pool() const noexcept { return *pool_; }
    pool_entry& entry() const noexcept { return *entry_; }

    // The answers: one of them, once.
    void connected(pool_entry& fresh) noexcept {
        fresh.generation = generation_;
        end().connected(fresh);
        std::exchange(pool_, nullptr)->release();
    }
    void connect_failed(std::exception_ptr error) noexcept {
        end().connect_failed(std::move(error));
        std::exchange(pool_, nullptr)->release();
    }
    void checked(bool is_good) noexcept {
        end().checked(*entry_, is_good);
        std::exchange(pool_, nullptr)->release();
    }
    void was_reset(bool is_good) noexcept {
        end().was_reset(*entry_, is_good);
        std::exchange(pool_, nullptr)->release();
    }
    void was_closed() noexcept {
        end().was_closed(*entry_);
        std::exchange(pool_, nullptr)->release();
    }

private:
    pool_core& end() noexcept {
        --pool_->count_of(job_);
        return *pool_;
    }

    pool_core* pool_;
    pool_entry* entry_;
    std::uint64_t generation_;
    pool_job job_;
};

// Waits for an object. acquire() and admit() differ in what they make of a refusal. Keeps the state
// of the pool alive: the pool may be destroyed before the operation starts.
class pool_waiter : public listed_operation {
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
    pool_waiter(pool_core& from, const std::source_location& where) noexcept
        : pool_(&from), where_(where) {
        from.retain();
    }
    pool_waiter(pool_waiter&& unawaited) noexcept
        : listed_operation(std::move(unawaited)),
          pool_(std::exchange(unawaited.pool_, nullptr)),
          where_(unawaited.where_) {}
    ~pool_waiter() {
        if (pool_ != nullptr) {
            if (state_ != wait_state::idle) [[unlikely]] {
                pool_->abandon(*this);
            }
            pool_->release();
        }
    }

    // The object; null if refused. Throws what a connect threw.
    pool_entry* claim() {
        if (state_ != wait_state::idle) [[unlikely]] {
            settle();
        }
        return std::exchange(entry_, nullptr);
    }

    pool_core* pool_;
    refusal refusal_;

private:
    friend class pool_core;
    void settle();

    pool_entry* entry_ = nullptr;
    std::source_location where_;
    std::exception_ptr error_;
    clock::time_point entered_;
    clock::time_point deadline_ = clock::time_point::max();
};

}  // namespace weir::detail
