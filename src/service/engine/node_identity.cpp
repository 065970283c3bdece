// SPDX-License-Identifier: MIT
// A process number means something only on one machine, since one boot, in one name space
// (containers have their own), so all three are part of the host. Of this process itself, which may
// have the number of one that has crashed, the names in force are known.

#include "service/engine/node_identity.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
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

// The system says so, to everybody: what cannot be seen in /proc may still be there, as another
// user's process that is hidden (hidepid). One that has ended and waits for its parent is only seen
// there: 'pid (name) state ...'. The name may contain anything.
bool is_running(std::int64_t process, const std::string& processes) {
    if (process <= 0 || process > std::numeric_limits<pid_t>::max()) {
        return true;  // no process of ours: a live one must not be taken for dead, so its lease decides
    }
    if (::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) {
        return false;
    }
    std::ifstream file(processes + "/" + std::to_string(process) + "/stat");
    if (!file) {
        return true;  // hidden; or there are no descriptors left to look with
    }
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= text.size()) {
        return ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;  // went meanwhile?
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
