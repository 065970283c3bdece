// SPDX-License-Identifier: MIT
// A site behind a simulated network, for clients of GET /events.
#pragma once

#include "support.hpp"

#include <weir/http/server.hpp>
#include <weir/io/serve.hpp>
#include <weir/testing/io/simulated_network.hpp>
#include <weir/ws/client.hpp>

#include <functional>

namespace api_test {

namespace io = weir::io;
namespace ws = weir::ws;

// A site at 'server:80', until it goes.
class served {
public:
    explicit served(weir::testing::simulated_network& net, const api_options& options = {})
        : here({}, options), net_(net), door_(net.listen("server:80")) {
        app_ = [this](http::request& request) { return (*here.app)(request); };
        serving_ = weir::spawn(serve());
        here.start();
    }
    weir::task<> stop() {
        serving_.cancel();
        (void)co_await weir::settle(serving_.wait());
        here.app.reset();  // the service does not depend on it
        co_await here.tasks.submit(new_task("echo"));
        co_await here.stop();
    }
    // Connects as a client of this name, and does something.
    weir::task<> visit(std::string target, std::function<weir::task<>(ws::connection&)> body,
                       ws::connect_options client_options = {}, std::string name = "client") {
        weir::testing::simulated_stream stream = co_await net_.connect("server:80", name);
        const std::string url = "ws://localhost" + target;
        auto running =
            ws::with_connection(io::any_stream(std::move(stream)), url, body, client_options);
        co_await std::move(running);
    }

    site here;

private:
    weir::task<> serve() {
        auto accept = [this](weir::task_group& group) -> weir::task<> {
            for (;;) {
                weir::testing::simulated_stream peer = co_await door_.accept();
                group.spawn(http::serve_connection(io::any_stream(std::move(peer)), app_,
                                                   http::server_options(), session_));
            }
        };
        co_await weir::with_group(accept);
    }

    weir::testing::simulated_network& net_;
    weir::testing::simulated_listener door_;
    weir::tcp::session session_;
    http::handler app_;
    weir::handle<void> serving_;
};

// The next message of that type.
inline weir::task<bj::value> next(ws::connection& peer, std::string type) {
    for (;;) {
        const std::optional<ws::message> message =
            co_await weir::timeout(std::chrono::seconds(60), peer.receive());
        if (!message) {
            throw std::runtime_error("closed while waiting for " + type);
        }
        bj::value heard = http::parse_json(message->text());
        if (heard.at("type").as_string() == type) {
            co_return heard;
        }
    }
}

}  // namespace api_test
