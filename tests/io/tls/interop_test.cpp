// SPDX-License-Identifier: MIT
// Against the openssl program and curl, over loopback, on both drivers.

#include "child.hpp"
#include "support.hpp"
#include "support/io.hpp"

#include <weir/io/listener.hpp>

#include <filesystem>
#include <fstream>

namespace {

using namespace tls_tests;
using socket_stream = tls::stream<io::socket>;

// A folder with the certificates as files.
class folder {
public:
    folder() {
        std::string name = ::testing::TempDir() + "weir_tls_XXXXXX";
        path_ = ::mkdtemp(name.data());
        write("ca.pem", ids().authority.certificate_pem());
        for (const auto& [name_of, with] :
             std::initializer_list<std::pair<const char*, const tls::certificate*>>{
                 {"good", &ids().good},
                 {"expired", &ids().expired},
                 {"self", &ids().self_signed}}) {
            write(std::string(name_of) + ".pem", with->certificate_pem + with->key_pem);
        }
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(path_); }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(*this / name) << text;
    }
    std::string path_;
};

// The address of an s_server, from its output.
task<io::address> address_of(child& server) {
    const std::string line = co_await server.hear("ACCEPT ");
    weir::spawn(server.drain());
    co_return io::address::parse(line.substr(7));
}

std::vector<std::string> s_server(const folder& files, const std::string& certificate,
                                  std::vector<std::string> more = {"-rev"}) {
    std::vector<std::string> command{"openssl",     "s_server", "-accept",
                                     "127.0.0.1:0", "-cert",    files / (certificate + ".pem")};
    command.insert(command.end(), more.begin(), more.end());
    return command;
}

task<std::string> ask(socket_stream& peer, std::string question) {
    co_await peer.write(question + "\n");
    std::string answer;
    while (answer.find('\n') == std::string::npos) {
        char block[200];
        const std::size_t count = co_await peer.read(block);
        if (count == 0) {
            break;
        }
        answer.append(block, count);
    }
    co_return answer;
}

WEIR_IO_TEST(TlsInterop, ClientAgainstSServer) {
    const folder files;
    child server(s_server(files, "good"));
    const io::address at = co_await address_of(server);
    const tls::context trust = tls::context::client({.ca_file = files / "ca.pem"});
    for (const bool again : {false, true}) {
        io::socket socket = co_await io::connect(at);
        socket_stream peer = co_await tls::connect(std::move(socket), trust, "good.example");
        EXPECT_EQ(peer.version(), "TLSv1.3");
        EXPECT_EQ(peer.was_resumed(), again);
        const std::string answer = co_await ask(peer, "desserts");
        EXPECT_EQ(answer, "stressed\n");
        co_await peer.close_write();
    }
    io::socket socket = co_await io::connect(at);
    WEIR_EXPECT_THROW_WITH(tls::connect(std::move(socket), trust, "bad.example"), tls_error,
                           "the certificate is for good.example, *.wild.example, not for "
                           "bad.example");

    // The server dies: that is no end.
    io::socket last = co_await io::connect(at);
    socket_stream peer = co_await tls::connect(std::move(last), trust, "good.example");
    const std::string answer = co_await ask(peer, "live");
    EXPECT_EQ(answer, "evil\n");
    server.kill();
    WEIR_EXPECT_THROW_WITH(read_all(peer), tls_error, "cut off");
}

