// SPDX-License-Identifier: MIT
// Each function is one request, with the path kept in the frame of the coroutine that waits for it.
// Directories are listed on a thread, since io_uring cannot list them.

#include "io/file/file_request.hpp"

#include <weir/error.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/error.hpp>
#include <weir/io/file.hpp>
#include <weir/io/file_system.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <random>
#include <stop_token>
#include <string_view>

namespace weir::io {

namespace {

using detail::carry_out;
using detail::file_call;
using detail::file_request;

file_kind kind_of(unsigned mode) noexcept {
    switch (mode & S_IFMT) {
        case S_IFREG:
            return file_kind::regular;
        case S_IFDIR:
            return file_kind::directory;
        case S_IFLNK:
            return file_kind::link;
        case S_IFSOCK:
            return file_kind::socket;
        case S_IFIFO:
            return file_kind::pipe;
        case S_IFCHR:
        case S_IFBLK:
            return file_kind::device;
        default:
            return file_kind::unknown;
    }
}

std::chrono::system_clock::time_point time_of(const statx_timestamp& raw) noexcept {
    using std::chrono::system_clock;
    // File systems have times outside the range of the clock's nanoseconds, 1677 to 2262.
    constexpr auto last = std::chrono::floor<std::chrono::seconds>(system_clock::duration::max());
    const std::chrono::seconds seconds(raw.tv_sec);
    if (seconds >= last || seconds <= -last) {
        return seconds >= last ? system_clock::time_point::max() : system_clock::time_point::min();
    }
    return system_clock::time_point(std::chrono::duration_cast<system_clock::duration>(
        seconds + std::chrono::nanoseconds(raw.tv_nsec)));
}

// Returns 0 or an errno.
task<int> look_up(const std::string& path, int flags, file_status& into) {
    detail::check_path(path, "stat");
    struct ::statx about{};
    file_request request{file_call::status, flags};
    request.path = path.c_str();
    request.data = &about;
    const int result = co_await carry_out(request);
    into.kind = kind_of(about.stx_mode);
    into.size = about.stx_size;
    into.permissions = about.stx_mode & 07777u;
    into.owner = about.stx_uid;
    into.group = about.stx_gid;
    into.inode = about.stx_ino;
    into.links = about.stx_nlink;
    into.modified = time_of(about.stx_mtime);
    into.accessed = time_of(about.stx_atime);
    co_return -result;
}

task<file_status> status_of(std::string path, int flags) {
    file_status made;
    const int error = co_await look_up(path, flags, made);
    if (error != 0) {
        throw io_error(error, "stat " + path);
    }
    co_return made;
}

// A unique name beside the file. Random, since processes in different containers may have the same
// number and share the directory.
std::string name_beside(const std::string& path) {
    std::random_device random;
    return path + "." + std::to_string(random()) + std::to_string(random()) + ".new";
}

// Removes the file unless it got its final name; at once and on this thread, since a stop cannot
// wait.
class unfinished_file {
public:
    explicit unfinished_file(const std::string& path) noexcept : path_(path) {}
    unfinished_file(const unfinished_file&) = delete;
    unfinished_file& operator=(const unfinished_file&) = delete;
    ~unfinished_file() {
        if (!is_finished_) {
            ::unlink(path_.c_str());
        }
    }
    void finished() noexcept { is_finished_ = true; }

private:
    const std::string& path_;
    bool is_finished_ = false;
};

// A rename is durable once its directory is synchronised.
task<> sync_directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "."
                                  : slash == 0               ? "/"
                                                             : path.substr(0, slash);
    const file opened = co_await file::open(directory);
    co_await opened.sync();
}

// Where the link leads, if the path is a symbolic link: the file that an open would write to, which
// need not exist. The system does not say that of a dangling link, so links are followed here.
std::string follow_links(std::string path) {
    constexpr int most_links = 40;  // as in the system
    std::string target(PATH_MAX, '\0');
    for (int link = 0; link < most_links; ++link) {
        const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
        if (size < 0) {
            return path;
        }
        const std::size_t slash = target[0] == '/' ? std::string::npos : path.rfind('/');
        path.resize(slash == std::string::npos ? 0 : slash + 1);
        path.append(target, 0, static_cast<std::size_t>(size));
    }
    throw io_error(ELOOP, "open " + path);
}

task<> replace_file(std::string path, const_bytes data, unsigned permissions) {
    file_status old;
    int missing = co_await look_up(path, AT_SYMLINK_NOFOLLOW, old);
    if (missing == 0 && old.kind == file_kind::link) {
        std::string target = co_await run_blocking(&follow_links, path);
        path = std::move(target);
        missing = co_await look_up(path, 0, old);
    }
    const std::string beside = name_beside(path);
    open_options open;
    open.read = false;
    open.write = open.create = open.only_new = true;
    open.permissions = missing == 0 ? old.permissions & 0777u : permissions;
    unfinished_file guard(beside);  // before the file exists: a stop may come between
    file made = co_await file::open(beside, open);
    if (missing == 0) {
        ::fchmod(made.fd(), old.permissions & 0777u);  // regardless of the umask
    }
    co_await made.write(data);
    co_await made.sync();
    made.close();
    file_request request{file_call::rename};
    request.path = beside.c_str();
    request.new_path = path.c_str();
    const int result = co_await carry_out(request);
    if (result < 0) {
        throw io_error(-result, "rename " + beside + " to " + path);
    }
    guard.finished();
    co_await sync_directory_of(path);
}

struct directory_closer {
    void operator()(DIR* opened) const noexcept { ::closedir(opened); }
};

file_kind kind_of(DIR& in, const dirent& entry) noexcept {
    if (entry.d_type != DT_UNKNOWN) {
        return kind_of(DTTOIF(entry.d_type));
    }
    struct ::stat about{};
    const bool is_known = ::fstatat(::dirfd(&in), entry.d_name, &about, AT_SYMLINK_NOFOLLOW) == 0;
    return is_known ? kind_of(about.st_mode) : file_kind::unknown;
}

std::vector<directory_entry> list_now(std::stop_token hurry, const std::string& path,
                                      std::size_t limit) {
    const std::unique_ptr<DIR, directory_closer> opened(::opendir(path.c_str()));
    if (opened == nullptr) {
        throw io_error(errno, "list " + path);
    }
    std::vector<directory_entry> all;
    while (!hurry.stop_requested()) {
        errno = 0;
        const dirent* entry = ::readdir(opened.get());
        if (entry == nullptr) {
            if (errno != 0) {
                throw io_error(errno, "list " + path);
            }
            break;
        }
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") {
            continue;
        }
        if (all.size() == limit) {
            throw limit_exceeded("list " + path + ": more than " + std::to_string(limit) +
                                 " entries");
        }
        all.push_back({std::string(name), kind_of(*opened, *entry)});
    }
    std::ranges::sort(all, {}, &directory_entry::name);
    return all;
}

}  // namespace

