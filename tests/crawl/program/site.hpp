// SPDX-License-Identifier: MIT
// A small site on loopback that counts what was requested, and the program that crawls it.
#pragma once

#include <http/client/recording_site.hpp>
#include <support/peers/program.hpp>

#include <weir/io/process.hpp>
#include <weir/run.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace crawl_program_test {

using weir::task;
using weir_test::recording_site;
using weir_test::temporary_folder;

// Pages '/0' to '/count-1', each with six links; '/0' is the seed. Every seventh page is missing.
// One that is varied has pages with the same body, every eleventh, and redirects, every thirteenth.
class numbered_site {
public:
    explicit numbered_site(int count, bool is_varied = false)
        : count_(count),
          is_varied_(is_varied),
          site_(weir::io::address::loopback(0), [this](weir::http::request& request) {
              return answer(std::string(request.path()));
          }) {}

    std::string url() const { return site_.url("127.0.0.1", "/0"); }
    task<> stop() { return site_.stop(); }

    std::map<std::string, int> requests;

private:
    weir::http::response answer(const std::string& path) {
        if (path == "/robots.txt") {
            return weir::http::response(weir::http::status::not_found);
        }
        if (path == "/sitemap.xml") {
            return weir::http::response::text(site_.url("127.0.0.1", "/7") + "\n" +
                                              site_.url("127.0.0.1", "/8") + "\n");
        }
        ++requests[path];
        const int number = std::atoi(path.c_str() + 1);
        if (number % 7 == 6) {
            return weir::http::response(weir::http::status::not_found);
        }
        if (is_varied_ && number % 13 == 4) {
            weir::http::response moved(weir::http::status::found);
            moved.headers().set("Location", "/" + std::to_string((number + 1) % count_));
            return moved;
        }
        const bool is_copy = is_varied_ && number % 11 == 5;
        std::string html = is_copy ? "<title>copy</title>" : "<title>" + path + "</title>";
        for (int i = 1; i <= 6 && !is_copy; ++i) {
            html += "<a href='/" + std::to_string((number * 3 + i) % count_) + "'>x</a>";
        }
        weir::http::response made = weir::http::response::text(html);
        made.headers().set("Content-Type", "text/html");
        return made;
    }

    int count_;
    bool is_varied_;
    recording_site site_;
};

inline std::vector<std::string> lines_of_text(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

// The URLs in lines of JSON, each with how often it is there; a line that is cut is 'torn'.
inline std::map<std::string, int> urls_in(const std::string& jsonl) {
    std::map<std::string, int> urls;
    for (const std::string& line : lines_of_text(jsonl)) {
        const std::size_t begin = line.find("\"url\":\"") + 7;
        const bool is_whole = line.starts_with("{") && line.ends_with("}");
        ++urls[is_whole ? line.substr(begin, line.find('"', begin) - begin) : "torn " + line];
    }
    return urls;
}

}  // namespace crawl_program_test
