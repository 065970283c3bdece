// SPDX-License-Identifier: MIT
// Where the reports of a loop go: to the handler of the user, else to standard error.
#pragma once

#include <weir/detail/fiber.hpp>
#include <weir/report.hpp>

#include <cstddef>
#include <memory>

namespace weir::detail {

class reporter {
public:
    void set_handler(report_handler handler);  // an empty one restores the default
    void tell(report about) noexcept;

    // From now on counts the reports of errors: the run has been interrupted.
    void count_failures() noexcept { counts_failures_ = true; }
    std::size_t failures() const noexcept { return failures_; }

private:
    std::shared_ptr<report_handler> handler_;  // shared: a handler may replace itself
    bool counts_failures_ = false;
    std::size_t failures_ = 0;
};

// Reports the error of a fiber that is destroyed before anything has retrieved the error.
void report_unretrieved(fiber& failed) noexcept;

}  // namespace weir::detail
