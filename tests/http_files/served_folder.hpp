// SPDX-License-Identifier: MIT
// A folder to serve, with all that is dangerous in it and a secret beside it.
#pragma once

#include "serving.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace weir_test {

namespace fs = std::filesystem;

inline void write_file(const fs::path& name, std::string_view content) {
    std::ofstream(name, std::ios::binary) << content;
}

// root/ is served; secret.txt lies beside it.
class served_folder {
public:
    served_folder() {
        std::string name = (fs::temp_directory_path() / "weir-served-XXXXXX").string();
        top = ::mkdtemp(name.data());
        root = top / "root";
        fs::create_directories(root / "sub" / "deep");
        fs::create_directories(root / ".git");
        fs::create_directories(root / ".well-known");
        write_file(top / "secret.txt", "SECRET");
        write_file(root / "a.txt", "0123456789");
        write_file(root / "index.html", "<p>start");
        write_file(root / "sub" / "index.html", "<p>sub");
        write_file(root / "sub" / "b.css", "p {}");
        write_file(root / "empty.txt", "");
        write_file(root / ".git" / "config", "SECRET");
        write_file(root / ".hidden", "SECRET");
        write_file(root / ".well-known" / "x", "known");
        fs::create_symlink("sub/b.css", root / "inside.css");
        fs::create_symlink("../index.html", root / "sub" / "up.html");
        fs::create_symlink("../secret.txt", root / "outside.txt");
        fs::create_symlink(root / "a.txt", root / "absolute.txt");
        fs::create_symlink("..", root / "out");
        fs::create_symlink("sub/../../secret.txt", root / "round.txt");
        fs::create_symlink("loop", root / "loop");
        fs::create_symlink("sub", root / "folder");
    }
    served_folder(const served_folder&) = delete;
    served_folder& operator=(const served_folder&) = delete;
    ~served_folder() { fs::remove_all(top); }

    fs::path top;
    fs::path root;
};

}  // namespace weir_test
