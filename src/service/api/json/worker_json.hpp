// SPDX-License-Identifier: MIT
// The requests of workers out of JSON, and the answers as JSON. Invalid input is invalid_value or
// http::problem that names the member, as for tasks.
#pragma once

#include "service/api/json/json_writer.hpp"
#include "service/workers/worker_calls.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

inline constexpr std::size_t max_session_kinds = 100;
inline constexpr std::size_t max_session_queues = 100;
inline constexpr std::size_t max_session_free = 10'000;
inline constexpr std::size_t max_session_runs = 10'000;  // in one heartbeat
inline constexpr std::size_t max_worker_results = 1000;
inline constexpr std::size_t max_result_depth = 64;

new_worker read_new_worker(const boost::json::value& body);
// `terms` bounds the wait.
worker_poll read_poll(const boost::json::value& body, const worker_terms& terms);
worker_heartbeat read_heartbeat(const boost::json::value& body);
// `raw` is the text that `body` was parsed from: results are taken out of it.
std::vector<worker_result> read_results(const boost::json::value& body, std::string_view raw);

struct worker_step {
    worker_step() = default;

    run_key key;
    std::string name;
    std::string result;  // JSON
};
worker_step read_step(const boost::json::value& body, std::string_view raw);

struct claim_call {
    claim_call() = default;

    std::string kind;
    std::string queue;  // empty: any
    clock::duration wait{};
    clock::duration lease = std::chrono::seconds(60);
    std::string request_id;  // empty: none
};
claim_call read_claim(const boost::json::value& body, const worker_terms& terms);

// An outcome, or a longer lease.
struct handle_call {
    handle_call() = default;

    std::optional<worker_result> result;  // without a key
    clock::duration lease{};
    std::optional<double> progress;
    std::string message;
};
handle_call read_handle_call(const boost::json::value& body, std::string_view raw);

// Members of an open object.
void write_worker_task(json_writer& json, const worker_task& claimed);
void write_verdict(json_writer& json, const result_verdict& verdict);
void write_run_keys(json_writer& json, std::string_view name, std::span<const run_key> runs);

}  // namespace weir::service::detail
