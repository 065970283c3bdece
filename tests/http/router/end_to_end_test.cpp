// SPDX-License-Identifier: MIT
// Router and middleware inside a server on real sockets, with curl as the client, and nginx as a
// proxy before it.

#include <support/io.hpp>
#include <support/peers.hpp>

#include <weir/cancel.hpp>
#include <weir/http/json.hpp>
#include <weir/http/middleware.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/outcome.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/time.hpp>

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir_test::curl;
namespace http = weir::http;

class served {
public:
    explicit served(http::handler app) : server(std::move(app)) {
        weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
        port = std::to_string(listener.local_address().port());
        running = weir::spawn(server.serve(std::move(listener)));
    }
    std::string url(std::string_view target) const {
        return "http://127.0.0.1:" + port + std::string(target);
    }
    weir::task<> end() {
        running.cancel();
        (void)co_await weir::settle(running.wait());
    }

    http::server server;
    std::string port;
    weir::handle<void> running;
};

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

WEIR_IO_TEST(EndToEnd, RoutesAndJson) {
    http::router tasks;
    tasks.post("", [](http::request& incoming) -> weir::task<http::response> {
        const auto document = co_await http::read_json(incoming);
        const auto title = http::member<std::string>(document, "title");
        co_return http::json({{"title", title}}, http::status::created);
    });
    tasks.get("/{id}", [](http::request& incoming) {
        return http::json({{"id", incoming.param("id")}, {"route", incoming.route()}});
    });
    http::router app;
    app.mount("/tasks", std::move(tasks));
    served own(std::move(app));

    const auto one = co_await curl({own.url("/tasks/a%2Fb?x=y")});
    EXPECT_EQ(one.out, R"({"id":"a/b","route":"/tasks/{id}"})") << one.err;
    const auto head = co_await curl({"-I", own.url("/tasks/7")});
    EXPECT_TRUE(has(head.out, "HTTP/1.1 200 OK\r\n")) << head.out << head.err;
    EXPECT_TRUE(has(head.out, "Content-Type: application/json\r\n")) << head.out;
    EXPECT_TRUE(has(head.out, "Content-Length: 32\r\n")) << head.out;
    const auto wrong = co_await curl({"-i", "-X", "PUT", own.url("/tasks/7")});
    EXPECT_TRUE(has(wrong.out, "HTTP/1.1 405 Method Not Allowed\r\n")) << wrong.out;
    EXPECT_TRUE(has(wrong.out, "Allow: GET, HEAD, OPTIONS\r\n")) << wrong.out;
    EXPECT_TRUE(has(wrong.out, "Content-Type: application/problem+json\r\n")) << wrong.out;
    const auto options = co_await curl({"-i", "-X", "OPTIONS", own.url("/tasks")});
    EXPECT_TRUE(has(options.out, "HTTP/1.1 204 No Content\r\n")) << options.out;
    EXPECT_TRUE(has(options.out, "Allow: OPTIONS, POST\r\n")) << options.out;
    const auto star = co_await curl({"-i", "-X", "OPTIONS", "--request-target", "*", own.url("/")});
    EXPECT_TRUE(has(star.out, "Allow: GET, HEAD, OPTIONS, POST\r\n")) << star.out;
    const auto nothing = co_await curl({own.url("/nothing")});
    EXPECT_TRUE(has(nothing.out, R"("status":404)")) << nothing.out;
    const auto bad =
        co_await curl({"-w", "%{http_code}", "-o", "/dev/null", own.url("/tasks/%zz")});
    EXPECT_EQ(bad.out, "400");

    const auto created =
        co_await curl({"-w", " %{http_code}", "--json", R"({"title":"x"})", own.url("/tasks")});
    EXPECT_EQ(created.out, R"({"title":"x"} 201)") << created.err;
    const auto untyped = co_await curl({"-d", "{}", own.url("/tasks")});
    EXPECT_TRUE(has(untyped.out, R"("status":415)")) << untyped.out;
    const auto unfit = co_await curl({"--json", "{}", own.url("/tasks")});
    EXPECT_TRUE(has(unfit.out, "the member 'title' is missing")) << unfit.out;
    co_await own.end();
}

