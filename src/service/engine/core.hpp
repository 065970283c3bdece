// SPDX-License-Identifier: MIT
// What a service is made of. run() starts a few loops in one group, and the handlers beside them:
//
//   claiming   asks the store for tasks while there are free workers and something may have changed
//   settling   tells it what became of them: at once, or together with all that ended during the last call
//   pulse      keeps the lease, and gives it up when it cannot be kept
//   caring     brings old leases to their end, and rescues what others left behind
//   telling    progress, gathered
//   firing     schedules
//   sweeping   removes what was kept long enough
//
// All live on one loop: between two awaits nothing else happens, and there are no locks.
#pragma once

#include "service/engine/node_identity.hpp"
#include "service/engine/runner.hpp"

#include <weir/group.hpp>
#include <weir/service/cron.hpp>
#include <weir/service/service.hpp>
#include <weir/sync/event.hpp>
#include <weir/timeout.hpp>

#include <list>
#include <unordered_map>

namespace weir::service {

namespace detail {

// A node's name and what goes on under it. A service that has lost its lease goes on with a new
// one, while what it ran under the old one still comes to its end.
struct lease {
    explicit lease(std::uint64_t random) : name(random) {}

    const std::string& node() const noexcept { return name.text(); }

    node_name name;
    timestamp taken_at{};
    bool is_known = false;  // the store may have heard of it
    bool is_registered = false;
    bool is_unsure = false;  // a claim has no answer: the store may count more tasks than we know
    clock::time_point since{};  // by our own clock
    clock::time_point until{};
    std::size_t running = 0;
    std::vector<settlement> ended;     // to be settled
    std::vector<settlement> settling;  // being settled

    bool is_unsettled() const noexcept { return is_unsure || !ended.empty() || !settling.empty(); }
    // Something may still come of it.
    bool is_open() const noexcept { return running != 0 || is_unsettled(); }
};

struct known_handler {
    handler run;
    payload_check accepts;  // may be empty
};

// Waits that grow while something fails.
class growing_wait {
public:
    clock::duration next(double chance) noexcept {
        const clock::duration wait = least * (1 << std::min(failures_, 6));
        ++failures_;
        return std::min(most, wait) - clock::duration(static_cast<clock::rep>(
                                          chance * 0.25 * static_cast<double>(wait.count())));
    }
    void reset() noexcept { failures_ = 0; }

private:
    static constexpr clock::duration least = std::chrono::milliseconds(50);
    static constexpr clock::duration most = std::chrono::seconds(2);
    int failures_ = 0;
};

}  // namespace detail

class service::core {
public:
    core(store& with, const service_options& given);
    core(const core&) = delete;
    core& operator=(const core&) = delete;

    task<> run();

    // The answer of the store, or store_unavailable: also when it does not come in time.
    enum class proof : bool {
        none,
        store_works
    };  // what an answer shows: writes show that it works
    template <class T>
    task<T> ask(task<T> asked, proof shows = proof::none) {
        return ask(std::move(asked), shows, options.store_timeout);
    }
    template <class T>
    task<T> ask(task<T> asked, proof shows, clock::duration limit);

    timestamp now() const;
    void check_handled(const new_task& asked) const;
    [[noreturn]] void throw_unknown(std::string_view kind) const;
    void check_new(const new_task& asked) const;
    // Something may be there to claim; or will be, then.
    void look_for_tasks() noexcept;
    void look_for_tasks_at(timestamp when) noexcept;
    // The store has said that it runs: it is told, if it runs here.
    void stop_cancelled(task_id id);
    void schedules_changed() noexcept { schedules_wake_.set(); }
    std::size_t running() const noexcept { return running_.size(); }
    bool has_free_workers() const noexcept { return running_.size() < options.workers; }

    store& kept;
    const service_options options;
    std::unordered_map<std::string, detail::known_handler> handlers;
    service_stats counts;
    bool is_draining = false;

private:
    using running_task = detail::running_task;
    using lease = detail::lease;
    class place_of;

    void log(log_level how, std::string_view what) const;
    void store_failed(const char* what) noexcept;
    void store_works() noexcept;
    double chance() noexcept;                               // 0 to 1
    clock::time_point clock_time_of(timestamp when) const;  // the end of time if that is far away
    // Until then, or until somebody wakes it.
    static task<> wait_for(event& wake, clock::time_point until);

