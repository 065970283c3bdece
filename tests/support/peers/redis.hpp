// SPDX-License-Identifier: MIT
// A Redis of the test's own, in a folder that goes away with it.
#pragma once

#include <support/io.hpp>
#include <support/peers/nginx.hpp>
#include <support/peers/program.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redis_test {

class redis_server {
public:
    // speaks_tls: only TLS; `more` holds further arguments, such as certificates.
    explicit redis_server(std::vector<std::string> more = {}, bool speaks_tls = false)
        : more_(std::move(more)), speaks_tls_(speaks_tls) {
        weir_test::need("/usr/bin/redis-server", "redis-server");
        for (int attempt = 0; attempt < 5 && !program_; ++attempt) {
            port_ = weir_test::free_port();
            try {
                start();
            } catch (const std::runtime_error&) {
                program_.reset();  // another process took the port
            }
        }
        if (!program_) {
            throw std::runtime_error("redis-server does not start");
        }
    }

    // Starts again on the same port, without its data.
    void start() {
        std::vector<std::string> command = {"/usr/bin/redis-server",
                                            speaks_tls_ ? "--tls-port" : "--port",
                                            std::to_string(port_),
                                            "--bind",
                                            "127.0.0.1",
                                            "--save",
                                            "",
                                            "--dir",
                                            folder_.path().string()};
        if (speaks_tls_) {
            command.insert(command.end(), {"--port", "0"});
        }
        command.insert(command.end(), more_.begin(), more_.end());
        program_.emplace(folder_, std::move(command));
        program_->wait_until([&] {
            return program_->out().find("Ready to accept connections") != std::string::npos;
        });
    }
    void stop() noexcept { program_->stop(); }
    void signal(int number) const { program_->signal(number); }
    std::uint16_t port() const noexcept { return port_; }

private:
    weir_test::temporary_folder folder_;
    std::vector<std::string> more_;
    bool speaks_tls_;
    std::uint16_t port_ = 0;
    std::optional<weir_test::running_program> program_;
};

// One for all tests that do not hurt it.
inline redis_server& shared_server() {
    static redis_server server;
    return server;
}

}  // namespace redis_test
