// SPDX-License-Identifier: MIT
// change_report: what became of each task or queue that a command was told to change. Successes go
// to standard output, errors to standard error; with --json each is a line of JSON on standard
// output.
#pragma once

#include "program/tasks/remote.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace weir::program {

class change_report {
public:
    // `member` is what the API calls the name of such an object: 'id', 'queue'.
    change_report(std::string_view member, bool as_json) noexcept
        : member_(member), as_json_(as_json) {}

    void add(const std::string& name, std::string_view outcome, const boost::json::value& answer);
    // Throws the error if it is not about this object: the next request would fail as well.
    void add_error(const std::string& name, const remote_error& error);
    // 0, or 1 after an error.
    int exit_code() const noexcept { return exit_code_; }

private:
    std::string_view member_;
    bool as_json_;
    int exit_code_ = 0;
};

}  // namespace weir::program
