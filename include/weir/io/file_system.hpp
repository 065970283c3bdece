// SPDX-License-Identifier: MIT
// Operations on paths. Errors are io_errors that name the path: 'remove /nonexistent: No such file
// or directory'; a path with a zero byte is an invalid_argument. A stop does not undo a call that
// has begun: the task stops when the call has ended.
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
    unsigned permissions = 0;  // such as 0644
    std::uint32_t owner = 0;
    std::uint32_t group = 0;
    std::uint64_t inode = 0;
    std::uint64_t links = 0;
    std::chrono::system_clock::time_point modified{};
    std::chrono::system_clock::time_point accessed{};
};

// stat follows a symbolic link; stat_link gives the status of the link itself.
task<file_status> stat(std::string path);
task<file_status> stat_link(std::string path);
// Does the path exist? A symbolic link counts, even a dangling one.
task<bool> exists(std::string path);

// The complete file. Throws limit_exceeded if it is larger; then no more than the limit was read.
task<std::string> read_file(std::string path, std::size_t limit = std::size_t{64} << 20);

struct write_file_options {
    // All or nothing: readers see the old file or the new one, never a part, also after a crash of
    // the machine. The data is written to a new file beside it, synced, and renamed: the file keeps
    // its permissions, but not its owner, and other hard links keep the old content. A symbolic
    // link stays, and the file that it leads to is replaced, as without this option.
    bool atomically = false;
    unsigned permissions = 0666;  // of a created file, less the umask
};
// The data replaces the content of the file.
task<> write_file(std::string path, const_bytes data, write_file_options options = {});

// Removes a file or an empty directory.
task<> remove(std::string path);
// Replaces an existing file of the new name.
task<> rename(std::string from, std::string to);
task<> make_directory(std::string path, unsigned permissions = 0777);

struct directory_entry {
    std::string name;
    file_kind kind = file_kind::unknown;
};
// Without '.' and '..', sorted by name. Throws limit_exceeded if there are more entries.
task<std::vector<directory_entry>> list_directory(std::string path, std::size_t limit = 1'000'000);

}  // namespace weir::io
