// SPDX-License-Identifier: MIT
// What a context is made of: options that make no sense, files that cannot be used; and the
// sessions that it keeps.

#include "support.hpp"
#include <support/certificates.hpp>

#include <atomic>
#include <cstdio>
#include <fstream>

namespace {

using namespace tls_tests;

// A file that is gone afterwards.
class scratch_file {
public:
    explicit scratch_file(const std::string& text)
        : path_(::testing::TempDir() + "weir_tls_" + std::to_string(::getpid()) + "_" +
                std::to_string(++count) + ".pem") {
        write(text);
    }
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    ~scratch_file() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }
    void write(const std::string& text) { std::ofstream(path_) << text; }

private:
    static inline int count = 0;
    std::string path_;
};

template <class Error, class Call>
void expect_refusal(Call call, std::initializer_list<std::string> parts) {
    try {
        call();
        ADD_FAILURE() << "not refused; expected " << *parts.begin();
    } catch (const Error& refused) {
        for (const std::string& part : parts) {
            EXPECT_SAYS(std::string(refused.what()), part);
        }
    }
}

TEST(TlsContext, TakesFiles) {
    const tls::certificate& good = ids().good;
    const scratch_file chain(good.certificate_pem + ids().authority.certificate_pem());
    const scratch_file key(good.key_pem);
    const scratch_file both(good.key_pem + good.certificate_pem);
    const scratch_file ca(ids().stranger.certificate_pem() + ids().authority.certificate_pem());
    const tls::context apart =
        tls::context::server({.certificate_file = chain.path(), .key_file = key.path()});
    const tls::context together = tls::context::server({.certificate_file = both.path()});
    const tls::context client = tls::context::client({.ca_file = ca.path()});
    for (const tls::context& server : {apart, together}) {
        weir::testing::run_test([&]() -> task<> {
            const endings how = co_await shake_hands_badly(client, server);
            EXPECT_EQ(how.client + how.server, "");
        });
    }
}

TEST(TlsContext, NamesFileAndCause) {
    const tls::certificate& good = ids().good;
    const scratch_file chain(good.certificate_pem);
    const scratch_file key(good.key_pem);
    const scratch_file other_key(ids().user.key_pem);
    const scratch_file noise("no PEM in here");
    const scratch_file broken("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    const auto serve = [](const std::string& certificate, const std::string& with_key) {
        return [=] {
            (void)tls::context::server({.certificate_file = certificate, .key_file = with_key});
        };
    };
    expect_refusal<weir::io_error>(serve("/nonexistent.pem", key.path()),
                                   {"certificate_file /nonexistent.pem", "No such file"});
    expect_refusal<weir::io_error>(serve(chain.path(), "/nonexistent.key"),
                                   {"key_file /nonexistent.key", "No such file"});
    expect_refusal<weir::io_error>(serve("/", key.path()), {"certificate_file /", "directory"});
    expect_refusal<weir::invalid_argument>(serve(noise.path(), key.path()),
                                           {noise.path(), "no certificate in PEM form"});
    expect_refusal<weir::invalid_argument>(serve(broken.path(), key.path()),
                                           {broken.path(), "cannot be read"});
    expect_refusal<weir::invalid_argument>(serve(chain.path(), chain.path()),
                                           {chain.path(), "no private key in PEM form"});
    expect_refusal<weir::invalid_argument>(
        serve(chain.path(), other_key.path()),
        {"key_file " + other_key.path(), "does not belong to the certificate", chain.path()});

    const auto trust = [](const std::string& file, const std::string& folder) {
        return [=] { (void)tls::context::client({.ca_file = file, .ca_dir = folder}); };
    };
    expect_refusal<weir::io_error>(trust("/nonexistent.pem", ""),
                                   {"ca_file /nonexistent.pem", "No such file"});
    expect_refusal<weir::invalid_argument>(trust(noise.path(), ""),
                                           {"ca_file " + noise.path(), "no certificate"});
    expect_refusal<weir::io_error>(trust("", "/nonexistent"),
                                   {"ca_dir /nonexistent", "No such file"});
    expect_refusal<weir::io_error>(trust("", noise.path()), {"ca_dir", "Not a directory"});
}

