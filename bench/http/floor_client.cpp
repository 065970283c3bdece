// SPDX-License-Identifier: MIT
//
// The floor of suite http's clients: libcurl's multi interface on a bare epoll, handles used again.
//
//   bench_http_floor_client PORT CONCURRENCY WARM_UP_SECONDS SECONDS
#include <curl/curl.h>

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

int epoll_descriptor;
double timer = -1;  // when libcurl wants to be called; negative: not

double now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// What is registered and what is wanted. libcurl takes its interest back after every request: the
// registration stays until something comes for it or the socket is closed, which saves two system
// calls.
struct interest {
    unsigned registered = 0;
    unsigned wanted = 0;
};
std::vector<interest> interests;

void enter(int socket, unsigned events) {
    interest& at = interests[static_cast<std::size_t>(socket)];
    epoll_event event{.events = events, .data = {.fd = socket}};
    const int operation = events == 0          ? EPOLL_CTL_DEL
                          : at.registered == 0 ? EPOLL_CTL_ADD
                                               : EPOLL_CTL_MOD;
    epoll_ctl(epoll_descriptor, operation, socket, &event);
    at.registered = events;
}

int on_socket(CURL*, curl_socket_t socket, int what, void*, void*) {
    if (interests.size() <= static_cast<std::size_t>(socket))
        interests.resize(static_cast<std::size_t>(socket) + 1);
    interest& at = interests[static_cast<std::size_t>(socket)];
    at.wanted = what == CURL_POLL_REMOVE ? 0u
                                         : ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0u) |
                                               ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0u);
    if (at.wanted != 0 && at.wanted != at.registered) enter(socket, at.wanted);
    return 0;
}

int on_close(void*, curl_socket_t socket) {
    if (static_cast<std::size_t>(socket) < interests.size())
        interests[static_cast<std::size_t>(socket)] = {};
    return close(socket);
}

int on_timer(CURLM*, long milliseconds, void*) {
    timer = milliseconds < 0 ? -1 : now() + static_cast<double>(milliseconds) * 1e-3;
    return 0;
}

std::size_t on_body(char*, std::size_t size, std::size_t count, void* total) {
    *static_cast<std::size_t*>(total) += size * count;
    return size * count;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 64;
    const std::string url = std::string("http://127.0.0.1:") + argv[1] + "/";
    const int concurrency = std::atoi(argv[2]);
    const double warm_up = std::atof(argv[3]);
    const double seconds = std::atof(argv[4]);

    epoll_descriptor = epoll_create1(EPOLL_CLOEXEC);
    curl_global_init(CURL_GLOBAL_ALL);
    CURLM* multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(concurrency));
    std::size_t bytes = 0;
    // The request that every participant sends. As options libcurl would format both twice for
    // every request.
    curl_slist* headers = curl_slist_append(nullptr, "User-Agent: floor");
    headers = curl_slist_append(headers, "Accept-Encoding: gzip");
    for (int i = 0; i < concurrency; ++i) {
        CURL* each = curl_easy_init();
        curl_easy_setopt(each, CURLOPT_URL, url.c_str());
        curl_easy_setopt(each, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(each, CURLOPT_WRITEDATA, &bytes);
        curl_easy_setopt(each, CURLOPT_CLOSESOCKETFUNCTION, on_close);
        curl_easy_setopt(each, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(each, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(each, CURLOPT_PROXY, "");
        curl_multi_add_handle(multi, each);
    }
    const double began = now();
    double measured_from = began;
    long requests = 0;
    bool warm = false;
    int running = 0;
    for (;;) {
        const double time = now();
        if (!warm && time - began >= warm_up) {
            warm = true;
            measured_from = time;
            requests = 0;
            std::printf("ready\n");
            std::fflush(stdout);
        }
        if (warm && time - measured_from >= seconds) {
            std::printf("{\"requests\": %ld, \"seconds\": %.6f}\n", requests, time - measured_from);
            std::fflush(stdout);
            usleep(100'000);  // until its times have been read
            _exit(0);
        }
        epoll_event events[64];
        const double wait = timer < 0 ? 0.1 : std::max(0.0, timer - time);
        const int count = epoll_wait(epoll_descriptor, events, 64, static_cast<int>(wait * 1e3));
        for (int i = 0; i < count; ++i) {
            const int socket = events[i].data.fd;
            if (interests[static_cast<std::size_t>(socket)].wanted == 0) {
                enter(socket, 0);
                continue;
            }
            const bool readable = (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0u;
            const bool writable = (events[i].events & EPOLLOUT) != 0u;
            curl_multi_socket_action(
                multi, socket, (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0),
                &running);
        }
        // A request that was added starts with the timer, which libcurl sets to zero.
        if (timer >= 0 && timer <= now()) {
            timer = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        std::vector<CURL*> done;
        for (int left = 0; CURLMsg* message = curl_multi_info_read(multi, &left);) {
            long status = 0;
            curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
            if (message->data.result != CURLE_OK || status != 200) {
                std::fprintf(stderr, "%s\n", curl_easy_strerror(message->data.result));
                return 1;
            }
            done.push_back(message->easy_handle);
        }
        for (CURL* each : done) {
            ++requests;
            curl_multi_remove_handle(multi, each);
            curl_multi_add_handle(multi, each);
        }
    }
}