WEIR_IO_TEST(TlsInterop, ClientRefusesBadCertificates) {
    const folder files;
    const tls::context trust = tls::context::client({.ca_file = files / "ca.pem"});
    for (const auto& [certificate, said] :
         std::initializer_list<std::pair<const char*, const char*>>{
             {"expired", "certificate has expired (certificate verify failed)"},
             {"self", "self-signed certificate (certificate verify failed)"}}) {
        child server(s_server(files, certificate));
        const io::address at = co_await address_of(server);
        io::socket socket = co_await io::connect(at);
        WEIR_EXPECT_THROW_WITH(tls::connect(std::move(socket), trust, "good.example"), tls_error,
                               said);
    }
    // A server that knows only TLS 1.2, with another protocol.
    child server(s_server(files, "good", {"-rev", "-tls1_2", "-alpn", "h2"}));
    const io::address at = co_await address_of(server);
    const tls::context modern =
        tls::context::client({.min_version = tls::version::tls13, .ca_file = files / "ca.pem"});
    io::socket socket = co_await io::connect(at);
    WEIR_EXPECT_THROW_WITH(tls::connect(std::move(socket), modern, "good.example"), tls_error,
                           "refused our protocol version");
    const tls::context other =
        tls::context::client({.ca_file = files / "ca.pem", .alpn = "http/1.1"});
    io::socket second = co_await io::connect(at);
    WEIR_EXPECT_THROW_WITH(tls::connect(std::move(second), other, "good.example"), tls_error,
                           "no application protocol in common");
    const tls::context both =
        tls::context::client({.ca_file = files / "ca.pem", .alpn = "http/1.1,h2"});
    io::socket third = co_await io::connect(at);
    socket_stream peer = co_await tls::connect(std::move(third), both, "good.example");
    EXPECT_EQ(peer.alpn(), "h2");
    EXPECT_EQ(peer.version(), "TLSv1.2");
}

WEIR_IO_TEST(TlsInterop, ServerAgainstSClient) {
    const folder files;
    io::listener listener = io::listen(io::address::loopback(0));
    const std::string at = listener.local_address().text();
    const tls::context server =
        tls::context::server({.certificate_file = files / "good.pem", .alpn = "echo"});
    const std::string kept = files / "session";
    for (const std::string& version : {std::string("-tls1_2"), std::string("-tls1_3")}) {
        for (const bool again : {false, true}) {
            child client({"openssl", "s_client", "-connect", at, "-CAfile", files / "ca.pem",
                          "-servername", "good.example", "-verify_hostname", "good.example",
                          "-verify_return_error", "-alpn", "echo", version,
                          again ? "-sess_in" : "-sess_out", kept});
            io::socket socket = co_await listener.accept();
            socket_stream peer = co_await tls::accept(std::move(socket), server);
            EXPECT_EQ(peer.was_resumed(), again);
            EXPECT_EQ(peer.alpn(), "echo");
            EXPECT_EQ(peer.server_name(), "good.example");
            co_await client.talk().write("hello\n");
            const std::string asked = co_await ask(peer, "who is there?");
            EXPECT_EQ(asked, "hello\n");
            co_await client.hear("who is there?");  // tickets came before
            co_await client.talk().close_write();   // s_client sends close_notify, and so do we
            const std::string rest = co_await read_all(peer);
            EXPECT_EQ(rest, "");
            co_await peer.close_write();
            peer.close();
            const int status = co_await client.finish();
            EXPECT_EQ(status, 0) << client.heard();
        }
    }
    child suspicious({"openssl", "s_client", "-connect", at, "-CAfile", files / "ca.pem",
                      "-verify_hostname", "bad.example", "-verify_return_error"});
    io::socket socket = co_await listener.accept();
    WEIR_EXPECT_THROW_WITH(tls::accept(std::move(socket), server), tls_error,
                           "the peer refused our certificate");
    const int status = co_await suspicious.finish();
    EXPECT_EQ(status, 1);
}

task<> answer_http(io::listener& listener, tls::context with, std::string body) {
    io::socket socket = co_await listener.accept();
    socket_stream peer = co_await tls::accept(std::move(socket), with);
    std::string request;
    while (request.find("\r\n\r\n") == std::string::npos) {
        char block[1000];
        const std::size_t count = co_await peer.read(block);
        if (count == 0) {
            throw std::runtime_error("no request");
        }
        request.append(block, count);
    }
    const std::string head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    const std::array<io::const_bytes, 2> parts{head, body};
    co_await peer.write(parts);
    co_await peer.close_write();
    (void)co_await read_all(peer);
}

