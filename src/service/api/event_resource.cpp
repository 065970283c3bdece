// SPDX-License-Identifier: MIT
// Each connection has two tasks: one receives commands of the client, the other wakes up each
// second and, if it is the first connection to do so, publishes the queues to all. So the store is
// queried for them only while a client is connected.

#include "service/api/event_resource.hpp"

#include "base/quoted.hpp"
#include "service/api/json/json_write.hpp"

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

// `topic` is the requested one, where the error is about a topic.
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

// The queues that a token shows of the topic; null: all. Throws http::problem (403) if it does not
// show the topic at all.
const queue_patterns* visible_queues(const std::shared_ptr<const token_grant>& grant,
                                     std::string_view topic) {
    constexpr std::string_view queue_prefix = "queue:";
    if (topic.starts_with(queue_prefix)) {
        require(grant, permission::read, topic.substr(queue_prefix.size()));
        return nullptr;
    }
    const permission needed = topic.starts_with("task:") ? permission::status : permission::read;
    if (allows_everywhere(grant, needed)) {
        return nullptr;
    }
    if (topic == "stats" || !grant->rights.may_somewhere(needed)) {
        throw_missing_scope(*grant, needed, topic != "stats");
    }
    return &grant->rights.queues(needed);
}

}  // namespace

event_resource::event_resource(service& tasks, feed& events, stats_sampler& sampler,
                               const api_options& options)
    : tasks_(tasks),
      feed_(events),
      sampler_(sampler),
      max_subscriptions_(options.max_subscriptions) {}

route_list event_resource::routes() {
    return {{http::method::get, "/events", permission::status, queue_reach::some, *this,
             &event_resource::accept}};
}

answer event_resource::accept(http::request& request) {
    static constexpr std::array<std::string_view, 1> any_origin = {"*"};  // access was checked
    static constexpr std::array<std::string_view, 1> protocols = {"weir.events"};
    auto conversation = [this, grant = grant_of(request), requests = requested_topics(request)](
                            ws::connection& client) mutable -> task<> {
        return serve_events(client, std::move(grant), std::move(requests));
    };
    ws::accept_options options;
    options.origins = any_origin;
    options.protocols = protocols;
    options.connection.max_message = 16 << 10;
    options.connection.outbox_bytes = 512 << 10;
    options.connection.outbox_messages = 512;
    // A client that is too slow is disconnected; it reconnects with its last position.
    options.connection.when_full = ws::overflow::close;
    co_return ws::accept(request, std::move(conversation), options);
}

// The topics in the query: ?topic=all&topic=stats, or ?topic=all&since=POSITION.
std::vector<event_resource::subscription_request> event_resource::requested_topics(
    const http::request& request) const {
    std::vector<subscription_request> requests;
    http::query_parameters parameters;
    try {
        parameters = http::query_parameters::parse(request.query_string(), 200);
    } catch (const invalid_argument& error) {
        throw problem(status::bad_request, error.what());
    }
    const std::optional<std::string_view> since = parameters.find("since");
    for (const auto& [name, value] : parameters) {
        if (name == "topic") {
            requests.push_back({value, {}});
        } else if (name != "since") {
            throw problem(status::unprocessable_content,
                          "the parameter " + base::quoted(name, 60) +
                              " is not known; known are: topic, since");
        }
    }
    if (since && requests.size() != 1) {
        throw problem(status::unprocessable_content,
                      "'since' is for one topic: subscribe to several by messages");
    }
    if (since) {
        requests.front().since = std::string(*since);
    }
    if (requests.size() > max_subscriptions_) {
        throw problem(status::unprocessable_content,
                      "there may be up to " + std::to_string(max_subscriptions_) + " topics");
    }
    return requests;
}

task<> event_resource::serve_events(ws::connection& connection,
                                    std::shared_ptr<const token_grant> grant,
                                    std::vector<subscription_request> requests) {
    client_state client{connection, std::move(grant), {}};
    for (const subscription_request& each : requests) {
        subscribe(client, each);
    }
    co_await race(receive_commands(client), publish_queues_each_second(client));
}

task<> event_resource::receive_commands(client_state& client) {
    for (;;) {
        std::optional<ws::message> received;
        try {
            received = co_await client.connection.receive();
        } catch (const ws::closed&) {
        }
        if (!received) {
            co_return;
        }
        try {
            handle_command(client, received->text());
        } catch (const problem& error) {
            post_error(client.connection, error.what());
        }
    }
}

