// SPDX-License-Identifier: MIT
// /etc/hosts: names that need no server.
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

// Lines of an address and names; '#' begins a comment. What cannot be read is passed over. The
// names are in lower case; each has all its addresses, in the order of the file.
host_table parse_hosts(std::string_view text);

// What a file looks like from outside, so as to notice that it has changed.
struct file_version {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    std::int64_t size = -1;  // there is no such file
    std::uint64_t inode = 0;
    bool operator==(const file_version&) const = default;

    static file_version of(const std::string& path) noexcept;
};
// How often files are looked at, at most.
constexpr clock::duration file_look_interval = std::chrono::milliseconds(200);

// Read when it is first asked, and again when it has changed. A file that cannot be read, or has
// more than a mebibyte, counts as empty.
class hosts_file {
public:
    explicit hosts_file(std::string path) : path_(std::move(path)) {}
    // Null if the name is not in it.
    const std::vector<io::address>* find(const std::string& name, clock::time_point now);

private:
    void look();

    std::string path_;
    host_table table_;
    file_version read_;
    clock::time_point next_look_ = clock::time_point::min();
};

}  // namespace weir::dns::detail
