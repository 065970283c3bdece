// SPDX-License-Identifier: MIT
// A process number is only meaningful on one machine, within one boot and one name space
// (containers have their own), so all three are part of the host. A crashed process may have had
// the number of this one; therefore the names that this process uses are recorded.

#include "service/engine/node_identity.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <limits>
#include <mutex>
#include <set>

namespace weir::service::detail {

namespace {

struct names_in_force {
    std::mutex guard;
    std::set<std::string, std::less<>> names;
};
names_in_force& in_force() {
    static names_in_force all;
    return all;
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string hexadecimal(std::uint64_t number) {
    std::array<char, 16> digits{};
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
    return std::string(digits.data(), written.ptr);
}

}  // namespace

// kill() answers for every process, while /proc may hide those of other users (hidepid). A zombie,
// which has ended and waits for its parent, is only recognised in /proc: 'pid (name) state ...'.
// The name may contain any character.
bool is_running(std::int64_t process, const std::string& processes) {
    if (process <= 0 || process > std::numeric_limits<pid_t>::max()) {
        return true;  // not a process number of this machine; a live process must not be presumed dead
    }
    if (::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) {
        return false;
    }
    std::ifstream file(processes + "/" + std::to_string(process) + "/stat");
    if (!file) {
        return true;  // hidden, or this process has no free descriptors
    }
    std::string text(1000, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));  // it may end meanwhile
    text.resize(static_cast<std::size_t>(file.gcount()));
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= text.size()) {
        return ::kill(static_cast<pid_t>(process), 0) == 0 ||
               errno != ESRCH;  // it may have ended meanwhile
    }
    const char state = text[name_end + 2];
    return state != 'Z' && state != 'X';
}

node_name::node_name(std::uint64_t random) {
    static std::atomic<std::uint64_t> count{0};
    text_ =
        std::to_string(this_process()) + "." + std::to_string(++count) + "." + hexadecimal(random);
    const std::lock_guard lock(in_force().guard);
    in_force().names.insert(text_);
}

node_name::~node_name() {
    const std::lock_guard lock(in_force().guard);
    in_force().names.erase(text_);
}

const std::string& this_host() {
    static const std::string host = [] {
        std::array<char, 256> space{};
        const ssize_t length = ::readlink("/proc/self/ns/pid", space.data(), space.size() - 1);
        return first_line("/proc/sys/kernel/hostname") + " " +
               first_line("/proc/sys/kernel/random/boot_id") + " " +
               std::string(space.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    }();
    return host;
}

std::int64_t this_process() noexcept {
    return ::getpid();
}

bool is_gone(const node_record& node) {
    if (node.host != this_host()) {
        return false;
    }
    if (node.pid == this_process()) {
        const std::lock_guard lock(in_force().guard);
        return !in_force().names.contains(node.id);
    }
    return ::access("/proc/self/stat", R_OK) == 0 && !is_running(node.pid);
}

}  // namespace weir::service::detail
