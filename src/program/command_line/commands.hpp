// SPDX-License-Identifier: MIT
// The commands of the program, each with its exit code.
//
// 0: success. 1: failure, or the service refused. 2: usage error in options, variables or the
// configuration file. 3: the task did not complete, or a crawl found broken links. 4: a limit ended
// the crawl. 70: a task of `weir serve` did not stop before the deadline. 130, 143: stopped by a
// signal.
#pragma once

#include "program/command_line/settings.hpp"
#include "program/tasks/bulk_change.hpp"
#include "program/tasks/expiry_option.hpp"
#include "program/tasks/task_filter_options.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
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
    expiry_settings expires;
    std::optional<double> timeout;
    std::optional<int> attempts;
    std::string on_success;  // URLs
    std::string on_failure;
    std::vector<std::string> after;
    std::string after_failure;
    bool wait = false;
};
void add_options(options& to, submit_settings& settings);
int run_submit(const submit_settings& settings);

struct work_settings {
    remote_settings to;
    std::string kind;
    std::vector<std::string> program;  // and its arguments
    std::size_t concurrency = 1;
    std::string name;  // empty: that of the machine
    std::vector<std::string> queues;
    bool reports_progress = false;
    std::size_t max_output = 1 << 20;
    double grace = 5;
    double drain = 25;
};
void add_options(options& to, work_settings& settings);
int run_work(const work_settings& settings);

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
    std::vector<std::string> ids;  // empty: all that match the filter
    bulk_settings bulk;
    bool as_json = false;
};
void add_options(options& to, task_change_settings& settings);
// 1 if a task could not be changed; the others were. Throws invalid_argument for ids and a filter,
// and for neither.
int run_cancel(const task_change_settings& settings);
int run_retry(const task_change_settings& settings);
int run_delete(const task_change_settings& settings);

struct edit_settings {
    remote_settings to;
    std::string id;
    std::optional<int> priority;
    std::optional<double> delay;
    std::string at;  // RFC 3339
    expiry_settings expires;
    std::optional<std::string> payload;
    bool as_json = false;
};
void add_options(options& to, edit_settings& settings);
int run_edit(const edit_settings& settings);

struct queue_change_settings {
    remote_settings to;
    std::vector<std::string> queues;
    std::string key;  // of one queue; empty: the whole queue
    bool as_json = false;
};
void add_options(options& to, queue_change_settings& settings);
// 1 if the service does not have one of the queues; the others were changed.
int run_pause(const queue_change_settings& settings);
int run_resume(const queue_change_settings& settings);

struct keys_settings {
    remote_settings to;
    std::string queue;
    bool is_only_set = false;
    std::size_t limit = 1000;
    bool as_json = false;
};
void add_options(options& to, keys_settings& settings);
int run_keys(const keys_settings& settings);

struct limit_settings {
    remote_settings to;
    std::string queue;
    std::string key;  // empty: limits of the queue
    // By their names in the API; numbers, or the texts 'none' and 'queue'.
    std::vector<std::pair<std::string, boost::json::value>> limits;
    bool as_json = false;
};
void add_options(options& to, limit_settings& settings);
int run_limit(const limit_settings& settings);
// 'running 4, rate 10/s burst 5, key running 1'; empty without limits.
std::string limits_text(const boost::json::value& limits);

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

struct schedules_settings {
    remote_settings to;
    std::vector<std::string> words;  // empty: list them
    std::string zone = "UTC";        // this and the next ones: of a schedule that is added
    std::string queue;
    std::string overlap = "queue";
    std::string missed = "run_latest";
    bool as_json = false;
};
void add_options(options& to, schedules_settings& settings);
// 1 if a schedule could not be changed; the others were.
int run_schedules(const schedules_settings& settings);

struct group_settings {
    remote_settings to;
    std::vector<std::string> words;  // empty: list them
    bool as_json = false;
};
void add_options(options& to, group_settings& settings);
int run_group(const group_settings& settings);

int run_nodes(const list_all_settings& settings);
int run_destinations(const list_all_settings& settings);

struct enable_settings {
    remote_settings to;
    std::vector<std::string> names;
    std::string kind = "http";
    bool as_json = false;
};
void add_options(options& to, enable_settings& settings);
// 1 if one of the endpoints is not disabled; the others were enabled.
int run_enable(const enable_settings& settings);

struct backup_settings {
    std::string file;
    std::string database = serve_settings().database;
    bool is_replacing = false;
    bool as_json = false;
};
void add_options(options& to, backup_settings& settings);
int run_backup(const backup_settings& settings);

struct migrate_settings {
    remote_settings server;
    bool names_server = false;    // by an option, a variable or the file
    bool names_database = false;  // the same
    std::string to;
    std::string database = serve_settings().database;
    std::string schema = "weir";
    bool only_check = false;
    bool is_abandoned = false;
    bool as_json = false;
};
void add_options(options& to, migrate_settings& settings);
int run_migrate(const migrate_settings& settings);

struct ps_settings {
    int pid = 0;
};
void add_options(options& to, ps_settings& settings);
int run_ps(const ps_settings& settings);

}  // namespace weir::program
