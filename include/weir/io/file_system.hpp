// SPDX-License-Identifier: MIT
// What can be done with paths. Errors are io_errors that name them: 'remove /nonexistent: No such
// file or directory'; a path with a zero byte in it is an invalid_argument. A call that has begun
// is not taken back by a stop: the task goes when it has ended.
#pragma once

#include <weir/io/buffer.hpp>
#include <weir/io/error.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::io {

enum class file_kind : unsigned char { regular, directory, link, socket, pipe, device, unknown };

struct file_status {
    file_kind kind = file_kind::unknown;
    std::uint64_t size = 0;
    unsigned permissions = 0;  // 0644 and such
    std::uint32_t owner = 0;
    std::uint32_t group = 0;
    std::uint64_t inode = 0;
    std::uint64_t links = 0;
    std::chrono::system_clock::time_point modified{};
    std::chrono::system_clock::time_point accessed{};
};

// Of what a symbolic link points to; stat_link: of the link itself.
task<file_status> stat(std::string path);
task<file_status> stat_link(std::string path);
// Is there something of that name? A link counts, wherever it points.
task<bool> exists(std::string path);

// The whole file. Throws limit_exceeded, having read no more than that, if it is larger.
task<std::string> read_file(std::string path, std::size_t limit = std::size_t{64} << 20);

struct write_file_options {
    // All or nothing: others see the old file or the new one, never a part, and after a crash of
    // the machine too. Written beside it, synced, and renamed; a symbolic link of that name is
    // replaced.
    bool atomically = false;
    unsigned permissions = 0666;  // of one that is made, less the umask
};
// The data replaces what was in the file.
task<> write_file(std::string path, const_bytes data, write_file_options options = {});

// A file, or an empty directory.
task<> remove(std::string path);
// Replaces what has that name.
task<> rename(std::string from, std::string to);
task<> make_directory(std::string path, unsigned permissions = 0777);

struct directory_entry {
    std::string name;
    file_kind kind = file_kind::unknown;
};
// Without '.' and '..', sorted by name. Throws limit_exceeded if there are more.
task<std::vector<directory_entry>> list_directory(std::string path, std::size_t limit = 1'000'000);

}  // namespace weir::io
