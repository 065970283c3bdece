// SPDX-License-Identifier: MIT
// A sink that is one text file: it appends the text of each page, and a resumed crawl cuts the file
// to the length that was committed. Derive from it for a format of your own:
//
//     class titles final : public weir::crawl::file_sink {
//     public:
//         explicit titles(std::string path) : file_sink("titles", std::move(path)) {}
//         void write(const weir::crawl::page& settled) override { text() += settled.title + "\n"; }
//     };
#pragma once

#include <weir/crawl/sink.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace weir::crawl {

namespace detail {
class output_file;
}

class file_sink : public sink {
public:
    ~file_sink() override;

    std::string_view name() const noexcept final { return name_; }
    task<> open(std::string position) final;
    std::size_t buffered() const noexcept final;
    task<std::string> flush() final;
    task<> close(bool is_complete) final;

protected:
    // `format` and the path are the name of the sink. The path '-' is standard output. The file
    // begins with `first`; `last` is written when the sink is closed, and cut off when it is opened
    // again.
    file_sink(std::string_view format, std::string path, std::string_view first = {},
              std::string_view last = {});

    // Where write() appends.
    std::string& text() noexcept;

private:
    std::string name_;
    std::unique_ptr<detail::output_file> file_;
    std::string first_;
    std::string last_;
};

}  // namespace weir::crawl
