// SPDX-License-Identifier: MIT
// The payload was checked when the task was submitted. A payload that is not valid JSON even so is
// a permanent failure.

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/service/job.hpp>

#include <algorithm>
#include <cmath>

namespace weir::service {

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
