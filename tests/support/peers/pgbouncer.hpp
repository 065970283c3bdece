// SPDX-License-Identifier: MIT
// A PgBouncer of the test, in front of a PostgreSQL of the test: it gives each transaction any of
// its few server connections.
#pragma once

#include "nginx.hpp"
#include "postgres.hpp"
#include "program.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace weir_test {

class pgbouncer {
public:
    // The most server connections, which its clients share.
    explicit pgbouncer(const postgres& behind, int connections = 3) {
        need("/usr/sbin/pgbouncer", "pgbouncer");
        for (int attempt = 0;; ++attempt) {
            port_ = free_port();
            const auto settings = folder_.write("pgbouncer.ini", settings_for(behind, connections));
            behind.give_away(folder_.path());
            behind.give_away(settings);
            std::vector<std::string> command = behind.as_user();
            command.insert(command.end(), {"/usr/sbin/pgbouncer", settings.string()});
            program_ = std::make_unique<running_program>(folder_, std::move(command));
            try {
                program_->wait_until(
                    [&] { return program_->err().find("process up") != std::string::npos; });
                return;
            } catch (const std::runtime_error&) {
                if (attempt == 5) {
                    throw;
                }
            }
        }
    }

    std::string url(std::string_view database = "postgres") const {
        return "postgresql://weir@127.0.0.1:" + std::to_string(port_) + "/" +
               std::string(database) + "?sslmode=disable";
    }
    std::string log() const { return program_->err(); }

private:
    std::string settings_for(const postgres& behind, int connections) const {
        return "[databases]\n* = host=127.0.0.1 port=" + std::to_string(behind.port()) +
               " user=weir\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " +
               std::to_string(port_) +
               "\nauth_type = any\nunix_socket_dir =\npool_mode = transaction\n"
               "server_tls_sslmode = disable\nmax_client_conn = 500\ndefault_pool_size = " +
               std::to_string(connections) + "\n";
    }

    temporary_folder folder_;
    std::uint16_t port_ = 0;
    std::unique_ptr<running_program> program_;
};

}  // namespace weir_test
