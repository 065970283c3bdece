// SPDX-License-Identifier: MIT
//
// The load of suite http's servers: on each connection one GET is under way at a time. wrk makes
// four system calls a request and is as busy as the server that it drives, or busier; this one is
// not. The first answer is read in full and says how long answers are; of the others, length,
// status and body are compared.
//
//   bench_http_load PORT CONNECTIONS WARM_UP_SECONDS SECONDS
#include "../io/ring_client.hpp"

#include <cstdio>
#include <string_view>

namespace {

constexpr std::string_view body = "Hello, World!";
constexpr std::string_view start = "HTTP/1.1 200 ";

class requests : public load::ring_client<requests, 512> {
public:
    requests(std::uint16_t port, unsigned connections)
        : ring_client(port, connections),
          request_("GET / HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n\r\n"),
          answers_(connections) {
        next(0);
        run_until(1);
        for (unsigned i = 1; i < connections; ++i)
            next(i);
    }

    void arrived(unsigned index, const char* data, std::size_t size) {
        answer& got = answers_[index];
        bench::require(got.size + size <= sizeof got.text, "a long answer");
        std::memcpy(got.text + got.size, data, size);
        got.size += size;
        const std::string_view text(got.text, got.size);
        if (length_ == 0 && text.ends_with(body)) length_ = text.size();
        if (text.size() < length_ || length_ == 0) return;
        bench::require(text.size() == length_ && text.starts_with(start) && text.ends_with(body),
                       "another answer than the first");
        count_one();
        next(index);
    }

private:
    struct answer {
        std::size_t size = 0;
        char text[1024];
    };

    void next(unsigned index) {
        answers_[index].size = 0;
        send(index, request_.data(), request_.size());
    }

    std::string request_;
    std::vector<answer> answers_;
    std::size_t length_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 64;
    try {
        requests all(static_cast<std::uint16_t>(std::atoi(argv[1])),
                     static_cast<unsigned>(std::atoi(argv[2])));
        all.run_for(std::atof(argv[3]) * 1e9);
        std::printf("ready\n");
        std::fflush(stdout);
        const double began = bench::clock_ns(CLOCK_MONOTONIC);
        const std::uint64_t count = all.run_for(std::atof(argv[4]) * 1e9);
        const double seconds = (bench::clock_ns(CLOCK_MONOTONIC) - began) * 1e-9;
        std::printf("{\"requests\": %llu, \"seconds\": %.6f}\n",
                    static_cast<unsigned long long>(count), seconds);
        std::fflush(stdout);
        usleep(100'000);  // until its times have been read
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
