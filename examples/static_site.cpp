// SPDX-License-Identifier: MIT
// HTTP: a folder as a site: types, ETags, ranges, compression, and nothing from outside the folder
//
// static_site                   makes a small site and reads it with a client of its own
// static_site ADDRESS FOLDER    serves the folder there: static_site 127.0.0.1:8080 .
#include <weir/http/client.hpp>
#include <weir/http/compression.hpp>
#include <weir/http/files.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/file_system.hpp>
#include <weir/io/listener.hpp>
#include <weir/weir.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

namespace http = weir::http;

http::router site(const std::string& folder) {
    http::router app;
    app.use(http::compression());
    app.get("/{path...}", http::files(folder));
    return app;
}

// ---- the scene

// GET, with a header more; gives the ETag of the answer.
weir::task<std::string> ask(http::client& client, std::string url, std::string header,
                            std::string value) {
    http::client_request wanted(http::method::get, url);
    wanted.set_header(header, value);
    http::client_response answer = co_await client.send(std::move(wanted));
    const std::string text = co_await answer.text();
    std::cout << number_of(answer.status());
    for (const char* each : {"Content-Type", "Content-Range", "Content-Encoding"}) {
        if (!answer.header(each).empty()) {
            std::cout << ", " << each << ": " << answer.header(each);
        }
    }
    const bool is_packed = !answer.header("Content-Encoding").empty();
    std::cout << "\n    " << (is_packed ? "..." : text.substr(0, text.find('\n'))) << "\n";
    co_return std::string(answer.header("ETag"));
}

weir::task<> read_site(std::string here) {
    http::client client;
    std::cout << "GET /: ";
    const std::string tag = co_await ask(client, here + "/", "Accept", "text/html");
    std::cout << "the same again, if it has changed: ";
    co_await ask(client, here + "/", "If-None-Match", tag);
    std::cout << "a poem: ";
    co_await ask(client, here + "/poem.txt", "Accept-Encoding", "gzip");
    std::cout << "a part of it: ";
    co_await ask(client, here + "/poem.txt", "Range", "bytes=4-8");
    std::cout << "what is not there: ";
    co_await ask(client, here + "/poem.txt", "Range", "bytes=99999-");
    std::cout << "what is elsewhere: ";
    co_await ask(client, here + "/%2e%2e%2f%2e%2e%2fetc/passwd", "Accept", "text/plain");
}

// Removed at the end, with its contents.
struct temporary_folder {
    temporary_folder() : name((std::filesystem::temp_directory_path() / "site-XXXXXX").string()) {
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::runtime_error("no folder can be made: " + name);
        }
    }
    temporary_folder(const temporary_folder&) = delete;
    ~temporary_folder() { std::filesystem::remove_all(name); }
    std::string name;
};

weir::task<> scene() {
    const temporary_folder folder;
    co_await weir::io::write_file(folder.name + "/index.html", "<h1>Hello</h1>\n");
    std::string poem;
    for (int line = 1; line <= 100; ++line) {
        poem += "The river goes through the weir.\n";
    }
    co_await weir::io::write_file(folder.name + "/poem.txt", poem);

    weir::io::listener door = weir::io::listen(weir::io::address::loopback(0));
    const std::string here = "http://" + door.local_address().text();
    auto serving = weir::spawn(http::serve(std::move(door), site(folder.name)));
    co_await read_site(here);
    serving.cancel();
    co_await serving.wait();
}

int main(int count, char** arguments) {
    if (count == 3) {
        return weir::run_main(
            http::serve(weir::io::address::parse(arguments[1]), site(arguments[2])));
    }
    return weir::run_main(scene());
}
