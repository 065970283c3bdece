// SPDX-License-Identifier: MIT
// Handshakes that succeed, and the information about the connection; handshakes that fail, and
// their errors.

#include "support.hpp"
#include <support/certificates.hpp>

namespace {

using namespace tls_tests;

WEIR_TEST(TlsHandshake, GivesAStreamOnBothSides) {
    both_streams made = co_await shake_hands();
    EXPECT_EQ(made.client.version(), "TLSv1.3");
    EXPECT_FALSE(made.client.cipher().empty());
    EXPECT_EQ(made.client.cipher(), made.server.cipher());
    EXPECT_EQ(made.client.peer_subject(), "CN=good.example");
    EXPECT_EQ(made.server.peer_subject(), "");
    EXPECT_EQ(made.server.server_name(), "good.example");
    EXPECT_EQ(made.client.alpn(), "");
    EXPECT_FALSE(made.client.was_resumed());

    co_await made.client.write("question");
    std::array<char, 100> buffer;
    const std::size_t asked = co_await made.server.read(buffer);
    EXPECT_EQ(std::string(buffer.data(), asked), "question");
    co_await made.server.write("answer");
    co_await made.server.close_write();
    const std::string answer = co_await read_all(made.client);
    EXPECT_EQ(answer, "answer");
}

WEIR_TEST(TlsHandshake, ChecksHostNamesAndAddresses) {
    const tls::context by_address = identities::serving(ids().address);
    struct attempt {
        bool by_address;
        const char* host;
        bool is_good;
    };
    for (const attempt& each : std::initializer_list<attempt>{
             {false, "good.example", true},
             {false, "GOOD.example.", true},
             {false, "a.wild.example", true},
             {false, "wild.example", false},
             {false, "a.b.wild.example", false},
             {false, "bad.example", false},
             {false, "127.0.0.1", false},
             {true, "127.0.0.1", true},
             {true, "::1", true},
             {true, "[::1]", true},
             {true, "127.0.0.2", false},
             {true, "good.example", false},
         }) {
        const endings how = co_await shake_hands_badly(
            ids().client, each.by_address ? by_address : ids().server, each.host);
        EXPECT_EQ(how.client.empty(), each.is_good) << each.host << ": " << how.client;
        if (!each.is_good) {
            EXPECT_SAYS(how.client, "verification: TLS handshake with ");
            EXPECT_SAYS(how.client, std::string("not for ") + each.host);
            EXPECT_SAYS(how.client, each.by_address ? "127.0.0.1, ::1" : "good.example, *.wild");
            EXPECT_SAYS(how.client, "certificate verify failed");
        }
    }
    const endings unchecked = co_await shake_hands_badly(ids().client, ids().server, "bad.example",
                                                         {.check_host = false});
    EXPECT_EQ(unchecked.client, "");
}

WEIR_TEST(TlsHandshake, NamesWhatIsWrongWithACertificate) {
    struct attempt {
        const tls::certificate* with;
        const char* said;
        const char* heard;
    };
    for (const attempt& each : std::initializer_list<attempt>{
             {&ids().expired, "certificate has expired (certificate verify failed)", "expired"},
             {&ids().future, "certificate is not yet valid", ""},
             {&ids().self_signed, "self-signed certificate", "unknown CA"},
             {&ids().unknown, "unknown authority 'CN=Nobody We Know'", "unknown CA"},
         }) {
        const endings how =
            co_await shake_hands_badly(ids().client, identities::serving(*each.with));
        EXPECT_SAYS(how.client, "verification: TLS handshake with good.example: ");
        EXPECT_SAYS(how.client, each.said);
        // The server learns it too.
        EXPECT_SAYS(how.server, "verification: TLS handshake with a client: the peer refused");
        EXPECT_SAYS(how.server, each.heard);
    }
    // The system's authorities do not know ours.
    const endings by_system = co_await shake_hands_badly(tls::context::client(), ids().server);
    EXPECT_SAYS(by_system.client, "unknown authority 'CN=Weir Test Authority'");
    const tls::context careless = tls::context::client({.verify = false});
    const endings any = co_await shake_hands_badly(careless, identities::serving(ids().expired));
    EXPECT_EQ(any.client, "");
}

// A common name is a text for people.
WEIR_TEST(TlsHandshake, RefusesCertificatesWithoutNames) {
    const tls::certificate old = weir_test::certificate_with({.name = "good.example"});
    const tls::context client =
        tls::context::client({.ca_pem = old.certificate_pem, .cached_sessions = 0});
    const endings how = co_await shake_hands_badly(client, identities::serving(old));
    EXPECT_SAYS(how.client, "verification: TLS handshake with good.example: ");
    const endings unchecked = co_await shake_hands_badly(client, identities::serving(old),
                                                         "good.example", {.check_host = false});
    EXPECT_EQ(unchecked.client, "");
}

WEIR_TEST(TlsHandshake, AgreesOnAVersionOrSaysThatThereIsNone) {
    const tls::context old_client = tls::context::client(
        {.max_version = tls::version::tls12, .ca_pem = ids().authority.certificate_pem()});
    both_streams made = co_await shake_hands(old_client, ids().server, connected(), "good.example");
    EXPECT_EQ(made.client.version(), "TLSv1.2");

    const tls::context new_server =
        tls::context::server({.min_version = tls::version::tls13,
                              .certificate_pem = ids().good.certificate_pem,
                              .key_pem = ids().good.key_pem});
    const endings none = co_await shake_hands_badly(old_client, new_server);
    EXPECT_SAYS(none.client, "version: TLS handshake with good.example: ");
    EXPECT_SAYS(none.server, "version: TLS handshake with a client: no protocol version in common");
}

WEIR_TEST(TlsHandshake, AgreesOnAnApplicationProtocol) {
    const auto client = [](std::string_view alpn) {
        return tls::context::client({.ca_pem = ids().authority.certificate_pem(), .alpn = alpn});
    };
    const tls::context server = tls::context::server({.certificate_pem = ids().good.certificate_pem,
                                                      .key_pem = ids().good.key_pem,
                                                      .alpn = "h2,http/1.1"});
    both_streams both = co_await shake_hands(client("http/1.1,h2"), server, connected());
    EXPECT_EQ(both.client.alpn(), "h2");  // the server's preference
    EXPECT_EQ(both.server.alpn(), "h2");
    both_streams none = co_await shake_hands(ids().client, server, connected());
    EXPECT_EQ(none.client.alpn(), "");
    both_streams deaf = co_await shake_hands(client("h2"), ids().server, connected());
    EXPECT_EQ(deaf.client.alpn(), "");
    const endings other = co_await shake_hands_badly(client("smtp"), server);
    EXPECT_SAYS(other.client, "alpn: TLS handshake with good.example: no application protocol");
    EXPECT_SAYS(other.server, "alpn: TLS handshake with a client: no application protocol");
}

WEIR_TEST(TlsHandshake, ChoosesTheCertificateByHost) {
    const tls::certificate second = ids().authority.issue({.names = "second.example"});
    const tls::context second_server = identities::serving(second);
    std::vector<std::string> asked;
    const tls::context server = tls::context::server(
        {.certificate_pem = ids().good.certificate_pem, .key_pem = ids().good.key_pem},
        [&](std::string_view host) -> std::optional<tls::context> {
            asked.emplace_back(host);
            if (host == "second.example") {
                return second_server;
            }
            if (host == "broken.example") {
                throw std::runtime_error("no such host here");
            }
            if (host == "client.example") {
                return ids().client;
            }
            return std::nullopt;
        });
    const endings first = co_await shake_hands_badly(ids().client, server, "good.example");
    EXPECT_EQ(first.client, "");
    both_streams made = co_await shake_hands(ids().client, server, connected(), "second.example");
    EXPECT_EQ(made.client.peer_subject(), "CN=second.example");
    const endings broken = co_await shake_hands_badly(ids().client, server, "broken.example");
    EXPECT_EQ(broken.server, "no such host here");
    EXPECT_SAYS(broken.client,
                "handshake: TLS handshake with broken.example: the peer sent an alert");
    const endings wrong = co_await shake_hands_badly(ids().client, server, "client.example");
    EXPECT_SAYS(wrong.server, "the context chosen for host 'client.example' is one for clients");
    EXPECT_EQ(asked, (std::vector<std::string>{"good.example", "second.example", "broken.example",
                                               "client.example"}));
}

WEIR_TEST(TlsHandshake, AsksForClientCertificates) {
    const auto server = [](tls::client_certificates which) {
        return tls::context::server({.certificate_pem = ids().good.certificate_pem,
                                     .key_pem = ids().good.key_pem,
                                     .client_certificates = which,
                                     .ca_pem = ids().authority.certificate_pem()});
    };
    const auto client = [](const tls::certificate& with) {
        return tls::context::client({.ca_pem = ids().authority.certificate_pem(),
                                     .certificate_pem = with.certificate_pem,
                                     .key_pem = with.key_pem});
    };
    both_streams known = co_await shake_hands(
        client(ids().user), server(tls::client_certificates::required), connected());
    EXPECT_EQ(known.server.peer_subject(), "CN=alice");
    both_streams without =
        co_await shake_hands(ids().client, server(tls::client_certificates::accepted), connected());
    EXPECT_EQ(without.server.peer_subject(), "");

    const endings none =
        co_await shake_hands_badly(ids().client, server(tls::client_certificates::required));
    EXPECT_SAYS(none.server, "verification: TLS handshake with a client: the client sent no");
    const endings unknown = co_await shake_hands_badly(client(ids().unknown),
                                                       server(tls::client_certificates::accepted));
    EXPECT_SAYS(unknown.server, "unknown authority 'CN=Nobody We Know'");

    // In TLS 1.3 the client has finished before the server has seen its certificate: the next read
    // reports the refusal.
    two_ends ends = connected();
    auto accepted = weir::spawn(
        tls::accept(std::move(ends.server), server(tls::client_certificates::required)));
    secure_stream early =
        co_await tls::connect(std::move(ends.client), ids().client, "good.example");
    WEIR_EXPECT_THROW_WITH(read_all(early), tls_error,
                           "TLS connection with good.example: the peer refused our certificate");
    WEIR_EXPECT_THROW(std::move(accepted), tls_error);
}

WEIR_TEST(TlsHandshake, HasATimeLimit) {
    for (const bool is_client : {true, false}) {
        two_ends ends = connected();
        const auto begin = weir::now();
        if (is_client) {
            WEIR_EXPECT_THROW_WITH(
                tls::connect(std::move(ends.client), ids().client, "good.example"), weir::timed_out,
                "TLS handshake with good.example: not done");
        } else {
            WEIR_EXPECT_THROW_WITH(
                tls::accept(std::move(ends.server), ids().server, {.handshake_timeout = 10s}),
                weir::timed_out, "TLS handshake with a client: not done");
        }
        EXPECT_EQ(weir::now() - begin, 10s);
    }
    // The caller's own limit is the caller's.
    two_ends ends = connected();
    const auto begin = weir::now();
    WEIR_EXPECT_THROW_WITH(
        weir::timeout(1s, tls::connect(std::move(ends.client), ids().client, "good.example",
                                       {.handshake_timeout = weir::clock::duration::max()})),
        weir::timed_out, "timed out");
    EXPECT_EQ(weir::now() - begin, 1s);
}

// The first bytes of peers that speak another protocol, and the errors that name it.
WEIR_TEST(TlsHandshake, NamesPeersThatDoNotSpeakTls) {
    struct attempt {
        const char* sent;
        const char* said;
    };
    for (const attempt& each : std::initializer_list<attempt>{
             {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
              "not_tls: TLS handshake with a client: the peer "
              "speaks plain HTTP, not TLS: it sent 'GET / HT"},
             {"SSH-2.0-OpenSSH_9.2\r\n", "the peer does not speak TLS: it sent 'SSH-2.0"},
             {"\x01\x02\x03\x04\x05\x06\x07", "the peer does not speak TLS: it sent '.......'"},
             {"x", "not_tls"},
             {"", "handshake: TLS handshake with a client: the peer closed the connection"},
         }) {
        two_ends ends = connected();
        co_await ends.client.write(each.sent);
        co_await ends.client.close_write();
        const auto how = co_await weir::settle(tls::accept(std::move(ends.server), ids().server));
        EXPECT_SAYS(text_of_outcome(how), each.said);
    }
    two_ends ends = connected();
    co_await ends.server.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    const auto how =
        co_await weir::settle(tls::connect(std::move(ends.client), ids().client, "good.example"));
    EXPECT_SAYS(text_of_outcome(how),
                "not_tls: TLS handshake with good.example: the peer speaks plain HTTP, not TLS: it "
                "sent 'HTTP/1.1 400 Bad");
}

WEIR_TEST(TlsHandshake, RefusesHostsAndOptionsThatMakeNoSense) {
    for (const std::string& host :
         {std::string(), std::string("."), std::string("a b"), std::string("a\0b", 3),
          std::string("h\xc3\xa9"), std::string(300, 'a')}) {
        two_ends ends = connected();
        WEIR_EXPECT_THROW_WITH(tls::connect(std::move(ends.client), ids().client, host),
                               weir::invalid_argument, "is no host");
    }
    two_ends ends = connected();
    WEIR_EXPECT_THROW_WITH(tls::connect(std::move(ends.client), ids().server, "good.example"),
                           weir::invalid_argument, "the context is one for servers");
    WEIR_EXPECT_THROW_WITH(tls::accept(std::move(ends.server), ids().client),
                           weir::invalid_argument, "the context is one for clients");
    two_ends more = connected();
    WEIR_EXPECT_THROW_WITH(
        tls::accept(std::move(more.server), ids().server, {.handshake_timeout = 0s}),
        weir::invalid_argument, "handshake_timeout");
}

}  // namespace
