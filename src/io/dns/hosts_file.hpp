// SPDX-License-Identifier: MIT
// The hosts file: names that need no server.
#pragma once

#include <weir/clock.hpp>
#include <weir/io/address.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::dns::detail {

using host_table = std::unordered_map<std::string, std::vector<io::address>>;

// Lines of an address and names; '#' begins a comment. Invalid lines are skipped. The names are in
// lower case; each has all its addresses, in the order of the file.
host_table parse_hosts(std::string_view text);

// The attributes by which a change of a file is noticed.
struct file_version {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    std::int64_t size = -1;  // -1: no such file
    std::uint64_t inode = 0;
    bool operator==(const file_version&) const = default;

    static file_version of(const std::string& path) noexcept;
};
// Files are checked at most this often.
constexpr clock::duration file_look_interval = std::chrono::milliseconds(200);

// Read at the first find(), and again when it has changed. A file that cannot be read, or has more
// than a mebibyte, counts as empty.
class hosts_file {
public:
    explicit hosts_file(std::string path) : path_(std::move(path)) {}
    // Null if the name is not in it.
    const std::vector<io::address>* find(const std::string& name, clock::time_point now);

private:
    void read_if_changed();

    std::string path_;
    host_table table_;
    file_version read_;
    clock::time_point next_look_ = clock::time_point::min();
};

}  // namespace weir::dns::detail