TEST(TlsContext, OpensEncryptedKeys) {
    // Made by: openssl ecparam -name prime256v1 -genkey | openssl pkcs8 -topk8 -passout pass:sesame
    const std::string encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAieY0tvomyPwgICCAAw\n"
        "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENuB0MpD/Kd+VRjuvhMuDjoEgZD3\n"
        "Fz9xKQRcB6p3zrt0/u7z41OVoajZACoiNFeIEqwHcHYd8f9xKGk7z41bbQSV0zC9\n"
        "BhKx7pnXCI1NTd8uidg9q1QFSnJBfsOTeyvpCbSbeime91sAaqabVxtXf+hLudID\n"
        "2d0LEy6k3D9ReBJpvBl5Zg/aEh1gDEbvaEJaChkd/ruz9qRx5sZHKmDH9Fufi6I=\n"
        "-----END ENCRYPTED PRIVATE KEY-----\n";
    const auto open = [&](std::string_view password) {
        return [&, password] {
            (void)tls::context::client({.certificate_pem = ids().good.certificate_pem,
                                        .key_pem = encrypted,
                                        .key_password = password});
        };
    };
    expect_refusal<weir::invalid_argument>(open(""), {"key_pem", "the key is encrypted"});
    expect_refusal<weir::invalid_argument>(open("wrong"), {"key_password does not open the key"});
    expect_refusal<weir::invalid_argument>(open("sesame"), {"does not belong"});
}

TEST(TlsContext, RefusesOptionsThatMakeNoSense) {
    const tls::certificate& good = ids().good;
    const auto client = [](tls::client_options options) {
        return [=] { (void)tls::context::client(options); };
    };
    for (const char* names : {",", "h2,", ",h2", "h2,,http/1.1"}) {
        expect_refusal<weir::invalid_argument>(client({.alpn = names}),
                                               {"tls::context::client: alpn", "an empty name"});
    }
    const std::string long_name(256, 'x');
    expect_refusal<weir::invalid_argument>(client({.alpn = long_name}), {"more than 255 bytes"});
    std::string many = "x";
    while (many.size() <= 4096) {
        many += ",x";
    }
    expect_refusal<weir::invalid_argument>(client({.alpn = many}), {"more than 4096 bytes"});
    expect_refusal<weir::invalid_argument>(
        client({.min_version = tls::version::tls13, .max_version = tls::version::tls12}),
        {"min_version is above max_version"});
    expect_refusal<weir::invalid_argument>(client({.key_pem = good.key_pem}),
                                           {"there is a key but no certificate"});
    expect_refusal<weir::invalid_argument>(
        client({.certificate_file = "a.pem", .certificate_pem = good.certificate_pem}),
        {"certificate_file and certificate_pem are both given"});

    const auto server = [](tls::server_options options) {
        return [=] { (void)tls::context::server(options); };
    };
    expect_refusal<weir::invalid_argument>(server({}), {"tls::context::server: no certificate"});
    expect_refusal<weir::invalid_argument>(
        server({.certificate_pem = good.certificate_pem,
                .key_pem = good.key_pem,
                .client_certificates = tls::client_certificates::required}),
        {"whom to trust"});
    expect_refusal<weir::invalid_argument>(server({.certificate_pem = good.certificate_pem,
                                                   .key_pem = good.key_pem,
                                                   .ca_pem = good.certificate_pem}),
                                           {"client_certificates are ignored"});
    for (const char* names : {"", "a,,b", "a b", "a,DNS:b\n"}) {
        expect_refusal<weir::invalid_argument>(
            [&] { (void)tls::make_self_signed({.names = names}); }, {"tls: names '"});
    }
    expect_refusal<weir::invalid_argument>(
        [&] { (void)tls::make_self_signed({.names = "a", .lasts = 0s}); }, {"lasts 0 s"});
}

