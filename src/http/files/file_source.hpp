// SPDX-License-Identifier: MIT
// An open file that is sent.
#pragma once

#include "http/files/open_beneath.hpp"
#include "http/files/representation.hpp"

#include <weir/http/body.hpp>
#include <weir/io/file.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::http::detail {

// Whether the file may still change without another time stamp: those are some milliseconds apart.
bool is_young(const file_facts& facts, std::int64_t now) noexcept;
// A hash, since inode numbers are not for clients. Weak if the file is young.
std::string etag_of(const file_facts& facts, std::int64_t now);

class file_source {
public:
    // Owns the descriptor.
    file_source(int fd, const std::string& name, const file_facts& facts)
        : file_(fd, name), facts_(facts) {}

    // All pieces at once; empty if the file has changed meanwhile.
    task<std::optional<std::string>> read(const std::vector<body_piece>& pieces,
                                          std::uint64_t size) const;
    // Piece by piece. Throws http::error before the last byte is written if the file changes
    // meanwhile: a response made of two versions must not look complete.
    task<> send(body_writer& out, const std::vector<body_piece>& pieces,
                std::size_t piece_size) const;

private:
    bool is_unchanged() const;

    io::file file_;
    file_facts facts_;
};

}  // namespace weir::http::detail
