// SPDX-License-Identifier: MIT
// With others: Node's ws and Python's websockets as clients and as servers, and two of ours over
// real sockets and TLS.

#include "support/io.hpp"
#include "support/peers/tools.hpp"
#include "ws/support.hpp"

#include <weir/http/server.hpp>
#include <weir/io/tls.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/ws/accept.hpp>
#include <weir/ws/client.hpp>

#include <array>
#include <random>

namespace {

using namespace ws_test;
namespace http = weir::http;

constexpr std::array<std::string_view, 1> protocols{"echo"};

// Echoes. 'close 4001 why' is answered with that close.
task<> answer(ws::connection& peer) {
    for (;;) {
        const std::optional<ws::message> came = co_await peer.receive();
        if (!came) {
            co_return;
        }
        if (came->text() == "close") {
            co_await peer.close(ws::close_code(4001), "why not");
        } else if (came->text() == "ping") {
            co_await peer.ping();
            co_await peer.send("ponged");
        } else if (came->is_text()) {
            co_await peer.send(came->text());
        } else {
            co_await peer.send_binary(came->bytes());
        }
    }
}

http::handler echo_app() {
    return http::handler([](http::request& incoming) -> http::response {
        return ws::accept(incoming, answer,
                          {.protocols = protocols, .connection = {.max_message = 2 << 20}});
    });
}

// Runs a server of ours beside the body, which is given its port.
template <class Body>
task<> beside_server(Body& body, const http::server_options& options = {}) {
    io::listener listener = io::listen(io::address::loopback(0));
    const std::uint16_t port = listener.local_address().port();
    auto server = weir::spawn(http::serve(std::move(listener), echo_app(), options));
    const auto result = co_await weir::settle(body(port));
    server.cancel();
    co_await server.wait();
    result.value();
}

// What each client does with each server.
task<> converse(ws::connection& peer) {
    EXPECT_EQ(peer.protocol(), "echo");
    const std::string large(1 << 20, 'x');
    co_await peer.send("h\xC3\xA9llo");
    co_await peer.send_binary(std::string("\0\xFF\x80", 3));
    co_await peer.send("");
    co_await peer.send(large);
    const std::optional<ws::message> first = co_await peer.receive();
    const std::optional<ws::message> second = co_await peer.receive();
    const std::optional<ws::message> third = co_await peer.receive();
    const std::optional<ws::message> fourth = co_await peer.receive();
    WEIR_ASSERT_TRUE(first && second && third && fourth);
    EXPECT_EQ(first->text(), "h\xC3\xA9llo");
    EXPECT_TRUE(first->is_text());
    EXPECT_EQ(second->text(), std::string_view("\0\xFF\x80", 3));
    EXPECT_TRUE(second->is_binary());
    EXPECT_EQ(third->size(), 0u);
    EXPECT_TRUE(fourth->text() == large);
    co_await peer.ping();
    EXPECT_GT(peer.stats().round_trip, 0ns);
    co_await peer.send("fragments");  // others answer in fragments; we do not
    const std::optional<ws::message> whole = co_await peer.receive();
    EXPECT_EQ(whole.value().text(), "fragments");
    co_await peer.send("ping");  // it pings us
    const std::optional<ws::message> ponged = co_await peer.receive();
    EXPECT_EQ(ponged.value().text(), "ponged");
    co_await peer.send("close");
    try {
        co_await peer.receive();
        ADD_FAILURE() << "4001 is not regular";
    } catch (const ws::closed& end) {
        EXPECT_EQ(end.code(), ws::close_code(4001));
        EXPECT_EQ(end.reason(), "why not");
    }
}
task<> leave(ws::connection& peer) {
    co_await peer.close(ws::close_code(4002), "bye");
    EXPECT_EQ(peer.code(), ws::close_code(4002));
}

task<> talk_to(std::string url, ws::connect_options options) {
    options.protocols = protocols;
    options.connection.max_message = 2 << 20;
    co_await ws::with_connection(url, converse, options);
    co_await ws::with_connection(url, leave, options);
}

WEIR_IO_TEST(WsReal, TalksToItself) {
    auto body = [](std::uint16_t port) -> task<> {
        co_await talk_to("ws://127.0.0.1:" + std::to_string(port) + "/chat", {});
    };
    co_await beside_server(body);
}

WEIR_IO_TEST(WsReal, TalksToItselfInSecret) {
    const weir::tls::certificate_authority authority("Test");
    const weir::tls::certificate site = authority.issue({.names = "localhost,127.0.0.1"});
    const auto server = weir::tls::context::server(
        {.certificate_pem = site.certificate_pem, .key_pem = site.key_pem});
    const auto client = weir::tls::context::client({.ca_pem = authority.certificate_pem()});
    auto body = [&](std::uint16_t port) -> task<> {
        ws::connect_options options;
        options.tls = &client;
        co_await talk_to("wss://localhost:" + std::to_string(port) + "/chat", options);
        // Otherwise the certificate is not trusted.
        auto unknown = ws::with_connection("wss://localhost:" + std::to_string(port), leave);
        WEIR_EXPECT_THROW(std::move(unknown), weir::tls_error);
    };
    http::server_options options;
    options.tls = &server;
    co_await beside_server(body, options);
}

// Many at once, stopped in the middle: the server says going_away to the peers that listen.
WEIR_IO_TEST(WsReal, DrainsManyAtOnce) {
    io::listener listener = io::listen(io::address::loopback(0));
    const std::string url =
        "ws://127.0.0.1:" + std::to_string(listener.local_address().port()) + "/";
    auto server = weir::spawn(http::serve(std::move(listener), echo_app()));
    int connected = 0;
    int notified = 0;
    auto client = [&](ws::connection& peer) -> task<> {
        co_await peer.send("hello");
        const std::optional<ws::message> hello = co_await peer.receive();
        connected += hello ? 1 : 0;
        const std::optional<ws::message> last = co_await peer.receive();
        notified += !last && peer.code() == ws::close_code::going_away ? 1 : 0;
    };
    auto one = [&]() -> task<> { co_await ws::with_connection(url, client); };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int count = 0; count < 50; ++count) {
            group.spawn(one);
        }
        while (connected < 50) {
            co_await weir::sleep(1ms);
        }
        server.cancel();
    };
    co_await weir::with_group(all);
    co_await server.wait();
    EXPECT_EQ(notified, 50);
}

