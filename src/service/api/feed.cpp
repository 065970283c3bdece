// SPDX-License-Identifier: MIT
// Events are collected by topic. Topics whose interval is over publish at the end of the call that
// brought the events, the others when the one timer for all of them fires. A topic has a number in
// its name in the hub: a topic that is opened again is another one for the hub, so that no old
// position fits it by chance.

#include "service/api/feed.hpp"

#include "base/quoted.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/json_write.hpp"

#include <weir/http/problem.hpp>

#include <algorithm>

namespace weir::service::detail {

namespace {

constexpr std::string_view queue_prefix = "queue:";
constexpr std::string_view task_prefix = "task:";

// Of all tasks, or those of a queue.
bool has_tasks_of_many(std::string_view topic) {
    return topic == "all" || topic.starts_with(queue_prefix);
}

void begin_message(json_writer& json, std::string_view type, std::string_view topic,
                   const ws::position& at) {
    json.begin_object();
    json.member("type", type);
    json.member("topic", topic);
    json.member("seq", at.number);
    json.member("position", at.text());
}

}  // namespace

std::string feed::canonical_name(std::string_view name) {
    if (name == "all" || name == "stats" || name == "queues") {
        return std::string(name);
    }
    if (name.starts_with(queue_prefix)) {
        return std::string(queue_prefix) + read_name("queue", name.substr(queue_prefix.size()));
    }
    if (name.starts_with(task_prefix)) {
        if (const auto id = task_id::parse(name.substr(task_prefix.size()))) {
            return std::string(task_prefix) + id->text();
        }
    }
    throw http::problem(http::status::unprocessable_content,
                        "there is no topic " + base::quoted(name, 100) +
                            ": there are 'all', 'stats', 'queues', 'queue:<name>' and 'task:<id>'");
}

feed::feed(const feed_options& options)
    : options_(options), loop_(loop::current()), hub_(options.kept) {}

feed::~feed() {
    alarm_.cancel();
}

feed::topic& feed::find_or_open(std::string_view name, const queue_patterns* only) {
    const clock::time_point now = loop_.now();
    remove_abandoned(now);
    const std::string canonical = canonical_name(name);
    const std::string suffix = only != nullptr ? "\n" + only->text() : "";
    std::string key = canonical + suffix;
    if (const auto found = topics_.find(key); found != topics_.end()) {
        found->second->last_member = now;
        return *found->second;
    }
    if (topics_.size() >= options_.max_topics && now >= next_room_) {
        // Topics that linger for clients that may reconnect make room for new ones.
        next_room_ = now + std::chrono::seconds(1);
        remove_idle(now, clock::duration::zero());
    }
    if (topics_.size() >= options_.max_topics) {
        throw http::problem(http::status::too_many_requests, "there are too many topics in use");
    }
    auto opened = std::make_unique<topic>();
    opened->name = canonical;
    opened->suffix = suffix;
    opened->hub_name = std::to_string(++opened_) + "/" + canonical;
    opened->last_member = now;
    topic& place = *opened;
    if (only != nullptr) {
        const auto view = std::find_if(views_.begin(), views_.end(), [&](const limited_view& each) {
            return each.suffix == suffix;
        });
        limited_view& used =
            view != views_.end() ? *view : views_.emplace_back(limited_view{*only, suffix, 0});
        ++used.topics;
    }
    topics_.emplace(std::move(key), std::move(opened));
    task_topics_ += place.name.starts_with(task_prefix) ? 1 : 0;
    if (place.name == "all" && only == nullptr) {
        all_ = &place;
    }
    if (on_open) {
        on_open();
    }
    return place;
}

feed::topic* feed::find(std::string_view prefix, std::string_view name, std::string_view suffix) {
    key_.assign(prefix);
    key_ += name;
    key_ += suffix;
    const auto found = topics_.find(std::string_view(key_));
    return found != topics_.end() ? found->second.get() : nullptr;
}

bool feed::has_members(std::string_view name) const {
    const auto is_used = [&](std::string_view key) {
        const auto found = topics_.find(key);
        return found != topics_.end() && hub_.members(found->second->hub_name) > 0;
    };
    return is_used(name) ||
           std::any_of(views_.begin(), views_.end(), [&](const limited_view& each) {
               return is_used(std::string(name) + each.suffix);
           });
}

void feed::collect_for_views(const task_event& event) {
    for (const limited_view& each : views_) {
        if (!each.only.matches(event.queue)) {
            continue;
        }
        if (topic* const all = find("all", "", each.suffix)) {
            collect(*all, event);
        }
        if (task_topics_ > 0) {
            if (topic* const task = find(task_prefix, event.id.text(), each.suffix)) {
                collect(*task, event);
            }
        }
    }
}

void feed::collect_event(const task_event& event) {
    if (topics_.empty()) {
        return;
    }
    if (all_ != nullptr) {
        collect(*all_, event);
    }
    if (topic* const queue = find(queue_prefix, event.queue)) {
        collect(*queue, event);
    }
    if (task_topics_ > 0) {
        if (topic* const task = find(task_prefix, event.id.text())) {
            collect(*task, event);
        }
    }
    collect_for_views(event);
}

void feed::changed(std::span<const task_event> events) noexcept {
    ++queues_changes_;
    const std::size_t waited = waiting_.size();
    try {
        if (on_change) {
            on_change();
        }
        for (const task_event& each : events) {
            record_latency(each);
            collect_event(each);
        }
        send_due(waited);  // the others wait for the timer
    } catch (...) {
        // Out of memory, and there is no caller to report it to: subscribers see that counts
        // differ.
    }
}

void feed::queue_changed(std::string_view) noexcept {
    ++queues_changes_;
}

// Latencies are those of the process that runs a task. It has not said which queues the changes
// beyond its limit are of, so they count for all.
void feed::changed_elsewhere(std::span<const task_event> events, std::uint64_t more) noexcept {
    ++queues_changes_;
    const std::size_t waited = waiting_.size();
    try {
        if (on_change) {
            on_change();
        }
        for (const task_event& each : events) {
            collect_event(each);
        }
        if (more > 0) {
            for (const auto& [key, each] : topics_) {
                if (has_tasks_of_many(each->name)) {
                    each->more += more;
                    wait_to_send(*each);
                }
            }
        }
        send_due(waited);
    } catch (...) {
        // As in changed().
    }
}

// A subscriber that has the position of this message has missed nothing since then.
void feed::missed_elsewhere() noexcept {
    ++queues_changes_;
    try {
        for (const auto& [key, each] : topics_) {
            if (!has_tasks_of_many(each->name) && !each->name.starts_with(task_prefix)) {
                continue;
            }
            publish_to(*each, "subscribed", [](json_writer& json) {
                json.member("replayed", 0).member("missed", 0).member("is_known", false);
            });
        }
    } catch (...) {
        // As in changed().
    }
}

void feed::add_interest(news_interest& to) {
    to.all = to.all || topics_.size() > task_topics_ ||
             to.tasks.size() + task_topics_ > news_interest::max_tasks;
    if (to.all || task_topics_ == 0) {
        return;
    }
    for (const auto& [key, each] : topics_) {
        if (each->name.starts_with(task_prefix)) {
            if (const auto id = task_id::parse(each->name.substr(task_prefix.size()))) {
                to.tasks.insert(*id);
            }
        }
    }
}

void feed::record_latency(const task_event& event) noexcept {
    if (event.started_at == timestamp()) {
        return;
    }
    if (event.view == task_view::running && event.at == event.started_at) {
        // It may have been due long before it was created: a missed slot, a date of last week.
        const timestamp created{std::chrono::milliseconds(event.id.milliseconds())};
        waits_.record(event.at - std::max(event.due_at, created));
    } else if (is_final(state_of(event.view))) {
        runs_.record(event.at - event.started_at);
    }
}

void feed::collect(topic& to, const task_event& event) {
    const auto [place, is_new] = to.places.try_emplace(event.id.number(), to.latest.size());
    if (!is_new) {
        to.latest[place->second] = event;
    } else if (to.latest.size() < options_.tasks_per_message) {
        to.latest.push_back(event);
    } else {
        to.places.erase(place);
        ++to.more;
    }
    wait_to_send(to);
}

void feed::wait_to_send(topic& target) {
    if (!target.is_waiting) {
        target.is_waiting = true;
        waiting_.push_back(&target);
    }
}

clock::duration feed::interval_of(const topic& target) const {
    const double each =
        static_cast<double>(hub_.members(target.hub_name)) / options_.max_deliveries;
    return std::max(options_.interval, std::chrono::duration_cast<clock::duration>(
                                           std::chrono::duration<double>(std::min(each, 60.0))));
}

// Publishes those topics of waiting_, from `first` on, whose interval is over.
void feed::send_due(std::size_t first) {
    if (first == waiting_.size()) {
        return;
    }
    const clock::time_point now = loop_.now();
    std::optional<clock::time_point> next;
    std::size_t kept = first;
    for (std::size_t i = first; i < waiting_.size(); ++i) {
        topic& each = *waiting_[i];
        const clock::time_point due = each.last_sent ? *each.last_sent + interval_of(each) : now;
        if (due <= now) {
            each.is_waiting = false;
            each.last_sent = now;
            send(each);
        } else {
            waiting_[kept++] = &each;
            next = next ? std::min(*next, due) : due;
        }
    }
    waiting_.resize(kept);
    if (next && (!alarm_at_ || *next < *alarm_at_)) {
        alarm_.cancel();
        alarm_at_ = next;
        alarm_ = loop_.call_at(*next, [this] {
            alarm_at_.reset();
            try {
                send_due(0);
                remove_abandoned(loop_.now());
            } catch (...) {
                // As in changed().
            }
        });
    }
}

void feed::send(topic& target) {
    hub_.publish(target.hub_name, [&](const ws::position& at) {
        std::string message;
        json_writer json(message);
        begin_message(json, "tasks", target.name, at);
        json.key("tasks").begin_array();
        for (const task_event& each : target.latest) {
            write_event(json, each);
        }
        json.end_array();
        json.member("more", target.more);
        json.end_object();
        return message;
    });
    target.latest.clear();
    target.places.clear();
    target.more = 0;
}

void feed::publish(std::string_view name, std::string_view type,
                   const std::function<void(json_writer&, const queue_patterns*)>& write) {
    if (const topic* const all = find(name, "")) {
        publish_to(*all, type, [&](json_writer& json) { write(json, nullptr); });
    }
    for (const limited_view& each : views_) {
        if (const topic* const some = find(name, "", each.suffix)) {
            publish_to(*some, type, [&](json_writer& json) { write(json, &each.only); });
        }
    }
}

void feed::publish_to(const topic& target, std::string_view type,
                      const std::function<void(json_writer&)>& write) {
    hub_.publish(target.hub_name, [&](const ws::position& at) {
        std::string message;
        json_writer json(message);
        begin_message(json, type, target.name, at);
        write(json);
        json.end_object();
        return message;
    });
}

// Removes topics without subscribers after `linger`; does so rarely.
void feed::remove_abandoned(clock::time_point now) {
    if (now < next_sweep_) {
        return;
    }
    next_sweep_ = now + options_.linger / 4;
    remove_idle(now, options_.linger);
}

void feed::remove_idle(clock::time_point now, clock::duration linger) {
    for (auto at = topics_.begin(); at != topics_.end();) {
        topic& each = *at->second;
        if (hub_.members(each.hub_name) > 0) {
            each.last_member = now;
        }
        if (each.is_waiting || now - each.last_member <= linger) {
            ++at;
            continue;
        }
        task_topics_ -= each.name.starts_with(task_prefix) ? 1 : 0;
        if (&each == all_) {
            all_ = nullptr;
        }
        if (!each.suffix.empty()) {
            std::erase_if(views_, [&](limited_view& view) {
                return view.suffix == each.suffix && --view.topics == 0;
            });
        }
        at = topics_.erase(at);
    }
}

// Has the position before the messages that follow: a client that stores the position of each
// message may be disconnected between them.
std::string feed::greeting(std::string_view name, const ws::catch_up& found) const {
    ws::position from = found.at;
    from.number -= found.replayed;
    std::string message;
    json_writer json(message);
    begin_message(json, "subscribed", name, from);
    json.member("replayed", found.replayed);
    json.member("missed", found.missed);
    json.member("is_known", found.is_known);
    json.end_object();
    return message;
}

}  // namespace weir::service::detail