// A context is used by loops on several threads at once, sessions and all.
TEST(TlsContext, IsSharedByThreads) {
    const tls::context client =
        tls::context::client({.ca_pem = ids().authority.certificate_pem(), .cached_sessions = 2});
    std::vector<std::thread> threads;
    std::atomic<int> resumed = 0;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            weir::loop_options options;
            options.driver = weir::driver_kind::simulated;
            weir::run(
                [](tls::context with, int first, std::atomic<int>& count) -> task<> {
                    for (int n = 0; n < 20; ++n) {
                        const std::string host =
                            std::string(1, static_cast<char>('a' + (first + n) % 3)) +
                            ".wild.example";
                        both_streams made =
                            co_await shake_hands(with, ids().server, connected(), host);
                        co_await made.server.close_write();
                        (void)co_await read_all(made.client);
                        count += made.client.was_resumed() ? 1 : 0;
                    }
                }(client, i, resumed),
                std::move(options));
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    EXPECT_GT(resumed.load(), 0);
    EXPECT_EQ(client.kept_sessions(), 2u);
}

// How one connection went: whether it was resumed; the client reads, since tickets come late.
task<bool> visit(tls::context client, tls::context server, tls::connect_options how = {}) {
    both_streams made = co_await shake_hands(client, server, connected(), "good.example", how);
    co_await made.server.write("hello");
    co_await made.server.close_write();
    const std::string text = co_await read_all(made.client);
    EXPECT_EQ(text, "hello");
    EXPECT_EQ(made.client.peer_subject(), "CN=good.example");
    EXPECT_EQ(made.client.was_resumed(), made.server.was_resumed());
    co_return made.client.was_resumed();
}

WEIR_TEST(TlsContext, ClientsResumeSessions) {
    for (const tls::version version : {tls::version::tls12, tls::version::tls13}) {
        const tls::context client = tls::context::client(
            {.max_version = version, .ca_pem = ids().authority.certificate_pem()});
        EXPECT_EQ(client.kept_sessions(), 0u);
        const bool first = co_await visit(client, ids().server);
        EXPECT_FALSE(first);
        EXPECT_EQ(client.kept_sessions(), 1u);
        for (int i = 0; i < 6; ++i) {
            const bool again = co_await visit(client, ids().server);
            EXPECT_TRUE(again) << i;
        }
        // Another server cannot; a connection whose host is not checked is another matter too.
        const bool elsewhere = co_await visit(client, identities::serving(ids().good));
        EXPECT_FALSE(elsewhere);
        const bool unchecked = co_await visit(client, ids().server, {.check_host = false});
        EXPECT_FALSE(unchecked);
        const bool unwanted = co_await visit(client, ids().server, {.resume = false});
        EXPECT_FALSE(unwanted);
    }
    const tls::context off =
        tls::context::client({.ca_pem = ids().authority.certificate_pem(), .cached_sessions = 0});
    const tls::context refusing =
        tls::context::server({.certificate_pem = ids().good.certificate_pem,
                              .key_pem = ids().good.key_pem,
                              .resumption = false});
    const tls::context eager = tls::context::client({.ca_pem = ids().authority.certificate_pem()});
    for (int i = 0; i < 2; ++i) {
        const bool without_cache = co_await visit(off, ids().server);
        const bool without_server = co_await visit(eager, refusing);
        EXPECT_FALSE(without_cache);
        EXPECT_FALSE(without_server);
    }
    EXPECT_EQ(eager.kept_sessions(), 0u);
}

// The names of the cipher and of the version, or the server's error.
task<std::string> agreed(tls::context client, tls::context server) {
    try {
        both_streams made = co_await shake_hands(client, server, connected(), "good.example");
        std::string text(made.server.cipher());
        EXPECT_EQ(text, made.client.cipher());
        co_return text;
    } catch (const std::exception& error) {
        co_return error.what();
    }
}

// A client that offers these ciphers of TLS 1.2 alone, also those that are not secure any more.
tls::context offering(const std::string& ciphers, const std::string& ca) {
    return tls::context::client({.max_version = tls::version::tls12,
                                 .ciphers = ciphers,
                                 .ca_pem = ca,
                                 .cached_sessions = 0});
}

