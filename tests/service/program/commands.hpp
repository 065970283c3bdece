// SPDX-License-Identifier: MIT
// What the tests of the commands share: tasks to work on, fields of a line, and a terminal.
#pragma once

#include "support.hpp"

#include <weir/http/json.hpp>
#include <weir/http/server.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/listener.hpp>

#include <pty.h>

#include <functional>
#include <sstream>

namespace weir_test {

inline std::vector<std::string> split_at(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream from(text);
    for (std::string part; std::getline(from, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}
inline std::vector<std::string> lines_in(const std::string& text) {
    return split_at(text, '\n');
}
// Of each line, the field with this number.
inline std::vector<std::string> fields_in(const std::string& text, std::size_t number) {
    std::vector<std::string> all;
    for (const std::string& line : lines_in(text)) {
        const std::vector<std::string> fields = split_at(line, '\t');
        all.push_back(number < fields.size() ? fields[number] : "");
    }
    return all;
}

// Submits a task and returns its id.
inline std::string submit(const serving& here, std::vector<std::string> arguments) {
    const program_output output = here.ask("submit", std::move(arguments));
    EXPECT_EQ(output.code, 0) << output.err;
    return output.out.substr(0, 13);
}
// The same for a task that has failed when the call returns.
inline std::string submit_failing(const serving& here, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"echo", R"({"fail": "it broke"})", "--attempts", "1", "--wait"});
    const program_output output = here.ask("submit", std::move(more));
    EXPECT_EQ(output.code, 3) << output.err;
    return output.out.substr(0, 13);
}
inline boost::json::value parsed(const program_output& output) {
    EXPECT_EQ(output.code, 0) << output.err;
    return weir::http::parse_json(output.out);
}

// Calls body(url) while a server on loopback answers so.
inline void beside_server(
    std::function<weir::task<weir::http::response>(weir::http::request&)> answer,
    const std::function<void(const std::string&)>& body) {
    auto serve_meanwhile = [&]() -> weir::task<> {
        weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
        const std::string url =
            "http://127.0.0.1:" + std::to_string(listener.local_address().port());
        auto respond = [&](weir::http::request& request) { return answer(request); };
        const weir::handle<> serving_it =
            weir::spawn(weir::http::serve(std::move(listener), respond));
        auto call_body = [&] { body(url); };
        co_await weir::run_blocking(call_body);
        serving_it.cancel();
        co_await serving_it.wait();
    };
    weir::run(in_time(serve_meanwhile()));
}

// A request by curl, for what the program has no command for.
inline void request(const std::string& method, const std::string& url, const std::string& body) {
    need("/usr/bin/curl", "curl");
    const weir::command_result done =
        weir::run(run_program({"curl", "-sS", "--fail-with-body", "-X", method, url, "-H",
                               "Content-Type: application/json", "-d", body}));
    EXPECT_EQ(done.status.code(), 0) << done.out << done.err;
}

// The output of the program on a terminal with so many columns; both streams come as one.
inline std::string on_terminal(const serving& here, std::vector<std::string> arguments,
                               unsigned short columns) {
    arguments.insert(arguments.begin(), WEIR_PROGRAM);
    arguments.insert(arguments.end(), {"--server", here.url});
    std::vector<char*> words;
    for (std::string& each : arguments) {
        words.push_back(each.data());
    }
    words.push_back(nullptr);
    winsize size{};
    size.ws_row = 24;
    size.ws_col = columns;
    int screen = -1;
    const pid_t child = ::forkpty(&screen, nullptr, nullptr, &size);
    if (child == 0) {
        ::execv(words[0], words.data());
        ::_exit(127);
    }
    std::string output;
    char bytes[4096];
    for (ssize_t count = 0; (count = ::read(screen, bytes, sizeof bytes)) > 0;) {
        output.append(bytes, static_cast<std::size_t>(count));
    }
    ::close(screen);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << output;
    std::erase(output, '\r');
    return output;
}

}  // namespace weir_test
