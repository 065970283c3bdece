// SPDX-License-Identifier: MIT
// Set once at the start, while the process has one thread.

#include "program/output/program_name.hpp"

#include <cstdio>
#include <utility>

namespace weir::program {

namespace {

std::string& name_of_program() {
    static std::string name = "weir";
    return name;
}

}  // namespace

const std::string& program_name() {
    return name_of_program();
}

void set_program_name(std::string name) {
    name_of_program() = std::move(name);
}

std::string with_program_name(std::string_view text) {
    constexpr std::string_view usual = "weir ";
    std::string changed;
    for (std::size_t at = text.find(usual); at != std::string_view::npos; at = text.find(usual)) {
        changed += text.substr(0, at);
        changed += program_name();
        text.remove_prefix(at + usual.size() - 1);  // the blank stays
    }
    changed += text;
    return changed;
}

void print_error(std::string_view message) {
    std::fprintf(stderr, "%s: %.*s\n", program_name().c_str(), static_cast<int>(message.size()),
                 message.data());
}

}  // namespace weir::program
