// SPDX-License-Identifier: MIT
// weir watch: the feed, as a view that is painted anew a few times a second, or line by line where nobody looks.
// Comes back by itself when the service was away.

#include "commands.hpp"
#include "remote.hpp"
#include "task_view.hpp"
#include <CLI/CLI.hpp>

#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/http/detail/base64.hpp>
#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/io/error.hpp>
#include <weir/run.hpp>
#include <weir/time.hpp>
#include <weir/ws/client.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace weir::program {

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

// The way a token is given where a WebSocket is opened.
std::string token_protocol(const std::string& token) {
    return "weir.token." + http::detail::encode_base64url(token);
}

// Until the connection ends.
task<> follow(const remote& service, const std::string& topic, task_view& view) {
    const std::string protocol = token_protocol(service.token());
    std::vector<std::string_view> protocols = {"weir.events"};
    if (!service.token().empty()) {
        protocols.push_back(protocol);
    }
    const std::string url =
        service.events_url("topic=" + http::encode_component(topic) + "&topic=stats");
    const ws::connect_options how{.timeout = 10s, .protocols = protocols};
    co_await ws::with_connection(
        url,
        [&](ws::connection& peer) -> task<> {
            view.set_connected(true);
            for (;;) {
                const std::optional<ws::message> said = co_await peer.receive();
                if (!said.has_value()) {
                    co_return;
                }
                view.take(http::parse_json(said->text()));
            }
        },
        how);
}

task<> follow_always(const remote& service, std::string topic, task_view& view) {
    for (;;) {
        try {
            co_await follow(service, topic, view);
        } catch (const ws::handshake_error& error) {
            throw remote_error(error.what());
        } catch (const std::exception& error) {
            view.set_trouble(error.what());
        }
        view.set_connected(false);
        co_await sleep(1s);
    }
}

task<> paint_always(task_view& view) {
    for (;;) {
        const std::string picture = view.paint();
        std::fwrite(picture.data(), 1, picture.size(), stdout);
        std::fflush(stdout);
        co_await sleep(200ms);
    }
}

task<int> watch(const watch_settings& settings) {
    const remote service(settings.to);
    const bool is_plain = settings.plain || isatty(STDOUT_FILENO) == 0;
    task_view view(settings.to.url, is_plain);
    const std::string topic = settings.queue.empty() ? "all" : "queue:" + settings.queue;
    auto all = [&](task_group& group) -> task<> {
        group.spawn(follow_always(service, topic, view));
        if (!is_plain) {
            group.spawn(paint_always(view));
        }
        co_return;
    };
    co_await with_group(all);
    co_return 0;
}

}  // namespace

void add_options(CLI::App& to, watch_settings& settings) {
    add_options(to, settings.to);
    to.add_option("-q,--queue", settings.queue, "Only this queue");
    to.add_flag("--plain", settings.plain,
                "A line for each change, as when the output is no terminal");
}

int run_watch(const watch_settings& settings) {
    return weir::run_main(watch(settings));
}

}  // namespace weir::program
