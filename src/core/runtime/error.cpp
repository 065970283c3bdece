// SPDX-License-Identifier: MIT
// Texts of errors. A group's message lists its errors, so that the report of an uncaught group is
// complete.

#include <weir/error.hpp>

#include <csignal>

namespace weir {

namespace {

std::string signal_name(int number) {
    switch (number) {
        case SIGINT:
            return "SIGINT";
        case SIGTERM:
            return "SIGTERM";
        default:
            return "signal " + std::to_string(number);
    }
}

std::string summary(const std::vector<std::exception_ptr>& errors) {
    std::string text =
        std::to_string(errors.size()) + (errors.size() == 1 ? " task failed: " : " tasks failed: ");
    for (std::size_t index = 0; index < errors.size(); ++index) {
        if (index == 8) {
            return text + "; and " + std::to_string(errors.size() - index) + " more";
        }
        text += (index > 0 ? "; " : "") + describe(errors[index]);
    }
    return text;
}

}  // namespace

interrupted::interrupted(int signal)
    : std::runtime_error("interrupted by " + signal_name(signal)), signal_(signal) {}

error_group::error_group(std::vector<std::exception_ptr> errors)
    : std::runtime_error(summary(errors)), errors_(std::move(errors)) {}

std::string describe(const std::exception_ptr& error) {
    if (error == nullptr) {
        return "no error";
    }
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();
    } catch (const cancelled& stop) {
        return stop.reason().empty() ? "cancelled" : "cancelled: " + stop.reason();
    } catch (...) {
        return "an exception that is not a std::exception";
    }
}

}  // namespace weir
