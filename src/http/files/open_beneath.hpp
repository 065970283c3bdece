// SPDX-License-Identifier: MIT
// Opens a file below a folder. No path of a client leads out of the folder.
#pragma once

#include <weir/http/files.hpp>
#include <weir/io/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace weir::http::detail {

// Owns a descriptor.
class held_descriptor {
public:
    held_descriptor() noexcept = default;
    explicit held_descriptor(int fd) noexcept : fd_(fd) {}
    held_descriptor(held_descriptor&& other) noexcept : fd_(other.release()) {}
    held_descriptor& operator=(held_descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~held_descriptor();
    int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_ = -1;
};

// Identifies one state of a file. Times are in nanoseconds since 1970.
struct file_facts {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified = 0;
    std::int64_t changed = 0;  // of the inode, which programs cannot set

    friend bool operator==(const file_facts&, const file_facts&) = default;
};

enum class found : unsigned char { file, directory, other, nothing };

struct found_file {
    found what = found::nothing;
    int error = 0;         // errno, if nothing was found
    held_descriptor file;  // open for reading, if a file was found
    file_facts facts;
};

// May block, unless `only_cached`: then the error is EAGAIN if it would need the disk. Never opens
// devices and pipes. `path` has no '..' and no leading slash.
found_file open_beneath(const std::string& folder, const std::string& path, links follow,
                        bool only_cached) noexcept;
// The same for systems without openat2(2): opens one segment after the other.
found_file open_step_by_step(const std::string& folder, const std::string& path,
                             links follow) noexcept;

// Throws io_error.
file_facts facts_of(int fd, const std::string& name);
// Of the regular file with that name, following all links. False if there is none.
bool look_at(const std::string& name, file_facts& facts) noexcept;

// Reads as much as the system has in memory, without waiting for the disk.
std::size_t read_cached(int fd, io::bytes into, std::uint64_t offset) noexcept;

}  // namespace weir::http::detail
