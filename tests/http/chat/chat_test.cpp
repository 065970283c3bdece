// SPDX-License-Identifier: MIT
// The chat example in Chromium, with a second person on a WebSocket of ours, and a network between
// that fails.
#include "support/io.hpp"
#include "support/peers.hpp"

#include <weir/http/json.hpp>
#include <weir/http/query.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>
#include <weir/ws/ws.hpp>

#include <memory>
#include <string>

using namespace std::chrono_literals;
using namespace weir_test;
namespace ws = weir::ws;
namespace http = weir::http;

namespace {

// The example, serving at an address.
class chat_program {
public:
    explicit chat_program(const std::string& at) : program_(folder_, {WEIR_CHAT_PROGRAM, at}) {
        program_.wait_until([&] { return program_.out().find("/\n") != std::string::npos; });
        std::string url = program_.out();
        where_ = url.substr(7, url.find("/\n") - 7);
    }
    // '127.0.0.1:5000'
    const std::string& address() const noexcept { return where_; }

private:
    temporary_folder folder_;
    running_program program_;
    std::string where_;
};

std::string person_url(const std::string& server, std::string_view name, std::string_view room,
                       std::string_view since = "") {
    return "ws://" + server + "/connect?" +
           http::query_parameters({{"name", name}, {"room", room}, {"since", since}}).text();
}

// The next message of that kind.
weir::task<boost::json::value> next(ws::connection& peer, std::string kind) {
    for (;;) {
        const std::optional<ws::message> received = co_await peer.receive();
        boost::json::value heard = http::parse_json(received.value().text());
        if (heard.at("kind").as_string() == kind) {
            co_return heard;
        }
    }
}

weir::task<> say(ws::connection& peer, std::string text) {
    const std::string message = http::to_json(boost::json::object{{"text", text}});
    co_await peer.send(message);
}

const std::string texts =
    "[...document.querySelectorAll('#messages .text')].map(each => each.textContent).join('|')";
const std::string people =
    "[...document.querySelectorAll('#people li')].map(each => "
    "each.lastChild.textContent).join('|')";

std::string shows(const std::string& what, const std::string& expected) {
    return what + " === " + boost::json::serialize(boost::json::value(expected));
}

weir::task<> page_and_person() {
    chat_program server("127.0.0.1:0");
    weir::testing::fault_proxy proxy(weir::io::address::parse(server.address()));
    const std::string url = "http://" + proxy.address().text() + "/";
    browser page;
    co_await page.open(url);
    co_await page.wait_for("!document.getElementById('enter').hidden");
    co_await page.evaluate(
        "document.getElementById('name').value = 'Ada <3';"
        "document.getElementById('room').value = 'the garden';"
        "document.getElementById('enter-form').requestSubmit();");
    co_await page.wait_for("document.getElementById('status').dataset.state === 'open'");
    co_await page.wait_for(shows(people, "Ada <3 (you)"));

    auto bob = [&](ws::connection& peer) -> weir::task<> {
        const boost::json::value welcome = co_await next(peer, "welcome");
        EXPECT_EQ(welcome.at("replayed"), 0);
        const boost::json::value here = co_await next(peer, "people");
        EXPECT_EQ(here.at("people"), (boost::json::array{"Ada <3", "Bob"}));
        co_await page.wait_for(shows(people, "Ada <3 (you)|Bob"));

        // Both ways, and what looks like HTML is text.
        const std::string attack = "<img src=x onerror=\"window.hit=1\"><b>&amp;";
        co_await say(peer, attack);
        co_await page.wait_for(shows(texts, attack));
        co_await page.evaluate(
            "document.getElementById('say').value = 'gr\u00fc\u00df dich, Bob';"
            "document.getElementById('say-form').requestSubmit();");
        co_await next(peer, "message");
        const boost::json::value heard = co_await next(peer, "message");
        EXPECT_EQ(heard.at("from"), "Ada <3");
        EXPECT_EQ(heard.at("text"), "gr\u00fc\u00df dich, Bob");
        EXPECT_EQ(heard.at("number"), 2);
        const std::string elements = co_await page.evaluate(
            "document.querySelectorAll('#messages img, #messages .text *').length + ' ' + "
            "window.hit");
        EXPECT_EQ(elements, "0 undefined");
        // The page hears of its own message as Bob does, maybe later.
        co_await page.wait_for("document.querySelector('#messages .mine .text') !== null");
        const std::string mine =
            co_await page.evaluate("document.querySelector('#messages .mine .text').textContent");
        EXPECT_EQ(mine, "gr\u00fc\u00df dich, Bob");

        // A page that is loaded again gets the history.
        std::string all = attack + "|gr\u00fc\u00df dich, Bob";
        co_await page.open("about:blank");
        const boost::json::value alone = co_await next(peer, "people");
        EXPECT_EQ(alone.at("people"), (boost::json::array{"Bob"}));
        co_await page.open(url + "#the%20garden");
        co_await page.wait_for(shows(texts, all));
        co_await page.wait_for(shows(people, "Ada <3 (you)|Bob"));

        // One whose connection breaks gets what it missed, once.
        proxy.set({.refusals = 1});
        proxy.reset_all();
        co_await page.wait_for("document.getElementById('status').dataset.state === 'closed'");
        co_await say(peer, "are you there?");
        co_await say(peer, "no?");
        proxy.set({});
        all += "|are you there?|no?";
        co_await page.wait_for(shows(texts, all));
        co_await page.wait_for("document.getElementById('status').dataset.state === 'open'");

        // An invalid message is refused, and no other client receives it.
        co_await peer.send("{");
        const boost::json::value refused = co_await next(peer, "refused");
        EXPECT_NE(refused.at("why").as_string().find("JSON"), std::string::npos);
        co_await say(peer, "bye");
        co_await page.wait_for(shows(texts, all + "|bye"));
    };
    co_await ws::with_connection(person_url(server.address(), "Bob", "the garden"), bob);
    co_await page.wait_for(shows(people, "Ada <3 (you)"));
    co_await proxy.close();
}

// A server that was restarted has forgotten everything; the page notices and begins anew.
weir::task<> restart() {
    auto server = std::make_unique<chat_program>("127.0.0.1:0");
    const std::string where = server->address();
    const std::string url = "http://" + where + "/";
    browser page;
    co_await page.open(url);
    co_await page.evaluate("sessionStorage.setItem('name', 'Ada')");
    co_await page.open("about:blank");
    co_await page.open(url + "#lobby");
    auto talk = [&](ws::connection& peer) -> weir::task<> {
        co_await next(peer, "welcome");
        co_await say(peer, "one");
        co_await say(peer, "two");
        co_await page.wait_for(shows(texts, "one|two"));
    };
    co_await ws::with_connection(person_url(where, "Bob", "lobby"), talk);
    server.reset();
    co_await page.wait_for("document.getElementById('status').dataset.state === 'closed'");
    server = std::make_unique<chat_program>(where);
    auto talk_again = [&](ws::connection& peer) -> weir::task<> {
        co_await next(peer, "welcome");
        co_await say(peer, "three");
        co_await page.wait_for(shows(texts, "three"));
    };
    co_await ws::with_connection(person_url(where, "Bob", "lobby"), talk_again);
}

weir::task<> bad_guests() {
    chat_program server("127.0.0.1:0");
    const std::string url = "http://" + server.address();
    const std::string targets[] = {"/connect?name=&room=a", "/connect?name=a",
                                   "/connect?room=a&name=" + std::string(101, 'x')};
    for (const std::string& target : targets) {
        const weir::command_result answer =
            co_await curl({"-o", "/dev/null", "-w", "%{http_code}", url + target});
        EXPECT_EQ(answer.out, "400") << target;
    }
    const weir::command_result plain =
        co_await curl({"-o", "/dev/null", "-w", "%{http_code}", url + "/connect?name=a&room=b"});
    EXPECT_EQ(plain.out, "426");
    // A page of another site may not connect.
    const weir::command_result foreign = co_await curl(
        {"-o", "/dev/null", "-w", "%{http_code}", "-H", "Origin: https://evil.example", "-H",
         "Connection: Upgrade", "-H", "Upgrade: websocket", "-H", "Sec-WebSocket-Version: 13", "-H",
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", url + "/connect?name=a&room=b"});
    EXPECT_EQ(foreign.out, "403");
}

}  // namespace

TEST(Chat, APageAndAPersonTalk) {
    run_io(weir::driver_kind::automatic, &page_and_person);
}
TEST(Chat, ThePageComesBackToARestartedServer) {
    run_io(weir::driver_kind::automatic, &restart);
}
TEST(Chat, GuestsMustSayWhoTheyAre) {
    run_io(weir::driver_kind::automatic, &bad_guests);
}
