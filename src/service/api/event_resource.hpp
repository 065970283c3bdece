// SPDX-License-Identifier: MIT
// GET /events: a WebSocket over which a client subscribes to topics of the feed and receives their
// messages.
#pragma once

#include "service/api/feed.hpp"
#include "service/api/route.hpp"
#include "service/api/stats_sampler.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>
#include <weir/ws/connection.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class event_resource {
public:
    event_resource(service& tasks, feed& events, stats_sampler& sampler,
                   const api_options& options);

    route_list routes();

private:
    struct subscription_request {
        std::string topic;
        std::optional<std::string> since;
    };
    using subscription_map = std::map<std::string, ws::membership, std::less<>>;
    // A connected client; the grant of its token, if the service has tokens.
    struct client_state {
        ws::connection& connection;
        std::shared_ptr<const token_grant> grant;
        subscription_map subscribed;
    };

    answer accept(http::request& request);
    std::vector<subscription_request> requested_topics(const http::request& request) const;

    task<> serve_events(ws::connection& connection, std::shared_ptr<const token_grant> grant,
                        std::vector<subscription_request> requests);
    task<> receive_commands(client_state& client);
    void handle_command(client_state& client, std::string_view command);
    // Both answer the client, with an error where the topic is invalid or not allowed.
    void subscribe(client_state& client, const subscription_request& request);
    void unsubscribe(client_state& client, std::string_view name);

    // Until the token of the client is revoked.
    task<> publish_queues_each_second(const client_state& client);
    task<> publish_queues();

    service& tasks_;
    feed& feed_;
    stats_sampler& sampler_;
    std::size_t max_subscriptions_;
    std::optional<clock::time_point> last_publish_;
    std::uint64_t published_changes_ = 0;  // feed_.queues_changes() that 'queues' has published
};

}  // namespace weir::service::detail
