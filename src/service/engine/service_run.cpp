// SPDX-License-Identifier: MIT
// The life of a service. run() waits in the body of its group until it is stopped, and intercepts
// that stop: so nothing else ends by itself. Then it claims no more and waits for what runs; what
// takes longer than it may, or when a second stop comes, is stopped and given back. Only then do
// the loops end, the store is told that this node is gone, and the stop goes on.

#include "core/debug/fiber_namer.hpp"
#include "service/engine/core.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <exception>

namespace weir::service {

using namespace std::chrono_literals;

// What a run leaves behind, however it ends; and what its handlers are called where tasks are
// listed.
class service::core::whole_run final : private weir::detail::fiber_namer {
public:
    explicit whole_run(core& of) : of_(of) {
        if (of.is_running_) {
            throw invalid_state("service::run(): it runs already");
        }
        of.is_running_ = true;
        of.is_draining = false;
        of.random_ = loop::current().fresh_seed();
        of.leases_.clear();
        of.leases_.emplace_back(of.random_);
        of.leases_.back().taken_at = of.now();
        of.wants_claim_ = true;
        of.claims_for_ = nullptr;
        of.claim_not_before_ = of.next_count_ = of.next_rescue_ = clock::time_point::min();
        of.is_idle_.set();
    }
    whole_run(const whole_run&) = delete;
    whole_run& operator=(const whole_run&) = delete;
    ~whole_run() {
        of_.leases_.clear();
        of_.is_running_ = false;
    }

private:
    void name_fibers() override {
        for (const running_task* const each : of_.running_) {
            if (each->fiber != nullptr) {
                weir::detail::name_fiber(*each->fiber,
                                         each->record.kind + " " + each->record.id.text());
            }
        }
    }

    core& of_;
};

task<> service::core::run() {
    const whole_run all(*this);
    outcome<> ended = co_await intercept(live());
    co_await shield(say_goodbye());
    co_await std::move(ended);
}

task<> service::core::live() {
    is_heard_ = co_await beat();
    auto body = [this](task_group& in) { return work(in); };
    co_await with_group(body);
}

task<> service::core::work(task_group in) {
    const any_handle claiming = in.spawn(claim_tasks(in), {.name = "claiming"});
    const any_handle caring = in.spawn(care_for_leases(), {.name = "caring"});
    const any_handle rest[] = {in.spawn(settle_ended(), {.name = "settling"}),
                               in.spawn(keep_lease(), {.name = "pulse"}),
                               in.spawn(tell_progress(), {.name = "telling"})};
    const any_handle not_while_draining[] = {in.spawn(fire_schedules(), {.name = "firing"}),
                                             in.spawn(sweep(), {.name = "sweeping"})};
    outcome<> stop = co_await intercept(sleep_forever());
    for (const any_handle& each : not_while_draining) {
        each.cancel();
    }
    begin_draining();
    const outcome<> waited = co_await intercept(wait_until_idle(options.drain_limit));
    if (!running_.empty()) {
        log(log_level::warning, "stops " + std::to_string(running_.size()) +
                                    " tasks that still run, and gives them back");
    }
    for (running_task* const each : std::vector(running_)) {
        each->stop(detail::stop_cause::given_back);
    }
    co_await shield(finish(claiming, caring, waited.is_stop()));
    for (const any_handle& each : rest) {
        each.cancel();
    }
    co_await std::move(stop);
}

void service::core::begin_draining() {
    is_draining = true;
    claims_wake_.set();
    log(log_level::info, "draining: " + std::to_string(running_.size()) + " running");
}

task<> service::core::wait_until_idle(clock::duration limit) {
    static_cast<void>(co_await timeout_or(limit, is_idle_.wait(), unit{}));
}

// Everything has been told to stop. What cannot be settled now is run again by others.
task<> service::core::finish(any_handle claiming, any_handle caring, bool in_a_hurry) {
    if (in_a_hurry) {
        claiming.cancel();
    }
    co_await is_idle_.wait();
    co_await claiming.wait();
    claims_for_ = nullptr;
    caring.cancel();
    co_await caring.wait();
    const clock::time_point latest =
        weir::now() +
        (in_a_hurry ? std::min<clock::duration>(options.store_timeout, 1s) : options.store_timeout);
    cancel_scope in_time(latest);
    static_cast<void>(co_await in_time.run(find_all_lost_claims()));
    co_await wait_until_settled(latest - weir::now());
}

task<> service::core::wait_for(event& wake, clock::time_point until) {
    cancel_scope limit(until);
    static_cast<void>(co_await limit.run(wake.wait()));
}

// ---- small things
// --------------------------------------------------------------------------------------

timestamp service::core::now() const {
    if (options.wall_clock) {
        return options.wall_clock();
    }
    loop* const here = loop::current_or_null();
    if (here != nullptr && here->get_driver().is_simulated()) {
        constexpr timestamp first = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
        return first +
               std::chrono::floor<std::chrono::microseconds>(here->now().time_since_epoch());
    }
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

clock::time_point service::core::clock_time_of(timestamp when) const {
    const auto ahead = when - now();
    return ahead > 24h ? clock::time_point::max() : weir::now() + ahead;
}

double service::core::chance() noexcept {
    random_ += 0x9e3779b97f4a7c15U;  // splitmix64
    std::uint64_t mixed = random_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    mixed ^= mixed >> 31;
    return static_cast<double>(mixed >> 11) * 0x1p-53;
}

void service::core::log(log_level how, std::string_view what) const {
    if (options.log) {
        options.log(how, what);
    }
}

void service::core::store_failed(const char* what) noexcept {
    if (std::exchange(counts.store_is_well, false)) {
        log(log_level::error, std::string("the store cannot be used: ") + what);
    }
}

void service::core::store_works() noexcept {
    if (!std::exchange(counts.store_is_well, true)) {
        store_is_back_.set();
        log(log_level::info, "the store can be used again");
    }
}

}  // namespace weir::service
