// SPDX-License-Identifier: MIT
// HTTPS, and SIGHUP: what changes in a running service, what does not, and what an invalid
// configuration does.

#include "support.hpp"

#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

namespace weir_test {
namespace {

namespace http = weir::http;
namespace tls = weir::tls;
using namespace std::chrono_literals;

// Files in a folder of their own: configuration, tokens, certificates.
class configured {
public:
    configured() {
        file("ca.pem", authority_.certificate_pem());
        issue();
    }
    std::string file(const std::string& name, const std::string& text) const {
        return folder_.write(name, text).string();
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    // Another certificate; returns its text.
    std::string issue() const {
        const tls::certificate made = authority_.issue({.names = "localhost,127.0.0.1"});
        file("cert.pem", made.certificate_pem);
        file("key.pem", made.key_pem);
        return made.certificate_pem;
    }
    std::string config(const std::string& lines) const {
        return file("weir.toml", "[serve]\n" + lines);
    }

private:
    temporary_folder folder_;
    tls::certificate_authority authority_{"weir tests"};
};

weir::task<unsigned> status_of(http::client& client, std::string url, std::string token) {
    http::client_request request(http::method::get, std::move(url));
    if (!token.empty()) {
        request.set_bearer(token);
    }
    http::client_response response = co_await client.send(std::move(request));
    static_cast<void>(co_await response.text(1 << 20));
    co_return http::number_of(response.status());
}

unsigned status_with(const std::string& url, const std::string& token = "") {
    auto ask = [&]() -> weir::task<unsigned> {
        http::client client;
        co_return co_await status_of(client, url, token);
    };
    return weir::run(ask());
}

std::size_t count(const std::string& text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

// Sends SIGHUP and waits for the line of the log; returns the log since then.
std::string reload(serving& here) {
    const std::size_t before = here.err().size();
    const auto since = [&] { return here.err().substr(before); };
    here.signal(SIGHUP);
    here.wait_until([&] { return has(since(), "reloaded"); });
    return since();
}

constexpr const char* first = "first-0123456789abcdef";
constexpr const char* second = "second-0123456789abcdef";

TEST(Https, ServesTheApiTheFeedAndTheCommands) {
    const configured files;
    serving here({"--tls-certificate", files.path("cert.pem"), "--tls-key", files.path("key.pem"),
                  "--drain", "0.1"});
    ASSERT_TRUE(here.url.starts_with("https://127.0.0.1:")) << here.url;
    const std::vector<std::string> trust = {"WEIR_CA_FILE=" + files.path("ca.pem")};
    const program_output done =
        here.ask("submit", {"echo", "1", "--wait", "--ca-file", files.path("ca.pem")});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(here.ask("queues", {}, trust).code, 0);
    const program_output untrusted = here.ask("queues");
    EXPECT_EQ(untrusted.code, 1);
    EXPECT_TRUE(has(untrusted.err, "certificate")) << untrusted.err;
    const program_output no_file = here.ask("queues", {"--ca-file", files.path("none.pem")});
    EXPECT_EQ(no_file.code, 1);
    EXPECT_TRUE(has(no_file.err, "none.pem")) << no_file.err;
    {
        const temporary_folder folder;
        running_program watching(folder, {WEIR_PROGRAM, "watch", "--plain", "--server", here.url},
                                 trust);
        while (!has(watching.out(), "completed")) {
            ASSERT_EQ(here.ask("submit", {"echo", "1", "--wait"}, trust).code, 0);
        }
    }
    const program_output plain = call({"queues", "--server", "http" + here.url.substr(5)});
    EXPECT_EQ(plain.code, 1) << "HTTP on the port of HTTPS";
    EXPECT_EQ(here.end(), 0) << here.err();
}

TEST(Https, AnInvalidCertificateIsAnErrorAtTheStart) {
    const configured files;
    const std::string other =
        files.file("other.pem", tls::make_self_signed({.names = "a"}).key_pem);
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
        {{"--tls-key", files.path("key.pem")}, "--tls-certificate is missing"},
        {{"--tls-certificate", files.path("none.pem")}, "none.pem' cannot be read: No such file"},
        {{"--tls-certificate", files.path("cert.pem"), "--tls-key", files.path("gone.key")},
         "--tls-key: the file"},
        {{"--tls-certificate", files.path("cert.pem"), "--tls-key", other}, "other.pem"},
        {{"--tls-certificate", files.path("cert.pem")}, "cert.pem"},
        {{"--tls-certificate", files.file("odd.pem", "no certificate"), "--tls-key", other},
         "odd.pem"}};
    for (const auto& [more, expected] : wrong) {
        for (const bool is_check : {false, true}) {
            std::vector<std::string> words = {"serve", "--listen", "127.0.0.1:0", "--database",
                                              files.path("tasks.db")};
            words.insert(words.end(), more.begin(), more.end());
            if (is_check) {
                words.push_back("--check");
            }
            const program_output refused = call(words);
            EXPECT_EQ(refused.code, 2) << refused.out;
            EXPECT_TRUE(has(refused.err, expected)) << refused.err;
        }
    }
}

TEST(Reload, ChangesTokensLogAndRetentionAndNamesTheRest) {
    const configured files;
    files.file("tokens", std::string(first) + "\n");
    const std::string tokens = "token-file = \"" + files.path("tokens") + "\"\n";
    const std::string config = files.config(tokens + "workers = 8\n");
    serving here({"--config", config, "--drain", "0.1"});
    EXPECT_EQ(status_with(here.url + "/queues", first), 200U);
    EXPECT_TRUE(has(reload(here), "nothing has changed"));

    files.file("tokens", "# new\n" + std::string(second) + " name=reader read\n");
    files.config(tokens +
                 "workers = 9\naccess-log = true\nlog-level = \"debug\"\n"
                 "keep-completed = 1\n");
    const std::string log = reload(here);
    EXPECT_TRUE(has(log, "changed: ")) << log;
    for (const char* name : {"keep-completed", "log-level", "access-log", "tokens"}) {
        EXPECT_TRUE(has(log, name)) << log;
    }
    here.wait_until([&] { return has(here.err(), "these changes need a restart: workers\n"); });
    EXPECT_EQ(status_with(here.url + "/queues", first), 401U);
    EXPECT_EQ(status_with(here.url + "/queues", second), 200U);
    here.wait_until([&] { return has(here.err(), "GET /queues 200"); });
    EXPECT_TRUE(has(here.err(), " ms reader\n")) << here.err();
    EXPECT_FALSE(has(here.err(), "0123456789abcdef")) << here.err();
    EXPECT_EQ(here.end(), 0) << here.err();
}

TEST(Reload, AnInvalidConfigurationChangesNothing) {
    const configured files;
    const std::string config = files.config("token-file = \"" + files.path("tokens") + "\"\n");
    const std::string good = std::string(first) + "\n";
    files.file("tokens", good);
    const std::string text = "token-file = \"" + files.path("tokens") + "\"\n";
    serving here({"--config", config, "--drain", "0.1"});
    const std::vector<std::array<std::string, 3>> wrong = {
        {text + "wrokers = 3\n", good, "wrokers"},
        {text + "workers = none\n", good, "weir.toml:3: workers is 'none'"},
        {"access-log = true\n", good, "without a token"},
        {text, std::string(second) + " write\n", "tokens: access: token 1: there is no scope"},
        {text, "short\n", "shorter than 16"},
        {text, "", "is empty"}};
    for (const auto& [lines, tokens, expected] : wrong) {
        files.config(lines);
        files.file("tokens", tokens);
        const std::string log = reload(here);
        EXPECT_TRUE(has(log, "was not reloaded, and the former one stays: ")) << log;
        EXPECT_TRUE(has(log, expected)) << log;
        EXPECT_EQ(status_with(here.url + "/queues", first), 200U) << expected;
        EXPECT_EQ(status_with(here.url + "/queues", second), 401U) << expected;
    }
    EXPECT_FALSE(has(here.err(), " request ")) << "the access log is off";
    EXPECT_EQ(here.end(), 0) << here.err();
}

// What the environment had at the start counts, though the service has removed it from its own.
TEST(Reload, TokensOfTheEnvironmentStay) {
    serving here({"--drain", "0.1"}, {"WEIR_TOKEN=" + std::string(first)});
    EXPECT_TRUE(has(reload(here), "nothing has changed"));
    EXPECT_EQ(status_with(here.url + "/queues", first), 200U);
    EXPECT_EQ(status_with(here.url + "/queues"), 401U);
    EXPECT_EQ(here.end(), 0) << here.err();
}

TEST(Reload, NewConnectionsGetTheNewCertificateAndOldOnesGoOn) {
    const configured files;
    serving here({"--tls-certificate", files.path("cert.pem"), "--tls-key", files.path("key.pem"),
                  "--drain", "0.1"});
    const std::string first_trust = files.path("ca.pem");
    const std::string other_trust = files.path("other.pem");
    const std::string id =
        here.ask("submit", {"sleep", "1000", "--ca-file", first_trust}).out.substr(0, 13);
    auto use = [&]() -> weir::task<> {
        http::client old({.tls = {.ca_file = first_trust}});
        auto waiting = weir::spawn(status_of(old, here.url + "/tasks/" + id + "?wait=0.6", ""));
        co_await weir::sleep(200ms);
        // Another authority: who trusts the first one cannot connect any more.
        const tls::certificate_authority other("other");
        const tls::certificate made = other.issue({.names = "127.0.0.1"});
        files.file("cert.pem", made.certificate_pem);
        files.file("key.pem", made.key_pem);
        files.file("other.pem", other.certificate_pem());
        EXPECT_TRUE(has(reload(here), "changed: certificate"));
        const unsigned code = co_await waiting;
        EXPECT_EQ(code, 200U) << "the request that was running";
        const unsigned again = co_await status_of(old, here.url + "/healthz", "");
        EXPECT_EQ(again, 200U) << "its connection";
        http::client fresh({.tls = {.ca_file = first_trust}});
        bool is_refused = false;
        try {
            co_await status_of(fresh, here.url + "/healthz", "");
        } catch (const http::transport_error&) {
            is_refused = true;
        }
        EXPECT_TRUE(is_refused);
        http::client trusting({.tls = {.ca_file = other_trust}});
        const unsigned seen = co_await status_of(trusting, here.url + "/healthz", "");
        EXPECT_EQ(seen, 200U);
        // A key that does not fit the certificate is refused, and the last pair stays.
        files.file("key.pem", tls::make_self_signed({.names = "a"}).key_pem);
        EXPECT_TRUE(has(reload(here), "was not reloaded"));
        http::client still({.tls = {.ca_file = other_trust}});
        const unsigned kept = co_await status_of(still, here.url + "/healthz", "");
        EXPECT_EQ(kept, 200U);
    };
    weir::run(in_time(use()));
    EXPECT_EQ(here.end(), 0) << here.err();
}

TEST(Health, IsOpenWithoutATokenByOption) {
    const std::vector<std::string> token = {"WEIR_TOKEN=" + std::string(first)};
    serving here({"--open-health", "--drain", "0.1"}, token);
    serving closed({"--drain", "0.1"}, token);
    for (const char* path : {"/healthz", "/readyz"}) {
        EXPECT_EQ(status_with(here.url + path), 200U) << path;
        EXPECT_EQ(status_with(closed.url + path), 401U) << path;
    }
    for (const char* path : {"/metrics", "/kinds", "/stats", "/tasks", "/openapi.json"}) {
        EXPECT_EQ(status_with(here.url + path), 401U) << path;
    }
    EXPECT_EQ(here.end(), 0) << here.err();
    EXPECT_EQ(closed.end(), 0) << closed.err();
}

// The commands take the token of a line with scopes.
TEST(Scopes, AreReadFromTheFileThatACommandUsesToo) {
    const configured files;
    const std::string tokens =
        files.file("tokens", std::string(first) + " name=mailer submit@mail\n" + second + "\n");
    serving here({"--token-file", tokens, "--drain", "0.1"});
    const program_output mail =
        here.ask("submit", {"echo", "1", "-q", "mail", "--wait", "--token-file", tokens});
    EXPECT_EQ(mail.code, 0) << mail.err;
    const program_output other = here.ask("submit", {"echo", "1", "--token-file", tokens});
    EXPECT_EQ(other.code, 1);
    EXPECT_TRUE(has(other.err, "403: the token 'mailer' does not have the scope 'submit@default'"))
        << other.err;
    EXPECT_EQ(count(other.err, "0123456789"), 0U);
    EXPECT_EQ(here.ask("list", {"--token-file", tokens}).code, 1);
    EXPECT_EQ(here.end(), 0) << here.err();
}

}  // namespace
}  // namespace weir_test
