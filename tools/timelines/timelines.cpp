// SPDX-License-Identifier: MIT
// Draws the effect of a token bucket, a sliding window, a breaker and a backoff on the same
// traffic. The library itself runs, in simulated time.
//
//     timelines <folder>           writes timeline-*.svg there
//     timelines --check <folder>   fails if the files there differ

#include "traffic.hpp"

#include <fstream>
#include <iostream>
#include <sstream>

namespace {

struct drawing {
    const char* name;
    std::string (*draw)();
};
constexpr drawing drawings[] = {
    {"timeline-token-bucket.svg", timelines::token_bucket_timeline},
    {"timeline-sliding-window.svg", timelines::sliding_window_timeline},
    {"timeline-breaker.svg", timelines::breaker_timeline},
    {"timeline-backoff.svg", timelines::backoff_timeline},
};

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

int main(int count, char** words) {
    const bool checks = count == 3 && std::string(words[1]) == "--check";
    if (count != 2 && !checks) {
        std::cerr << "usage: timelines [--check] <folder>\n";
        return 2;
    }
    const std::string folder = words[count - 1];
    int wrong = 0;
    for (const drawing& each : drawings) {
        const std::string path = folder + "/" + each.name;
        const std::string picture = each.draw();
        if (!checks) {
            std::ofstream(path, std::ios::binary) << picture;
        } else if (content_of(path) != picture) {
            std::cerr << path << " is not what the program draws: run it again\n";
            ++wrong;
        }
    }
    return wrong == 0 ? 0 : 1;
}
