// SPDX-License-Identifier: MIT
// Numbers are rounded to what a chart can show: 300 samples take some ten kilobytes.

#include "service/api/stats_history.hpp"

#include <cmath>
#include <string_view>

namespace weir::service::detail {

namespace {

double rounded(float value, double digits) {
    return std::round(static_cast<double>(value) * digits) / digits;
}

}  // namespace

void stats_history::write(json_writer& to) const {
    to.key("at").begin_array();
    for (std::size_t i = 0; i < size_; ++i) {
        to.time((*this)[i].at);
    }
    to.end_array();
    const auto list = [&](std::string_view name, float stats_sample::* member, double digits) {
        to.key(name).begin_array();
        for (std::size_t i = 0; i < size_; ++i) {
            const float value = (*this)[i].*member;
            if (value < 0) {
                to.null();
            } else {
                to.number(rounded(value, digits));
            }
        }
        to.end_array();
    };
    list("submitted", &stats_sample::submitted, 1e2);
    list("started", &stats_sample::started, 1e2);
    list("completed", &stats_sample::completed, 1e2);
    list("failed", &stats_sample::failed, 1e2);
    list("wait_p50", &stats_sample::wait_p50, 1e6);
    list("wait_p99", &stats_sample::wait_p99, 1e6);
    list("run_p50", &stats_sample::run_p50, 1e6);
}

}  // namespace weir::service::detail
