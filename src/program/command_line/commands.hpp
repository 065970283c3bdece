// SPDX-License-Identifier: MIT
// The commands of the program, each with its exit code.
//
// 0: success. 1: failure, or the service refused. 2: usage error in options, variables or the
// configuration file. 3: the task did not complete, or a crawl found broken links. 4: a limit ended
// the crawl. 70: a task of `weir serve` did not stop before the deadline. 130, 143: stopped by a
// signal.
#pragma once

#include "program/command_line/settings.hpp"
#include "program/tasks/task_filter_options.hpp"

#include <cstddef>
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
    std::vector<std::string> secret;
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

struct list_settings {
    remote_settings to;
    std::string queue;  // empty: any, as all that follow
    std::string state;
    std::string status;
    task_filter_settings filter;
    std::size_t limit = 50;
    bool as_json = false;
};
void add_options(options& to, list_settings& settings);
int run_list(const list_settings& settings);

struct show_settings {
    remote_settings to;
    std::string id;
    bool as_json = false;
};
void add_options(options& to, show_settings& settings);
int run_show(const show_settings& settings);

struct task_change_settings {
    remote_settings to;
    std::vector<std::string> ids;
    bool as_json = false;
};
void add_options(options& to, task_change_settings& settings);
// 1 if a task could not be changed; the others were.
int run_cancel(const task_change_settings& settings);
int run_retry(const task_change_settings& settings);
int run_delete(const task_change_settings& settings);

struct queue_change_settings {
    remote_settings to;
    std::vector<std::string> queues;
    bool as_json = false;
};
void add_options(options& to, queue_change_settings& settings);
// 1 if the service does not have one of the queues; the others were changed.
int run_pause(const queue_change_settings& settings);
int run_resume(const queue_change_settings& settings);

struct redrive_settings {
    remote_settings to;
    std::string queue;
    task_filter_settings filter;
    std::optional<std::size_t> limit;
    bool as_json = false;
};
void add_options(options& to, redrive_settings& settings);
int run_redrive(const redrive_settings& settings);

struct list_all_settings {
    remote_settings to;
    bool as_json = false;
};
void add_options(options& to, list_all_settings& settings);
int run_queues(const list_all_settings& settings);
int run_schedules(const list_all_settings& settings);

struct backup_settings {
    std::string file;
    std::string database = serve_settings().database;
    bool is_replacing = false;
    bool as_json = false;
};
void add_options(options& to, backup_settings& settings);
int run_backup(const backup_settings& settings);

struct ps_settings {
    int pid = 0;
};
void add_options(options& to, ps_settings& settings);
int run_ps(const ps_settings& settings);

}  // namespace weir::program
