// SPDX-License-Identifier: MIT
// One run of one task, and what its end means. The handler runs inside a scope that ends with its timeout; all who
// want it to end stop that scope and wait, so a task is said to be cancelled when its handler has ended, and
// not before. A handler that has its work done when the stop comes is believed.

#include "core.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>

#include <algorithm>
#include <cmath>

namespace weir::service {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t longest_error = 4000;

std::string shortened(std::string text) {
    if (text.size() > longest_error) {
        std::size_t end = longest_error;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
            --end;  // not in the middle of a character
        }
        text.resize(end);
        text += "...";
    }
    return text;
}

}  // namespace

// Among those that run, as long as its fiber lives.
class service::core::place_of {
public:
    place_of(core& in, running_task& who) noexcept : in_(in), who_(who) {}
    place_of(const place_of&) = delete;
    place_of& operator=(const place_of&) = delete;
    ~place_of() { in_.leave(who_); }

private:
    core& in_;
    running_task& who_;
};

void service::core::leave(running_task& who) noexcept {
    running_[who.place] = running_.back();
    running_[who.place]->place = who.place;
    running_.pop_back();
    --who.by->running;
    if (std::exchange(who.has_news, false)) {
        std::erase(feed_.news, &who);
    }
    who.scope = nullptr;
    who.cause = detail::stop_cause::none;
    free_places_.push_back(&who);
    if (running_.empty()) {
        is_idle_.set();
    }
    if (wants_claim_) {
        claims_wake_.set();
    }
}

task<> service::core::run_one(running_task& what) {
    const place_of place(*this, what);
    settlement how;
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
    ended(*what.by, std::move(how));
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
    return how;
}

settlement service::core::stopped(const running_task& ended) {
    settlement how;
    how.key = ended.key();
    how.failures = ended.record.failures;
    switch (ended.cause) {
        case detail::stop_cause::none:
            return failed(ended, attempt_end::timed_out, "it took longer than its timeout");
        case detail::stop_cause::cancelled:
            how.state = task_state::cancelled;
            how.attempt = attempt_end::cancelled;
            break;
        case detail::stop_cause::given_back:
        case detail::stop_cause::lease_lost:
            how.state = task_state::pending;
            how.due_at = now();
            break;
    }
    return how;
}

settlement service::core::failed(const running_task& ended, attempt_end how, std::string error,
                                 clock::duration least, bool for_good) {
    settlement result;
    result.key = ended.key();
    result.attempt = how;
    result.error = shortened(std::move(error));
    result.failures = ended.record.failures + 1;
    if (for_good || result.failures >= ended.record.retry.max_attempts) {
        result.state = task_state::failed;
    } else {
        result.state = task_state::pending;
        const clock::duration wait = std::max(least, backoff(ended.record.retry, result.failures));
        result.due_at = now() + std::chrono::ceil<std::chrono::microseconds>(wait);
    }
    return result;
}

settlement service::core::failed_with(const running_task& ended, const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const permanent_failure& why) {
        return failed(ended, attempt_end::failed, why.what(), {}, true);
    } catch (const retry_later& why) {
        return failed(ended, attempt_end::failed, why.what(), why.least());
    } catch (const postponed& why) {
        settlement how;
        how.key = ended.key();
        how.state = task_state::pending;
        how.attempt = attempt_end::postponed;
        how.error = shortened(why.what());
        how.held_by = how.error;
        how.failures = ended.record.failures;
        how.due_at = now() + why.by();
        return how;
    } catch (...) {
        return failed(ended, attempt_end::failed, describe(error));
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
