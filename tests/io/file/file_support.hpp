// SPDX-License-Identifier: MIT
// Shared by the tests of files.
#pragma once

#include <weir/task.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>

namespace file_tests {

// A temporary directory, removed with its contents by the destructor.
class place {
public:
    place() {
        std::string name = (std::filesystem::temp_directory_path() / "weir-files-XXXXXX").string();
        root_ = ::mkdtemp(name.data());
    }
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place() { std::filesystem::remove_all(root_); }
    std::string operator/(const std::string& name) const { return root_ + "/" + name; }
    const std::string& root() const { return root_; }

private:
    std::string root_;
};

template <class T>
weir::task<> expect_error(weir::task<T> work, std::string text) {
    try {
        co_await std::move(work);
        ADD_FAILURE() << "no error, but it should have been: " << text;
    } catch (const std::exception& error) {
        EXPECT_EQ(error.what(), text);
    }
}

}  // namespace file_tests
