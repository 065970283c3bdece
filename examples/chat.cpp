// SPDX-License-Identifier: MIT
// WebSocket: a chat with rooms, presence and history, and a page for it
//
// chat             two people talk to each other through a server of their own
// chat ADDRESS     serves the page until SIGTERM or Ctrl-C: chat 127.0.0.1:8080
#include "chat_page.hpp"

#include <weir/flow/token_bucket.hpp>
#include <weir/http/assets.hpp>
#include <weir/http/json.hpp>
#include <weir/http/query.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/io.hpp>
#include <weir/weir.hpp>
#include <weir/ws/ws.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <string>

namespace http = weir::http;
namespace io = weir::io;
namespace ws = weir::ws;
using boost::json::object;

struct guest {
    std::string name;
    std::string room;
    std::string since;  // the token of the last message that the page has; empty if it has none
};

class chat {
public:
    http::router routes() {
        http::router app;
        app.get("/connect", [this](http::request& request) { return connect(request); });
        app.get("/{path...}", http::assets(chat_page()));
        return app;
    }

private:
    http::response connect(http::request& request) {
        guest who{request.query("name").value_or(""), request.query("room").value_or(""),
                  request.query("since").value_or("")};
        if (who.name.empty() || who.name.size() > 100 || who.room.empty() ||
            who.room.size() > 100) {
            return http::response::problem(http::status::bad_request,
                                           "a name and a room of 1 to 100 bytes are needed");
        }
        // A client that does not keep up is disconnected, reconnects, and gets the messages that it
        // missed.
        ws::accept_options options;
        options.connection.when_full = ws::overflow::close;
        options.connection.max_message = 8 << 10;
        return ws::accept(
            request, [this, who](ws::connection& peer) { return attend(peer, who); }, options);
    }

    weir::task<> attend(ws::connection& peer, guest who) {
        const auto welcome = [](const ws::catch_up& found) {
            return http::to_json(object{{"kind", "welcome"},
                                        {"known", found.is_known},
                                        {"replayed", found.replayed},
                                        {"missed", found.missed}});
        };
        const auto member = messages_.join(peer, who.room, who.since, welcome);
        const auto watching = presence_.join(peer, who.room);
        const present here(*this, who);
        weir::token_bucket pace({.rate = 5, .burst = 10});
        for (;;) {
            const auto said = co_await peer.receive();
            if (!said) {
                co_return;
            }
            co_await pace.acquire();
            say(peer, who, said->text());
        }
    }

    void say(ws::connection& peer, const guest& who, std::string_view said) {
        std::string text;
        try {
            text = http::member<std::string>(http::parse_json(said), "text");
        } catch (const http::problem& error) {
            peer.try_send(http::to_json(object{{"kind", "refused"}, {"why", error.what()}}));
            return;
        }
        using namespace std::chrono;
        const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
        messages_.publish(who.room, [&](const ws::position& at) {
            return http::to_json(object{{"kind", "message"},
                                        {"number", at.number},
                                        {"token", at.text()},
                                        {"from", who.name},
                                        {"text", text},
                                        {"at", now.count()}});
        });
    }

    // In the list of people as long as it lives.
    class present {
    public:
        present(chat& in, const guest& who) : in_(in), who_(who) {
            in_.people_[who_.room].insert(who_.name);
            in_.tell_people(who_.room);
        }
        present(const present&) = delete;
        present& operator=(const present&) = delete;
        ~present() {
            auto& room = in_.people_[who_.room];
            room.erase(room.find(who_.name));
            in_.tell_people(who_.room);
            if (room.empty()) {
                in_.people_.erase(who_.room);
            }
        }

    private:
        chat& in_;
        const guest& who_;
    };

    void tell_people(const std::string& room) {
        const auto& names = people_[room];
        boost::json::array list;
        for (auto each = names.begin(); each != names.end(); each = names.upper_bound(*each)) {
            list.emplace_back(*each);
        }
        presence_.publish(room, http::to_json(object{{"kind", "people"}, {"people", list}}));
    }

    ws::hub messages_{{.keep_messages = 200, .keep_for = std::chrono::hours(24)}};
    ws::hub presence_{{.keep_messages = 0}};
    std::map<std::string, std::multiset<std::string>> people_;
};

// ---- the scene

class person {
public:
    person(std::string server, std::string name)
        : server_(std::move(server)), name_(std::move(name)) {}

    std::string url() const {
        return server_ + "/connect?" +
               http::query_parameters({{"name", name_}, {"room", "lobby"}, {"since", token_}})
                   .text();
    }
    weir::task<> say(ws::connection& peer, std::string text) {
        const std::string message = http::to_json(object{{"text", text}});
        co_await peer.send(message);
    }
    weir::task<> hear(ws::connection& peer) {
        const auto said = co_await peer.receive();
        const boost::json::value heard = http::parse_json(said.value().text());
        const auto kind = http::member<std::string>(heard, "kind");
        std::cout << name_ << " hears ";
        if (kind == "message") {
            token_ = http::member<std::string>(heard, "token");
            std::cout << http::member<std::string>(heard, "from") << ": "
                      << http::member<std::string>(heard, "text") << '\n';
        } else if (kind == "people") {
            std::cout << "who is here: " << heard.at("people") << '\n';
        } else {
            std::cout << "welcome; " << heard.at("replayed") << " messages follow, "
                      << heard.at("missed") << " are gone\n";
        }
    }

private:
    std::string server_;
    std::string name_;
    std::string token_;
};

weir::task<> scene() {
    chat rooms;
    io::listener door = io::listen(io::address::loopback(0));
    const std::string server = "ws://" + door.local_address().text();
    auto serving = weir::spawn(http::serve(std::move(door), rooms.routes()));
    person ada(server, "Ada");
    person bob(server, "Bob");

    auto with_ada = [&](ws::connection& adas) -> weir::task<> {
        co_await ada.hear(adas);  // welcome
        co_await ada.hear(adas);  // the members of the room
        auto first_visit = [&](ws::connection& bobs) -> weir::task<> {
            co_await bob.hear(bobs);
            co_await bob.hear(bobs);
            co_await ada.hear(adas);
            co_await bob.say(bobs, "Hello, Ada!");
            co_await ada.hear(adas);
            co_await bob.hear(bobs);
        };
        co_await ws::with_connection(bob.url(), first_visit);
        std::cout << "Bob is cut off\n";
        co_await ada.hear(adas);
        co_await ada.say(adas, "Are you there?");
        co_await ada.hear(adas);
        co_await ada.say(adas, "It seems not.");
        co_await ada.hear(adas);
        auto second_visit = [&](ws::connection& bobs) -> weir::task<> {
            co_await bob.hear(bobs);
            co_await bob.hear(bobs);
            co_await bob.hear(bobs);
            co_await bob.hear(bobs);
        };
        std::cout << "Bob comes back with the token of the last message he heard\n";
        co_await ws::with_connection(bob.url(), second_visit);
    };
    co_await ws::with_connection(ada.url(), with_ada);
    serving.cancel();
    co_await serving.wait();
}

weir::task<> serve_at(std::string where) {
    chat rooms;
    io::listener door = io::listen(io::address::parse(where));
    std::cout << "http://" << door.local_address().text() << "/" << std::endl;
    co_await http::serve(std::move(door), rooms.routes());
}

int main(int count, char** arguments) {
    return weir::run_main(count > 1 ? serve_at(arguments[1]) : scene());
}
