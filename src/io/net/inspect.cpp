// SPDX-License-Identifier: MIT
// The folder protects the sockets: it must be a real folder, owned by this user, and closed to all
// others.

#include <weir/io/error.hpp>
#include <weir/io/inspect.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/read.hpp>
#include <weir/io/serve.hpp>
#include <weir/io/tcp.hpp>
#include <weir/loop.hpp>
#include <weir/timeout.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace weir::io {

namespace {

std::string folder_of(std::string_view runtime, uid_t user) {
    return runtime.starts_with('/') ? std::string(runtime) + "/weir"
                                    : "/tmp/weir-" + std::to_string(user);
}

std::string folder() {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    return folder_of(runtime != nullptr ? runtime : "", getuid());
}

std::string socket_in(const std::string& folder, int pid) {
    return folder + "/" + std::to_string(pid) + ".sock";
}

// XDG_RUNTIME_DIR of a process; empty if this user may not look into it.
std::string runtime_of(const std::string& process) {
    constexpr std::string_view name = "XDG_RUNTIME_DIR=";
    std::ifstream in(process + "/environ", std::ios::binary);
    for (std::string each; std::getline(in, each, '\0');) {
        if (each.starts_with(name)) {
            return each.substr(name.size());
        }
    }
    return {};
}

// A service may have another user, another runtime folder, and a /tmp of its own, as under systemd;
// then its files are found through /proc.
std::string find_socket(int pid) {
    const std::string process = "/proc/" + std::to_string(pid);
    struct stat found{};
    if (stat(process.c_str(), &found) != 0) {
        throw io_error(ESRCH, "there is no process " + std::to_string(pid));
    }
    const std::string theirs = socket_in(folder_of(runtime_of(process), found.st_uid), pid);
    const std::string common = socket_in(folder_of("", found.st_uid), pid);
    for (const std::string& path :
         {inspection_path(pid), theirs, process + "/root" + theirs, process + "/root" + common}) {
        if (access(path.c_str(), F_OK) == 0) {
            return path;
        }
    }
    throw io_error(
        ENOENT,
        "process " + std::to_string(pid) + " shows no tasks: there is no socket " + theirs +
            (found.st_uid == getuid() ? ""
                                      : "; it belongs to another user: run this as that user or"
                                        " as root"));
}

void make_private(const std::string& path) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        throw io_error(errno, "cannot make the folder " + path);
    }
    struct stat found{};
    if (lstat(path.c_str(), &found) != 0) {
        throw io_error(errno, "cannot look at the folder " + path);
    }
    if (!S_ISDIR(found.st_mode) || found.st_uid != getuid() || (found.st_mode & 077) != 0) {
        throw io_error(EPERM, path + " must be a folder of this user that no other user can open");
    }
}

task<> answer(socket peer) {
    const std::string tree = dump_tasks();
    co_await peer.write(tree);
}

// The constructor removes the file of an earlier process with the same number.
struct socket_file {
    explicit socket_file(std::string at) : path(std::move(at)) { unlink(path.c_str()); }
    socket_file(const socket_file&) = delete;
    socket_file& operator=(const socket_file&) = delete;
    ~socket_file() { unlink(path.c_str()); }
    const std::string path;
};

}  // namespace

std::string inspection_path(int pid) {
    return socket_in(folder(), pid);
}

task<> serve_inspection() {
    make_private(folder());
    const socket_file file(inspection_path(getpid()));
    const auto handler = [](socket peer, tcp::session&) -> task<> {
        co_await timeout(std::chrono::seconds(5), answer(std::move(peer)));
    };
    co_await tcp::serve(address::parse("unix:" + file.path), handler,
                        {.max_connections = 4, .drain_deadline = {}});
}

task<std::string> inspect(int pid) {
    constexpr std::size_t most = 64 << 20;
    const std::string path = find_socket(pid);
    socket peer = co_await tcp::connect("unix:" + path);
    co_return co_await read_all(peer, most);
}

}  // namespace weir::io
