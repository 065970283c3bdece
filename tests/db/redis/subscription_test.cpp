// SPDX-License-Identifier: MIT
// Subscriptions against a real Redis: what is published, losses, silence, slow readers, stops. And
// TLS.

#include <support/peers/redis.hpp>

#include <weir/db/redis/client.hpp>
#include <weir/group.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>
#include <weir/weir.hpp>

#include <csignal>

namespace {

using namespace std::chrono_literals;
using weir::task;
namespace redis = weir::redis;
namespace tls = weir::tls;
using redis_test::redis_server;
using redis_test::shared_server;

redis::message message_of(std::string channel, std::string pattern, std::string payload) {
    return {std::move(channel), std::move(pattern), std::move(payload), false};
}

// Publishes until a subscriber receives it: a subscription becomes active some time after the
// request.
task<> publish_until_heard(redis::client& store, std::string channel, std::string payload) {
    for (;;) {
        const redis::value heard = co_await store.command("PUBLISH", channel, payload);
        if (heard.number() > 0) {
            co_return;
        }
        co_await weir::sleep(2ms);
    }
}

WEIR_IO_TEST(RedisSubscription, BringsWhatIsPublished) {
    redis::client store({.port = shared_server().port()});
    auto news = store.subscribe({"orders", "bills"}, {"orders.*"});
    const std::string odd("\r\n*3\0\xff", 7);
    auto publishes = [&]() -> task<> {
        co_await publish_until_heard(store, "bills", "first");
        co_await store.command("PUBLISH", "nobody", "x");
        co_await store.command("PUBLISH", "orders", odd);
        co_await store.command("PUBLISH", "orders.new", "");
        for (int i = 0; i < 2000; ++i) {
            co_await store.command("PUBLISH", "orders", i);
        }
    };
    auto publishing = weir::spawn(publishes());
    const auto first = co_await news.next();
    EXPECT_EQ(first, message_of("bills", "", "first"));
    const auto second = co_await news.next();
    EXPECT_EQ(second, message_of("orders", "", odd));
    const auto third = co_await news.next();
    EXPECT_EQ(third, message_of("orders.new", "orders.*", ""));
    for (int i = 0; i < 2000; ++i) {
        const auto each = co_await news.next();
        WEIR_ASSERT_EQ(each, message_of("orders", "", std::to_string(i)));
    }
    co_await publishing;
    EXPECT_THROW((void)store.subscribe({}), weir::invalid_argument);
}

// Connection lost, server silent, or server restarted: reported once, then the subscription
// continues.
WEIR_IO_TEST(RedisSubscription, TellsThatItMayHaveMissedSome) {
    redis_server server;
    weir::testing::fault_proxy proxy(weir::io::address::loopback(server.port()));
    redis::client direct({.port = server.port()});
    redis::client through(
        {.port = proxy.address().port(), .response_timeout = 60ms, .reconnect_delay = 1ms});
    auto news = through.subscribe({"a"});
    const auto hears = [&](std::string payload) -> task<> {
        // On a machine so slow that a PING was late, what was said may be lost, and is said again.
        for (bool is_heard = false; !is_heard;) {
            auto publishing = weir::spawn(publish_until_heard(direct, "a", payload));
            const auto heard = co_await news.next();
            WEIR_ASSERT_TRUE(heard.has_value());
            co_await publishing;
            is_heard = *heard == message_of("a", "", payload);
        }
    };
    const auto misses = [&]() -> task<> {
        auto missed = co_await news.next();
        while (missed.has_value() && !missed->missed) {  // said twice
            missed = co_await news.next();
        }
        WEIR_ASSERT_TRUE(missed.has_value());
        EXPECT_EQ(missed->channel, "");
    };
    co_await hears("one");
    proxy.reset_all();
    co_await misses();
    co_await hears("two");
    // Nothing passes and no error is reported: only the silence shows it.
    proxy.set({.half_open = true});
    auto waits = weir::spawn(misses());
    co_await weir::sleep(150ms);
    proxy.set({});
    co_await waits;
    co_await hears("three");
    // Silence alone is no loss: PING is answered.
    redis::client patient({.port = server.port(), .response_timeout = 250ms});
    auto quiet = patient.subscribe({"quiet"});
    weir::cancel_scope scope(800ms);
    auto listens = [&]() -> task<> { (void)co_await quiet.next(); };
    const bool came = co_await scope.run(listens());
    EXPECT_FALSE(came);
    server.stop();
    auto restarts = [&]() -> task<> {
        co_await weir::sleep(20ms);
        server.start();
    };
    auto restarting = weir::spawn(restarts());
    co_await misses();
    co_await restarting;
    co_await hears("four");
    co_await proxy.close();
}

// With a slow reader the messages wait elsewhere, until Redis closes the connection: in order and
// without a gap up to then, and the gap is reported.
WEIR_IO_TEST(RedisSubscription, ASlowReaderKeepsNothing) {
    redis_server server({"--client-output-buffer-limit", "pubsub 1mb 1mb 0"});
    redis::client store({.port = server.port(), .reconnect_delay = 1ms});
    auto news = store.subscribe({"a"});
    auto first = weir::spawn(publish_until_heard(store, "a", "-1"));
    (void)co_await news.next();
    co_await first;
    const std::string filler(10'000, 'x');
    int published = 0;
    for (bool is_heard = true; is_heard; ++published) {
        WEIR_ASSERT_LT(published, 10'000);  // 100 MB
        const redis::value heard =
            co_await store.command("PUBLISH", "a", std::to_string(published) + filler);
        is_heard = heard.number() > 0;
    }
    int read = 0;
    for (;; ++read) {
        const auto each = co_await news.next();
        WEIR_ASSERT_TRUE(each.has_value());
        if (each->missed) {
            break;
        }
        WEIR_ASSERT_EQ(each->payload, std::to_string(read) + filler);
    }
    EXPECT_LT(read, published);
    auto last = weir::spawn(publish_until_heard(store, "a", "last"));
    const auto after = co_await news.next();
    EXPECT_EQ(after, message_of("a", "", "last"));
    co_await last;
}

WEIR_IO_TEST(RedisSubscription, ErrorsAndStops) {
    redis_server server;
    redis::client store({.port = server.port()});
    co_await store.command("ACL", "SETUSER", "deaf", "on", ">pw", "~*", "+@all", "resetchannels");
    redis::client deaf({.port = server.port(), .user = "deaf", .password = "pw"});
    auto refused = deaf.subscribe({"a"});
    auto listens = [](weir::generator<redis::message>& to) -> task<> { (void)co_await to.next(); };
    try {
        co_await listens(refused);
        ADD_FAILURE() << "it has no right to";
    } catch (const redis::reply_error& error) {
        EXPECT_EQ(error.kind(), "NOPERM");
    }
    // At every moment of it.
    for (int i = 0; i < 30; ++i) {
        auto news = store.subscribe({"a"}, {"b*"});
        weir::cancel_scope scope(std::chrono::microseconds(i * 50));
        const bool came = co_await scope.run(listens(news));
        EXPECT_FALSE(came);
    }
    // Dropped half-way, and never begun.
    {
        auto news = store.subscribe({"a"});
        auto unused = store.subscribe({"b"});
        auto publishing = weir::spawn(publish_until_heard(store, "a", "x"));
        (void)co_await news.next();
        co_await publishing;
    }
    server.stop();
    auto nobody = store.subscribe({"a"});
    const auto failed = co_await weir::settle(listens(nobody));
    EXPECT_TRUE(failed.has_error());
    // What is no Redis: the first connection fails, and says so.
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    auto answers = [&]() -> task<> {
        weir::io::socket peer = co_await listener.accept();
        char buffer[100];
        co_await peer.read(buffer);
        co_await peer.write(std::string_view(":1\r\n"));
        co_await peer.read(buffer);
    };
    auto answering = weir::spawn(answers());
    redis::client wrong({.port = listener.local_address().port()});
    auto odd = wrong.subscribe({"a"});
    const auto no_redis = co_await weir::settle(listens(odd));
    EXPECT_TRUE(no_redis.has_error());
    answering.cancel();
    (void)co_await weir::settle(answering.wait());
}

// ---- TLS

WEIR_IO_TEST(RedisTls, ServerAndClientAreChecked) {
    const tls::certificate_authority authority("Weir Test Authority");
    const tls::certificate_authority stranger("Nobody We Know");
    weir_test::temporary_folder folder;
    const auto serves = [&](const std::string& names) {
        const tls::certificate site = authority.issue({.names = names});
        return std::vector<std::string>{
            "--tls-cert-file",    folder.write("site.pem", site.certificate_pem).string(),
            "--tls-key-file",     folder.write("site.key", site.key_pem).string(),
            "--tls-ca-cert-file", folder.write("ca.pem", authority.certificate_pem()).string(),
            "--tls-auth-clients", "optional"};
    };
    redis_server server(serves("127.0.0.1,localhost"), true);
    redis_server other(serves("other.example"), true);
    const auto trusts = tls::context::client({.ca_pem = authority.certificate_pem()});
    const auto doubts = tls::context::client({.ca_pem = stranger.certificate_pem()});

    redis::client store({.port = server.port(), .tls = &trusts});
    const std::string large(1'000'000, 'x');
    co_await store.set("large", large);
    const auto same = co_await store.get("large");
    EXPECT_EQ(same, large);
    redis::client by_name({.host = "localhost", .port = server.port(), .tls = &trusts});
    co_await by_name.command("PING");
    auto news = store.subscribe({"a"});
    auto publishing = weir::spawn(publish_until_heard(store, "a", "secret"));
    const auto heard = co_await news.next();
    EXPECT_EQ(heard, message_of("a", "", "secret"));
    co_await publishing;

    const auto refuses = [](redis::client& store, std::string why) -> task<> {
        try {
            co_await store.command("PING");
            ADD_FAILURE() << "not " << why;
        } catch (const redis::connection_error& error) {
            EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
        }
    };
    redis::client wrong_authority({.port = server.port(), .tls = &doubts});
    co_await refuses(wrong_authority, "certificate");
    redis::client wrong_name({.port = other.port(), .tls = &trusts});
    co_await refuses(wrong_name, "127.0.0.1");
    redis::client plain({.port = server.port(), .response_timeout = 500ms});
    const auto unread = co_await weir::settle(plain.command("PING"));
    EXPECT_TRUE(unread.has_error());
    redis::client too_much(
        {.port = shared_server().port(), .tls = &trusts, .connect_timeout = 300ms});
    co_await refuses(too_much, "redis at 127.0.0.1");

    // A Redis that asks clients for certificates.
    std::vector<std::string> strict = serves("127.0.0.1");
    strict.back() = "yes";
    redis_server closed(strict, true);
    redis::client nameless({.port = closed.port(), .tls = &trusts});
    const auto unknown = co_await weir::settle(nameless.command("PING"));
    EXPECT_TRUE(unknown.has_error());
    const tls::certificate user = authority.issue({.names = "alice"});
    const auto named = tls::context::client({.ca_pem = authority.certificate_pem(),
                                             .certificate_pem = user.certificate_pem,
                                             .key_pem = user.key_pem});
    redis::client alice({.port = closed.port(), .tls = &named});
    co_await alice.command("PING");
}

}  // namespace
