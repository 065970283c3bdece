// SPDX-License-Identifier: MIT
// How a program that is one run ends: the error that the run threw becomes an exit code and a line
// on standard error.

#include "core/loop/loop_state.hpp"

#include <weir/error.hpp>
#include <weir/run.hpp>

#include <cerrno>
#include <cstdio>

namespace weir::detail {

namespace {

bool is_stop_by_signal(const shutdown_sequence& end, const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const interrupted&) {
        return true;
    } catch (const cancelled&) {
        return end.interrupted_by() != 0;  // something else had cancelled the task as well
    } catch (...) {
        return false;
    }
}

bool is_shutdown_timeout(const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const shutdown_timeout&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

int exit_code_of(loop* ended, const std::exception_ptr& failure) noexcept {
    if (ended != nullptr && is_stop_by_signal(ended->state().shutdown, failure)) {
        const int code = exit_code_of(*ended, 0);
        return code == 0 && ended->state().reports.failures() > 0 ? 1 : code;
    }
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, describe(failure).c_str());
    return is_shutdown_timeout(failure) ? exit_with_late_tasks : 1;
}

int exit_code_of(loop& ended, int value) noexcept {
    return value == 0 && ended.state().shutdown.was_late() ? exit_with_late_tasks : value;
}

void throw_nested_run() {
    throw loop_error("run: a loop is running on this thread already; co_await the task instead");
}

}  // namespace weir::detail