// A client is stopped at any point, on a bad line: nothing is left, here or there.
WEIR_IO_TEST(WsReal, ClientsAreStoppedOnABadLine) {
    io::listener listener = io::listen(io::address::loopback(0));
    const io::address target = listener.local_address();
    auto server = weir::spawn(http::serve(std::move(listener), echo_app()));
    weir::testing::fault_proxy proxy(target, {}, 11);
    const std::string url = "ws://" + proxy.address().text() + "/";
    std::mt19937 random(5);
    auto client = [&](ws::connection& peer) -> task<> {
        for (int count = 0; count < 5; ++count) {
            co_await peer.send(std::string(random() % 20'000, 'x'));
            const std::optional<ws::message> came = co_await peer.receive();
            if (!came) {
                co_return;
            }
            co_await peer.ping();
        }
    };
    const ws::connect_options options{.timeout = 300ms, .connection = {.close_timeout = 20ms}};
    auto once = [&](unsigned patience) -> task<> {
        auto talking = weir::spawn(ws::with_connection(url, client, options));
        co_await weir::sleep(std::chrono::microseconds(patience));
        talking.cancel();
        co_await talking.wait();
        if (talking.failed()) {
            try {
                std::rethrow_exception(talking.error());
            } catch (const ws::closed&) {
            } catch (const ws::handshake_error&) {
            } catch (const weir::io_error&) {
            }
        }
    };
    int round = 0;
    for (const weir::testing::proxy_faults& line :
         {weir::testing::proxy_faults{}, weir::testing::proxy_faults{.latency = 1ms, .jitter = 1ms},
          weir::testing::proxy_faults{.drip = 7, .drip_every = 50us},
          weir::testing::proxy_faults{.resets = 0.1}, weir::testing::proxy_faults{.refusals = 0.5},
          weir::testing::proxy_faults{.half_open = true}}) {
        proxy.set(line);
        for (int count = 0; count < 15; ++count) {
            co_await once(random() % (1U << (4 + round++ % 10)));
        }
    }
    co_await proxy.close();
    server.cancel();
    co_await server.wait();
}

constexpr const char* node_client = R"(
const WebSocket = require('ws');
const assert = require('assert');
const url = process.argv[2];
const once = (socket) => new Promise((resolve, reject) => {
    socket.once('message', (data, binary) => resolve(binary ? data : data.toString()));
    socket.once('error', reject);
});
const closed = (socket) => new Promise((resolve) => socket.once('close', (code, reason) => resolve([code, reason.toString()])));
const open = (options) => new Promise((resolve, reject) => {
    const socket = new WebSocket(url, ['other', 'echo'], options);
    socket.once('open', () => resolve(socket));
    socket.once('error', reject);
    socket.once('unexpected-response', (q, r) => reject(new Error(r.statusCode)));
});
(async () => {
    let socket = await open({});
    assert.equal(socket.protocol, 'echo');
    assert.equal(socket.extensions, '');          // it offers permessage-deflate
    socket.send('h\u00e9llo');
    assert.equal(await once(socket), 'h\u00e9llo');
    socket.send(Buffer.from([0, 255, 128]));
    assert.deepEqual(await once(socket), Buffer.from([0, 255, 128]));
    const large = 'x'.repeat(1 << 20);
    socket.send(large);
    assert.ok(await once(socket) === large);
    socket.send('frag', { fin: false });
    socket.ping('between');
    const pong = new Promise((resolve) => socket.once('pong', (data) => resolve(data.toString())));
    socket.send('', { fin: false });
    socket.send('ments', { fin: true });
    assert.equal(await once(socket), 'fragments');
    assert.equal(await pong, 'between');
    socket.send('ping');
    assert.equal(await once(socket), 'ponged');
    socket.send('close');
    assert.deepEqual(await closed(socket), [4001, 'why not']);

    socket = await open({});
    socket.close(4002, 'bye');
    assert.deepEqual(await closed(socket), [4002, '']);
    socket = await open({});
    socket.close();
    assert.deepEqual(await closed(socket), [1005, '']);
    socket = await open({});
    socket.send('x'.repeat((2 << 20) + 1));
    assert.equal((await closed(socket))[0], 1009);
    await assert.rejects(open({ origin: 'https://evil.example' }), /403/);
    console.log('done');
    process.exit(0);                              // the refused one is kept alive
})().catch((error) => { console.error(error); process.exit(1); });
)";

constexpr const char* python_client = R"(
import asyncio, sys, websockets

async def main():
    url = sys.argv[1]
    kept = dict(subprotocols=['other', 'echo'], max_size=2 << 20)
    async with websockets.connect(url, **kept) as peer:
        assert peer.subprotocol == 'echo'
        assert peer.extensions == [], peer.extensions
        await peer.send('h\u00e9llo')
        assert await peer.recv() == 'h\u00e9llo'
        await peer.send(b'\x00\xff\x80')
        assert await peer.recv() == b'\x00\xff\x80'
        await peer.send('x' * (1 << 20))
        assert await peer.recv() == 'x' * (1 << 20)
        await peer.send(['frag', '', 'ments'])
        assert await peer.recv() == 'fragments'
        await (await peer.ping(b'between'))
        await peer.send('ping')
        assert await peer.recv() == 'ponged'
        await peer.send('close')
        try:
            await peer.recv()
            assert False
        except websockets.ConnectionClosedError:
            assert (peer.close_code, peer.close_reason) == (4001, 'why not')
    async with websockets.connect(url, **kept) as peer:
        await peer.close(4002, 'bye')
        assert peer.close_code == 4002
    async with websockets.connect(url, **kept) as peer:
        await peer.send('x' * ((2 << 20) + 1))
        await peer.wait_closed()
        assert peer.close_code == 1009, peer.close_code
    print('done')

asyncio.run(main())
)";

