// SPDX-License-Identifier: MIT
// The commands of the program, each with its exit code.
//
// 0: success. 1: failure, or the service refused. 2: usage error in options, variables or the
// configuration file. 3: the task did not complete, or a crawl found broken links. 4: a limit ended
// the crawl. 70: a task of `weir serve` did not stop before the deadline. 130, 143: stopped by a
// signal.
#pragma once

#include "settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weir::program {

inline constexpr int task_did_not_complete = 3;

int run_serve(const serve_settings& settings);
// Changes nothing: prints the results of its checks, and returns 0 if the service could start, 1 if
// not.
int run_check(const serve_settings& settings);

struct submit_settings {
    remote_settings to;
    std::string kind;
    std::string payload = "null";
    std::string queue;
    std::string key;  // idempotency
    std::string unique_key;
    std::string flow_key;
    std::vector<std::string> tags;
    std::optional<int> priority;
    std::optional<double> delay;
    std::optional<double> timeout;
    std::optional<int> attempts;
    bool wait = false;
};
void add_options(options& to, submit_settings& settings);
int run_submit(const submit_settings& settings);

struct status_settings {
    remote_settings to;
    std::string id;  // empty: queues
    bool as_json = false;
};
void add_options(options& to, status_settings& settings);
int run_status(const status_settings& settings);

struct watch_settings {
    remote_settings to;
    std::string queue;  // empty: all
    bool plain = false;
};
void add_options(options& to, watch_settings& settings);
int run_watch(const watch_settings& settings);

int run_ps(int pid);

}  // namespace weir::program
