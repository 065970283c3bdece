// SPDX-License-Identifier: MIT
// /proc/<id>/stat is 'id (name) state parent group ...', with the start time as field 22. The name
// may contain anything, also brackets, so the fields are counted from the last one. The entries are
// in memory of their own (mmap), since the heap of a forked process may be locked for ever.

#include "io/process/process_table.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace weir::detail {

namespace {

// The number at the beginning of the text, which is moved behind it and a blank.
std::uint64_t take_number(const char*& text) noexcept {
    std::uint64_t number = 0;
    for (text += *text == '-' ? 1 : 0; *text >= '0' && *text <= '9'; ++text) {
        number = number * 10 + static_cast<std::uint64_t>(*text - '0');
    }
    text += *text == ' ' ? 1 : 0;
    return number;
}

bool parse_stat(char* text, process_entry& into) noexcept {
    char* const name = std::strchr(text, '(');
    char* const name_end = std::strrchr(text, ')');
    if (name == nullptr || name_end == nullptr || name_end[1] != ' ' || name_end[2] == '\0') {
        return false;
    }
    const auto length =
        std::min<std::size_t>(static_cast<std::size_t>(name_end - name - 1), sizeof into.name - 1);
    std::memcpy(into.name, name + 1, length);
    into.name[length] = '\0';
    into.state = name_end[2];
    const char* field = name_end + 3;
    field += *field == ' ' ? 1 : 0;
    into.parent = static_cast<pid_t>(take_number(field));
    into.group = static_cast<pid_t>(take_number(field));
    constexpr int between = 16;  // fields from the session to the one before the start time
    for (int i = 0; i < between; ++i) {
        take_number(field);
    }
    into.started = take_number(field);
    into.is_descendant = false;
    return true;
}

// 'name' of /proc/<id>/name.
void write_path(char* path, pid_t id, const char* name) noexcept {
    char digits[12];
    std::size_t count = 0;
    auto rest = static_cast<unsigned>(id);
    do {
        digits[count++] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    std::memcpy(path, "/proc/", 6);
    path += 6;
    while (count > 0) {
        *path++ = digits[--count];
    }
    *path++ = '/';
    std::strcpy(path, name);
}

// A folder of the kernel, read without opendir, which allocates.
class raw_directory {
public:
    explicit raw_directory(const char* path) noexcept
        : fd_(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
    raw_directory(const raw_directory&) = delete;
    raw_directory& operator=(const raw_directory&) = delete;
    ~raw_directory() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    bool is_open() const noexcept { return fd_ >= 0; }

    // The next name, or null at the end.
    const char* next() noexcept {
        if (at_ >= filled_) {
            const long count = ::syscall(SYS_getdents64, fd_, buffer_, sizeof buffer_);
            if (count <= 0) {
                return nullptr;
            }
            filled_ = static_cast<std::size_t>(count);
            at_ = 0;
        }
        // inode (8), offset (8), record length (2), kind (1), name
        std::uint16_t length = 0;
        std::memcpy(&length, buffer_ + at_ + 16, sizeof length);
        const char* const name = buffer_ + at_ + 19;
        at_ += length;
        return name;
    }

private:
    int fd_;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
    alignas(8) char buffer_[4096];
};

}  // namespace

bool read_process(pid_t id, process_entry& into) noexcept {
    char path[32];
    write_path(path, id, "stat");
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    char text[512];
    const ssize_t size = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    text[size < 0 ? 0 : size] = '\0';
    into.id = id;
    return parse_stat(text, into);
}

process_table::~process_table() {
    if (entries_ != nullptr) {
        ::munmap(entries_, room_ * sizeof(process_entry));
    }
}

bool process_table::add(const process_entry& entry) noexcept {
    if (size_ == room_) {
        const std::size_t room = room_ == 0 ? 1024 : 2 * room_;
        void* const memory = ::mmap(nullptr, room * sizeof(process_entry), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            return false;
        }
        if (entries_ != nullptr) {
            std::memcpy(memory, entries_, size_ * sizeof(process_entry));
            ::munmap(entries_, room_ * sizeof(process_entry));
        }
        entries_ = static_cast<process_entry*>(memory);
        room_ = room;
    }
    entries_[size_++] = entry;
    return true;
}

bool process_table::read() noexcept {
    size_ = 0;
    raw_directory processes("/proc");
    if (!processes.is_open()) {
        return false;
    }
    while (const char* name = processes.next()) {
        if (*name < '1' || *name > '9') {
            continue;
        }
        process_entry entry{};
        if (read_process(static_cast<pid_t>(take_number(name)), entry) && !add(entry)) {
            return false;
        }
    }
    std::sort(entries_, entries_ + size_,
              [](const process_entry& a, const process_entry& b) { return a.id < b.id; });
    return true;
}

const process_entry* process_table::find(pid_t id) const noexcept {
    const process_entry* const end = entries_ + size_;
    const process_entry* const found =
        std::lower_bound(static_cast<const process_entry*>(entries_), end, id,
                         [](const process_entry& each, pid_t wanted) { return each.id < wanted; });
    return found != end && found->id == id ? found : nullptr;
}

// A parent has the smaller number until the numbers wrap around, so one round is the rule.
void process_table::mark_descendants(pid_t root, std::span<const pid_t> spared) noexcept {
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (process_entry& each : all()) {
            if (each.is_descendant) {
                continue;
            }
            const process_entry* const parent = find(each.parent);
            const bool is_child = each.parent == root &&
                                  std::find(spared.begin(), spared.end(), each.id) == spared.end();
            if (is_child || (parent != nullptr && parent->is_descendant)) {
                each.is_descendant = true;
                is_changed = true;
            }
        }
    }
}

bool signal_process(const process_entry& target, int signal) noexcept {
    const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, target.id, 0));
    if (pidfd < 0) {
        return errno != ESRCH && ::kill(target.id, signal) == 0;  // no descriptor is left
    }
    process_entry now{};
    const bool is_same = read_process(target.id, now) && now.started == target.started;
    const bool is_sent =
        is_same && ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
    ::close(pidfd);
    return is_sent;
}

// SIGKILL also goes to the groups: that reaches all members at once, including those that are being
// forked, so that none escapes by forking faster than this reads. Other signals are sent once to
// each process. Descendants are in sessions of their own, so no other process is in their groups.
std::size_t signal_descendants(process_table& table, int signal,
                               std::span<const pid_t> spared) noexcept {
    if (!table.read()) {
        return 0;
    }
    table.mark_descendants(::getpid(), spared);
    const pid_t own_group = ::getpgrp();
    pid_t last_group = 0;
    std::size_t count = 0;
    for (const process_entry& each : table.all()) {
        if (!each.is_descendant) {
            continue;
        }
        count += each.is_running() ? 1 : 0;
        signal_process(each, signal);
        if (signal == SIGKILL && each.group != own_group && each.group != last_group) {
            ::kill(-each.group, signal);
            last_group = each.group;
        }
    }
    return count;
}

}  // namespace weir::detail