WEIR_IO_TEST(WsPeers, NodeAndPythonAsClients) {
    weir_test::need_node_ws();
    weir_test::need_python_websockets();
    auto body = [](std::uint16_t port) -> task<> {
        const std::string url = "ws://127.0.0.1:" + std::to_string(port) + "/chat";
        auto node = weir::spawn(weir_test::node(node_client, {url}));
        auto python = weir::spawn(weir_test::python(python_client, {url}));
        const weir::command_result& first = co_await node;
        const weir::command_result& second = co_await python;
        EXPECT_EQ(first.out, "done\n") << first.err;
        EXPECT_EQ(second.out, "done\n") << second.err;
    };
    co_await beside_server(body);
}

constexpr const char* node_server_script = R"(
const { WebSocketServer } = require('ws');
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: true,
    handleProtocols: (offered) => 'echo' });
server.on('listening', () => console.log(server.address().port));
server.on('connection', (peer) => {
    peer.on('pong', () => peer.send('ponged'));
    peer.on('message', (data, binary) => {
        const text = data.toString();
        if (text === 'close') {
            peer.close(4001, 'why not');
        } else if (text === 'ping') {
            peer.ping('incoming');
        } else if (text === 'fragments') {
            peer.send('frag', { fin: false });
            peer.send('', { fin: false });
            peer.send('ments', { fin: true });
        } else {
            peer.send(data, { binary });
        }
    });
});
)";

constexpr const char* python_server_script = R"(
import asyncio, websockets

async def echo(peer):
    async for message in peer:
        if message == 'close':
            await peer.close(4001, 'why not')
        elif message == 'ping':
            await (await peer.ping(b'incoming'))
            await peer.send('ponged')
        elif message == 'fragments':
            await peer.send(['frag', '', 'ments'])
        else:
            await peer.send(message)

async def main():
    async with websockets.serve(echo, '127.0.0.1', 0, subprotocols=['echo'], max_size=2 << 20) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()

asyncio.run(main())
)";

WEIR_IO_TEST(WsPeers, NodeAndPythonAsServers) {
    weir_test::need_node_ws();
    weir_test::need_python_websockets();
    const weir_test::node_server node(node_server_script);
    const weir_test::python_server python(python_server_script);
    co_await weir::gather(talk_to(node.url("/", "ws"), {}), talk_to(python.url("/", "ws"), {}));
}

}  // namespace
