// SPDX-License-Identifier: MIT
// The payload was checked when the task was submitted. A payload that is not valid JSON even so is
// a permanent failure. Steps of former runs come with the task; those of this run are remembered
// here, so that a second call with the same name needs no store.

#include "service/store/store_texts.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/service/job.hpp>

#include <algorithm>
#include <cmath>

namespace weir::service {

namespace {

constexpr std::size_t max_step_depth = 64;

// Marks a step as running.
class running_step {
public:
    running_step(std::vector<std::string>& all, const std::string& name) : all_(all), name_(name) {
        if (std::ranges::find(all, name) != all.end()) {
            throw invalid_argument("job::step: the step '" + name +
                                   "' runs already; each step needs a name of its own");
        }
        all.push_back(name);
    }
    running_step(const running_step&) = delete;
    running_step& operator=(const running_step&) = delete;
    ~running_step() { std::erase(all_, name_); }

private:
    std::vector<std::string>& all_;
    const std::string name_;
};

}  // namespace

const boost::json::value& job::payload() const {
    if (!payload_.has_value()) {
        try {
            payload_.emplace(http::parse_json(task_.payload));
        } catch (const http::problem& error) {
            throw permanent_failure(std::string("the payload is no JSON: ") + error.what());
        }
    }
    return *payload_;
}

void job::set_result(std::string json) {
    constexpr std::size_t max_depth = 64;  // a payload inside a few levels
    if (json != task_.payload) {           // which was checked when it was submitted
        try {
            static_cast<void>(http::parse_json(json, {.max_depth = max_depth}));
        } catch (const http::problem& error) {
            throw invalid_argument(std::string("job::set_result: ") + error.what());
        }
    }
    result_ = std::move(json);
}

weir::task<boost::json::value> job::null_after(weir::task<> work) {
    co_await std::move(work);
    co_return nullptr;
}

const std::string* job::kept_step(std::string_view name) const noexcept {
    for (const std::vector<step_record>* const steps : {&task_.steps, &own_steps_}) {
        const auto found = std::ranges::find(*steps, name, &step_record::name);
        if (found != steps->end()) {
            return &found->result;
        }
    }
    return nullptr;
}

weir::task<boost::json::value> job::run_step(std::string name, step_work work) {
    check_step_name(name);
    if (const std::string* const known = kept_step(name)) {
        co_return http::parse_json(*known, {.max_depth = max_step_depth});
    }
    if (task_.steps.size() + own_steps_.size() >= max_steps) {
        throw permanent_failure(detail::step_limit_error(name));
    }
    const running_step running(running_steps_, name);
    const boost::json::value made = co_await work();
    step_record kept;
    kept.result = http::to_json(made);
    if (kept.result.size() > max_step_bytes) {
        throw permanent_failure("the result of the step '" + name + "' has " +
                                std::to_string(kept.result.size()) +
                                " bytes of JSON; the limit is " + std::to_string(max_step_bytes));
    }
    boost::json::value result;
    try {
        result = http::parse_json(kept.result, {.max_depth = max_step_depth});
    } catch (const http::problem& error) {
        throw permanent_failure("the result of the step '" + name +
                                "' cannot be kept: " + error.what());
    }
    if (keeper_ != nullptr) {
        std::string counted = co_await keeper_->keep(name, kept.result);
        if (counted != kept.result) {  // another run was first
            kept.result = std::move(counted);
            result = http::parse_json(kept.result, {.max_depth = max_step_depth});
        }
    }
    kept.name = std::move(name);
    own_steps_.push_back(std::move(kept));
    co_return result;
}

void job::progress(double fraction, std::string_view message) {
    if (std::isnan(fraction)) {
        throw invalid_argument("job::progress: the fraction is not a number; it must be 0 to 1");
    }
    if (reports_ != nullptr) {
        reports_->progressed(std::clamp(fraction, 0.0, 1.0), message);
    }
}

trace_context job::trace() const {
    if (run_span_ != nullptr) {
        return run_span_->context;
    }
    return task_.traceparent.empty() ? trace_context()
                                     : trace_context::parse(task_.traceparent, task_.tracestate)
                                           .value_or(trace_context());
}

span job::begin_span(std::string name, span_kind kind) const {
    if (run_span_ != nullptr) {
        return spans_->begin(run_span_->context, std::move(name), kind);
    }
    span unrecorded;
    unrecorded.context = trace();
    return unrecorded;
}

void job::end_span(span ended) const noexcept {
    if (run_span_ != nullptr) {
        spans_->end(std::move(ended));
    }
}

void job::report(destination_outcome outcome, std::chrono::milliseconds pause) noexcept {
    outcome_ = outcome;
    pause_ = std::clamp(pause, std::chrono::milliseconds(0), max_destination_pause);
}

}  // namespace weir::service
