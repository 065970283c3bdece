// SPDX-License-Identifier: MIT
// Lines are written at once, so that a command that is interrupted has told how far it came.

#include "program/tasks/change_report.hpp"

#include "program/output/json_output.hpp"
#include "program/output/program_name.hpp"
#include "program/output/terminal.hpp"
#include "program/output/text.hpp"

#include <boost/json/object.hpp>

#include <unistd.h>

#include <cstdio>

namespace weir::program {

void change_report::add(const std::string& name, std::string_view outcome,
                        const boost::json::value& answer) {
    if (as_json_) {
        print_json(answer);
    } else {
        std::printf("%s%s%s\n", shown(name).c_str(), is_terminal(STDOUT_FILENO) ? "  " : "\t",
                    std::string(outcome).c_str());
    }
    std::fflush(stdout);
}

void change_report::add_error(const std::string& name, const remote_error& error) {
    if (!error.is_about_its_object()) {
        throw error;
    }
    exit_code_ = 1;
    if (!as_json_) {
        print_error(error.what());
        return;
    }
    boost::json::object line;
    line[member_] = name;
    line["error"] = boost::json::object{{"status", error.status()}, {"detail", error.detail()}};
    print_json(line);
    std::fflush(stdout);
}

}  // namespace weir::program
