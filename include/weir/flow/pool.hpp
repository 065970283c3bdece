// SPDX-License-Identifier: MIT
// pool: lends objects that are expensive to make, connections for example, to one task at a time.
//
//     weir::pool<connection> database({.name = "database", .max = 5},
//                                     {.connect = [&] { return connect(address); },
//                                      .check = [](connection& c) { return c.ping(); },
//                                      .close = [](connection& c) { return c.quit(); }});
//
//     auto connection = co_await database.acquire();   // a lease: returned when it is destroyed
//     co_await connection->query("...");
//     ...
//     co_await database.close();                       // or: co_await weir::with(database, body)
//
// Requests are served in order. Each object is lent to one lease at a time, and there are never
// more objects than max, including those being connected or closed. A task that is stopped while it
// waits just leaves the line: the connect that was started for it continues and serves the next
// request. An object that fails its check is closed, and the pool tries the next one, or makes one.
// A connect that fails frees its place; its error is thrown to the task that has waited longest,
// unless other connects in flight are enough for all waiting tasks.
//
// Lending an idle object, and taking it back, allocates nothing and reads no clock, unless there is
// a check, a reset, or an option that needs the time: leak_after, idle_timeout, keep_alive,
// check_after.
//
// Belongs to one loop; may be made before that loop runs. close() it before it is destroyed: then
// its functions have ended and all objects are closed. If it is destroyed without that, waiting
// requests are refused, its tasks are cancelled, and objects end with their destructors; leases
// stay valid, and own their objects from then on. If the loop ends first, idle objects are closed
// then.
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

// A lent object of a pool. Returned when the lease is destroyed, on the loop of the pool.
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

    // The object is broken: the pool closes it instead of lending it again.
    void invalidate() noexcept {
        if (entry_ != nullptr) {
            entry_->is_retired = true;
        }
    }
    // Returns it now.
    void release() noexcept { lease given_back(std::move(*this)); }
    // Takes the object out of the pool for good; its place becomes free. Throws invalid_state if
    // the lease is empty.
    T detach() {
        if (entry_ == nullptr) {
            throw invalid_state("lease::detach: the lease is empty");
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

    // Throws invalid_argument for options that are not valid. Objects for min_idle are made at
    // once, or, if no loop runs, with the first request.
    pool(const pool_options& options, pool_functions<T> functions)
        : state_(new detail::pool_state<T>(options, std::move(functions))) {}
    pool(const pool_options& options, detail::pool_function<T()> connect)
        : pool(options, pool_functions<T>{.connect = std::move(connect)}) {}
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    ~pool() { state_->orphan(); }

    // An idle object that needs no check, or whose check is a plain function; else a refusal.
    // Never connects.
    admission<lease<T>> try_acquire(
        std::source_location where = std::source_location::current()) noexcept {
        if (detail::pool_entry* taken = state_->take(where)) {
            return lease<T>(*taken);
        }
        return state_->refuse_try();
    }
    // co_await admit(): a lease, or a refusal: shut_down, queue_full (max_waiting), wait_too_long
    // (max_wait), past_deadline (no connect is due before the deadline of this task). Throws the
    // error of a failed connect.
    admit_operation admit(std::source_location where = std::source_location::current()) noexcept {
        return admit_operation(*state_, where);
    }
    // co_await acquire(): a lease; throws refused, or the error of a failed connect.
    acquire_operation acquire(
        std::source_location where = std::source_location::current()) noexcept {
        return acquire_operation(*state_, where);
    }

    // Changes max. Surplus objects are closed: idle ones now, lent ones when they are returned.
    // Throws invalid_argument for 0.
    void resize(std::size_t max) { state_->resize(max); }
    // Nothing is lent or connected until resume(); requests wait.
    void suspend() noexcept { state_->suspend(); }
    void resume() noexcept { state_->resume(); }
    // Closes every object that exists or is being connected; lent ones when they are returned. For
    // use after a failover, or a new password.
    void evict_all() noexcept { state_->evict_all(); }

    // Both refuse new requests from now on (shut_down), close all objects and return when that is
    // done. drain() serves the waiting requests and waits for all leases. close() refuses the
    // waiting requests, and waits for leases up to the limit; leases held longer are reported, and
    // their objects closed when they are returned. If the task is stopped, the pool stays closed to
    // new requests; call again to finish.
    task<> drain() { return detail::pool_core::drain(detail::pool_core::reference(*state_)); }
    task<> close(clock::duration limit = std::chrono::seconds(30)) {
        return detail::pool_core::close(detail::pool_core::reference(*state_), limit);
    }

    pool_stats stats() const noexcept { return state_->stats(); }
    void write_metrics(metric_writer& to) const { detail::write_pool_metrics(stats(), name(), to); }
    const std::string& name() const noexcept { return state_->name(); }

private:
    static lease<T> lend(detail::pool_entry& taken) noexcept { return lease<T>(taken); }

    class WEIR_MUST_AWAIT acquire_operation final : public detail::pool_waiter {
    public:
        acquire_operation(detail::pool_core& pool, const std::source_location& where) noexcept
            : pool_waiter(pool, where) {}
        acquire_operation(acquire_operation&&) noexcept = default;
        lease<T> resume() {
            detail::pool_entry* taken = this->claim();
            if (taken == nullptr) [[unlikely]] {
                throw refused(this->refusal_, this->pool_->name());
            }
            return lend(*taken);
        }
    };
    class WEIR_MUST_AWAIT admit_operation final : public detail::pool_waiter {
    public:
        admit_operation(detail::pool_core& pool, const std::source_location& where) noexcept
            : pool_waiter(pool, where) {}
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
