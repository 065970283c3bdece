// SPDX-License-Identifier: MIT
// Events are gathered by topic; those that may speak do so at the end of the call that brought the
// events, the others when one alarm for all rings. Topics live in the hub under a name that has a
// number in it: a topic that has ended for us and begins anew is another one for the hub, so that
// no old position fits it by chance.

#include "service/api/feed.hpp"

#include "base/quoted.hpp"
#include "service/api/json_forms.hpp"

#include <weir/http/problem.hpp>

#include <algorithm>

namespace weir::service::detail {

namespace {

constexpr std::string_view queue_prefix = "queue:";
constexpr std::string_view task_prefix = "task:";

void begin_message(json_writer& to, std::string_view type, std::string_view topic,
                   const ws::position& at) {
    to.begin_object();
    to.member("type", type);
    to.member("topic", topic);
    to.member("seq", at.number);
    to.member("position", at.text());
}

}  // namespace

std::string feed::proper_name(std::string_view name) {
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

feed::topic& feed::open(std::string_view name) {
    const clock::time_point now = loop_.now();
    forget_left(now);
    std::string proper = proper_name(name);
    if (const auto found = topics_.find(proper); found != topics_.end()) {
        found->second->last_member = now;
        return *found->second;
    }
    if (topics_.size() >= options_.max_topics && now >= next_room_) {
        // Those that wait for somebody to come back give way to those that somebody wants now.
        next_room_ = now + std::chrono::seconds(1);
        forget(now, clock::duration::zero());
    }
    if (topics_.size() >= options_.max_topics) {
        throw http::problem(http::status::too_many_requests, "there are too many topics in use");
    }
    auto made = std::make_unique<topic>();
    made->name = proper;
    made->hub_name = std::to_string(++lives_) + "/" + proper;
    made->last_member = now;
    topic& place = *made;
    topics_.emplace(std::move(proper), std::move(made));
    task_topics_ += place.name.starts_with(task_prefix) ? 1 : 0;
    if (place.name == "all") {
        all_ = &place;
    }
    return place;
}

feed::topic* feed::find(std::string_view prefix, std::string_view name) {
    key_.assign(prefix);
    key_ += name;
    const auto found = topics_.find(std::string_view(key_));
    return found != topics_.end() ? found->second.get() : nullptr;
}

bool feed::has_members(std::string_view name) const {
    const auto found = topics_.find(name);
    return found != topics_.end() && hub_.members(found->second->hub_name) > 0;
}

void feed::changed(std::span<const task_event> events) noexcept {
    ++queues_changes_;
    const std::size_t waited = waiting_.size();
    try {
        if (on_change) {
            on_change();
        }
        for (const task_event& each : events) {
            measure(each);
            if (topics_.empty()) {
                continue;
            }
            if (all_ != nullptr) {
                gather(*all_, each);
            }
            if (topic* const queue = find(queue_prefix, each.queue)) {
                gather(*queue, each);
            }
            if (task_topics_ > 0) {
                if (topic* const task = find(task_prefix, each.id.text())) {
                    gather(*task, each);
                }
            }
        }
        send_due(waited);  // the others wait for the alarm
    } catch (...) {
        // No memory, and nobody to tell: who watches sees that counts differ.
    }
}

void feed::queue_changed(std::string_view) noexcept {
    ++queues_changes_;
}

void feed::measure(const task_event& event) noexcept {
    if (event.started_at == timestamp()) {
        return;
    }
    if (event.view == task_view::running && event.at == event.started_at) {
        // Its time may have come long before it was made: a slot that was missed, a date of last
        // week.
        const timestamp made{std::chrono::milliseconds(event.id.milliseconds())};
        waits_.record(event.at - std::max(event.due_at, made));
    } else if (is_final(state_of(event.view))) {
        runs_.record(event.at - event.started_at);
    }
}

void feed::gather(topic& to, const task_event& event) {
    const auto [place, is_new] = to.places.try_emplace(event.id.number(), to.latest.size());
    if (!is_new) {
        to.latest[place->second] = event;
    } else if (to.latest.size() < options_.tasks_per_message) {
        to.latest.push_back(event);
    } else {
        to.places.erase(place);
        ++to.more;
    }
    if (!to.is_waiting) {
        to.is_waiting = true;
        waiting_.push_back(&to);
    }
}

clock::duration feed::interval_of(const topic& of) const {
    const double each = static_cast<double>(hub_.members(of.hub_name)) / options_.max_deliveries;
    return std::max(options_.interval, std::chrono::duration_cast<clock::duration>(
                                           std::chrono::duration<double>(std::min(each, 60.0))));
}

// Of those that wait, from the first that is to be looked at.
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
                forget_left(loop_.now());
            } catch (...) {
                // As in changed().
            }
        });
    }
}

void feed::send(topic& of) {
    hub_.publish(of.hub_name, [&](const ws::position& at) {
        std::string message;
        json_writer to(message);
        begin_message(to, "tasks", of.name, at);
        to.key("tasks").begin_array();
        for (const task_event& each : of.latest) {
            write_event(to, each);
        }
        to.end_array();
        to.member("more", of.more);
        to.end_object();
        return message;
    });
    of.latest.clear();
    of.places.clear();
    of.more = 0;
}

void feed::publish(std::string_view name, std::string_view type,
                   const std::function<void(json_writer&)>& write) {
    const auto found = topics_.find(name);
    if (found == topics_.end()) {
        return;
    }
    const topic& of = *found->second;
    hub_.publish(of.hub_name, [&](const ws::position& at) {
        std::string message;
        json_writer to(message);
        begin_message(to, type, of.name, at);
        write(to);
        to.end_object();
        return message;
    });
}

// Topics that nobody has been in for a while. Looks rarely.
void feed::forget_left(clock::time_point now) {
    if (now < next_sweep_) {
        return;
    }
    next_sweep_ = now + options_.linger / 4;
    forget(now, options_.linger);
}

void feed::forget(clock::time_point now, clock::duration linger) {
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
        at = topics_.erase(at);
    }
}

// Where the client is before what follows: one that keeps the position of each message may be cut
// off between them.
std::string feed::greeting(std::string_view name, const ws::catch_up& found) const {
    ws::position from = found.at;
    from.number -= found.replayed;
    std::string message;
    json_writer to(message);
    begin_message(to, "subscribed", name, from);
    to.member("replayed", found.replayed);
    to.member("missed", found.missed);
    to.member("is_known", found.is_known);
    to.end_object();
    return message;
}

}  // namespace weir::service::detail
