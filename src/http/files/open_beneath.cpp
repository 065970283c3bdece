// SPDX-License-Identifier: MIT
// openat2(2) resolves a path without leaving the folder, even if files are renamed meanwhile, to a
// descriptor that cannot be read (O_PATH). Only a regular file is then opened again for reading, by
// its name in /proc: opening a named pipe would already disturb the process at its other end.
//
// On systems without openat2 the path is walked: each segment is opened below the previous one,
// links are resolved here, and '..' in them goes back along the opened descriptors.

#include "http/files/open_beneath.hpp"

#include <weir/io/error.hpp>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <string_view>
#include <vector>

namespace weir::http::detail {

namespace {

constexpr int look_flags = O_PATH | O_CLOEXEC;

found_file failed(int error) noexcept {
    found_file result;
    result.error = error;
    return result;
}

std::int64_t nanoseconds(const timespec& time) noexcept {
    // Limited to what 64 bits of nanoseconds can express.
    constexpr std::int64_t most = 9'000'000'000;
    const std::int64_t seconds = time.tv_sec < -most  ? -most
                                 : time.tv_sec > most ? most
                                                      : time.tv_sec;
    return seconds * 1'000'000'000 + time.tv_nsec;
}

file_facts facts_in(const struct stat& about) noexcept {
    return {static_cast<std::uint64_t>(about.st_dev), static_cast<std::uint64_t>(about.st_ino),
            static_cast<std::uint64_t>(about.st_size), nanoseconds(about.st_mtim),
            nanoseconds(about.st_ctim)};
}

int open_again(int path_fd, int more_flags) noexcept {
    std::array<char, 32> name;
    std::snprintf(name.data(), name.size(), "/proc/self/fd/%d", path_fd);
    return ::open(name.data(), O_RDONLY | O_CLOEXEC | O_NOCTTY | more_flags);
}

// Opens a regular file for reading, given a descriptor of its place.
found_file opened(held_descriptor place, bool only_cached) noexcept {
    struct stat about{};
    if (::fstat(place.get(), &about) != 0) {
        return failed(errno);
    }
    found_file result;
    if (S_ISDIR(about.st_mode)) {
        result.what = found::directory;
        return result;
    }
    if (!S_ISREG(about.st_mode)) {
        result.what = found::other;
        return result;
    }
    // O_NONBLOCK: do not wait here for another process that holds a lease on the file.
    const int fd = open_again(place.get(), only_cached ? O_NONBLOCK : 0);
    if (fd < 0) {
        return failed(errno);
    }
    if (only_cached) {
        ::fcntl(fd, F_SETFL, O_RDONLY);  // io_uring would fail instead of waiting
    }
    result.file = held_descriptor(fd);
    result.what = found::file;
    result.facts = facts_in(about);
    return result;
}

int open_how_beneath(int at, const char* path, std::uint64_t flags,
                     std::uint64_t resolve) noexcept {
    open_how how{};
    how.flags = flags;
    how.resolve = resolve;
    // A concurrent rename can make it uncertain whether a path leaves the folder.
    constexpr int most_attempts = 16;
    for (int attempt = 1;; ++attempt) {
        const long fd = ::syscall(SYS_openat2, at, path, &how, sizeof how);
        if (fd >= 0) {
            return static_cast<int>(fd);
        }
        const bool may_pass =
            errno == EINTR || (errno == EAGAIN && (resolve & RESOLVE_CACHED) == 0);
        if (errno == EINVAL && (resolve & RESOLVE_CACHED) != 0) {
            return -EAGAIN;  // a kernel before 5.12, which does not know the flag
        }
        if (!may_pass || attempt == most_attempts) {
            return -errno;
        }
    }
}

bool is_missing_call(int error) noexcept {
    return error == ENOSYS || error == EPERM;  // EPERM: forbidden in some containers
}

// The walk without openat2.
class walk {
public:
    explicit walk(links follow) noexcept : follow_(follow) {}