// {"subscribe": "all"}, {"subscribe": ["queue:a", "stats"]}, {"subscribe": "all", "since": "..."},
// {"unsubscribe": "all"}. An invalid topic does not keep the
// others of its list out.
void event_resource::handle_command(client_state& client, std::string_view command) {
    const bj::value value = http::parse_json(command);
    const bj::object* const message = value.if_object();
    const bj::value* const request = message ? message->if_contains("subscribe") : nullptr;
    const bj::value* const gone = message ? message->if_contains("unsubscribe") : nullptr;
    const bj::value* const since = message ? message->if_contains("since") : nullptr;
    if (request == nullptr && gone == nullptr) {
        throw problem(status::unprocessable_content,
                      "'subscribe' or 'unsubscribe' is expected, with a topic or several");
    }
    const auto each_topic = [&](const bj::value& topics, std::string_view what, const auto& visit) {
        const bj::array* const several = topics.if_array();
        if (several == nullptr) {
            visit(text_of(topics, what));
            return;
        }
        if (several->size() > max_subscriptions_) {
            throw problem(status::unprocessable_content,
                          "'" + std::string(what) + "' has " + std::to_string(several->size()) +
                              " topics; there may be up to " + std::to_string(max_subscriptions_));
        }
        for (const bj::value& each : *several) {
            visit(text_of(each, what));
        }
    };
    if (gone != nullptr) {
        each_topic(*gone, "unsubscribe",
                   [&](const std::string& name) { unsubscribe(client, name); });
    }
    if (request != nullptr) {
        std::optional<std::string> position;
        if (since != nullptr && !since->is_null()) {
            position = text_of(*since, "since");
            if (request->is_array() && request->get_array().size() > 1) {
                throw problem(status::unprocessable_content, "'since' is for one topic");
            }
        }
        each_topic(*request, "subscribe",
                   [&](const std::string& topic) { subscribe(client, {topic, position}); });
    }
}

void event_resource::subscribe(client_state& client, const subscription_request& request) {
    try {
        const std::string topic = feed::canonical_name(request.topic);
        const queue_patterns* const only = visible_queues(client.grant, topic);
        client.subscribed.erase(topic);  // a repeated subscription starts again, at its position
        if (client.subscribed.size() >= max_subscriptions_) {
            post_error(
                client.connection,
                "there may be up to " + std::to_string(max_subscriptions_) + " topics for a client",
                request.topic);
            return;
        }
        client.subscribed.emplace(topic, feed_.join(client.connection, topic, request.since, only));
        if (topic == "stats") {
            sampler_.start();
        }
        if (topic == "queues") {
            published_changes_ = 0;  // a new subscriber gets the current ones
        }
    } catch (const problem& error) {
        post_error(client.connection, error.what(), request.topic);
    } catch (const limit_exceeded& error) {
        post_error(client.connection, error.what(), request.topic);
    }
}

void event_resource::unsubscribe(client_state& client, std::string_view name) {
    try {
        const std::string topic = feed::canonical_name(name);
        client.subscribed.erase(topic);
        std::string text;
        json_writer json(text);
        json.begin_object().member("type", "unsubscribed").member("topic", topic).end_object();
        client.connection.post(ws::frame::text(text));
    } catch (const problem& error) {
        post_error(client.connection, error.what(), name);
    }
}

task<> event_resource::publish_queues_each_second(const client_state& client) {
    while (client.grant == nullptr || !client.grant->is_revoked) {
        co_await sleep(second);
        const clock::time_point now = weir::now();
        // A little less than a second, so that the connection that wakes up first publishes.
        if (!last_publish_ || now - *last_publish_ >= second - 20ms) {
            last_publish_ = now;
            co_await publish_queues();
        }
    }
}

task<> event_resource::publish_queues() {
    if (!feed_.has_members("queues") || feed_.queues_changes() == published_changes_) {
        co_return;
    }
    const std::uint64_t changes = feed_.queues_changes();
    std::vector<queue_record> queues;
    try {
        queues = co_await tasks_.queues();
    } catch (const db::error&) {
        co_return;  // the topic 'stats' reports that the store is failing
    }
    feed_.publish("queues", "queues", [&](json_writer& json, const queue_patterns* only) {
        json.member("at", tasks_.now());
        json.key("queues").begin_array();
        for (const queue_record& each : queues) {
            if (only == nullptr || only->matches(each.name)) {
                write_queue(json, each);
            }
        }
        json.end_array();
    });
    published_changes_ = changes;
}

}  // namespace weir::service::detail
