// SPDX-License-Identifier: MIT
// The file is small, local and nearly always in memory: reading it takes less time than handing it
// to another thread. Its attributes (time of change, size, inode) show whether it has changed.

#include "io/dns/hosts_file.hpp"

#include <weir/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace weir::dns::detail {

namespace {

constexpr std::int64_t largest_file = 1 << 20;
constexpr std::size_t most_addresses = 64;  // of one name
constexpr std::string_view blank = " \t\r\f\v";

std::string_view take_word(std::string_view& line) noexcept {
    line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blank));
    line.remove_prefix(word.size());
    return word;
}

std::string lower(std::string_view word) {
    std::string made(word);
    for (char& each : made) {
        each = each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
    }
    if (made.ends_with('.')) {
        made.pop_back();
    }
    return made;
}

void parse_line(std::string_view line, host_table& into) {
    line = line.substr(0, line.find('#'));
    const std::string_view number = take_word(line);
    if (number.empty()) {
        return;
    }
    io::address where;
    try {
        where = io::address::parse(number, 0);
    } catch (const invalid_argument&) {
        return;
    }
    for (std::string_view name = take_word(line); !name.empty(); name = take_word(line)) {
        std::vector<io::address>& known = into[lower(name)];
        if (known.size() < most_addresses &&
            std::find(known.begin(), known.end(), where) == known.end()) {
            known.push_back(where);
        }
    }
}

std::string read_all(int fd, std::int64_t size) {
    std::string text(static_cast<std::size_t>(size), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
        const ssize_t got = ::read(fd, text.data() + have, text.size() - have);
        if (got <= 0) {
            break;
        }
        have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
}

}  // namespace

file_version file_version::of(const std::string& path) noexcept {
    struct stat seen{};
    if (::stat(path.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode)) {
        return {};
    }
    return {seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec, seen.st_size, seen.st_ino};
}

host_table parse_hosts(std::string_view text) {
    host_table made;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        parse_line(text.substr(0, end), made);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return made;
}

const std::vector<io::address>* hosts_file::find(const std::string& name, clock::time_point now) {
    if (path_.empty()) {
        return nullptr;
    }
    if (now >= next_look_) {
        next_look_ = weir::detail::after(now, file_look_interval);
        read_if_changed();
    }
    const auto found = table_.find(name);
    return found == table_.end() ? nullptr : &found->second;
}

void hosts_file::read_if_changed() {
    const file_version current = file_version::of(path_);
    if (current == read_) {
        return;
    }
    read_ = current;
    table_.clear();
    if (current.size < 0 || current.size > largest_file) {
        return;
    }
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        read_ = {};
        return;
    }
    const std::string text = read_all(fd, current.size);
    ::close(fd);
    table_ = parse_hosts(text);
}

}  // namespace weir::dns::detail
