// SPDX-License-Identifier: MIT
// A check of the Prometheus text format, shared by the tests of metrics.
#pragma once

#include <set>
#include <sstream>
#include <string>

namespace flow_pipeline {

// The first sample that occurs twice or outside of its family; empty if the page is valid.
inline std::string complaint_about(const std::string& page) {
    std::istringstream lines(page);
    std::set<std::string> samples;
    std::set<std::string> closed;
    std::string family;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# TYPE ")) {
            const std::string name = line.substr(7, line.find(' ', 7) - 7);
            closed.insert(family);
            if (closed.contains(name)) {
                return "two families: " + name;
            }
            family = name;
        } else if (!line.starts_with("#")) {
            if (!line.starts_with(family)) {
                return "not in its family: " + line;
            }
            if (!samples.insert(line.substr(0, line.rfind(' '))).second) {
                return "twice: " + line;
            }
        }
    }
    return "";
}

}  // namespace flow_pipeline
