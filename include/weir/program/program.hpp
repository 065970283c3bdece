// SPDX-License-Identifier: MIT
// The program `weir` with handlers of your own: the task service with its flags, variables and
// configuration file, API, dashboard, metrics and built-in handlers, and the commands that talk to
// it.
//
//     task<boost::json::value> resize(service::job& job);
//
//     int main(int argc, char** argv) {
//         return weir::program::run(argc, argv, [](service::service& tasks) {
//             tasks.handle("resize", resize);
//         });
//     }
//
// `thumbnails serve` then runs tasks of the kind 'resize', `thumbnails submit resize '{...}'`
// submits one, and `thumbnails --help` lists the other commands: they are those of `weir`.
#pragma once

#include <weir/service/service.hpp>

#include <functional>
#include <string>

namespace weir::program {

// Registers handlers on the service, before it runs. It is called on the service's loop, by `serve`
// and by `serve --check`, and not by other commands. What handlers share lives as long as they do:
// capture it by shared_ptr. The kinds of the built-in handlers are taken: http, crawl, echo, sleep,
// and exec where commands are allowed.
using set_up_function = std::function<void(service::service& tasks)>;

struct definition {
    definition() = default;
    explicit definition(set_up_function call) : set_up(std::move(call)) {}

    std::string name{};         // in messages and the help; empty: the file name of argv[0]
    std::string version{};      // shown by --version; empty: that of Weir
    std::string description{};  // the first line of the help; empty: that of `weir`
    set_up_function set_up{};
};

// Runs the command that the arguments name, and returns the exit code of the program. Errors are
// printed on standard error.
int run(int argc, char** argv, const definition& program);
int run(int argc, char** argv, set_up_function set_up);

}  // namespace weir::program
