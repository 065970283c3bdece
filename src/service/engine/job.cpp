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

void job::progress(double fraction, std::string_view message) {
    if (std::isnan(fraction)) {
        throw invalid_argument("job::progress: the fraction is not a number; it must be 0 to 1");
    }
    if (reports_ != nullptr) {
        reports_->progressed(std::clamp(fraction, 0.0, 1.0), message);
    }
}

}  // namespace weir::service
