// SPDX-License-Identifier: MIT
// weir watch: shows the feed, as a screen that is painted a few times a second, or as lines where
// standard output is not a terminal. It reconnects when the service was away, and ends when the
// service refuses for good.

#include "base/base64.hpp"
#include "program/command_line/commands.hpp"
#include "program/output/terminal.hpp"
#include "program/tasks/remote.hpp"
#include "program/tasks/task_view.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/io/error.hpp>
#include <weir/race.hpp>
#include <weir/run.hpp>
#include <weir/time.hpp>
#include <weir/ws/client.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>

namespace weir::program {

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

// Browsers cannot set headers of a WebSocket handshake, so the token is a subprotocol.
std::string token_protocol(const std::string& token) {
    return "weir.token." + weir::base::encode_base64url(token);
}

// Shows the feed until the connection ends.
task<> follow(const remote& service, const std::string& topic, task_view& view,
              bool& is_connected) {
    const std::string protocol = token_protocol(service.token());
    std::vector<std::string_view> protocols = {"weir.events"};
    if (!service.token().empty()) {
        protocols.push_back(protocol);
    }
    const std::string url =
        service.events_url("topic=" + http::encode_component(topic) + "&topic=stats");
    const ws::connect_options options{
        .timeout = 10s, .protocols = protocols, .tls = service.trust()};
    co_await ws::with_connection(
        url,
        [&](ws::connection& peer) -> task<> {
            is_connected = true;
            view.set_connected(true);
            for (;;) {
                const std::optional<ws::message> message = co_await peer.receive();
                if (!message.has_value()) {
                    co_return;
                }
                view.take(http::parse_json(message->text()));
            }
        },
        options);
}

// Retrying cannot help: the token is invalid, or the address is not a task service.
bool is_final(const ws::handshake_error& refused, bool was_connected) {
    const auto code = static_cast<unsigned>(refused.status());
    if (code == 0) {
        return !was_connected;  // no HTTP: another program, unless a service answered here before
    }
    return code < 500 && code != 408 && code != 425 && code != 429;
}

// A refused handshake carries no message; an ordinary request to the service does. Throws
// remote_error.
task<> throw_refused(remote& service, std::string refused) {
    std::string message;
    try {
        co_await service.get("/kinds");
        message = refused +
                  " (the service answers otherwise: does a proxy before it pass WebSockets on?)";
    } catch (const remote_error& error) {
        message = error.what();
    }
    throw remote_error(message);
}

// Reconnects until it is cancelled, or the service refuses for good.
task<> follow_always(remote& service, std::string topic, task_view& view) {
    constexpr clock::duration shortest = 250ms;
    constexpr clock::duration longest = 10s;
    clock::duration pause = shortest;
    std::minstd_rand random(std::random_device{}());
    bool was_connected = false;
    for (;;) {
        std::string refused;
        const clock::time_point begun = weir::now();
        try {
            co_await follow(service, topic, view, was_connected);
        } catch (const ws::handshake_error& error) {
            if (is_final(error, was_connected)) {
                refused = error.what();
            } else {
                view.set_problem(error.what());
            }
        } catch (const io_error& error) {
            view.set_problem(std::string(error.what()) + remote::how_to_reach());
        } catch (const std::exception& error) {
            view.set_problem(error.what());
        }
        view.set_connected(false);
        if (!refused.empty()) {
            co_await throw_refused(service, refused);
        }
        // A connection that lasted resets the delay; one that is closed again and again does not.
        pause = weir::now() - begun > longest ? shortest : pause;
        // Jitter, 75 to 100 %: many watchers do not reconnect at the same moment.
        std::uniform_real_distribution<double> part(0.75, 1);
        co_await sleep(std::chrono::duration_cast<clock::duration>(pause * part(random)));
        pause = std::min<clock::duration>(pause * 2, longest);
    }
}

// Takes the whole terminal for the lifetime of the object, and restores it.
class screen {
public:
    screen() { write("\x1b[?1049h\x1b[?25l"); }
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;
    ~screen() { write("\x1b[?25h\x1b[?1049l"); }

    static bool write(std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return std::fflush(stdout) == 0;
    }
};

task<> paint_always(const task_view& view) {
    const screen shown;
    for (;;) {
        const terminal_size size = size_of_terminal(STDOUT_FILENO);
        shown.write(view.paint(size.columns, size.rows));
        co_await sleep(200ms);
    }
}

task<int> watch(const watch_settings& settings) {
    remote service(settings.to);
    const bool is_plain = settings.plain || isatty(STDOUT_FILENO) == 0;
    task_view view(settings.to.url, is_plain);
    const std::string topic = settings.queue.empty() ? "all" : "queue:" + settings.queue;
    if (is_plain) {
        co_await follow_always(service, topic, view);
    } else {
        co_await race(follow_always(service, topic, view), paint_always(view));
    }
    co_return 0;
}

}  // namespace

void add_options(options& to, watch_settings& settings) {
    add_options(to, settings.to);
    to.text({"-q,--queue", "NAME", "Only this queue", ""}, settings.queue);
    to.flag({"--plain", "", "A line per change, as when the output is not a terminal", ""},
            settings.plain);
}

int run_watch(const watch_settings& settings) {
    return weir::run_main(watch(settings));
}

}  // namespace weir::program
