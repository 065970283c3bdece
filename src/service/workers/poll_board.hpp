// SPDX-License-Identifier: MIT
// The polls of workers that wait for tasks, and which of them are worth a claim.
//
// Polls that ask for the same kinds and queues are one group. When a task becomes ready, the oldest
// polls of the groups that take it are claimed for, as many as the task needs: a thousand workers
// that wait for one kind cost as much as one. A poll that has just come is always claimed for once,
// since tasks may be there.
//
// What is wanted is noted when a task becomes ready, and taken when a claim begins: a task that
// becomes ready while a claim is in flight is noted for the next one, so no wake-up gets lost.
#pragma once

#include "service/workers/worker_calls.hpp"

#include <weir/sync/event.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::service::detail {

class poll_board;

// One poll. Its request waits for `done`, and then takes the answer.
class waiting_poll {
public:
    waiting_poll(std::string worker_id, worker_poll request)
        : worker(std::move(worker_id)), asked(std::move(request)) {}
    waiting_poll(const waiting_poll&) = delete;
    waiting_poll& operator=(const waiting_poll&) = delete;

    // Ends it. While a claim for it is in flight, it ends with the answer of the claim, or so.
    void end(poll_answer::verdict how);
    void end(poll_answer with);
    // The same once it was claimed for, if it was not yet.
    void end_after_look(poll_answer::verdict how);
    bool is_over() const noexcept { return done.is_set(); }
    bool was_looked_at() const noexcept { return was_looked_at_; }
    bool is_in_flight() const noexcept { return is_in_flight_; }
    // A claim for it was not answered: the store may have claimed tasks with its number.
    bool is_uncertain() const noexcept { return is_uncertain_ || is_in_flight_; }

    const std::string worker;
    const worker_poll asked;
    poll_answer answer;
    event done;

private:
    friend class poll_board;
    struct group;

    group* group_ = nullptr;  // null: not on the board
    std::list<std::shared_ptr<waiting_poll>>::iterator place_{};
    bool is_fresh_ = true;       // not claimed for yet
    bool is_in_flight_ = false;  // a claim for it is in flight
    bool was_looked_at_ = false;
    bool is_ending_ = false;  // with the answer of that claim
    bool is_uncertain_ = false;
};

class poll_board {
public:
    static constexpr std::size_t max_claims = 200;  // polls in one claim

    poll_board();
    poll_board(const poll_board&) = delete;
    poll_board& operator=(const poll_board&) = delete;
    ~poll_board();

    void add(std::shared_ptr<waiting_poll> poll, const std::vector<std::string>& kinds,
             const std::vector<std::string>& queues);
    // It may be removed already.
    void remove(waiting_poll& poll) noexcept;
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    std::vector<std::shared_ptr<waiting_poll>> all() const;

    // So many tasks of the kind became ready. False: no poll waits for them.
    bool tasks_ready(std::string_view kind, std::string_view queue, std::size_t count = 1);
    // A task of this kind has ended: limits may have held back others. False: nobody waits.
    bool task_ended(std::string_view kind);
    // Anything may be ready: one poll of each group is worth a claim.
    void anything_ready();
    bool is_wanted() const noexcept;

    // A claim begins for these polls. None if no poll is worth one, or all of those have gone.
    std::vector<std::shared_ptr<waiting_poll>> begin_claim();
    // The claim has failed: it has to be repeated, with the same numbers.
    void claim_failed(const std::vector<std::shared_ptr<waiting_poll>>& polls);
    // The claim was answered with so many tasks, with which the caller ends the poll. One that got
    // as many as it asked for shows that there may be more.
    void claim_answered(waiting_poll& poll, std::size_t count);

private:
    using group = waiting_poll::group;

    group& group_of(const std::vector<std::string>& kinds, const std::vector<std::string>& queues);
    void forget(group& empty) noexcept;

    std::map<std::string, std::unique_ptr<group>, std::less<>> groups_;  // by kinds and queues
    std::map<std::string, std::vector<group*>, std::less<>> by_kind_;
    std::size_t size_ = 0;
    std::size_t fresh_ = 0;  // polls
};

}  // namespace weir::service::detail