    // run
    class whole_run;
    task<> work(task_group in);
    void begin_draining();
    task<> wait_until_idle(clock::duration limit);
    task<> finish(any_handle claiming, any_handle caring, bool in_a_hurry);
    task<> live();

    // claiming
    task<> claim_tasks(task_group in);
    task<> claim_once(const task_group& in);
    void take(claimed&& got, lease& by, const task_group& in);
    task<> find_lost_claims(lease& of);
    task<> find_all_lost_claims();
    std::vector<run_key> known_runs(const lease& of) const;
    bool still_runs(task_id id) const noexcept;
    bool has_last_chance(const task_record& task) const noexcept;
    bool runs_a_last_chance() const noexcept;
    task<> wait_until_settled(clock::duration limit);
    void start(task_record&& claimed, lease& by, const task_group& in);
    task<> run_one(running_task& what);
    void leave(running_task& who) noexcept;
    settlement completed(const running_task& ended, const boost::json::value& result);
    settlement stopped(const running_task& ended, std::string_view error = {});
    settlement failed(const task_record& ended, attempt_end how, std::string_view error,
                      clock::duration least = {}, bool for_good = false);
    settlement failed_with(const running_task& ended, const std::exception_ptr& error);
    settlement failed_when_told_to_end(const running_task& ended, const std::exception_ptr& error);
    void ended(lease& by, settlement how);
    void complain_of_stubborn();
    void give_back(const task_record& claimed, lease& by, clock::duration delay = {},
                   std::string held_by = {});
    clock::duration backoff(const retry_settings& how, std::uint32_t failures);

    // settling
    task<> settle_ended();
    task<> settle_some(lease& of);
    task<bool> settle_together(lease& of, bool is_repeated);
    task<bool> settle_one_by_one(lease& of);
    task<> settle_just(lease& of, const settlement& how);
    task<bool> settle_alone(lease& of, const settlement& how);
    task<bool> fail_instead(lease& of, run_key which, std::string why);
    void settled(const settlement& how, bool is_written, bool is_repeated);
    bool has_unsettled() const noexcept;
    task<> tell_progress();

    // lease
    task<> keep_lease();
    task<bool> beat();
    void lose_lease(std::string_view why);
    task<> care_for_leases();
    task<> close_old_leases();
    bool may_rescue();
    task<> look_after_others();
    task<> say_goodbye();
    task<> retire_all();
    lease& current() noexcept { return leases_.back(); }

    // schedules, retention
    task<> fire_schedules();
    task<> fire_due(clock::time_point& next);
    task<> fire_one(const schedule_record& due, timestamp now);
    task<> sweep();

    bool is_running_ = false;
    std::uint64_t random_ = 0;

    std::list<lease> leases_;  // the last one is in force
    std::vector<running_task*> running_;
    std::vector<std::unique_ptr<running_task>> all_places_;
    std::vector<running_task*> free_places_;
    detail::progress_feed feed_;
    event is_idle_;

    event claims_wake_;
    bool wants_claim_ = true;
    lease* claims_for_ = nullptr;         // while a claim is under way
    std::vector<task_id> early_cancels_;  // while a claim is under way: they may be among its tasks
    clock::time_point next_claim_{};
    clock::time_point wished_claim_ = clock::time_point::max();  // while one is under way
    clock::time_point claim_not_before_{};
    clock::time_point next_count_{};
    detail::growing_wait claim_trouble_;

    event has_ended_;
    event is_settled_;
    event store_is_back_;

    clock::time_point next_rescue_{};
    event caring_wake_;
    bool is_heard_ = true;  // the last heartbeat was answered
    event schedules_wake_;
};

template <class T>
task<T> service::core::ask(task<T> asked, proof shows, clock::duration limit) {
    const auto answered = [this, shows] {
        if (shows == proof::store_works) {
            store_works();
        }
    };
    try {
        if constexpr (std::is_void_v<T>) {
            co_await timeout(limit, std::move(asked));
            answered();
        } else {
            T answer = co_await timeout(limit, std::move(asked));
            answered();
            co_return answer;
        }
    } catch (const timed_out&) {
        constexpr const char* what = "the store does not answer";
        store_failed(what);
        throw store_unavailable(what);
    } catch (const store_unavailable& error) {
        store_failed(error.what());
        throw;
    }
}

}  // namespace weir::service
