// SPDX-License-Identifier: MIT
// The task that a schedule submits is one JSON object, so that new members of new_task need no new
// columns.

#include "service/store/sqlite/rows/schedule_rows.hpp"

#include "service/store/sqlite/rows/callback_rows.hpp"
#include "service/store/sqlite/rows/ledger.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace weir::service::detail {

namespace json = boost::json;

new_task read_template(std::string_view text) {
    const json::value parsed = json::parse(json::string_view(text.data(), text.size()));
    const json::object& from = parsed.as_object();
    const auto string = [&](const char* name) { return std::string(from.at(name).as_string()); };
    const auto milliseconds = [&](const char* name) {
        return std::chrono::milliseconds(from.at(name).to_number<std::int64_t>());
    };
    new_task read(string("kind"), string("payload"));
    read.queue = string("queue");
    read.priority = from.at("priority").to_number<std::int32_t>();
    read.timeout = milliseconds("timeout_ms");
    read.retry.max_attempts = from.at("max_attempts").to_number<std::uint32_t>();
    read.retry.backoff = milliseconds("backoff_ms");
    read.retry.factor = from.at("factor").to_number<double>();
    read.retry.max_backoff = milliseconds("max_backoff_ms");
    read.retry.jitter = from.at("jitter").to_number<double>();
    read.idempotency_key = string("idempotency_key");
    for (const json::value& each : from.at("tags").as_array()) {
        read.tags.emplace_back(each.as_string());
    }
    read.flow_key = string("flow_key");
    if (const json::value* const secret = from.if_contains("secret")) {
        for (const json::value& each : secret->as_array()) {
            read.secret.emplace_back(each.as_string());
        }
    }
    if (from.contains("unique_key")) {
        read.unique_key = string("unique_key");
        read.unique_for = static_cast<unique_while>(from.at("unique_for").to_number<int>());
    }
    if (from.contains("callbacks")) {
        read_callbacks(read, string("callbacks"));
    }
    return read;
}

std::string write_template(const new_task& task) {
    json::array tags;
    for (const std::string& each : task.tags) {
        tags.emplace_back(each);
    }
    json::array secret(task.secret.begin(), task.secret.end());
    json::object written{{"kind", task.kind},
                         {"payload", task.payload},
                         {"queue", task.queue},
                         {"priority", task.priority},
                         {"timeout_ms", task.timeout.count()},
                         {"max_attempts", task.retry.max_attempts},
                         {"backoff_ms", task.retry.backoff.count()},
                         {"factor", task.retry.factor},
                         {"max_backoff_ms", task.retry.max_backoff.count()},
                         {"jitter", task.retry.jitter},
                         {"idempotency_key", task.idempotency_key},
                         {"tags", std::move(tags)},
                         {"secret", std::move(secret)},
                         {"flow_key", task.flow_key},
                         {"unique_key", task.unique_key},
                         {"unique_for", static_cast<int>(task.unique_for)}};
    if (const std::string callbacks = write_callbacks(task); !callbacks.empty()) {
        written["callbacks"] = callbacks;
    }
    return json::serialize(written);
}

schedule_record read_schedule(const sqlite::row& row) {
    schedule_record read;
    read.name = row.get<std::string>(0);
    read.cron = row.get<std::string>(1);
    read.zone = row.get<std::string>(2);
    read.missed = static_cast<missed_slots>(row.get<int>(3));
    read.is_paused = row.get<bool>(4);
    read.task = read_template(row.get<std::string_view>(5));
    read.next_slot = time_of(row.get<std::int64_t>(6));
    if (const std::int64_t* const last = row[7].integer()) {
        read.last_slot = time_of(*last);
    }
    read.last_task = task_id(row.get<std::optional<std::int64_t>>(8).value_or(0));
    read.overlap = static_cast<overlap_policy>(row.get<int>(9));
    if (const auto state = row.get<std::optional<int>>(10)) {
        read.last_state = static_cast<task_state>(*state);
    }
    return read;
}

}  // namespace weir::service::detail
