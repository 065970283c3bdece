// SPDX-License-Identifier: MIT
// pool: objects that are expensive to make, lent to one task at a time: connections above all.
//
//     weir::pool<connection> database({.name = "database", .max = 5},
//                                     {.connect = [&] { return connect(address); },
//                                      .check = [](connection& c) { return c.ping(); },
//                                      .close = [](connection& c) { return c.quit(); }});
//
//     auto connection = co_await database.acquire();   // a lease: given back when it goes
//     co_await connection->query("...");
//     ...
//     co_await database.close();                       // or: co_await weir::with(database, body)
//
// Who asks first is served first; nobody overtakes. Each object is lent to one lease at a time, and
// there are never more of them than max, those included that are being connected or closed. A task
// that is stopped while it waits just leaves the line: the connect that was started on its behalf
// goes on and serves the next. An object that fails its check is closed, and the next one is tried,
// or made. A connect that fails frees its place; its error is thrown to the task that has waited
// longest, unless other connects on their way are enough for all who wait.
//
// Lending an idle object, and taking it back, allocates nothing and reads no clock, unless there is
// a check, a reset, or an option that needs the time: leak_after, idle_timeout, keep_alive,
// check_after.
//
// Belongs to one loop; made before there is one if need be. close() it before it goes: its
// functions are then done, and objects are closed in the order of things. If it is destroyed
// without that, those who wait are refused, its tasks are cancelled, and objects end with their
// destructors; leases that are still out stay valid, and own their objects from then on. If the
// loop ends first, what is idle is closed then.
#pragma once

#include <weir/flow/admission.hpp>
#include <weir/flow/detail/pool_state.hpp>
#include <weir/flow/pool_options.hpp>

#include <memory>
#include <source_location>
#include <utility>

namespace weir {

template <class T>
class pool;

// An object of a pool, lent. Given back when this goes, on the loop of the pool.
template <class T>
class [[nodiscard]] lease {
public:
    lease() noexcept = default;
    lease(lease&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    lease& operator=(lease&& other) noexcept {
        lease old(std::move(*this));
        entry_ = std::exchange(other.entry_, nullptr);
        return *this;
    }
    ~lease() {
        if (entry_ != nullptr) {
            entry_->home->give_back(*entry_);
        }
    }

    explicit operator bool() const noexcept { return entry_ != nullptr; }
    T& operator*() const noexcept { return entry_->object; }
    T* operator->() const noexcept { return &entry_->object; }

    // The object is broken: it will be closed instead of being lent again.
    void invalidate() noexcept {
        if (entry_ != nullptr) {
            entry_->is_retired = true;
        }
    }
    // Gives it back now.
    void release() noexcept { lease given_back(std::move(*this)); }
    // Takes the object out of the pool for good; its place is free for another. Throws
    // invalid_state if this holds nothing.
    T detach() {
        if (entry_ == nullptr) {
            throw invalid_state("lease::detach: it holds no object");
        }
        T object(std::move(entry_->object));
        const std::unique_ptr<entry> gone(std::exchange(entry_, nullptr));
        gone->home->forget(*gone);
        return object;
    }

private:
    friend class pool<T>;
    using entry = typename detail::pool_state<T>::entry;
    explicit lease(detail::pool_entry& lent) noexcept : entry_(static_cast<entry*>(&lent)) {}

    entry* entry_ = nullptr;
};

template <class T>
class pool {
    class acquire_operation;
    class admit_operation;

public:
    using value_type = T;
    using lease_type = lease<T>;

    // Throws invalid_argument for options that make no sense. Objects for min_idle are made at
    // once, or, where no loop runs, with the first request.
    pool(const pool_options& options, pool_functions<T> functions)
        : state_(new detail::pool_state<T>(options, std::move(functions))) {}
    pool(const pool_options& options, detail::pool_function<T()> connect)
        : pool(options, pool_functions<T>{.connect = std::move(connect)}) {}
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    ~pool() { state_->orphan(); }

    // An idle object that needs no check, or one whose check is a plain function; else a refusal.
    // Connects nothing.
    admission<lease<T>> try_acquire(
        std::source_location where = std::source_location::current()) noexcept {
        if (detail::pool_entry* taken = state_->take(where)) {
            return lease<T>(*taken);
        }
        return state_->why_not();
    }
    // co_await admit(): a lease, or why not: shut_down, queue_full (max_waiting), wait_too_long
    // (max_wait, or no connect is due before the deadline of this task). Throws what a connect
    // threw.
    [[nodiscard]] admit_operation admit(
        std::source_location where = std::source_location::current()) noexcept {
        return admit_operation(*state_, where);
    }
    // co_await acquire(): a lease; throws refused, or what a connect threw.
    [[nodiscard]] acquire_operation acquire(
        std::source_location where = std::source_location::current()) noexcept {
        return acquire_operation(*state_, where);
    }

    // From now on so many. If there are more, idle ones are closed now, lent ones when they come
    // back. Throws invalid_argument for 0.
    void resize(std::size_t max) { state_->resize(max); }
    // Nothing is lent or connected until resume(); who asks waits.
    void suspend() noexcept { state_->suspend(); }
    void resume() noexcept { state_->resume(); }
    // Every object that there is now, or that is being connected, is closed; lent ones when they
    // come back. For the time after a failover, or a new password.
    void evict_all() noexcept { state_->evict_all(); }

    // Both refuse newcomers from now on (shut_down), close all objects and return when that is
    // done. drain() serves those who wait and waits for all leases. close() refuses those who wait,
    // and waits for leases up to the limit; those still out are reported, and closed when they come
    // back. If the task is stopped, the pool stays closed to newcomers; call again to finish.
    task<> drain() { return detail::pool_core::drain(detail::pool_core::reference(*state_)); }
    task<> close(clock::duration limit = std::chrono::seconds(30)) {
        return detail::pool_core::close(detail::pool_core::reference(*state_), limit);
    }

    pool_stats stats() const noexcept { return state_->stats(); }
    void write_metrics(metric_writer& to) const { state_->write_metrics(to); }
    const std::string& name() const noexcept { return state_->name(); }

private:
    static lease<T> lend(detail::pool_entry& taken) noexcept { return lease<T>(taken); }

    class acquire_operation final : public detail::pool_waiter {
    public:
        acquire_operation(detail::pool_core& from, const std::source_location& where) noexcept
            : pool_waiter(from, where) {}
        acquire_operation(acquire_operation&&) noexcept = default;
        lease<T> resume() {
            detail::pool_entry* taken = this->claim();
            if (taken == nullptr) [[unlikely]] {
                throw refused(this->refusal_, this->pool_->name());
            }
            return lend(*taken);
        }
    };
    class admit_operation final : public detail::pool_waiter {
    public:
        admit_operation(detail::pool_core& from, const std::source_location& where) noexcept
            : pool_waiter(from, where) {}
        admit_operation(admit_operation&&) noexcept = default;
        admission<lease<T>> resume() {
            detail::pool_entry* taken = this->claim();
            if (taken == nullptr) {
                return this->refusal_;
            }
            return lend(*taken);
        }
    };

    detail::pool_state<T>* state_;
};

}  // namespace weir
