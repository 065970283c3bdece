// SPDX-License-Identifier: MIT
// Fibers: one polls, one renews the lease, one delivers results, and one for each task. A session
// that the service does not know any more, or whose lease could not be renewed in time, has lost
// its tasks: the programs are ended without a result, and the worker registers anew.

#include "program/work/work_session.hpp"

#include "base/json_text.hpp"
#include "base/raw_json.hpp"
#include "program/output/text.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/io/error.hpp>
#include <weir/loop.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir::program {

using namespace std::chrono_literals;

namespace {

namespace bj = boost::json;

constexpr backoff_options call_delays = {
    .initial = 100ms, .maximum = 10s, .jitter = jitter::equal()};
constexpr clock::duration call_limit = 30s;
constexpr clock::duration answer_margin = 10s;  // a poll may take its wait, and this
constexpr clock::duration progress_interval = 1s;
constexpr std::size_t max_delivered = 100;  // results in one request

clock::duration seconds_of(const bj::value& body, std::string_view member) {
    const auto seconds = http::member<double>(body, member);
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

// The service will say the same next time.
bool is_refused_for_good(const remote_error& error) {
    const unsigned code = error.status();
    return code >= 400 && code < 500 && code != 408 && code != 410 && code != 425 && code != 429;
}

task<> wait_for(event& wake, clock::time_point until) {
    cancel_scope limit(until);
    static_cast<void>(co_await limit.run(wake.wait()));
}

void append_key(std::string& json, const given_task& task) {
    json += R"({"id":)";
    base::append_json_string(json, task.id);
    json += R"(,"run":)" + std::to_string(task.run);
}

void append_list(std::string& json, const std::vector<std::string>& texts) {
    json += '[';
    for (const std::string& each : texts) {
        json += json.ends_with('[') ? "" : ",";
        base::append_json_string(json, each);
    }
    json += ']';
}

}  // namespace

work_session::work_session(remote& service, work_options options)
    : service_(service), options_(std::move(options)), random_(loop::current().fresh_seed()) {}

task<> work_session::run() {
    auto body = [this](task_group& group) { return run_in(group); };
    co_await add_worker();
    co_await with_group(body);
}

task<> work_session::run_in(task_group group) {
    const any_handle polling = group.spawn(poll(group), {.name = "poll"});
    group.spawn(keep_lease(), {.name = "lease"});
    group.spawn(deliver(), {.name = "results"});
    co_await polling.wait();
    co_await wait_until_idle();
    if (!id_.empty()) {
        try {
            co_await service_.remove(path(""));
        } catch (const remote_error&) {
            // Its lease ends by itself, and it has nothing.
        }
    }
    group.cancel();
}

task<> work_session::wait_until_idle() {
    while (!is_idle()) {
        changed_.clear();
        co_await changed_.wait();
    }
}

void work_session::drain() {
    is_draining_ = true;
    changed_.set();
    wants_heartbeat_.set();
}

void work_session::release_all() {
    for (active_run& each : runs_) {
        each.stop(stop_reason::released);
    }
}

// After a failed call. One line says that the service cannot be reached, not one for each try.
task<> work_session::pause(decision::backoff& delays, std::string_view problem) {
    if (!std::exchange(is_out_of_reach_, true)) {
        options_.log(std::string(problem) + "; trying again");
    }
    co_await sleep(delays.next(random_));
}

// ---- the session

task<> work_session::add_worker() {
    std::string body = R"({"kinds":)";
    append_list(body, {options_.kind});
    if (!options_.name.empty()) {
        body += R"(,"name":)";
        base::append_json_string(body, options_.name);
    }
    if (!options_.queues.empty()) {
        body += R"(,"queues":)";
        append_list(body, options_.queues);
    }
    body += R"(,"sdk":"weir work )" WEIR_VERSION R"("})";
    decision::backoff delays(call_delays);
    for (;;) {
        std::string problem;
        const clock::time_point begun = weir::now();
        try {
            const std::optional<std::string> text =
                co_await service_.post_text(call_limit, "/workers", body);
            const bj::value terms = http::parse_json(text.value_or(""));
            id_ = http::member<std::string>(terms, "worker");
            lease_ = seconds_of(terms, "lease");
            heartbeat_ = seconds_of(terms, "heartbeat");
            wait_ = seconds_of(terms, "wait");
        } catch (const remote_error& error) {
            if (is_refused_for_good(error)) {
                throw;
            }
            problem = error.what();
        } catch (const http::problem& error) {
            problem = error.what();
        }
        if (problem.empty()) {
            lease_until_ = begun + lease_;
            polled_at_ = begun;
            poll_number_ = 1;
            if (std::exchange(is_out_of_reach_, false)) {
                options_.log("the service answers");
            }
            co_return;
        }
        co_await pause(delays, problem);
    }
}

// Answers to requests of a former session may come when the next one is registered.
void work_session::begin_anew(const std::string& session, std::string_view reason) {
    if (id_.empty() || session != id_) {
        return;
    }
    options_.log("the service has given up this worker: " + std::string(reason) + "; stopping " +
                 std::to_string(runs_.size()) + " tasks, which run elsewhere");
    id_.clear();
    results_.clear();
    for (active_run& each : runs_) {
        each.stop(stop_reason::lost);
    }
    changed_.set();
}

task<> work_session::keep_lease() {
    decision::backoff delays(call_delays);
    clock::time_point due = weir::now() + heartbeat_;
    bool told_drain = false;
    for (;;) {
        wants_heartbeat_.clear();
        co_await wait_for(wants_heartbeat_, options_.program.reports_progress
                                                ? std::min(due, weir::now() + progress_interval)
                                                : due);
        if (id_.empty()) {
            due = weir::now() + 100ms;
            continue;
        }
        if (weir::now() < due && !wants_heartbeat_.is_set() &&
            !std::ranges::any_of(runs_, &active_run::has_progress)) {
            continue;
        }
        if (weir::now() >= lease_until_) {
            begin_anew(id_, "its lease was not renewed in time");
            continue;
        }
        const std::string session = id_;
        std::string problem;
        try {
            if (is_draining_ && !told_drain) {
                co_await service_.post(path("/drain"));
                told_drain = true;
            }
            co_await send_heartbeat();
            delays.restart();
        } catch (const remote_error& error) {
            if (error.status() == 410) {
                begin_anew(session, error.detail());
            } else {
                problem = error.what();
            }
        } catch (const http::problem& error) {
            problem = error.what();
        }
        due = weir::now() + heartbeat_;
        if (!problem.empty()) {
            co_await pause(delays, problem);
            due = weir::now();
        }
    }
}

// Lists a run until the service has its result: it gives to others what is not listed.
task<> work_session::send_heartbeat() {
    const std::string session = id_;
    const clock::time_point begun = weir::now();
    std::string body = R"({"running":[)";
    for (const result& each : results_) {
        body += (body.ends_with('[') ? "" : ",") + each.key + "}";
    }
    for (active_run& each : runs_) {
        if (each.why == stop_reason::lost) {
            continue;
        }
        body += body.ends_with('[') ? "" : ",";
        append_key(body, each.task);
        if (std::exchange(each.has_progress, false)) {
            body += R"(,"progress":)";
            base::append_number(body, each.progress);
            body += R"(,"message":)";
            base::append_json_string(body, each.message);
        }
        body += '}';
    }
    const std::size_t held = runs_.size() + results_.size();
    const std::size_t free =
        is_draining_ ? 0 : options_.concurrency - std::min(options_.concurrency, held);
    body += R"(],"free":)" + std::to_string(free) + R"(,"poll_age":)";
    base::append_number(body, std::chrono::duration<double>(weir::now() - polled_at_).count());
    body += R"(,"answered_poll":)" + std::to_string(poll_number_ - 1) + '}';
    const std::optional<std::string> text = co_await service_.post_text(
        std::max<clock::duration>(lease_ / 3, 1s), path("/heartbeat"), std::move(body));
    if (session != id_) {
        co_return;
    }
    const bj::value news = http::parse_json(text.value_or(""));
    lease_until_ = begun + lease_;
    stop_listed(news, "cancel", stop_reason::cancelled);
    stop_listed(news, "lost", stop_reason::lost);
    if (!is_draining_ && http::member<std::string>(news, "state") == "drain") {
        options_.log("the service has asked this worker to take no more tasks");
        is_draining_ = true;
        changed_.set();
    }
}

void work_session::stop_listed(const bj::value& news, std::string_view member, stop_reason why) {
    const bj::value listed = http::member<bj::value>(news, member);
    for (const bj::value& key : listed.as_array()) {
        const auto id = http::member<std::string>(key, "id");
        const auto number = http::member<std::uint32_t>(key, "run");
        for (active_run& each : runs_) {
            if (each.task.id == id && each.task.run == number) {
                each.stop(why);
            }
        }
    }
}

// ---- tasks

task<> work_session::poll(task_group group) {
    decision::backoff delays(call_delays);
    while (!is_draining_) {
        if (id_.empty()) {
            co_await add_worker();
        }
        if (!results_.empty() || runs_.size() >= options_.concurrency) {
            changed_.clear();
            co_await changed_.wait();
            continue;
        }
        const std::string session = id_;
        std::string problem;
        try {
            const bool is_answered = co_await poll_once(group);
            if (is_answered) {
                delays.restart();
                if (std::exchange(is_out_of_reach_, false)) {
                    options_.log("the service answers again");
                }
            }
        } catch (const remote_error& error) {
            if (error.status() == 410) {
                begin_anew(session, error.detail());
            } else if (error.status() == 409) {
                ++poll_number_;
            } else {
                problem = error.what();
            }
        } catch (const http::problem& error) {
            problem = error.what();
        }
        if (!problem.empty()) {
            co_await pause(delays, problem);
        }
    }
}

// A poll whose answer does not arrive is repeated with its number.
task<bool> work_session::poll_once(const task_group& group) {
    const std::string session = id_;
    polled_at_ = weir::now();
    const std::size_t free = options_.concurrency - runs_.size();
    std::string body = R"({"poll":)" + std::to_string(poll_number_) + R"(,"free":)" +
                       std::to_string(free) + R"(,"wait":)";
    base::append_number(body, std::chrono::duration<double>(wait_).count());
    body += '}';
    const std::optional<std::string> text =
        co_await service_.post_text(wait_ + answer_margin, path("/poll"), std::move(body));
    if (session != id_) {
        co_return false;  // the session was lost meanwhile, and its tasks with it
    }
    ++poll_number_;
    if (text.has_value()) {
        take_tasks(*text, group);
    } else if (weir::now() < polled_at_ + wait_) {
        wants_heartbeat_.set();  // the service has news
    }
    co_return true;
}

void work_session::take_tasks(std::string_view text, const task_group& group) {
    const bj::value answer = http::parse_json(text, {.max_depth = 64});
    const bj::value tasks = http::member<bj::value>(answer, "tasks");
    const std::vector<std::string_view> raw = base::raw_elements(base::raw_member(text, "tasks"));
    for (std::size_t i = 0; i < raw.size(); ++i) {
        const bj::value& each = tasks.as_array().at(i);
        active_run& added = runs_.emplace_back();
        added.task.id = http::member<std::string>(each, "id");
        added.task.run = http::member<std::uint32_t>(each, "run");
        added.task.kind = http::member<std::string>(each, "kind");
        added.task.queue = http::member<std::string>(each, "queue");
        added.task.payload = base::raw_member(raw[i], "payload");
        added.task.attempt = http::member<std::uint32_t>(each, "attempt");
        added.task.left = seconds_of(each, "seconds_left");
        added.task.traceparent =
            http::optional_member<std::string>(each, "traceparent").value_or("");
        group.spawn(execute(std::prev(runs_.end())));
    }
}

task<> work_session::execute(std::list<active_run>::iterator current) {
    // Also if this fiber is stopped.
    class listed {
    public:
        listed(work_session& of, std::list<active_run>::iterator place) : of_(of), place_(place) {}
        listed(const listed&) = delete;
        listed& operator=(const listed&) = delete;
        ~listed() {
            of_.runs_.erase(place_);
            of_.changed_.set();
        }

    private:
        work_session& of_;
        std::list<active_run>::iterator place_;
    };
    const listed guard(*this, current);
    const std::string session = id_;
    std::string members;
    {
        cancel_scope scope(weir::now() + current->task.left);
        current->scope = &scope;
        try {
            auto report = [&](double fraction, std::string_view message) {
                current->progress = fraction;
                current->message = message;
                current->has_progress = true;
            };
            const std::optional<program_end> ended =
                co_await scope.run(run_task_program(options_.program, current->task, report));
            if (ended.has_value()) {
                members = outcome_members(*ended, options_.program.max_output);
            } else if (current->why == stop_reason::none) {
                members = failure_members("the run took longer than its timeout");
            }
        } catch (const std::exception& error) {
            members = failure_members(error.what());
        }
        current->scope = nullptr;
    }
    if (members.empty()) {
        members = current->why == stop_reason::cancelled ? R"("outcome":"cancelled")"
                                                         : R"("outcome":"released")";
    }
    if (current->why != stop_reason::lost && session == id_) {
        result& added = results_.emplace_back();
        append_key(added.key, current->task);
        added.members = std::move(members);
        has_results_.set();
    }
}

// ---- results

task<> work_session::deliver() {
    decision::backoff delays(call_delays);
    for (;;) {
        if (results_.empty()) {
            has_results_.clear();
            co_await has_results_.wait();
            continue;
        }
        const std::string session = id_;
        std::string problem;
        try {
            const bool is_delivered = co_await deliver_once();
            if (is_delivered) {
                delays.restart();
            }
        } catch (const remote_error& error) {
            if (error.status() == 410) {
                begin_anew(session, error.detail());
            } else if (is_refused_for_good(error) && error.status() != 401) {
                take_refusal(session, error.detail());
            } else {
                problem = error.what();
            }
        } catch (const http::problem& error) {
            problem = error.what();
        }
        if (!problem.empty()) {
            co_await pause(delays, problem);
        }
    }
}

// Results stay until the service has taken them: a session that begins anew drops them.
task<bool> work_session::deliver_once() {
    const std::string session = id_;
    const std::size_t count =
        std::min(results_.size(), is_one_by_one_ ? std::size_t{1} : max_delivered);
    std::string body = "[";
    for (std::size_t i = 0; i < count; ++i) {
        body += (i > 0 ? "," : "") + results_[i].key + "," + results_[i].members + "}";
    }
    body += ']';
    const std::optional<std::string> text =
        co_await service_.post_text(call_limit, path("/results"), std::move(body));
    if (session != id_) {
        co_return false;
    }
    const bj::value verdicts = http::parse_json(text.value_or(""));
    for (const bj::value& each : verdicts.as_array()) {
        if (!http::member<bool>(each, "accepted")) {
            options_.log("a result was not accepted: " + shown(text_of(each, "why"), 300));
        }
    }
    results_.erase(results_.begin(), results_.begin() + static_cast<std::ptrdiff_t>(count));
    is_one_by_one_ = is_one_by_one_ && !results_.empty();
    changed_.set();
    co_return true;
}

// The service does not take the request, such as one that is too large: results go one by one, and
// one that cannot be delivered alone becomes a failure.
void work_session::take_refusal(const std::string& session, std::string_view detail) {
    if (session != id_ || results_.empty() || !std::exchange(is_one_by_one_, true)) {
        return;
    }
    const std::string error =
        "the service does not take the result: " + std::string(detail.substr(0, 500));
    if (std::exchange(results_.front().is_replaced, true)) {
        options_.log("a result is dropped: " + error);
        results_.erase(results_.begin());
        changed_.set();
        return;
    }
    results_.front().members = failure_members(error);
}

}  // namespace weir::program