WEIR_IO_TEST(TlsInterop, ServerAgainstCurl) {
    const folder files;
    io::listener listener = io::listen(io::address::loopback(0));
    const std::string port = std::to_string(listener.local_address().port());
    const auto curl = [&](const std::string& host) {
        return std::vector<std::string>{"curl",
                                        "--silent",
                                        "--show-error",
                                        "--http1.1",
                                        "--noproxy",
                                        "*",
                                        "--cacert",
                                        files / "ca.pem",
                                        "--resolve",
                                        host + ":" + port + ":127.0.0.1",
                                        "https://" + host + ":" + port + "/"};
    };
    std::string body;
    for (int i = 0; i < 50'000; ++i) {
        body += "line " + std::to_string(i) + "\n";
    }
    {
        auto serving = weir::spawn(answer_http(
            listener,
            tls::context::server({.certificate_file = files / "good.pem", .alpn = "http/1.1"}),
            body));
        child client(curl("good.example"));
        const int status = co_await client.finish();
        EXPECT_EQ(status, 0) << client.heard().substr(0, 200);
        EXPECT_TRUE(client.heard() == body) << client.heard().size();
        co_await serving;
    }
    for (const auto& [certificate, host] :
         std::initializer_list<std::pair<const char*, const char*>>{
             {"expired", "good.example"}, {"self", "good.example"}, {"good", "bad.example"}}) {
        const tls::context with =
            tls::context::server({.certificate_file = files / (std::string(certificate) + ".pem")});
        auto serving = weir::spawn(answer_http(listener, with, body));
        child client(curl(host));
        const int status = co_await client.finish();
        EXPECT_EQ(status, 60) << client.heard();         // curl: the peer cannot be authenticated
        WEIR_EXPECT_THROW(serving, std::runtime_error);  // the host is checked after the handshake
    }
    // curl in plain text.
    auto serving = weir::spawn(
        answer_http(listener, tls::context::server({.certificate_file = files / "good.pem"}), ""));
    child client({"curl", "--silent", "--noproxy", "*", "http://127.0.0.1:" + port + "/"});
    WEIR_EXPECT_THROW_WITH(serving, tls_error, "the peer speaks plain HTTP, not TLS");
    const int status = co_await client.finish();
    EXPECT_NE(status, 0);
}

// Our own two ends, over a real socket: large transfers both ways, stopped and closed at random.
WEIR_IO_TEST(TlsInterop, BothEndsOverLoopback) {
    io::listener listener = io::listen(io::address::loopback(0));
    std::mt19937 random(99);
    for (int round = 0; round < 20; ++round) {
        auto serve = [&listener]() -> task<std::size_t> {
            io::socket socket = co_await listener.accept();
            socket_stream peer = co_await tls::accept(std::move(socket), ids().server);
            std::vector<char> buffer(30'000);
            std::size_t total = 0;
            for (;;) {
                const std::size_t count = co_await peer.read(buffer);
                if (count == 0) {
                    break;
                }
                total += count;
                co_await peer.write(io::bytes(buffer).first(count));
            }
            co_await peer.close_write();
            co_return total;
        };
        auto serving = weir::spawn(serve);
        io::socket socket = co_await io::connect(listener.local_address());
        std::optional<socket_stream> client =
            co_await tls::connect(std::move(socket), ids().client, "good.example");
        const std::string text(1 + random() % 2'000'000, 'y');
        auto send = [&]() -> task<> {
            co_await client->write(text);
            co_await client->close_write();
        };
        auto sending = weir::spawn(send);
        auto receiving = weir::spawn(read_all(*client, 20'000));
        if (round % 2 == 0) {
            co_await sending;
            const std::string got = co_await receiving;
            EXPECT_TRUE(got == text);
            const std::size_t total = co_await serving;
            EXPECT_EQ(total, text.size());
            continue;
        }
        for (auto turns = random() % 50; turns > 0; --turns) {
            co_await weir::yield();
        }
        if (round % 4 == 1) {
            sending.cancel();
            receiving.cancel();
        }
        client->close();
        const auto sent = co_await weir::settle(std::move(sending));
        (void)co_await weir::settle(std::move(receiving));
        client.reset();
        const auto how = co_await weir::settle(std::move(serving));
        EXPECT_FALSE(how.has_value() && !sent.has_value());
    }
}

}  // namespace
