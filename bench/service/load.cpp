// SPDX-License-Identifier: MIT
//
// Submits tasks over HTTP: one request under way on each of some kept connections, on one thread
// and a bare epoll, so that as little as can be is spent on this side. Every answer is looked at.
//
//   program PORT QUEUE IN_FLIGHT TASKS_PER_REQUEST WARM_UP_SECONDS SECONDS [MOST_TASKS [KIND]]
//
// Prints 'ready' when it is warm and {"requests": TASKS, "seconds": S} at the end. With MOST_TASKS
// other than 0 it ends when that many are made. KIND is 'once', for an idempotency key of its own
// for each task, or 'keys:N', for N flow keys in turn.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

[[noreturn]] void fail(const char* what, const std::string& more = {}) {
    std::fprintf(stderr, "%s %s\n", what, more.substr(0, 300).c_str());
    std::exit(1);
}

// What a request has differently in each of its tasks: a number of ten digits.
struct numbering {
    std::string member;  // of the task; empty: none
    long most = 0;       // then from 0 again; 0: never
    long next = 0;
};

numbering numbering_of(const std::string& kind) {
    if (kind == "once") {
        const long now = static_cast<long>(::now() * 1e6) % 1'000'000'000;
        return {"idempotency_key", 0, now};
    }
    if (kind.rfind("keys:", 0) == 0) {
        return {"flow_key", std::atol(kind.c_str() + 5), 0};
    }
    if (!kind.empty()) {
        fail("no kind of tasks:", kind);
    }
    return {};
}

constexpr const char* placeholder = "##########";

void number(std::string& request, numbering& from) {
    if (from.member.empty()) {
        return;
    }
    const std::string quoted = "\"" + from.member + "\":\"";
    for (std::size_t at = request.find(quoted); at != std::string::npos;
         at = request.find(quoted, at + 1)) {
        char digits[24];
        std::snprintf(digits, sizeof digits, "%010ld", from.next % 10'000'000'000);
        request.replace(at + quoted.size(), 10, digits, 10);
        from.next = from.most > 0 ? (from.next + 1) % from.most : from.next + 1;
    }
}

std::string request_of(const std::string& queue, int tasks, const numbering& numbers) {
    std::string one = R"({"kind":"noop","queue":")" + queue + "\",";
    if (!numbers.member.empty()) {
        one += "\"" + numbers.member + "\":\"" + placeholder + "\",";
    }
    one += R"("payload":{"number":1,"text":"a small task"}})";
    std::string body = one;
    if (tasks > 1) {
        body = "{\"tasks\":[";
        for (int i = 0; i < tasks; ++i) {
            body += (i == 0 ? "" : ",") + one;
        }
        body += "]}";
    }
    return std::string("POST /tasks") + (tasks > 1 ? "/batch" : "") +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

struct connection {
    int fd = -1;
    std::string request;
    std::string in;
    std::size_t sent = 0;
};

void send_some(connection& on, numbering& numbers) {
    const std::string& what = on.request;
    if (on.sent == 0) {
        number(on.request, numbers);
    }
    while (on.sent < what.size()) {
        const ssize_t count =
            send(on.fd, what.data() + on.sent, what.size() - on.sent, MSG_NOSIGNAL);
        if (count < 0) {
            if (errno == EAGAIN) {
                return;
            }
            fail("send", std::strerror(errno));
        }
        on.sent += static_cast<std::size_t>(count);
    }
}

// True when the answer has arrived; removes it from the buffer.
bool receive(connection& on) {
    char space[65536];
    for (;;) {
        const ssize_t count = recv(on.fd, space, sizeof space, 0);
        if (count < 0 && errno == EAGAIN) {
            break;
        }
        if (count <= 0) {
            fail("the connection has ended:", on.in);
        }
        on.in.append(space, static_cast<std::size_t>(count));
        if (static_cast<std::size_t>(count) < sizeof space) {
            break;
        }
    }
    const std::size_t head = on.in.find("\r\n\r\n");
    if (head == std::string::npos) {
        return false;
    }
    const std::size_t length = on.in.find("ontent-Length: ");
    if (length == std::string::npos || length > head) {
        fail("no length:", on.in);
    }
    const auto body = static_cast<std::size_t>(std::atol(on.in.c_str() + length + 15));
    if (on.in.size() < head + 4 + body) {
        return false;
    }
    // Of a batch each task has a status of its own.
    if (on.in.compare(9, 1, "2") != 0 || on.in.find("\"status\":4") != std::string::npos) {
        fail("refused:", on.in);
    }
    on.in.clear();
    on.sent = 0;
    return true;
}

}  // namespace

int main(int count, char** words) {
    if (count < 7) {
        return 64;
    }
    const int in_flight = std::atoi(words[3]);
    const int tasks = std::atoi(words[4]);
    const long most = count > 7 ? std::atol(words[7]) : 0;
    numbering numbers = numbering_of(count > 8 ? words[8] : "");
    const std::string request = request_of(words[2], tasks, numbers);
    const int poll = epoll_create1(0);
    std::vector<connection> all(static_cast<std::size_t>(in_flight));
    for (connection& each : all) {
        each.fd = socket(AF_INET, SOCK_STREAM, 0);
        each.request = request;
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(static_cast<std::uint16_t>(std::atoi(words[1])));
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(each.fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
            fail("connect", std::strerror(errno));
        }
        const int on = 1;
        setsockopt(each.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLET;
        event.data.ptr = &each;
        epoll_ctl(poll, EPOLL_CTL_ADD, each.fd, &event);
        fcntl(each.fd, F_SETFL, O_NONBLOCK);
    }
    const double warm = now() + std::atof(words[5]);
    double began = 0;
    double end = 0;
    long done = 0;
    for (connection& each : all) {
        send_some(each, numbers);
    }
    for (;;) {
        epoll_event events[64];
        const int ready = epoll_wait(poll, events, 64, 10000);
        if (ready <= 0) {
            fail("no answer for ten seconds");
        }
        for (int i = 0; i < ready; ++i) {
            connection& on = *static_cast<connection*>(events[i].data.ptr);
            if ((events[i].events & EPOLLIN) != 0 && receive(on)) {
                done += tasks;
            }
            if (on.sent < request.size()) {
                send_some(on, numbers);
            }
        }
        const double at = now();
        if (began == 0 && at >= warm) {
            std::puts("ready");
            std::fflush(stdout);
            began = at;
            end = at + std::atof(words[6]);
            done = 0;
        }
        if (began != 0 && (most > 0 ? done >= most : at >= end)) {
            std::printf("{\"requests\": %ld, \"seconds\": %.6f}\n", done, at - began);
            return 0;
        }
    }
}
