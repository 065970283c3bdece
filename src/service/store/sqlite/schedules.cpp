// SPDX-License-Identifier: MIT
// Schedules. One transaction advances the schedule to its next slot and creates the task, and only
// if the caller names the slot that the schedule is at: so each slot is fired exactly once.

#include "service/store/sqlite/task_rows.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>

namespace weir::service::detail {

namespace {

namespace json = boost::json;

std::string write_template(const new_task& task) {
    json::array tags;
    for (const std::string& each : task.tags) {
        tags.emplace_back(each);
    }
    const json::object written{{"kind", task.kind},
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
                               {"flow_key", task.flow_key}};
    return json::serialize(written);
}

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
    return read;
}

}  // namespace

void put_schedule(sqlite::session& on, const schedule& definition, timestamp next_slot) {
    on.execute(
        "INSERT INTO schedules(name, cron, zone, missed, is_paused, task, next_slot) VALUES (?1, "
        "?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(name) DO UPDATE SET next_slot = iif(is_paused = 0 "
        "AND cron = ?2 AND zone = ?3, next_slot, ?7), cron = ?2, zone = ?3, missed = ?4, "
        "is_paused = ?5, task = ?6",
        definition.name, definition.cron, definition.zone, static_cast<int>(definition.missed),
        definition.is_paused, write_template(definition.task), number_of(next_slot));
}

bool remove_schedule(sqlite::session& on, std::string_view name) {
    return on.execute("DELETE FROM schedules WHERE name = ?", name).rows > 0;
}

std::vector<schedule_record> list_schedules(sqlite::session& on) {
    const sqlite::rows found = on.query(
        "SELECT name, cron, zone, missed, is_paused, task, next_slot, last_slot, last_task FROM "
        "schedules ORDER BY name");
    std::vector<schedule_record> all;
    for (const sqlite::row each : found) {
        schedule_record& read = all.emplace_back();
        read.name = each.get<std::string>(0);
        read.cron = each.get<std::string>(1);
        read.zone = each.get<std::string>(2);
        read.missed = static_cast<missed_slots>(each.get<int>(3));
        read.is_paused = each.get<bool>(4);
        read.task = read_template(each.get<std::string_view>(5));
        read.next_slot = time_of(each.get<std::int64_t>(6));
        if (const std::int64_t* const last = each[7].integer()) {
            read.last_slot = time_of(*last);
        }
        read.last_task = task_id(each.get<std::optional<std::int64_t>>(8).value_or(0));
    }
    return all;
}

std::optional<submit_result> fire_schedule(sqlite::session& on, std::string_view name,
                                           timestamp slot, timestamp next_slot,
                                           const std::optional<new_task>& fresh, timestamp now,
                                           id_source& ids, event_list& events,
                                           std::size_t max_queues) {
    const sqlite::rows found =
        on.query("SELECT 1 FROM schedules WHERE name = ? AND next_slot = ? AND is_paused = 0", name,
                 number_of(slot));
    if (found.empty()) {
        return std::nullopt;
    }
    submit_result result;
    if (fresh.has_value()) {
        ledger books(on, now);
        submitter to(on, books, ids, events, now, max_queues);
        result = to.add(*fresh);
        books.close();
        if (result.what == submit_result::verdict::queue_full ||
            result.what == submit_result::verdict::too_many_queues) {
            return result;  // the schedule stays at its slot
        }
        on.execute("UPDATE schedules SET last_slot = ?, last_task = ? WHERE name = ?",
                   number_of(fresh->run_at.value_or(slot)), result.id.number(), name);
    }
    on.execute("UPDATE schedules SET next_slot = ? WHERE name = ?", number_of(next_slot), name);
    return result;
}

}  // namespace weir::service::detail
