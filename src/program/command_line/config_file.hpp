// SPDX-License-Identifier: MIT
// The configuration file: 'option = value' in sections named like the commands.
//
//     # a comment
//     [serve]
//     listen = "127.0.0.1:8080"      # quotes may be left out
//     workers = 256
//     origin = ["https://a.example", "https://b.example"]
//
// A subset of TOML: texts in "..." or '...', lists over several lines, numbers, true and false.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weir::program {

struct config_entry {
    std::string section;
    std::string key;
    std::vector<std::string> values;
    bool is_list = false;
    std::string place;  // 'weir.toml:3'
};

// In the order of the file. Errors are invalid_argument that names the file, the line, the value
// and what is expected.
std::vector<config_entry> read_config(const std::string& path);

}  // namespace weir::program
