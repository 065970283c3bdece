// SPDX-License-Identifier: MIT
// The line before the writer, or before the readers, and their threads.
#pragma once

#include "db/sqlite/connection.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace weir::sqlite::detail {

class lane {
public:
    // Opens the connections here, so that their errors come at once; stop ends the wait for a lock.
    lane(const std::string& path, const open_options& options, access kind, std::size_t threads,
         const std::atomic<bool>& stop);
    lane(const lane&) = delete;
    lane& operator=(const lane&) = delete;
    ~lane();

    // True: it will be performed. False: it has failed already, and says why.
    bool enter(call_base& asked) noexcept;
    // False if it has been taken already: then it is told to stop.
    bool withdraw(call_base& asked) noexcept;
    // Throws if the running task is inside the transaction that is open here.
    void check_outside() const;
    // The transaction ends here; undone if it was not committed.
    void release(owner of) noexcept;

    // Later calls fail; what waits is still done (true) or fails as well (false).
    void close(bool finishes) noexcept;
    void join() noexcept;  // also if another thread does
    void add_to(database_stats& all) const;

private:
    struct queue {
        void push(call_base& last) noexcept;
        void remove(call_base& one) noexcept;
        call_base* pop() noexcept;
        call_base* first = nullptr;
        call_base* last = nullptr;
        std::atomic<std::size_t> size{0};  // changed under the lock, looked at without
    };

    void work(connection& on) noexcept;
    // What to do next, taken out of the line; none: the holder's transaction ends. False: all is
    // done.
    bool take(std::vector<call_base*>& batch);
    void take_alike(std::vector<call_base*>& batch);
    void expect(std::size_t taken) noexcept;
    // More have come that belong to the batch.
    bool join(std::vector<call_base*>& batch);
    void perform(connection& on, std::vector<call_base*>& batch) noexcept;
    // Those who are stopped meanwhile leave the batch. False: it has failed, or nobody is left.
    bool begin(connection& on, std::vector<call_base*>& batch) noexcept;
    void let_stopped_go(std::vector<call_base*>& batch) noexcept;
    void alone(connection& on, call_base& one) noexcept;
    bool together(connection& on, std::vector<call_base*>& batch) noexcept;
    database_stats inside(connection& on, call_base& one) noexcept;
    void snapshot(connection& on, call_base& one) noexcept;
    static void call(connection& on, call_base& one) noexcept;
    void trust_log(connection& on);
    void finish(call_base& one, const database_stats& done) noexcept;
    void count(const call_base& one, const database_stats& done) noexcept;
    static std::exception_ptr closed();
    static std::exception_ptr inside_itself();

    const access kind_;
    const std::size_t max_batch_;
    const std::size_t max_queue_;
    std::vector<std::unique_ptr<connection>> connections_;

    mutable std::mutex guard_;
    std::condition_variable wakes_;
    queue waiting_;
    queue of_holder_;
    owner holder_;  // whose transaction is open; none: the default
    bool holder_is_gone_ = false;
    bool is_closed_ = false;
    bool ends_now_ = false;
    database_stats counts_;
    std::size_t enough_ = 1;              // calls that wait, to wake the thread
    std::atomic<bool> stop_came_{false};  // for one of those that were taken
    bool is_begun_ = false;               // the holder's transaction; the writer's own affair
    std::uint64_t done_inside_ = 0;       // its calls
    // The writer's own affair, too. Of the last commit: its calls and those that waited then, how
    // long it took and when it ended. Of the batch: how many it is to have, and until when those
    // that are missing are waited for; and for how many batches that is not tried, since it was in
    // vain.
    std::size_t known_ = 0;
    bool syncs_ = true;          // the commit of the batch
    bool has_unsynced_ = false;  // commits since the last sync
    bool distrusts_log_ = false;
    clock::duration commit_time_{};
    std::chrono::steady_clock::time_point committed_at_;
    std::size_t expected_ = 0;
    std::chrono::steady_clock::time_point gathers_until_;
    unsigned rest_ = 0;
    std::vector<call_base*> alone_;
    std::mutex joining_;
    std::vector<std::thread> threads_;
};

}  // namespace weir::sqlite::detail
