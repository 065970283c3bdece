// SPDX-License-Identifier: MIT
// Reports (weir/report.hpp) inside a test: each is a failure unless it was expected.
#pragma once

#include <weir/report.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::testing {

// From here to the end of the test, so many reports of the kind, with the text somewhere in the
// message, are expected; fewer fail the test. Throws invalid_state outside a test of this kit.
void expect_report(report_kind kind, std::string_view text = {}, std::size_t times = 1);

// Any number of them, none included, is fine.
void allow_report(report_kind kind, std::string_view text = {});

struct seen_report {
    report_kind kind;
    std::string message;
};
// The reports so far in this test, expected or not.
const std::vector<seen_report>& reports();

}  // namespace weir::testing
