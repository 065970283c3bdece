// SPDX-License-Identifier: MIT
// A process number means something only on one machine, since one boot, in one name space (containers have
// their own), so all three are part of the host. Of this process itself, which may have the number of one that
// has crashed, the names in force are known.

#include "node_identity.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
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

// 'pid (name) state ...': the name may contain anything.
bool is_running(std::int64_t process) {
    const std::string path = "/proc/" + std::to_string(process) + "/stat";
    if (::access(path.c_str(), F_OK) != 0) {
        return errno != ENOENT;
    }
    std::ifstream file(path);
    if (!file) {
        // It went just now, or cannot be looked at: there may be no descriptors left. A live one must not be taken
        // for dead.
        return true;
    }
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= text.size()) {
        return false;  // it went while it was read
    }
    const char state = text[name_end + 2];
    return state != 'Z' && state != 'X';
}

}  // namespace

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
