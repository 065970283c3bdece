// SPDX-License-Identifier: MIT
// The file is locked with flock and not by SQLite, so that reports can read a crawl that runs. The
// holder removes the file when it ends well; a lock on a file that was removed meanwhile is taken
// again on the new one.

#include "crawl/store/state_lock.hpp"

#include <weir/crawl/store.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weir::crawl::detail {

namespace {

bool is_same_file(int fd, const std::string& path) noexcept {
    struct stat locked{};
    struct stat named{};
    return ::fstat(fd, &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

std::string process_in(int fd) {
    std::array<char, 32> text{};
    const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
    std::string id(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    id.erase(id.find_last_not_of(" \n") + 1);
    return id.empty() ? "unknown" : id;
}

}  // namespace

state_lock::state_lock(const std::string& state_path) : path_(state_path + ".lock") {
    for (;;) {
        fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd_ < 0) {
            const std::string reason = std::strerror(errno);
            throw store_error("the state '" + state_path + "' cannot be written: '" + path_ +
                              "': " + reason + "; choose another place");
        }
        if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
            const int error = errno;
            const std::string holder = process_in(fd_);
            ::close(fd_);
            throw store_error(error == EWOULDBLOCK
                                  ? "'" + state_path + "' is in use by the process " + holder +
                                        ": wait for it, or use another state"
                                  : "cannot lock '" + path_ + "': " + std::strerror(error));
        }
        if (is_same_file(fd_, path_)) {
            break;
        }
        ::close(fd_);
    }
    const std::string id = std::to_string(::getpid()) + "\n";
    if (::ftruncate(fd_, 0) != 0 ||
        ::pwrite(fd_, id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
        const int error = errno;
        ::close(fd_);
        throw store_error("cannot write '" + path_ + "': " + std::strerror(error));
    }
}

state_lock::~state_lock() {
    ::unlink(path_.c_str());
    ::close(fd_);
}

}  // namespace weir::crawl::detail
