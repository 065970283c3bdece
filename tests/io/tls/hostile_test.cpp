// SPDX-License-Identifier: MIT
// Peers that send garbage, change bytes on the way, drip, flood, or use the corners of the
// protocol. In every case both ends finish, with an error or with exactly the data that was sent.
// Simulated time detects endless waits, and the address sanitizer leaks.

#include "raw_peer.hpp"
#include "support.hpp"

namespace {

using namespace tls_tests;

std::string noise(std::mt19937& random, std::size_t size) {
    std::string made(size, '\0');
    for (char& each : made) {
        each = static_cast<char>(random());
    }
    return made;
}

// Random bytes, some of which begin as a record or a handshake message does.
std::string garbage(std::mt19937& random) {
    std::string text = noise(random, random() % 400);
    if (text.size() > 12 && random() % 3 != 0) {
        const char header[] = {static_cast<char>(20 + random() % 5), 3,
                               static_cast<char>(random() % 5), static_cast<char>(random() % 3),
                               static_cast<char>(random())};
        text.replace(0, sizeof header, header, sizeof header);
        text[5] = static_cast<char>(random() % 25);  // the kind of message
        text[6] = static_cast<char>(random() % 2);
    }
    return text;
}

WEIR_TEST(TlsHostile, GarbageIsAnError) {
    weir::testing::once_is_enough();
    std::mt19937 random(4711);
    for (int i = 0; i < 3000; ++i) {
        two_ends ends = connected();
        const bool is_client = i % 2 == 0;
        memory_stream attacker(std::move(is_client ? ends.server : ends.client));
        for (auto count = random() % 3; count > 0; --count) {
            const std::string text = garbage(random);
            co_await attacker.write(io::const_bytes(text));
        }
        if (random() % 2 == 0) {
            co_await attacker.close_write();
        }
        if (is_client) {
            WEIR_EXPECT_THROW(tls::connect(std::move(ends.client), ids().client, "good.example"),
                              std::runtime_error);
        } else {
            WEIR_EXPECT_THROW(tls::accept(std::move(ends.server), ids().server),
                              std::runtime_error);
        }
    }
}

// Changes one thing in one of the writes from now on.
std::function<void(std::string&)> tampering(std::mt19937& random) {
    auto left = std::make_shared<int>(static_cast<int>(random() % 4));
    const auto how = random() % 6;
    const auto place = random();
    const auto value = random();
    return [=](std::string& text) {
        if ((*left)-- != 0 || text.empty()) {
            return;
        }
        const std::size_t at = place % text.size();
        switch (how) {
            case 0:
                text[at] = static_cast<char>(text[at] ^ (1 << value % 8));
                break;
            case 1:
                text.erase(at, 1 + value % 20);
                break;
            case 2:
                text.insert(at, 1 + value % 20, static_cast<char>(value));
                break;
            case 3:
                text.erase(at);
                break;
            case 4:
                text += text;
                break;
            default:
                text[at % std::min<std::size_t>(text.size(), 12)] = static_cast<char>(value);
        }
    };
}

// A conversation over a transport that is tampered with, in one direction.
task<> converse(tls::context client, tls::context server, two_ends ends, int& clean) {
    const std::string text(3000, 'x');
    auto talk = [&text](auto connecting) -> task<std::string> {
        secure_stream peer = co_await std::move(connecting);
        co_await peer.write(text);
        co_await peer.close_write();
        co_return co_await read_all(peer);
    };
    auto far = weir::spawn(talk, tls::accept(std::move(ends.server), server));
    auto near = weir::spawn(talk, tls::connect(std::move(ends.client), client, "good.example"));
    int succeeded = 0;
    for (auto* side : {&near, &far}) {
        const auto how = co_await weir::settle(std::move(*side));
        if (how.has_value()) {
            EXPECT_EQ(how.value(), text);
            ++succeeded;
        } else {
            EXPECT_FALSE(how.is_cancelled());
        }
    }
    clean += succeeded == 2 ? 1 : 0;
}

WEIR_TEST(TlsHostile, TamperingIsNoticed) {
    weir::testing::once_is_enough();
    std::mt19937 random(815);
    const tls::context clients[] = {
        ids().client,
        tls::context::client(
            {.max_version = tls::version::tls12, .ca_pem = ids().authority.certificate_pem()}),
    };
    int clean = 0;
    constexpr int rounds = 700;
    for (int i = 0; i < rounds; ++i) {
        manner of_client;
        manner of_server;
        (random() % 2 == 0 ? of_client : of_server).alter = tampering(random);
        co_await converse(clients[i % 2], ids().server, connected(of_client, of_server), clean);
    }
    // Few changes go unnoticed: those that came after the last write, and some in plain headers.
    EXPECT_LT(clean, rounds / 3);
}

WEIR_TEST(TlsHostile, ADripIsCutOff) {
    two_ends ends = connected();
    raw_peer peer(std::move(ends.client), false, TLS1_3_VERSION);
    peer.begin();
    SSL_do_handshake(peer.ssl());
    const std::string hello = peer.output();
    auto drip = [&]() -> task<> {
        for (const char each : hello) {
            co_await peer.transport().write(io::const_bytes(std::string_view(&each, 1)));
            co_await weir::sleep(1s);
        }
    };
    auto dripping = weir::spawn(drip);
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(tls::accept(std::move(ends.server), ids().server), weir::timed_out);
    EXPECT_EQ(weir::now() - begin, 10s);
    dripping.cancel();
    const auto how = co_await weir::settle(std::move(dripping));
    EXPECT_FALSE(how.has_value());
}

// Records without end, of kinds that lead nowhere.
WEIR_TEST(TlsHostile, FloodsAreCutOff) {
    using namespace std::string_literals;
    const std::string records[] = {
        "\x14\x03\x03\x00\x01\x01"s,              // change cipher spec
        "\x15\x03\x03\x00\x02\x01\x5a"s,          // a warning
        "\x16\x03\x03\x00\x04\x00\x00\x00\x00"s,  // hello request
        "\x16\x03\x03\x00\x00"s,                  // an empty record
        "\x17\x03\x03\x00\x01x"s,                 // data
        // A hello of 16 MiB, a kilobyte at a time.
        "\x16\x03\x03\x04\x00\x01\xff\xff\xff"s + std::string(1020, 'x'),
        "\x16\x03\x03\x04\x00\x02\xff\xff\xff"s + std::string(1020, 'x'),
        "\x16\x03\x03\x04\x00\x0b\x00\xff\xff"s + std::string(1020, 'x'),
    };
    for (const std::string& record : records) {
        for (const bool is_client : {true, false}) {
            two_ends ends = connected({.capacity = 64'000}, {.capacity = 64'000});
            memory_stream attacker(std::move(is_client ? ends.server : ends.client));
            std::size_t sent = 0;
            auto flood = [&]() -> task<> {
                for (;;) {
                    co_await attacker.write(io::const_bytes(record));
                    sent += record.size();
                }
            };
            auto flooding = weir::spawn(flood);
            if (is_client) {
                WEIR_EXPECT_THROW(
                    tls::connect(std::move(ends.client), ids().client, "good.example"), tls_error);
            } else {
                WEIR_EXPECT_THROW(tls::accept(std::move(ends.server), ids().server), tls_error);
            }
            WEIR_EXPECT_THROW(flooding, weir::io_error);
            EXPECT_LT(sent, 512u * 1024);
        }
    }
}

// ---- corners of the protocol

// Key updates that request an answer: it arrives, for any number of them.
WEIR_TEST(TlsHostile, AnswersKeyUpdates) {
    two_ends ends = connected();
    raw_peer peer(std::move(ends.server), true, TLS1_3_VERSION);
    auto shaking = weir::spawn(peer.handshake());
    secure_stream client =
        co_await tls::connect(std::move(ends.client), ids().client, "good.example");
    co_await shaking;
    for (int i = 0; i < 500; ++i) {
        EXPECT_EQ(SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
        EXPECT_EQ(SSL_do_handshake(peer.ssl()), 1);
    }
    co_await peer.write("hello");
    std::array<char, 100> buffer;
    const std::size_t count = co_await client.read(buffer);
    EXPECT_EQ(std::string(buffer.data(), count), "hello");
    co_await client.write("answer");
    const std::string answer = co_await peer.read(6);
    EXPECT_EQ(answer, "answer");
    co_await peer.write("again");
    const std::size_t more = co_await client.read(buffer);
    EXPECT_EQ(std::string(buffer.data(), more), "again");
}

// The renegotiation request of a TLS 1.2 peer is refused, even when no task writes.
WEIR_TEST(TlsHostile, RefusesToRenegotiate) {
    for (const bool answers_are_read : {true, false}) {
        two_ends ends = connected({}, {.capacity = answers_are_read ? 1'000'000u : 1000u});
        raw_peer peer(std::move(ends.client), false, TLS1_2_VERSION);
        auto shaking = weir::spawn(peer.handshake());
        auto accepting = weir::spawn(tls::accept(std::move(ends.server), ids().server));
        co_await shaking;
        co_await peer.send();
        secure_stream server = co_await std::move(accepting);
        const std::string large(answers_are_read ? 0 : 10'000, 'x');
        auto writing = weir::spawn(server.write(large));  // it is stuck, if no task reads
        auto reading = weir::spawn(read_all(server));

        // Hellos of a client that does not wait for answers.
        (void)SSL_renegotiate(peer.ssl());
        SSL_do_handshake(peer.ssl());
        const std::string hello = peer.output();
        EXPECT_FALSE(hello.empty());
        co_await peer.transport().write(io::const_bytes(hello));
        co_await weir::testing::settle_all();
        if (answers_are_read) {
            const bool came = co_await peer.receive();
            EXPECT_TRUE(came);
            EXPECT_NE(SSL_do_handshake(peer.ssl()), 1);
            co_await peer.send();
        }
        peer.transport().close();
        const auto how = co_await weir::settle(std::move(reading));
        EXPECT_FALSE(how.has_value());
        const auto written = co_await weir::settle(std::move(writing));
        EXPECT_EQ(written.has_value(), answers_are_read);
    }
}

// A write was stopped in the middle of a record: an answer after it would be invalid for the peer,
// which would end a connection that is still readable.
WEIR_TEST(TlsHostile, AnswersNothingBehindHalfARecord) {
    constexpr std::size_t capacity = 1000;
    two_ends ends = connected({}, {.capacity = capacity});
    raw_peer peer(std::move(ends.client), false, TLS1_2_VERSION);
    auto shaking = weir::spawn(peer.handshake());
    auto accepting = weir::spawn(tls::accept(std::move(ends.server), ids().server));
    co_await shaking;
    co_await peer.send();
    secure_stream server = co_await std::move(accepting);
    const std::string large(5000, 'x');
    WEIR_EXPECT_THROW(weir::timeout(1ms, server.write(large)), weir::timed_out);

    auto reading = weir::spawn(read_all(server));
    (void)SSL_renegotiate(peer.ssl());
    SSL_do_handshake(peer.ssl());
    co_await peer.send();
    co_await weir::testing::settle_all();
    std::string arrived(2 * capacity, '\0');
    const std::size_t half_a_record = co_await peer.transport().read(arrived);
    EXPECT_EQ(half_a_record, capacity);
    WEIR_EXPECT_THROW(weir::timeout(100ms, peer.transport().read(arrived)), weir::timed_out);
    server.close();
    WEIR_EXPECT_THROW(reading, weir::io_error);
}

// A session of a host that requires no certificates is not valid for one that does, and each host
// has its own rules.
WEIR_TEST(TlsHostile, SessionsDoNotCarryOverToOtherHosts) {
    const tls::certificate second = ids().authority.issue({.names = "second.example"});
    const tls::context strict =
        tls::context::server({.certificate_pem = second.certificate_pem,
                              .key_pem = second.key_pem,
                              .alpn = "second",
                              .client_certificates = tls::client_certificates::required,
                              .ca_pem = ids().authority.certificate_pem()});
    const tls::context server = tls::context::server(
        {.certificate_pem = ids().good.certificate_pem, .key_pem = ids().good.key_pem},
        [&](std::string_view host) -> std::optional<tls::context> {
            return host == "second.example" ? std::optional(strict) : std::nullopt;
        });
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        SSL_SESSION* session = nullptr;
        for (const std::string& host : {std::string("good.example"), std::string("good.example"),
                                        std::string("second.example")}) {
            two_ends ends = connected();
            raw_peer peer(std::move(ends.client), false, version);
            peer.host = host;
            peer.session = session;
            auto shake = [&]() -> task<> {
                co_await peer.handshake();
                co_await peer.send();
                (void)co_await peer.read(2);  // tickets come before
            };
            auto shaking = weir::spawn(shake);
            auto accepted = co_await weir::settle(tls::accept(std::move(ends.server), server));
            if (host == "second.example") {
                EXPECT_SAYS(text_of_outcome(accepted), "the client sent no certificate");
            } else {
                secure_stream made = std::move(accepted).value();
                EXPECT_EQ(made.was_resumed(), session != nullptr);
                co_await made.write("ok");
            }
            (void)co_await weir::settle(std::move(shaking));
            if (session == nullptr) {
                session = SSL_get1_session(peer.ssl());
            }
        }
        SSL_SESSION_free(session);
    }
    const tls::context known = tls::context::client({.ca_pem = ids().authority.certificate_pem(),
                                                     .certificate_pem = ids().user.certificate_pem,
                                                     .key_pem = ids().user.key_pem,
                                                     .alpn = "second"});
    both_streams made = co_await shake_hands(known, server, connected(), "second.example");
    EXPECT_EQ(made.client.alpn(), "second");
    EXPECT_EQ(made.server.peer_subject(), "CN=alice");
}

// A ticket in several records, of which one has come: OpenSSL writes nothing before the rest. The
// writer waits for the reader's input, or reads the transport itself.
WEIR_TEST(TlsHostile, WritesInTheMiddleOfATicket) {
    const tls::context client_context =
        tls::context::client({.ca_pem = ids().authority.certificate_pem(),
                              .certificate_pem = ids().user.certificate_pem,
                              .key_pem = ids().user.key_pem});
    for (const bool has_reader : {true, false}) {
        for (const bool closes : {true, false}) {
            two_ends ends = connected();
            raw_peer peer(std::move(ends.server), true, TLS1_3_VERSION);
            SSL_CTX_set_verify(peer.context(), SSL_VERIFY_PEER,
                               [](int, X509_STORE_CTX*) { return 1; });
            SSL_CTX_set_max_send_fragment(peer.context(), 512);
            auto shaking = weir::spawn(peer.handshake());
            secure_stream client =
                co_await tls::connect(std::move(ends.client), client_context, "good.example");
            co_await shaking;
            const std::string tickets = peer.output();
            WEIR_ASSERT_GT(tickets.size(), 700u);  // with the client's certificate inside

            std::array<char, 100> buffer;
            auto reading = weir::spawn(client.read(buffer));
            const std::size_t first = 5 + 512 + 17;  // one record
            co_await peer.transport().write(io::const_bytes(tickets).first(first));
            co_await weir::testing::settle_all();
            if (!has_reader) {
                reading.cancel();
                WEIR_EXPECT_CANCELLED(reading);
            }
            auto writing =
                closes ? weir::spawn(client.close_write()) : weir::spawn(client.write("now?"));
            co_await weir::testing::settle_all();
            EXPECT_FALSE(writing.done());
            co_await peer.transport().write(io::const_bytes(tickets).after(first));
            co_await writing;
            const std::string text = co_await peer.read(closes ? 0 : 4);
            EXPECT_EQ(text, closes ? "" : "now?");
            co_await peer.write("yes");
            std::size_t count = 0;
            if (has_reader) {
                count = co_await reading;
            } else {
                count = co_await client.read(buffer);
            }
            EXPECT_EQ(std::string(buffer.data(), count), "yes");
        }
    }
    EXPECT_EQ(client_context.kept_sessions(), 1u);
}

}  // namespace
