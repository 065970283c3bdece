// SPDX-License-Identifier: MIT
#pragma once

#include <support/io.hpp>

#include <weir/io/dns.hpp>
#include <weir/io/error.hpp>
#include <weir/testing/testing.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace weir_test {

inline std::vector<std::string> texts(const std::vector<weir::io::address>& from) {
    std::vector<std::string> result;
    for (const weir::io::address& each : from) {
        result.push_back(each.text());
    }
    return result;
}
using words = std::vector<std::string>;

// Neither files nor search domains of the machine.
inline weir::dns::resolver_options alone(const weir::io::address& server) {
    return {.servers = {&server, 1},
            .resolv_conf = "/dev/null",
            .hosts_file = "",
            .timeout = std::chrono::seconds(5),
            .tries = 1};
}

class temporary_file {
public:
    explicit temporary_file(const std::string& text) {
        const int fd = ::mkstemp(path_.data());
        EXPECT_GE(fd, 0);
        ::close(fd);
        write(text);
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() { std::remove(path_.c_str()); }
    void write(const std::string& text) const { std::ofstream(path_) << text; }
    const std::string& path() const { return path_; }

private:
    std::string path_ = "/tmp/weir-dns-XXXXXX";
};

}  // namespace weir_test
