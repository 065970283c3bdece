// SPDX-License-Identifier: MIT
// Errors of the system are turned into messages that say what to do.

#include "program/serve/startup.hpp"

#include "program/output/program_name.hpp"

#include <weir/io/error.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace weir::program {

namespace {

bool is_program(const std::string& path) {
    std::error_code ignored;
    return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

io::listener listen_at(const io::address& at) {
    try {
        return io::listen(at);
    } catch (const io_error& error) {
        const std::string option = "--listen " + at.text() + ": ";
        switch (error.code().value()) {
            case EADDRINUSE:
                throw io_error(error.code(),
                               option + "another program uses this address (a running " +
                                   program_name() + " serve?): stop it, or choose another " +
                                   (at.kind() == io::address::family::local
                                        ? "path"
                                        : "port, such as --port 8081; --port 0 is any free one"));
            case EACCES:
                throw io_error(error.code(),
                               option +
                                   "permission denied: ports below 1024 need more rights,"
                                   " and a socket needs a writable folder");
            case EADDRNOTAVAIL:
                throw io_error(error.code(), option + "this machine does not have this address");
            default:
                throw;
        }
    }
}

std::string problem_with_program(const std::string& program) {
    if (program.find('/') != std::string::npos) {
        return is_program(program)                ? ""
               : std::filesystem::exists(program) ? program + " is not an executable file"
                                                  : "there is no program " + program;
    }
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (is_program((folder.empty() ? "." : folder) + "/" + program)) {
            return "";
        }
    }
    return "there is no program " + program + " in PATH";
}

}  // namespace weir::program
