// SPDX-License-Identifier: MIT
// A folder for the outputs of a test, and pages to write.
#pragma once

#include <weir/crawl/page.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace output_place {

using namespace weir::crawl;

inline std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

class folder {
public:
    folder() {
        std::string name = (std::filesystem::temp_directory_path() / "weir-output-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(path_); }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

inline page page_of(int number, std::string_view body = "<p>text</p>") {
    page made;
    made.id = static_cast<url_id>(number);
    made.url = "http://a.example/" + std::to_string(number);
    made.state = page_state::done;
    made.status = 200;
    made.content_type = "text/html";
    made.headers.add("Content-Type", "text/html");
    made.headers.add("Transfer-Encoding", "chunked");
    made.fetched_at = timestamp(std::chrono::milliseconds(1'700'000'000'123));
    made.body = body;
    return made;
}

}  // namespace output_place
