// SPDX-License-Identifier: MIT
// GET /events: a WebSocket over which a client says what it wants to hear, and hears it.
//
// Each connection has two tasks: one listens to the client, the other wakes up each second and, if
// it is the first to do so, publishes the queues to all. So the store is asked for them as long as
// anybody is there, and no longer.

#include "base/quoted.hpp"
#include "service/api/api_core.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/query.hpp>
#include <weir/io/error.hpp>
#include <weir/race.hpp>
#include <weir/time.hpp>
#include <weir/ws/accept.hpp>

#include <array>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;
using http::problem;
using http::response;
using http::status;
using namespace std::chrono_literals;

constexpr clock::duration second = 1s;

// The topic is the one that was asked for, if it is about one.
void post_error(ws::connection& to, std::string_view detail,
                std::optional<std::string_view> topic = {}) {
    constexpr std::size_t longest = 200;
    std::string text;
    json_writer message(text);
    message.begin_object().member("type", "error");
    if (topic) {
        message.member("topic", topic->substr(0, longest));
    }
    message.member("detail", detail).end_object();
    to.post(ws::frame::text(text));
}

std::string text_of(const bj::value& value, std::string_view what) {
    const bj::string* const text = value.if_string();
    if (text == nullptr) {
        throw problem(status::unprocessable_content, "'" + std::string(what) + "' must be a text");
    }
    return std::string(text->data(), text->size());
}

}  // namespace

api_core::answer api_core::attend(http::request& asked) {
    std::vector<wish> wishes;
    http::query_parameters parameters;
    try {
        parameters = http::query_parameters::parse(asked.query_string(), 200);
    } catch (const invalid_argument& error) {
        throw problem(status::bad_request, error.what());
    }
    const std::optional<std::string_view> since = parameters.find("since");
    for (const auto& [name, value] : parameters) {
        if (name == "topic") {
            wishes.push_back({value, {}});
        } else if (name != "since") {
            throw problem(status::unprocessable_content,
                          "the parameter " + base::quoted(name, 60) +
                              " is not known; known are: topic, since");
        }
    }
    if (since && wishes.size() != 1) {
        throw problem(status::unprocessable_content,
                      "'since' is for one topic: subscribe to several by messages");
    }
    if (since) {
        wishes.front().since = std::string(*since);
    }
    if (wishes.size() > options_.max_subscriptions) {
        throw problem(
            status::unprocessable_content,
            "there may be up to " + std::to_string(options_.max_subscriptions) + " topics");
    }
    static constexpr std::array<std::string_view, 1> anybody = {"*"};  // access was checked before
    static constexpr std::array<std::string_view, 1> protocols = {"weir.events"};
    auto go_on = [this, wishes = std::move(wishes)](ws::connection& peer) mutable -> task<> {
        return serve_events(peer, std::move(wishes));
    };
    ws::accept_options how;
    how.origins = anybody;
    how.protocols = protocols;
    how.connection.max_message = 16 << 10;
    how.connection.outbox_bytes = 512 << 10;
    how.connection.outbox_messages = 512;
    how.connection.when_full = ws::overflow::close;  // it comes back, and says where it was
    co_return ws::accept(asked, std::move(go_on), how);
}

task<> api_core::serve_events(ws::connection& peer, std::vector<wish> wishes) {
    memberships joined;
    for (const wish& each : wishes) {
        subscribe(peer, joined, each);
    }
    co_await race(listen(peer, joined), publish_queues_each_second());
}

task<> api_core::listen(ws::connection& peer, memberships& joined) {
    for (;;) {
        std::optional<ws::message> said;
        try {
            said = co_await peer.receive();
        } catch (const ws::closed&) {
        }
        if (!said) {
            co_return;
        }
        try {
            obey(peer, joined, said->text());
        } catch (const problem& error) {
            post_error(peer, error.what());
        }
    }
}

