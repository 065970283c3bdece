// SPDX-License-Identifier: MIT
// One run of one task, and what its end means. The handler runs inside a scope that ends with its
// timeout; all who want it to end stop that scope and wait, so a task is said to be cancelled when
// its handler has ended, and not before. A handler that has its work done when the stop comes is
// believed.

#include "service/engine/core.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>

#include <algorithm>
#include <cmath>

namespace weir::service {

using namespace std::chrono_literals;

namespace {

constexpr clock::duration patience = 30s;
constexpr clock::duration settled_first = 1s;
constexpr std::chrono::milliseconds longest_wait = std::chrono::hours(24 * 100);
constexpr std::size_t kept_capacity = 4096;  // of payloads, in places that are free

}  // namespace

// Among those that run, as long as its fiber lives.
class service::core::place_of {
public:
    place_of(core& in, running_task& who) noexcept : in_(in), who_(who) {}
    place_of(const place_of&) = delete;
    place_of& operator=(const place_of&) = delete;
    ~place_of() {
        if (!has_ended_) {
            end_by_stop();
        }
        in_.leave(who_);
    }

    void ended(settlement how) {
        in_.ended(*who_.by, std::move(how));
        has_ended_ = true;
    }

private:
    // The fiber itself was stopped: handlers can do that, and it must not be run again without end.
    void end_by_stop() noexcept {
        try {
            ended(who_.cause != detail::stop_cause::none
                      ? in_.stopped(who_)
                      : in_.failed(who_.record, attempt_end::failed,
                                   "its handler was stopped, and nobody had asked for that"));
        } catch (const std::exception&) {
            // There is no memory: it is found later as a run that nobody knows of.
        }
    }

    core& in_;
    running_task& who_;
    bool has_ended_ = false;
};

void service::core::leave(running_task& who) noexcept {
    running_[who.place] = running_.back();
    running_[who.place]->place = who.place;
    running_.pop_back();
    --who.by->running;
    if (std::exchange(who.has_news, false)) {
        std::erase(feed_.news, &who);
    }
    who.fiber = nullptr;
    who.scope = nullptr;
    who.cause = detail::stop_cause::none;
    if (who.record.payload.capacity() > kept_capacity) {
        who.record.payload = std::string();
    }
    free_places_.push_back(&who);
    if (running_.empty()) {
        is_idle_.set();
    }
    if (wants_claim_) {
        claims_wake_.set();
    }
}

task<> service::core::run_one(running_task& what) {
    place_of place(*this, what);
    what.fiber = weir::detail::this_thread.running;
    settlement how;
    if (has_last_chance(what.record)) {
        // Others must not be there when it crashes again.
        const clock::time_point since = weir::now();
        co_await wait_until_settled(settled_first);
        what.deadline = weir::detail::after(what.deadline, weir::now() - since);
        if (what.cause == detail::stop_cause::none) {
            what.told_at = what.deadline;
        }
    }
    if (what.cause != detail::stop_cause::none) {
        how = stopped(what);
    } else {
        cancel_scope scope(what.deadline);
        what.scope = &scope;
        job given(what.record, what.deadline, &what);
        try {
            weir::task<boost::json::value> body = (*what.run)(given);
            const std::optional<boost::json::value> result = co_await scope.run(std::move(body));
            how = result.has_value() ? completed(what, *result) : stopped(what);
        } catch (...) {
            how = failed_with(what, std::current_exception());
        }
        what.scope = nullptr;
    }
    place.ended(std::move(how));
}

// Nothing can end a handler by force: it holds its place until it ends, and people are told.
void service::core::complain_of_stubborn() {
    for (running_task* const each : running_) {
        if (!each->is_complained_of &&
            weir::now() >= weir::detail::after(each->told_at, patience)) {
            each->is_complained_of = true;
            log(log_level::warning, "task " + each->record.id.text() + ", '" + each->record.kind +
                                        "', was told to end and still runs: its handler does not "
                                        "let itself be stopped");
        }
    }
}

void service::core::ended(lease& by, settlement how) {
    by.ended.push_back(std::move(how));
    has_ended_.set();
}

settlement service::core::completed(const running_task& ended, const boost::json::value& result) {
    settlement how;
    how.key = ended.key();
    how.failures = ended.record.failures;
    how.result = http::to_json(result);
    if (how.result.size() > options.max_result_bytes) {
        return failed(ended.record, attempt_end::failed,
                      "its result has " + std::to_string(how.result.size()) +
                          " bytes of JSON; it may have " +
                          std::to_string(options.max_result_bytes));
    }
    return how;
}

settlement service::core::stopped(const running_task& ended, std::string_view error) {
    settlement how;
    how.key = ended.key();
    how.failures = ended.record.failures;
    switch (ended.cause) {
        case detail::stop_cause::none:
            return failed(ended.record, attempt_end::timed_out, "it took longer than its timeout");
        case detail::stop_cause::cancelled:
            how.state = task_state::cancelled;
            how.attempt = attempt_end::cancelled;
            how.error = detail::kept_text(error, detail::longest_error);
            break;
        case detail::stop_cause::given_back:
        case detail::stop_cause::lease_lost:
            how.state = task_state::pending;
            how.due_at = now();
            break;
    }
    return how;
}

settlement service::core::failed(const task_record& ended, attempt_end how, std::string_view error,
                                 clock::duration least, bool for_good) {
    settlement result;
    result.key = {ended.id, ended.run};
    result.attempt = how;
    result.error = detail::kept_text(error, detail::longest_error);
    result.failures = ended.failures + 1;
    if (for_good || result.failures >= ended.retry.max_attempts) {
        result.state = task_state::failed;
    } else {
        result.state = task_state::pending;
        const clock::duration wait = std::max(least, backoff(ended.retry, result.failures));
        result.due_at = now() + std::chrono::ceil<std::chrono::microseconds>(wait);
    }
    return result;
}

settlement service::core::failed_with(const running_task& ended, const std::exception_ptr& error) {
    if (ended.cause != detail::stop_cause::none) {
        return failed_when_told_to_end(ended, error);
    }
    try {
        std::rethrow_exception(error);
    } catch (const permanent_failure& why) {
        return failed(ended.record, attempt_end::failed, why.what(), {}, true);
    } catch (const retry_later& why) {
        return failed(ended.record, attempt_end::failed, why.what(),
                      std::clamp(why.least(), 0ms, longest_wait));
    } catch (const postponed& why) {
        settlement how;
        how.key = ended.key();
        how.state = task_state::pending;
        how.attempt = attempt_end::postponed;
        how.error = detail::kept_text(why.what(), detail::longest_error);
        how.held_by = how.error;
        how.failures = ended.record.failures;
        how.due_at = now() + std::clamp(why.by(), 0ms, longest_wait);
        return how;
    } catch (...) {
        return failed(ended.record, attempt_end::failed, describe(error));
    }
}

// It had been told to end: what it throws then is most likely for that, and spends no attempt.
settlement service::core::failed_when_told_to_end(const running_task& ended,
                                                  const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const permanent_failure& why) {
        return failed(ended.record, attempt_end::failed, why.what(), {}, true);
    } catch (...) {
        return stopped(ended, describe(error));
    }
}

clock::duration service::core::backoff(const retry_settings& how, std::uint32_t failures) {
    const double grown = static_cast<double>(how.backoff.count()) *
                         std::pow(how.factor, static_cast<double>(failures) - 1);
    const double most = std::min(grown, static_cast<double>(how.max_backoff.count()));
    return weir::detail::to_nanoseconds(
        std::chrono::duration<double, std::milli>(most * (1 - how.jitter * chance())));
}

}  // namespace weir::service