WEIR_TEST(TlsContext, ServersWantForwardSecrecy) {
    const tls::certificate rsa = weir_test::certificate_with(
        {.name = "good.example", .is_rsa = true, .has_alternative_name = true});
    const tls::context server = identities::serving(rsa);
    for (const char* const secure : {"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384",
                                     "ECDHE-RSA-CHACHA20-POLY1305"}) {
        const std::string got = co_await agreed(offering(secure, rsa.certificate_pem), server);
        EXPECT_EQ(got, secure);
    }
    for (const char* const insecure :
         {"AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "AES128-SHA", "AES256-SHA",
          "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES128-SHA256"}) {
        const std::string got = co_await agreed(offering(insecure, rsa.certificate_pem), server);
        EXPECT_SAYS(got, "handshake failure");
    }
    // Unless the options say so.
    const tls::context lenient = tls::context::server({.ciphers = "AES128-GCM-SHA256",
                                                       .certificate_pem = rsa.certificate_pem,
                                                       .key_pem = rsa.key_pem});
    const std::string got =
        co_await agreed(offering("AES128-GCM-SHA256", rsa.certificate_pem), lenient);
    EXPECT_EQ(got, "AES128-GCM-SHA256");
}

WEIR_TEST(TlsContext, CiphersAndCurvesCanBeChosen) {
    const tls::certificate& good = ids().good;
    const tls::context one = tls::context::server({.tls13_ciphers = "TLS_CHACHA20_POLY1305_SHA256",
                                                   .curves = "P-384",
                                                   .certificate_pem = good.certificate_pem,
                                                   .key_pem = good.key_pem});
    const std::string got = co_await agreed(ids().client, one);
    EXPECT_EQ(got, "TLS_CHACHA20_POLY1305_SHA256");
    const tls::context other = tls::context::client(
        {.curves = "X25519", .ca_pem = ids().authority.certificate_pem(), .cached_sessions = 0});
    const std::string none = co_await agreed(other, one);
    EXPECT_SAYS(none, "handshake failure");
}

TEST(TlsContext, RefusesAlgorithmsThatAreUnknown) {
    const tls::certificate& good = ids().good;
    const auto made = [&](std::string_view ciphers, std::string_view tls13,
                          std::string_view curves) {
        tls::context::server({.ciphers = ciphers,
                              .tls13_ciphers = tls13,
                              .curves = curves,
                              .certificate_pem = good.certificate_pem,
                              .key_pem = good.key_pem});
    };
    made("ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL:@STRENGTH", "", "X25519:P-256");
    expect_refusal<weir::invalid_argument>([&] { made("ECDHE+AESGCM:NO-SUCH-CIPHER", "", ""); },
                                           {"tls::context::server: ciphers", "'NO-SUCH-CIPHER'"});
    expect_refusal<weir::invalid_argument>([&] { made("aNULL:!aNULL", "", ""); },
                                           {"leaves no cipher for TLS 1.2"});
    expect_refusal<weir::invalid_argument>([&] { made("", "TLS_NONE", ""); },
                                           {"tls13_ciphers", "'TLS_NONE'"});
    expect_refusal<weir::invalid_argument>([&] { made("", "", "X25519:P-1"); },
                                           {"curves", "'P-1'"});
}

// What the client is shown.
task<std::string> subject_of(tls::context client, tls::context server, std::string host) {
    both_streams made = co_await shake_hands(client, server, connected(), host);
    co_await made.server.close_write();
    (void)co_await read_all(made.client);
    co_return made.client.peer_subject() + (made.client.was_resumed() ? " resumed" : "");
}

