// SPDX-License-Identifier: MIT
// nginx with a configuration of the test's own, on a free port of the loopback interface.
//
//     weir_test::nginx origin("location / { return 200 'hello'; }");
//     origin.url("/some/path");                       // http://127.0.0.1:PORT/some/path
//
// Relative paths in the configuration are below its own folder: `root www;` serves the file of
// origin.write("www/a.txt", "..."). One process, no daemon, with the user of the test.
#pragma once

#include "program.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <memory>

namespace weir_test {

inline sockaddr_in loopback_address(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    return at;
}

// A port that was free a moment ago: the caller must be ready to try another.
inline std::uint16_t free_port() {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at = loopback_address(0);
    socklen_t size = sizeof at;
    const bool bound = bind(probe, reinterpret_cast<sockaddr*>(&at), size) == 0 &&
                       getsockname(probe, reinterpret_cast<sockaddr*>(&at), &size) == 0;
    close(probe);
    if (!bound) {
        throw std::runtime_error("no free port");
    }
    return ntohs(at.sin_port);
}

inline bool accepts(std::uint16_t port) {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at = loopback_address(port);
    const bool connected = connect(probe, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    close(probe);
    return connected;
}

struct nginx_options {
    std::string_view http = {};                     // directives beside the server's block
    std::string_view listen = {};                   // after the address: "ssl http2"
    std::string_view protocol = {};                 // of url(); default: https if listen has ssl
    std::map<std::string, std::string> files = {};  // needed at the start, such as certificates
};

class nginx {
public:
    explicit nginx(std::string_view server, const nginx_options& options = {}) {
        need("/usr/sbin/nginx", "nginx-light");
        for (const auto& [name, text] : options.files) {
            folder_.write(name, text);
        }
        const bool secure = options.listen.find("ssl") != std::string_view::npos;
        const std::string_view given = options.protocol;
        protocol_ = !given.empty() ? given : secure ? "https" : "http";
        for (int attempt = 0;; ++attempt) {
            port_ = free_port();
            folder_.write("nginx.conf", configuration(server, options));
            const std::string folder = folder_.path().string() + "/";
            const std::vector<std::string> command{
                "/usr/sbin/nginx", "-e", "stderr", "-p", folder, "-c", "nginx.conf"};
            program_ = std::make_unique<running_program>(folder_, command);
            try {
                program_->wait_until([&] { return accepts(port_) && program_->is_running(); });
                return;
            } catch (const std::runtime_error&) {
                const bool taken = log().find("Address already in use") != std::string::npos;
                if (!taken || attempt == 5) {
                    throw;
                }
            }
        }
    }

    std::uint16_t port() const noexcept { return port_; }
    std::string url(std::string_view target = "/") const {
        return protocol_ + "://127.0.0.1:" + std::to_string(port_) + std::string(target);
    }
    const temporary_folder& folder() const noexcept { return folder_; }
    void write(std::string_view name, std::string_view text) const { folder_.write(name, text); }
    // One line a request: method, target, status, bytes of the body, connection number.
    std::string access_log() const { return folder_.read("access.log"); }
    std::string log() const { return program_->err(); }
    void stop() noexcept { program_->stop(); }

private:
    std::string configuration(std::string_view server, const nginx_options& options) const {
        std::string text =
            "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\n"
            "error_log stderr warn;\n"
            "events { worker_connections 1000; }\n"
            "http {\n"
            "log_format plain '$request_method $request_uri $status $body_bytes_sent "
            "$connection';\n"
            "access_log access.log plain;\n"
            "default_type text/plain;\nkeepalive_requests 1000000;\n";
        for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
            text += std::string(kind) + "_temp_path temporary/" + kind + " 1;\n";
        }
        text += std::string(options.http) + "\nserver {\nlisten 127.0.0.1:" + std::to_string(port_);
        text += " " + std::string(options.listen) + ";\n" + std::string(server) + "\n}\n}\n";
        std::filesystem::create_directories(folder_ / "temporary");
        return text;
    }

    temporary_folder folder_;
    std::string protocol_;
    std::uint16_t port_ = 0;
    std::unique_ptr<running_program> program_;
};

}  // namespace weir_test
