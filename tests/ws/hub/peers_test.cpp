// SPDX-License-Identifier: MIT
// The hub behind the HTTP server on real sockets, with other people's clients: Node's ws and
// Python's websockets.
#include "support/peers.hpp"

#include "support/io.hpp"

#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>
#include <weir/ws/ws.hpp>

#include <string>

using namespace std::chrono_literals;
using namespace weir_test;
namespace http = weir::http;
namespace ws = weir::ws;

namespace {

// Each client checks that numbers come one after another, leaves when it has seen half of them,
// comes back with the token of the last, and ends at the last. One client takes what comes and
// never reads it.
constexpr const char* node_clients = R"(
const WebSocket = require('ws');
const [url, clients, messages] = [process.argv[2], +process.argv[3], +process.argv[4]];
let left = clients;
const fail = (why) => { console.log(why); process.exit(1); };
function listen(last, token, comes_back) {
    const socket = new WebSocket(url + '?since=' + token);
    socket.on('message', (data) => {
        const [kind, number, its] = data.toString().split(' ');
        if (kind === 'hello') {
            if (comes_back && +number === 0) fail('nothing was replayed');
            return;
        }
        if (+number !== last + 1) fail('after ' + last + ' came ' + number);
        last = +number;
        token = its;
        if (last === Math.floor(messages / 2) && !comes_back) {
            socket.removeAllListeners('message');
            socket.close();
            socket.on('close', () => setTimeout(() => listen(last, token, true), 30));
        }
        if (last === messages) {
            socket.close();
            if (--left === 0) { console.log('all of them'); process.exit(0); }
        }
    });
    socket.on('error', (error) => fail('' + error));
}
for (let i = 0; i < clients; ++i) listen(0, '', false);
const deaf = new WebSocket(url + '?since=');
deaf.on('open', () => deaf._socket.pause());
deaf.on('error', () => {});
)";

constexpr const char* python_clients = R"(
import asyncio, sys, websockets
url, clients, messages = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

async def listen():
    last, token = 0, ''
    while last < messages:
        async with websockets.connect(url + '?since=' + token, max_queue=None) as socket:
            hello = await socket.recv()
            assert hello.startswith('hello '), hello
            end = messages if last else messages // 2
            while last < end:
                _, number, token, *_ = (await socket.recv()).split(' ')
                assert int(number) == last + 1, (last, number)
                last = int(number)
        await asyncio.sleep(0.03)

async def main():
    await asyncio.gather(*(listen() for _ in range(clients)))
    print('all of them')
asyncio.run(main())
)";

class feed {
public:
    feed() : door_(weir::io::listen(weir::io::address::loopback(0))) {
        url = "ws://" + door_.local_address().text() + "/feed";
    }
    weir::task<> serve() {
        http::router app;
        app.get("/feed", [this](http::request& request) {
            ws::accept_options options;
            options.connection.outbox_messages = 2000;
            options.connection.outbox_bytes = 2'000'000;
            options.connection.when_full = ws::overflow::close;
            const std::string since = request.query("since").value_or("");
            auto attend = [this, since](ws::connection& peer) { return attend_to(peer, since); };
            return ws::accept(request, attend, options);
        });
        return http::serve(std::move(door_), std::move(app));
    }
    weir::task<> publish(int count) {
        const std::string rest(1000, '.');
        for (int i = 0; i < count; ++i) {
            hub.publish("news", [&](const ws::position& at) {
                return "m " + std::to_string(at.number) + " " + at.text() + " " + rest;
            });
            if (i % 20 == 0) {
                co_await weir::sleep(1ms);
            }
        }
    }

    ws::hub hub{{.keep_messages = 2000, .keep_bytes = 3'000'000}};
    std::string url;

private:
    weir::task<> attend_to(ws::connection& peer, std::string since) {
        const auto greet = [](const ws::catch_up& found) {
            return "hello " + std::to_string(found.replayed) + " " + std::to_string(found.missed);
        };
        const auto member = hub.join(peer, "news", since, greet);
        co_await peer.wait_closed();
    }

    weir::io::listener door_;
};

weir::task<> broadcast_to(weir::task<weir::command_result> clients, feed& news,
                          std::size_t members) {
    auto serving = weir::spawn(news.serve());
    auto running = weir::spawn(std::move(clients));
    while (news.hub.members("news") < members && !running.done()) {
        co_await weir::sleep(2ms);
    }
    co_await news.publish(1000);
    const weir::command_result ended = co_await std::move(running);
    EXPECT_EQ(ended.out, "all of them\n") << ended.err;
    serving.cancel();
    co_await serving.wait();
    EXPECT_EQ(news.hub.stats().members, 0u);
}

}  // namespace

WEIR_IO_TEST(HubPeers, NodesClientsComeBackAndOneNeverReads) {
    need_node_ws();
    feed news;
    weir::task<weir::command_result> clients = node(node_clients, {news.url, "10", "1000"});
    co_await broadcast_to(std::move(clients), news, 11);
}

WEIR_IO_TEST(HubPeers, PythonsClientsComeBack) {
    need_python_websockets();
    feed news;
    weir::task<weir::command_result> clients = python(python_clients, {news.url, "10", "1000"});
    co_await broadcast_to(std::move(clients), news, 10);
}
