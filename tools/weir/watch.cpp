// SPDX-License-Identifier: MIT
// weir watch: the feed, as a view that is painted anew a few times a second, or line by line where
// nobody looks. Comes back by itself when the service was away, and ends when it is told why it may
// not.

#include "base/base64.hpp"
#include "commands.hpp"
#include "remote.hpp"
#include "task_view.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/io/error.hpp>
#include <weir/race.hpp>
#include <weir/run.hpp>
#include <weir/time.hpp>
#include <weir/ws/client.hpp>

#include <sys/ioctl.h>
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

// The way a token is given where a WebSocket is opened.
std::string token_protocol(const std::string& token) {
    return "weir.token." + weir::base::encode_base64url(token);
}

// Until the connection ends.
task<> follow(const remote& service, const std::string& topic, task_view& view,
              bool& is_connected) {
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
            is_connected = true;
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

// What another attempt cannot mend: a token that is wrong, an address where there is no such
// service.
bool is_final(const ws::handshake_error& refused, bool was_connected) {
    const auto code = static_cast<unsigned>(refused.status());
    if (code == 0) {
        return !was_connected;  // no HTTP at all: another program, unless ours was there before
    }
    return code < 500 && code != 408 && code != 425 && code != 429;
}

// A refused handshake has no words; an ordinary question to the same service has. Throws
// remote_error.
task<> throw_refused(remote& service, std::string refused) {
    std::string words;
    try {
        co_await service.get("/kinds");
        words = refused +
                " (the service answers otherwise: does a proxy before it pass WebSockets on?)";
    } catch (const remote_error& error) {
        words = error.what();
    }
    throw remote_error(words);
}

// Until it is stopped, or what the service says makes all further attempts vain.
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
                view.set_trouble(error.what());
            }
        } catch (const io_error& error) {
            view.set_trouble(std::string(error.what()) + remote::how_to_reach);
        } catch (const std::exception& error) {
            view.set_trouble(error.what());
        }
        view.set_connected(false);
        if (!refused.empty()) {
            co_await throw_refused(service, refused);
        }
        // A connection that has held begins anew; one that is closed again and again does not.
        pause = weir::now() - begun > longest ? shortest : pause;
        // Three quarters of it to all: many that watch do not come back at once.
        std::uniform_real_distribution<double> part(0.75, 1);
        co_await sleep(std::chrono::duration_cast<clock::duration>(pause * part(random)));
        pause = std::min<clock::duration>(pause * 2, longest);
    }
}

// The whole terminal, for as long as the object; then it is as before.
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
        winsize size{};
        const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
        shown.write(view.paint(is_known ? size.ws_col : 80, is_known ? size.ws_row : 24));
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
    to.flag({"--plain", "", "A line for each change, as when the output is no terminal", ""},
            settings.plain);
}

int run_watch(const watch_settings& settings) {
    return weir::run_main(watch(settings));
}

}  // namespace weir::program
