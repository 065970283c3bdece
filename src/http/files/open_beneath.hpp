// SPDX-License-Identifier: MIT
// Opening a file that is below a folder, whatever path a client has thought of.
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

// What tells one state of a file from another. Times are in nanoseconds since 1970.
struct file_facts {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified = 0;
    std::int64_t changed = 0;  // the inode: nobody can set it back

    friend bool operator==(const file_facts&, const file_facts&) = default;
};

enum class found : unsigned char { file, directory, other, nothing };

struct found_file {
    found what = found::nothing;
    int error = 0;         // if nothing: of the system
    held_descriptor file;  // if a file: open for reading
    file_facts facts;
};

// Blocks, unless `only_cached`: then the error is EAGAIN if a disk would have to be asked. Devices
// and pipes are not opened, not even for a moment. `path` has neither '..' nor a slash at its
// front.
found_file open_beneath(const std::string& folder, const std::string& path, links follow,
                        bool only_cached) noexcept;
// The same for systems without openat2(2): each segment is opened for itself.
found_file open_step_by_step(const std::string& folder, const std::string& path,
                             links follow) noexcept;

// Throws io_error.
file_facts facts_of(int fd, const std::string& name);
// Of whatever regular file has that name, wherever links lead to; false: there is none.
bool look_at(const std::string& name, file_facts& facts) noexcept;

// As much as the system has in memory, without waiting for a disk.
std::size_t read_cached(int fd, io::bytes into, std::uint64_t offset) noexcept;

}  // namespace weir::http::detail
