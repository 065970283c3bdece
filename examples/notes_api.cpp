// SPDX-License-Identifier: MIT
// HTTP and WebSocket: an API for notes, and a feed that tells of each change
//
// notes_api             plays a small scene with a client of its own
// notes_api ADDRESS     serves until Ctrl-C: notes_api 127.0.0.1:8080
//     POST /notes {"text": "..."}   201     GET /notes   GET /notes/7   DELETE /notes/7
//     GET /feed                     WebSocket: {"event": "created", "id": 7}
#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>
#include <weir/ws/ws.hpp>

#include <iostream>
#include <map>
#include <string>

namespace http = weir::http;
namespace ws = weir::ws;
using boost::json::object;

class notes {
public:
    http::router routes() {
        http::router app;
        app.post("/notes", [this](http::request& request) { return create(request); });
        app.get("/notes", [this] { return http::json(boost::json::value_from(texts_)); });
        app.get("/notes/{id}", [this](http::request& request) { return http::json(at(request)); });
        app.delete_("/notes/{id}", [this](http::request& request) { return remove(request); });
        app.get("/feed", [this](http::request& request) { return follow(request); });
        return app;
    }

private:
    weir::task<http::response> create(http::request& request) {
        const boost::json::value body = co_await http::read_json(request);  // or 400, 413, 415
        const std::string id = std::to_string(++last_);
        texts_[id] = http::member<std::string>(body, "text");  // or 422 that names it
        tell("created", id);
        co_return http::json(object{{"id", id}}, http::status::created);
    }
    const std::string& at(const http::request& request) const {
        const auto found = texts_.find(std::string(request.param("id")));
        if (found == texts_.end()) {
            throw http::problem(http::status::not_found, "there is no such note");
        }
        return found->second;
    }
    http::response remove(const http::request& request) {
        at(request);
        const std::string id(request.param("id"));
        texts_.erase(id);
        tell("deleted", id);
        return http::response(http::status::no_content);
    }
    http::response follow(http::request& request) {
        return ws::accept(request, [this](ws::connection& peer) -> weir::task<> {
            const auto member = feed_.join(peer, "notes");
            co_await peer.wait_closed();
        });
    }
    void tell(std::string_view event, const std::string& id) {
        feed_.publish("notes", http::to_json(object{{"event", event}, {"id", id}}));
    }

    std::map<std::string, std::string> texts_;
    int last_ = 0;
    ws::hub feed_;
};

weir::task<> scene() {
    notes app;
    weir::io::listener door = weir::io::listen(weir::io::address::loopback(0));
    const std::string host = door.local_address().text();
    auto serving = weir::spawn(http::serve(std::move(door), app.routes()));
    auto listen = [&](ws::connection& feed) -> weir::task<> {
        http::client client;
        for (const std::string body : {R"({"text":"buy milk"})", R"({"txet":"?"})"}) {
            auto made = co_await client.post("http://" + host + "/notes", body, "application/json");
            const std::string answer = co_await made.text();
            std::cout << number_of(made.status()) << ' ' << answer << '\n';
        }
        const auto event = co_await feed.receive();
        std::cout << "the feed: " << event.value().text() << '\n';
    };
    co_await ws::with_connection("ws://" + host + "/feed", listen);
    serving.cancel();
    co_await serving.wait();
}

int main(int count, char** arguments) {
    notes app;
    if (count > 1) {
        return weir::run_main(http::serve(weir::io::address::parse(arguments[1]), app.routes()));
    }
    return weir::run_main(scene());
}