WEIR_TEST(TlsContext, CertificatesAreReloaded) {
    const tls::certificate first = ids().authority.issue({.names = "first.example,good.example"});
    const tls::certificate second = ids().authority.issue({.names = "second.example,good.example"});
    scratch_file chain(first.certificate_pem);
    scratch_file key(first.key_pem);
    const tls::context server =
        tls::context::server({.certificate_file = chain.path(), .key_file = key.path()});
    const tls::context copy = server;
    const tls::context client = tls::context::client({.ca_pem = ids().authority.certificate_pem()});
    std::string shown = co_await subject_of(client, copy, "good.example");
    EXPECT_EQ(shown, "CN=first.example");
    shown = co_await subject_of(client, copy, "good.example");
    EXPECT_EQ(shown, "CN=first.example resumed");
    both_streams before = co_await shake_hands(client, server, connected(), "good.example");

    // Half an update: the key does not belong to the certificate, and the old pair stays.
    chain.write(second.certificate_pem);
    expect_refusal<weir::invalid_argument>([&] { server.reload(); },
                                           {"key_file", "does not belong to the certificate"});
    shown = co_await subject_of(client, copy, "good.example");
    EXPECT_EQ(shown, "CN=first.example resumed");

    key.write(second.key_pem);
    server.reload();
    shown = co_await subject_of(client, copy, "good.example");
    EXPECT_EQ(shown, "CN=second.example");
    shown = co_await subject_of(client, copy, "good.example");
    EXPECT_EQ(shown, "CN=second.example resumed");
    // An existing connection goes on.
    co_await before.client.write("still there");
    co_await before.client.close_write();
    const std::string text = co_await read_all(before.server);
    EXPECT_EQ(text, "still there");

    server.replace_certificate(first);
    shown = co_await subject_of(client, copy, "good.example");
    EXPECT_EQ(shown, "CN=first.example");
    server.reload();  // the texts again
    shown = co_await subject_of(client, copy, "good.example");
    EXPECT_EQ(shown, "CN=first.example");
}

WEIR_TEST(TlsContext, AuthoritiesAreReloaded) {
    scratch_file ca(ids().stranger.certificate_pem());
    const tls::context client = tls::context::client({.ca_file = ca.path()});
    const endings unknown = co_await shake_hands_badly(client, ids().server);
    EXPECT_SAYS(unknown.client, "unknown authority");
    ca.write(ids().authority.certificate_pem());
    client.reload();
    const endings known = co_await shake_hands_badly(client, ids().server);
    EXPECT_EQ(known.client + known.server, "");
    // Clients' certificates: what is not trusted any more is not resumed either.
    const tls::context server =
        tls::context::server({.certificate_pem = ids().good.certificate_pem,
                              .key_pem = ids().good.key_pem,
                              .client_certificates = tls::client_certificates::required,
                              .ca_file = ca.path()});
    const tls::context alice = tls::context::client({.ca_pem = ids().authority.certificate_pem(),
                                                     .certificate_pem = ids().user.certificate_pem,
                                                     .key_pem = ids().user.key_pem});
    for (int i = 0; i < 2; ++i) {
        const bool again = co_await visit(alice, server);
        EXPECT_EQ(again, i == 1);
    }
    ca.write(ids().stranger.certificate_pem());
    server.reload();
    const endings refused = co_await shake_hands_badly(alice, server);
    EXPECT_SAYS(refused.server, "unknown authority");
}

TEST(TlsContext, ReloadsWhileOthersShakeHands) {
    const tls::context server = identities::serving(ids().good);
    std::atomic<bool> is_over = false;
    std::thread reloading([&] {
        while (!is_over) {
            server.replace_certificate(ids().good);
        }
    });
    weir::testing::run_test([&]() -> task<> {
        const tls::context client =
            tls::context::client({.ca_pem = ids().authority.certificate_pem()});
        for (int i = 0; i < 50; ++i) {
            const endings how = co_await shake_hands_badly(client, server);
            EXPECT_EQ(how.client + how.server, "");
        }
    });
    is_over = true;
    reloading.join();
}

WEIR_TEST(TlsContext, KeepsSessionsForSoManyHosts) {
    const tls::context client =
        tls::context::client({.ca_pem = ids().authority.certificate_pem(), .cached_sessions = 2});
    for (const char* host :
         {"a.wild.example", "b.wild.example", "a.wild.example", "c.wild.example"}) {
        both_streams made = co_await shake_hands(client, ids().server, connected(), host);
        co_await made.server.close_write();
        (void)co_await read_all(made.client);
    }
    EXPECT_EQ(client.kept_sessions(), 2u);  // a and c: b was used least recently
    both_streams kept = co_await shake_hands(client, ids().server, connected(), "a.wild.example");
    EXPECT_TRUE(kept.client.was_resumed());
    both_streams gone = co_await shake_hands(client, ids().server, connected(), "b.wild.example");
    EXPECT_FALSE(gone.client.was_resumed());
}

}  // namespace