WEIR_IO_TEST(EndToEnd, AllMiddlewareTogether) {
    std::vector<std::string> lines;
    http::router app;
    app.use(http::access_log([&](const http::access_record& record) {
        lines.push_back(std::string(record.method) + " " + std::string(record.target) + " " +
                        std::to_string(record.code ? number_of(*record.code) : 0) + " " +
                        (record.bytes ? std::to_string(*record.bytes) : "-") + " " +
                        std::string(record.principal) + " " + std::string(record.request_id));
    }));
    app.use(http::request_ids());
    app.use(http::cors().allow_origin("https://a.example"));
    http::bearer_auth auth;
    auth.token("t", "alice");
    app.use(auth);
    app.use(http::client_limit({.rate = 0.001, .burst = 5}));
    app.use(http::body_limit(10));
    app.use(http::deadline(50ms));
    app.post("/echo", [](http::request& incoming) -> weir::task<http::response> {
        std::string text = co_await incoming.text();
        co_return http::response::text(std::move(text));
    });
    app.get("/slow", [](http::request&) -> weir::task<http::response> {
        co_await weir::sleep(10s);
        co_return http::response();
    });
    app.get("/stream", [] {
        return http::response::stream("text/plain", [](http::body_writer& out) -> weir::task<> {
            co_await out.write("123");
            co_await out.flush();
            co_await out.write("4567");
        });
    });
    served own(std::move(app));
    const std::string token = "Authorization: Bearer t";
    const std::string id = "X-Request-Id: i";

    const auto nobody = co_await curl({"-i", "-H", id, own.url("/slow")});
    EXPECT_TRUE(has(nobody.out, "HTTP/1.1 401 ")) << nobody.out << nobody.err;
    EXPECT_TRUE(has(nobody.out, "WWW-Authenticate: Bearer realm=\"api\"\r\n")) << nobody.out;
    const auto preflight =
        co_await curl({"-i", "-H", id, "-X", "OPTIONS", "-H", "Origin: https://a.example", "-H",
                       "Access-Control-Request-Method: POST", own.url("/echo")});
    EXPECT_TRUE(has(preflight.out, "HTTP/1.1 204 ")) << preflight.out;
    EXPECT_TRUE(has(preflight.out, "Access-Control-Allow-Origin: https://a.example\r\n"));
    const auto echo =
        co_await curl({"-i", "-H", id, "-H", token, "-d", "0123456789", own.url("/echo")});
    EXPECT_TRUE(has(echo.out, "RateLimit-Remaining: 4\r\n")) << echo.out;
    EXPECT_TRUE(has(echo.out, "X-Request-Id: i\r\n")) << echo.out;
    EXPECT_TRUE(echo.out.ends_with("\r\n\r\n0123456789")) << echo.out;
    const auto large =
        co_await curl({"-i", "-H", id, "-H", token, "-H", "Transfer-Encoding: chunked", "-d",
                       "0123456789x", own.url("/echo")});
    EXPECT_TRUE(has(large.out, "HTTP/1.1 413 ")) << large.out;
    const auto late = co_await curl({"-i", "-H", id, "-H", token, own.url("/slow")});
    EXPECT_TRUE(has(late.out, "HTTP/1.1 503 ")) << late.out;
    const auto stream = co_await curl({"-H", id, "-H", token, own.url("/stream")});
    EXPECT_EQ(stream.out, "1234567");
    const auto missing = co_await curl({"-H", id, "-H", token, own.url("/none")});
    EXPECT_TRUE(has(missing.out, R"("status":404)")) << missing.out;
    const auto much = co_await curl({"-i", "-H", id, "-H", token, own.url("/stream")});
    EXPECT_TRUE(has(much.out, "HTTP/1.1 429 ")) << much.out;
    EXPECT_TRUE(has(much.out, "Retry-After: ")) << much.out;
    co_await own.end();

    const std::vector<std::string> wanted = {
        "GET /slow 401 69  i", "OPTIONS /echo 204 0  i", "POST /echo 200 10 alice i",
        "POST /echo 413",      "GET /slow 503",          "GET /stream 200 7 alice i",
        "GET /none 404",       "GET /stream 429",
    };
    WEIR_ASSERT_EQ(lines.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_TRUE(lines[i].starts_with(wanted[i])) << lines[i] << " instead of " << wanted[i];
    }
}

WEIR_IO_TEST(EndToEnd, DeadlineOfASlowBody) {
    http::router app;
    app.use(http::deadline(30ms));
    app.post("/", [](http::request& incoming) -> weir::task<http::response> {
        std::string text = co_await incoming.text();
        co_return http::response::text(std::move(text));
    });
    served own(std::move(app));
    weir::io::socket client =
        co_await weir::io::connect(weir::io::address::parse("127.0.0.1:" + own.port));
    co_await client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
    std::string answer(10'000, '\0');
    const std::size_t size = co_await client.read(answer);
    answer.resize(size);
    client.close();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
    EXPECT_TRUE(has(answer, "Connection: close\r\n")) << answer;
    co_await own.end();
}

WEIR_IO_TEST(EndToEnd, BehindNginx) {
    http::router app;
    app.use(http::trusted_proxies().trust("127.0.0.0/8"));
    app.get("/who", [](http::request& incoming) {
        return http::response::text(incoming.client_address().host());
    });
    served own(std::move(app));
    const weir_test::nginx proxy("location / { proxy_pass http://127.0.0.1:" + own.port +
                                 "; proxy_set_header X-Forwarded-For \"$http_x_forwarded_for, "
                                 "203.0.113.5\"; }");
    const auto behind = co_await curl({"-H", "X-Forwarded-For: 6.6.6.6", proxy.url("/who")});
    EXPECT_EQ(behind.out, "203.0.113.5") << behind.err;
    const auto direct = co_await curl({own.url("/who")});
    EXPECT_EQ(direct.out, "127.0.0.1");
    co_await own.end();
}

}  // namespace
