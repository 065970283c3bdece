// SPDX-License-Identifier: MIT
// The guard is forked with all signals blocked, so that no handler of the program runs in it, and
// by a thread that bears its name: who looks for guards of programs that have gone finds it before
// it has run at all. If it has been killed, the next start makes another one; the trees of the
// first one live on behind their keepers.

#include "io/process/tree_guard.hpp"

#include "io/process/process_table.hpp"
#include "io/process/tree_child.hpp"
#include "io/process/tree_protocol.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace weir::detail {

namespace {

void open_socket_pair(int kind, file_handle& ours, file_handle& theirs) {
    int ends[2];
    if (::socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, ends) != 0) {
        throw io_error(errno, "process: socketpair");
    }
    ours = file_handle(ends[0]);
    theirs = file_handle(ends[1]);
}

std::string request_text(const std::vector<std::string>& words, const process_options& options,
                         const std::vector<std::string>& variables) {
    std::string text(sizeof(tree_request), '\0');
    const auto add = [&](std::string_view each) {
        text += each;
        text += '\0';
    };
    add(options.directory);
    std::ranges::for_each(words, add);
    std::ranges::for_each(variables, add);
    tree_request head{};
    head.bytes = static_cast<std::uint32_t>(text.size() - sizeof head);
    head.words = static_cast<std::uint32_t>(words.size());
    head.variables = static_cast<std::uint32_t>(variables.size());
    head.grace = std::chrono::ceil<std::chrono::milliseconds>(options.grace).count();
    std::memcpy(text.data(), &head, sizeof head);
    return text;
}

}  // namespace

std::string process_mark(int pid, std::uint64_t started) {
    constexpr std::string_view letters = "0123456789abcdefghijklmnopqrstuv";
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;
    std::uint64_t mixed = (started * spread) ^ (static_cast<std::uint64_t>(pid) << 20);
    mixed ^= mixed >> 29;
    mixed *= spread;
    std::string mark;
    for (int i = 0; i < 10; ++i) {
        mark += letters[(mixed >> (64 - 5 * (i + 1))) & 31];
    }
    return mark;
}

std::string own_mark() {
    process_entry self{};
    read_process(::getpid(), self);
    return process_mark(::getpid(), self.started);
}

tree_guard::~tree_guard() {
    stop();
}

void tree_guard::start() {
    file_handle theirs;
    open_socket_pair(SOCK_SEQPACKET, control_, theirs);
    const std::string name = std::string(guard_name_prefix) + own_mark();
    char own_name[16];
    ::prctl(PR_GET_NAME, own_name);
    sigset_t all;
    sigset_t former;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &former);
    ::prctl(PR_SET_NAME, name.c_str());
    const pid_t pid = ::fork();
    const int error = errno;
    if (pid == 0) {
        run_guard(theirs.fd());
    }
    ::prctl(PR_SET_NAME, own_name);
    ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
    if (pid < 0) {
        throw io_error(error, "process: fork of the guard");
    }
    pidfd_ = file_handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// The trees end before the guard does; most often they have ended already.
void tree_guard::stop() noexcept {
    constexpr int max_wait = 500;  // ms
    control_ = file_handle();
    if (pidfd_.fd() >= 0) {
        pollfd state{pidfd_.fd(), POLLIN, 0};
        ::poll(&state, 1, max_wait);
        reap_later(std::exchange(pidfd_, file_handle()));
    }
}

bool tree_guard::hand_over(int channel, std::span<const int, 3> streams, int directory) noexcept {
    const int given[tree_descriptors] = {channel, streams[0], streams[1], streams[2], directory};
    char letter = 't';
    iovec text{&letter, 1};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof given)] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof given);
    std::memcpy(CMSG_DATA(part), given, sizeof given);
    ssize_t sent = -1;
    do {
        sent = ::sendmsg(control_.fd(), &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == 1;
}

std::shared_ptr<tree_child> tree_guard::start_tree(const std::vector<std::string>& words,
                                                   const process_options& options,
                                                   std::span<const int, 3> streams,
                                                   std::string attempt) {
    file_handle ours;
    file_handle theirs;
    open_socket_pair(SOCK_STREAM, ours, theirs);
    const file_handle directory(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (directory.fd() < 0) {
        throw io_error(errno, attempt);
    }
    if (!hand_over(theirs.fd(), streams, directory.fd())) {
        if (errno != EPIPE && errno != ECONNRESET) {
            throw io_error(errno, attempt);
        }
        stop();
        start();
        if (!hand_over(theirs.fd(), streams, directory.fd())) {
            throw io_error(errno, attempt);
        }
    }
    theirs = file_handle();
    const std::string request = request_text(words, options, child_environment(options));
    std::string_view rest = request;
    while (!rest.empty()) {
        const ssize_t sent = ::send(ours.fd(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EPIPE) {
            break;  // the channel has the reason
        }
        if (sent < 0 && errno != EINTR) {
            throw io_error(errno, attempt);
        }
        rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
    return std::make_shared<tree_child>(std::move(ours), words.front(), std::move(attempt));
}

}  // namespace weir::detail
