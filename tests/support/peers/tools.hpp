// SPDX-License-Identifier: MIT
// Scripts and tools as peers. Servers:
//
//     weir_test::node_server echo(R"(... console.log(server.address().port); ...)");
//     weir_test::python_server other("...", {"argument"});
//     echo.port();                                            // the first line that it printed
//
// and what runs to its end beside a server of ours, on the loop of the test:
//
//     const auto answer = co_await weir_test::curl({"-i", url});     // status.code(), out, err
//     const auto ran = co_await weir_test::node("require('ws'); ...", {"ws://..."});
//
// Arguments are process.argv[2]... and sys.argv[1]... as usual. Node finds Debian's packages
// (`ws`), and scripts must work with version 18; Python is Debian's (`websockets`).
#pragma once

#include "program.hpp"

#include <charconv>
#include <concepts>
#include <cstdint>
#include <memory>

namespace weir_test {

// Arguments, written {"-i", url}.
class words {
public:
    words() = default;
    // No std::initializer_list: GCC 12 cannot compile one inside co_await expressions.
    template <std::convertible_to<std::string_view>... Words>
        requires(sizeof...(Words) > 0)
    words(const Words&... all) {
        all_.reserve(sizeof...(all));
        (all_.emplace_back(std::string_view(all)), ...);
    }
    words(std::vector<std::string> all) noexcept : all_(std::move(all)) {}
    const std::vector<std::string>& all() const noexcept { return all_; }

private:
    std::vector<std::string> all_;
};

namespace detail {

using strings = std::vector<std::string>;

inline strings node_environment() {
    return {"NODE_PATH=/usr/share/nodejs", "NODE_NO_WARNINGS=1"};
}
inline strings python_environment() {
    return {"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONNOUSERSITE=1"};
}
inline std::string node_program() {
    need("/usr/bin/node", "nodejs");
    return "/usr/bin/node";
}
inline std::string python_program() {
    need("/usr/bin/python3", "python3");
    return "/usr/bin/python3";
}
inline strings joined(strings first, const words& rest) {
    first.insert(first.end(), rest.all().begin(), rest.all().end());
    return first;
}

class script_server {
public:
    std::uint16_t port() const noexcept { return port_; }
    std::string url(std::string_view target = "/", std::string_view protocol = "http") const {
        return std::string(protocol) + "://127.0.0.1:" + std::to_string(port_) +
               std::string(target);
    }
    std::string out() const { return program_->out(); }
    std::string err() const { return program_->err(); }
    void stop() noexcept { program_->stop(); }

protected:
    script_server(std::string program, std::string_view name, std::string_view script,
                  const words& arguments, const strings& variables) {
        const std::string file = folder_.write(name, script).string();
        program_ = std::make_unique<running_program>(
            folder_, joined({std::move(program), file}, arguments), variables);
        program_->wait_until([&] {
            const std::string said = program_->out();
            const std::size_t end = said.find('\n');
            return end != std::string::npos &&
                   std::from_chars(said.data(), said.data() + end, port_).ec == std::errc{};
        });
    }

private:
    temporary_folder folder_;
    std::unique_ptr<running_program> program_;
    std::uint16_t port_ = 0;
};

inline weir::task<weir::command_result> run_script(std::string program, std::string name,
                                                   std::string script, words arguments,
                                                   strings variables) {
    const temporary_folder folder;
    const std::string file = folder.write(name, script).string();
    strings command = joined({std::move(program), file}, arguments);
    weir::command_result result = co_await run_program(std::move(command), std::move(variables));
    co_return result;
}

}  // namespace detail

// Scripts that print the port that they listen on, as the first line, and then run on.
class node_server : public detail::script_server {
public:
    explicit node_server(std::string_view script, const words& arguments = {})
        : script_server(detail::node_program(), "script.cjs", script, arguments,
                        detail::node_environment()) {}
};

class python_server : public detail::script_server {
public:
    explicit python_server(std::string_view script, const words& arguments = {})
        : script_server(detail::python_program(), "script.py", script, arguments,
                        detail::python_environment()) {}
};

// Scripts and tools that run to their end. Cancelling ends them.
inline weir::task<weir::command_result> node(std::string script, words arguments = {}) {
    return detail::run_script(detail::node_program(), "script.cjs", std::move(script),
                              std::move(arguments), detail::node_environment());
}
inline weir::task<weir::command_result> python(std::string script, words arguments = {}) {
    return detail::run_script(detail::python_program(), "script.py", std::move(script),
                              std::move(arguments), detail::python_environment());
}

// curl without the user's settings, progress bar and proxies; it gives up after 15 s.
inline weir::task<weir::command_result> curl(const words& arguments, std::string input = {}) {
    need("/usr/bin/curl", "curl");
    return run_program(
        detail::joined({"/usr/bin/curl", "-q", "-sS", "--noproxy", "*", "--max-time", "15"},
                       arguments),
        {}, std::move(input));
}

inline weir::task<weir::command_result> wrk(const words& arguments) {
    need("/usr/bin/wrk", "wrk");
    return run_program(detail::joined({"/usr/bin/wrk"}, arguments));
}

// For scripts that use them: NODE_PATH's ws, and Python's websockets.
inline void need_node_ws() {
    need("/usr/share/nodejs/ws/package.json", "node-ws");
}
inline void need_python_websockets() {
    need("/usr/lib/python3/dist-packages/websockets/__init__.py", "python3-websockets");
}

}  // namespace weir_test
