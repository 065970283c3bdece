// SPDX-License-Identifier: MIT
// A folder to serve, with all that is dangerous in it and a secret beside it.
#pragma once

#include "serving.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace weir_test {

namespace fs = std::filesystem;

inline void write_file(const fs::path& name, std::string_view content) {
    std::ofstream(name, std::ios::binary) << content;
}

// Until the next change of the file will have another date: the kernel dates inodes by a clock that
// ticks every few milliseconds.
inline void let_it_age(const fs::path& name) {
    struct stat found{};
    ASSERT_EQ(::stat(name.c_str(), &found), 0);
    timespec now{};
    do {
        std::this_thread::yield();
        ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (std::pair(now.tv_sec, now.tv_nsec) <=
             std::pair(found.st_ctim.tv_sec, found.st_ctim.tv_nsec));
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