task<file_status> stat(std::string path) {
    return status_of(std::move(path), 0);
}
task<file_status> stat_link(std::string path) {
    return status_of(std::move(path), AT_SYMLINK_NOFOLLOW);
}

task<bool> exists(std::string path) {
    file_status ignored;
    const int error = co_await look_up(path, AT_SYMLINK_NOFOLLOW, ignored);
    if (error != 0 && error != ENOENT && error != ENOTDIR) {
        throw io_error(error, "stat " + path);
    }
    co_return error == 0;
}

// The size that the system reports is a hint: files of /proc have none, and files may grow.
task<std::string> read_file(std::string path, std::size_t limit) {
    const file opened = co_await file::open(path);
    const std::uint64_t hint = co_await opened.size();
    constexpr std::size_t step = 16384;
    std::string all;
    for (std::size_t filled = 0;;) {
        if (filled > limit || hint > limit) {
            throw limit_exceeded("read " + path + ": it is larger than the limit of " +
                                 std::to_string(limit) + " bytes");
        }
        // Room for one byte more than expected and allowed shows whether there is more.
        const std::size_t wanted =
            filled < hint ? static_cast<std::size_t>(hint) + 1 : filled + std::max(filled, step);
        all.resize(std::min(wanted, limit < SIZE_MAX ? limit + 1 : limit));
        const std::size_t count = co_await opened.read_at(io::bytes(all).after(filled), filled);
        filled += count;
        if (filled < all.size()) {
            all.resize(filled);
            co_return all;
        }
    }
}

task<> write_file(std::string path, const_bytes data, write_file_options options) {
    if (options.permissions > 07777) {
        throw invalid_argument(
            "write_file_options: permissions = " + std::to_string(options.permissions) +
            " are none; they are at most 07777, and written in octal");
    }
    if (options.atomically) {
        detail::check_path(path, "open");
        co_await replace_file(std::move(path), data, options.permissions);
        co_return;
    }
    open_options open;
    open.read = false;
    open.write = open.create = open.truncate = true;
    open.permissions = options.permissions;
    file made = co_await file::open(std::move(path), open);
    co_await made.write(data);
}

task<> remove(std::string path) {
    detail::check_path(path, "remove");
    file_request request{file_call::remove};
    request.path = path.c_str();
    int result = co_await carry_out(request);
    if (result == -EISDIR) {
        request.flags = AT_REMOVEDIR;
        result = co_await carry_out(request);
    }
    if (result < 0) {
        throw io_error(-result, "remove " + path);
    }
}

task<> rename(std::string from, std::string to) {
    detail::check_path(from, "rename");
    detail::check_path(to, "rename");
    file_request request{file_call::rename};
    request.path = from.c_str();
    request.new_path = to.c_str();
    const int result = co_await carry_out(request);
    if (result < 0) {
        throw io_error(-result, "rename " + from + " to " + to);
    }
}

task<> make_directory(std::string path, unsigned permissions) {
    detail::check_path(path, "make_directory");
    file_request request{file_call::make_directory, 0, permissions};
    request.path = path.c_str();
    const int result = co_await carry_out(request);
    if (result < 0) {
        throw io_error(-result, "make_directory " + path);
    }
}

task<std::vector<directory_entry>> list_directory(std::string path, std::size_t limit) {
    detail::check_path(path, "list");
    co_return co_await run_blocking(&list_now, path, limit);
}

}  // namespace weir::io