// {"subscribe": "all"}, {"subscribe": ["queue:a", "stats"]}, {"subscribe": "all", "since": "..."},
// {"unsubscribe": "all"}. One of several that is wrong does not keep the others out.
void api_core::obey(ws::connection& peer, memberships& joined, std::string_view said) {
    const bj::value value = http::parse_json(said);
    const bj::object* const message = value.if_object();
    const bj::value* const asked = message ? message->if_contains("subscribe") : nullptr;
    const bj::value* const gone = message ? message->if_contains("unsubscribe") : nullptr;
    const bj::value* const since = message ? message->if_contains("since") : nullptr;
    if (asked == nullptr && gone == nullptr) {
        throw problem(status::unprocessable_content,
                      "'subscribe' or 'unsubscribe' is expected, with a topic or several");
    }
    const auto each_topic = [&](const bj::value& of, std::string_view what, const auto& visit) {
        const bj::array* const several = of.if_array();
        if (several == nullptr) {
            visit(text_of(of, what));
            return;
        }
        if (several->size() > options_.max_subscriptions) {
            throw problem(status::unprocessable_content,
                          "'" + std::string(what) + "' has " + std::to_string(several->size()) +
                              " topics; there may be up to " +
                              std::to_string(options_.max_subscriptions));
        }
        for (const bj::value& each : *several) {
            visit(text_of(each, what));
        }
    };
    if (gone != nullptr) {
        each_topic(*gone, "unsubscribe",
                   [&](const std::string& name) { unsubscribe(peer, joined, name); });
    }
    if (asked != nullptr) {
        std::optional<std::string> position;
        if (since != nullptr && !since->is_null()) {
            position = text_of(*since, "since");
            if (asked->is_array() && asked->get_array().size() > 1) {
                throw problem(status::unprocessable_content, "'since' is for one topic");
            }
        }
        each_topic(*asked, "subscribe",
                   [&](const std::string& topic) { subscribe(peer, joined, {topic, position}); });
    }
}

void api_core::subscribe(ws::connection& peer, memberships& joined, const wish& to) {
    try {
        const std::string topic = feed::proper_name(to.topic);
        joined.erase(topic);  // begins anew, from where it says
        if (joined.size() >= options_.max_subscriptions) {
            post_error(peer,
                       "there may be up to " + std::to_string(options_.max_subscriptions) +
                           " topics for a client",
                       to.topic);
            return;
        }
        joined.emplace(topic, feed_.join(peer, topic, to.since));
        if (topic == "stats") {
            start_numbers();
        }
        if (topic == "queues") {
            queues_published_ = 0;  // whoever is new wants to see them as they are
        }
    } catch (const problem& error) {
        post_error(peer, error.what(), to.topic);
    } catch (const limit_exceeded& error) {
        post_error(peer, error.what(), to.topic);
    }
}

void api_core::unsubscribe(ws::connection& peer, memberships& joined, std::string_view name) {
    try {
        const std::string topic = feed::proper_name(name);
        joined.erase(topic);
        std::string text;
        json_writer to(text);
        to.begin_object().member("type", "unsubscribed").member("topic", topic).end_object();
        peer.post(ws::frame::text(text));
    } catch (const problem& error) {
        post_error(peer, error.what(), name);
    }
}

task<> api_core::publish_queues_each_second() {
    for (;;) {
        co_await sleep(second);
        const clock::time_point now = weir::now();
        // A little less than a second: it is for whoever wakes up first.
        if (!last_publish_ || now - *last_publish_ >= second - 20ms) {
            last_publish_ = now;
            co_await publish_queues();
        }
    }
}

task<> api_core::publish_queues() {
    if (!feed_.has_members("queues") || feed_.queues_changes() == queues_published_) {
        co_return;
    }
    const std::uint64_t changes = feed_.queues_changes();
    std::vector<queue_record> queues;
    try {
        queues = co_await tasks_.queues();
    } catch (const db::error&) {
        co_return;  // 'stats' tells that the store is not well
    }
    feed_.publish("queues", "queues", [&](json_writer& to) {
        to.member("at", tasks_.now());
        to.key("queues").begin_array();
        for (const queue_record& each : queues) {
            write_queue(to, each);
        }
        to.end_array();
    });
    queues_published_ = changes;
}

}  // namespace weir::service::detail