    // Give 0 or an error. take() gives what the last step found.
    int begin(const std::string& folder) {
        return push(::open(folder.c_str(), look_flags | O_DIRECTORY));
    }
    int go(std::string path) {
        while (!path.empty()) {
            const std::size_t slash = path.find('/');
            const std::string segment = path.substr(0, slash);
            path.erase(0, slash == std::string::npos ? path.size() : slash + 1);
            if (const int error = step(segment, path)) {
                return error;
            }
        }
        return 0;
    }
    held_descriptor take() noexcept { return std::move(places_.back()); }

private:
    int push(int fd) {
        if (fd < 0) {
            return errno;
        }
        places_.emplace_back(fd);
        return 0;
    }
    int step(const std::string& segment, std::string& rest) {
        if (!is_folder_) {
            return ENOTDIR;
        }
        if (segment.empty() || segment == ".") {
            return 0;
        }
        if (segment == "..") {
            if (places_.size() == 1) {
                return EXDEV;
            }
            places_.pop_back();
            return 0;
        }
        if (const int error =
                push(::openat(places_.back().get(), segment.c_str(), look_flags | O_NOFOLLOW))) {
            return error;
        }
        struct stat about{};
        if (::fstat(places_.back().get(), &about) != 0) {
            return errno;
        }
        if (!S_ISLNK(about.st_mode)) {
            is_folder_ = S_ISDIR(about.st_mode);
            return 0;
        }
        constexpr int most_links = 40;
        if (follow_ == links::none || ++links_ > most_links) {
            return ELOOP;
        }
        std::string target(PATH_MAX, '\0');
        const ssize_t size = ::readlinkat(places_.back().get(), "", target.data(), target.size());
        if (size < 0) {
            return errno;
        }
        target.resize(static_cast<std::size_t>(size));
        if (target.starts_with('/')) {
            return EXDEV;
        }
        places_.pop_back();
        rest = rest.empty() ? target : target + '/' + rest;
        return rest.size() > std::size_t{PATH_MAX} * 4 ? ENAMETOOLONG : 0;
    }

    links follow_;
    std::vector<held_descriptor> places_;  // the folder, and each below the one before
    bool is_folder_ = true;                // whether the last of them is
    int links_ = 0;
};

}  // namespace

held_descriptor::~held_descriptor() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

found_file open_beneath(const std::string& folder, const std::string& path, links follow,
                        bool only_cached) noexcept {
    const std::uint64_t cached = only_cached ? RESOLVE_CACHED : 0;
    const int root = open_how_beneath(AT_FDCWD, folder.c_str(), look_flags | O_DIRECTORY, cached);
    if (root < 0) {
        if (!is_missing_call(-root)) {
            return failed(-root);
        }
        return only_cached ? failed(EAGAIN) : open_step_by_step(folder, path, follow);
    }
    held_descriptor place(root);
    if (!path.empty()) {
        std::uint64_t resolve = cached | RESOLVE_NO_MAGICLINKS;
        resolve |= follow == links::anywhere ? 0 : RESOLVE_BENEATH;
        resolve |= follow == links::none ? RESOLVE_NO_SYMLINKS : 0;
        const int fd = open_how_beneath(root, path.c_str(), look_flags, resolve);
        if (fd < 0) {
            return failed(-fd);
        }
        place = held_descriptor(fd);
    }
    return opened(std::move(place), only_cached);
}

found_file open_step_by_step(const std::string& folder, const std::string& path,
                             links follow) noexcept {
    try {
        if (follow == links::anywhere) {
            const int fd = ::open((folder + '/' + path).c_str(), look_flags);
            return fd < 0 ? failed(errno) : opened(held_descriptor(fd), false);
        }
        walk steps(follow);
        int error = steps.begin(folder);
        if (error == 0) {
            error = steps.go(path);
        }
        return error != 0 ? failed(error) : opened(steps.take(), false);
    } catch (const std::bad_alloc&) {
        return failed(ENOMEM);
    }
}

file_facts facts_of(int fd, const std::string& name) {
    struct stat about{};
    if (::fstat(fd, &about) != 0) {
        throw io_error(errno, "stat " + name);
    }
    return facts_in(about);
}

bool look_at(const std::string& name, file_facts& facts) noexcept {
    struct stat about{};
    if (::stat(name.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
        return false;
    }
    facts = facts_in(about);
    return true;
}

std::size_t read_cached(int fd, io::bytes into, std::uint64_t offset) noexcept {
    std::size_t got = 0;
    while (got < into.size()) {
        const iovec part{into.data() + got, into.size() - got};
        const ssize_t count = ::preadv2(fd, &part, 1, static_cast<off_t>(offset + got), RWF_NOWAIT);
        if (count <= 0) {
            break;  // not in memory, at the end, or an error that an ordinary read will report
        }
        got += static_cast<std::size_t>(count);
    }
    return got;
}

}  // namespace weir::http::detail
